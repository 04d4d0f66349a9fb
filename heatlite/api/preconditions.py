"""Reads the header `If-Match` (RFC 9110, 13.1.1): under which tags of its definition a stack may be changed."""

from __future__ import annotations

import re

from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.i18n import _

ANY = '*'
_BLANK = ' \t'
_BETWEEN = _BLANK + ','
_TAG = re.compile(r'(?P<weak>W/)?"(?P<tag>[\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?:,[ \t,]*|\Z)')
_SHOWN = 100                # characters of a header that is refused


def wanted_tags(req: Request) -> tuple[str, ...] | None:
    """Return the tags of the request's header; None: no header, or any tag will do. Raises HTTPBadRequest.

    Weak tags are left out, since they never match: a request with no others gets (), which no definition has.
    """
    header = req.environ.get('HTTP_IF_MATCH')
    if header is None or header.strip(_BLANK) == ANY:
        return None
    text = header.strip(_BETWEEN)
    found: list[str] = []
    at = 0
    while at < len(text) or not text:
        each = _TAG.match(text, at)
        if each is None:
            raise exception.HTTPBadRequest(_(
                'Invalid header If-Match: expected the ETag of the stack with its quotation marks, as in "1a2b", or a '
                'list of them with commas, or *; found %r.') % header[:_SHOWN])
        if each['weak'] is None:
            found.append(each['tag'])
        at = each.end()
    return tuple(found)
