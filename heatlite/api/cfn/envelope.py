"""Answers of the CloudFormation API as XML, or as JSON where `ContentType=JSON` asks for it (CFN specification 1.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import webob

JSON_WORD = 'JSON'                          # exact, upper case
AS_JSON_TEXT = ('TemplateBody', 'Metadata')

# XML 1.0 knows no other control characters, and no names with these.
_UNPRINTABLE = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
_NOT_IN_NAMES = re.compile(r'[^A-Za-z0-9_.-]')
_NAME_START = re.compile(r'[A-Za-z_]')


def wants_json(environ: Mapping[str, Any]) -> bool:
    """By query or form parameter; `Accept` is not looked at."""
    return parameters(environ).get('ContentType') == JSON_WORD


def parameters(environ: Mapping[str, Any]) -> dict[str, str]:
    """Query and form parameters; the form counts more."""
    request = webob.Request(dict(environ))
    try:
        found = dict(request.GET.items())
        if environ.get('REQUEST_METHOD') == 'POST' and _is_form(environ):
            found.update(request.POST.items())
    except UnicodeDecodeError:
        return {}
    return found


def _is_form(environ: Mapping[str, Any]) -> bool:
    return str(environ.get('CONTENT_TYPE') or '').split(';')[0].strip() == 'application/x-www-form-urlencoded'


def response(document: Mapping[str, Any], as_json: bool, status: int = 200) -> webob.Response:
    """`document` has one key: the outermost element."""
    if as_json:
        return webob.Response(body=json.dumps(document).encode('ascii'), status=status,
                              content_type='application/json', charset=None)
    (name, value), *_rest = document.items()
    root = _element(name, value)
    return webob.Response(body=ElementTree.tostring(root, encoding='utf-8'), status=status,
                          content_type='application/xml', charset='UTF-8')


def _element(name: str, value: Any) -> ElementTree.Element:
    made = ElementTree.Element(_tag(name))
    if name in AS_JSON_TEXT:
        made.text = json.dumps(value) if value else None
    elif isinstance(value, Mapping):
        made.extend(_element(str(key), each) for key, each in value.items())
    elif isinstance(value, list | tuple):
        made.extend(_element('member', each) for each in value)
    else:
        made.text = _UNPRINTABLE.sub('', str(value)) or None
    return made


def _tag(name: str) -> str:
    name = _NOT_IN_NAMES.sub('.', name)
    return name if _NAME_START.match(name) else f'_{name}'
