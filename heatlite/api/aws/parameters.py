"""Parameters of AWS's query protocol: fields of the query string and of a form, with lists as `NAME.member.N`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl
from wsgiref.types import WSGIEnvironment

from heatlite.api.middleware import body
from heatlite.common import exception, turns
from heatlite.common.i18n import _

JSON_WORD_OF, JSON_WORD = 'ContentType', 'JSON'         # exact, upper case
FORM = 'application/x-www-form-urlencoded'
MEMBER = 'member'
DEEPEST = 10                                            # parts of a name: the most that any parameter has
_PARAMETERS = 'heatlite.aws.parameters'
_NUMBER = re.compile('[0-9]{1,9}')

Tree = dict[str, 'Tree | str']


def wants_json(environ: WSGIEnvironment) -> bool:
    """Whether the query or form has `ContentType=JSON`; ignores `Accept`. Never raises: error answers depend on it."""
    try:
        return read(environ).get(JSON_WORD_OF) == JSON_WORD
    except Exception:                           # wrong parameters are reported by the code that reads them
        return f'{JSON_WORD_OF}={JSON_WORD}' in str(environ.get('QUERY_STRING', '')).split('&')


def read(environ: WSGIEnvironment) -> Mapping[str, str]:
    """Query and form parameters, parsed once; the form takes precedence.

    Raises RequestLimitExceeded for more fields than `BodyLimit` allows, HTTPBadRequest for texts that are not UTF-8
    and for multipart bodies, which are not supported.
    """
    found: Mapping[str, str] | None = environ.get(_PARAMETERS)
    if found is None:
        found = environ[_PARAMETERS] = _parsed(environ)
    return found


def _parsed(environ: WSGIEnvironment) -> dict[str, str]:
    most = body.most_fields(environ)
    found = _fields(str(environ.get('QUERY_STRING', '')).encode('latin-1'), most)
    kind = str(environ.get('CONTENT_TYPE') or '').split(';')[0].strip().lower()
    if kind.startswith('multipart/'):
        raise exception.HTTPBadRequest(_('Bodies of the type %s are not read.') % kind[:40])
    if environ.get('REQUEST_METHOD') == 'POST' and kind == FORM:
        found.update(_fields(body.decompressed(environ), most))
    return found


def _fields(text: bytes, most: int) -> dict[str, str]:
    if text.count(b'&') >= most:
        raise exception.RequestLimitExceeded(_('The request has more than %s parameters.') % most)
    try:
        return dict(parse_qsl(text.decode('utf-8'), keep_blank_values=True, errors='strict'))
    except UnicodeDecodeError:
        raise exception.HTTPBadRequest(_('The parameters of the request are not valid UTF-8.')) from None


def tree(parameters: Mapping[str, str]) -> Tree:
    """Parameters by the parts of their names: `A.member.1.B=x` becomes {'A': {'member': {'1': {'B': 'x'}}}}.

    A name that also begins others, as in `A=&A.member.1=x`, loses its own value. Names of more than DEEPEST parts,
    which no API has, are left out.
    """
    made: Tree = {}
    for name, text in parameters.items():
        if name.count('.') >= DEEPEST:
            continue
        turns.spend()
        *parents, last = name.split('.')
        place = made
        for part in parents:
            inner = place.get(part)
            if not isinstance(inner, dict):
                inner = place[part] = {}
            place = inner
        if not isinstance(place.get(last), dict):
            place[last] = text
    return made


def members(value: Tree | str | None) -> list[Tree | str]:
    """Return the members of one list in a tree, in the order of their numbers; of any other value none."""
    found = value.get(MEMBER) if isinstance(value, dict) else None
    if not isinstance(found, dict):
        return []
    return [each for _number, each in sorted(_numbered(found.items()), key=lambda pair: pair[0])]


def _numbered(pairs: Iterable[tuple[str, Tree | str]]) -> Iterable[tuple[int, Tree | str]]:
    return ((int(key), value) for key, value in pairs if _NUMBER.fullmatch(key))
