"""Renders answers of the CloudFormation API as XML, or as JSON if the request has `ContentType=JSON`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl
from xml.etree import ElementTree

import webob

from heatlite.api.middleware import body
from heatlite.common import exception, limits
from heatlite.common.i18n import _

JSON_WORD_OF, JSON_WORD = 'ContentType', 'JSON'         # exact, upper case
FORM = 'application/x-www-form-urlencoded'
_PARAMETERS = 'heatlite.cfn.parameters'
AS_JSON_TEXT = ('TemplateBody', 'Metadata')
BOOLEANS = ('DisableRollback',)             # written as in XML Schema; other values as in Heat

# XML 1.0 allows no other control characters, and these not in names.
_UNPRINTABLE = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
_NOT_IN_NAMES = re.compile(r'[^A-Za-z0-9_.-]')
_NAME_START = re.compile(r'[A-Za-z_]')


def wants_json(environ: dict[str, Any]) -> bool:
    """Whether the query or form has `ContentType=JSON`; ignores `Accept`. Never raises: error answers depend on it."""
    try:
        return parameters(environ).get(JSON_WORD_OF) == JSON_WORD
    except Exception:                           # wrong parameters are reported by the code that reads them
        return f'{JSON_WORD_OF}={JSON_WORD}' in str(environ.get('QUERY_STRING', '')).split('&')


def parameters(environ: dict[str, Any]) -> Mapping[str, str]:
    """Query and form parameters, parsed once; the form takes precedence.

    Raises RequestLimitExceeded for more than FORM_FIELDS fields, HTTPBadRequest for texts that are not UTF-8 and for
    multipart bodies, which are not supported.
    """
    found: Mapping[str, str] | None = environ.get(_PARAMETERS)
    if found is None:
        found = environ[_PARAMETERS] = _parsed(environ)
    return found


def _parsed(environ: dict[str, Any]) -> dict[str, str]:
    found = _fields(str(environ.get('QUERY_STRING', '')).encode('latin-1'))
    kind = str(environ.get('CONTENT_TYPE') or '').split(';')[0].strip().lower()
    if kind.startswith('multipart/'):
        raise exception.HTTPBadRequest(_('Bodies of the type %s are not read.') % kind[:40])
    if environ.get('REQUEST_METHOD') == 'POST' and kind == FORM:
        found.update(_fields(body.read(environ)))
    return found


def _fields(text: bytes) -> dict[str, str]:
    if text.count(b'&') >= limits.FORM_FIELDS:
        raise exception.RequestLimitExceeded(_('The request has more than %s parameters.') % limits.FORM_FIELDS)
    try:
        return dict(parse_qsl(text.decode('utf-8'), keep_blank_values=True, errors='strict'))
    except UnicodeDecodeError:
        raise exception.HTTPBadRequest(_('The parameters of the request are not valid UTF-8.')) from None


def response(document: Mapping[str, Any], as_json: bool, status: int = 200) -> webob.Response:
    """Renders a document, which has one key: the outermost element."""
    if as_json:
        return webob.Response(body=json.dumps(document).encode('ascii'), status=status,
                              content_type='application/json', charset=None)
    (name, value), *_rest = document.items()
    root = _element(name, value)
    return webob.Response(body=ElementTree.tostring(root, encoding='utf-8'), status=status,
                          content_type='application/xml', charset='UTF-8')


def _element(name: str, value: Any) -> ElementTree.Element:
    """Renders one element. Omits null values: clients of AWS would parse the text None as a date or a number."""
    made = ElementTree.Element(_tag(name))
    if name in AS_JSON_TEXT:
        made.text = json.dumps(value) if value else None
    elif isinstance(value, Mapping):
        made.extend(_element(str(key), each) for key, each in value.items() if each is not None)
    elif isinstance(value, list | tuple):
        made.extend(_element('member', each) for each in value)
    elif name in BOOLEANS:
        made.text = str(value).lower()
    else:
        made.text = _UNPRINTABLE.sub('', str(value)) or None
    return made


def _tag(name: str) -> str:
    name = _NOT_IN_NAMES.sub('.', name)
    return name if _NAME_START.match(name) else f'_{name}'
