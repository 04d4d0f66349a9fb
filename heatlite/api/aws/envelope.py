"""Renders answers of AWS's query protocol as XML, or as JSON if the request has `ContentType=JSON`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

import webob

# XML 1.0 allows no other control characters, and these not in names.
_UNPRINTABLE = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
_NOT_IN_NAMES = re.compile(r'[^A-Za-z0-9_.-]')
_NAME_START = re.compile(r'[A-Za-z_]')


@dataclass(frozen=True)
class Envelope:
    """How one API writes its answers."""

    namespace: str = ''                             # of all elements, an URL; empty: none
    as_json_text: frozenset[str] = frozenset()      # elements whose text is a JSON document
    booleans: frozenset[str] = frozenset()          # elements written as in XML Schema; other booleans as in Heat

    def response(self, document: Mapping[str, object], as_json: bool, status: int = 200) -> webob.Response:
        """Renders a document, which has one key: the outermost element."""
        if as_json:
            return webob.Response(body=json.dumps(document).encode('ascii'), status=status,
                                  content_type='application/json', charset=None)
        (name, value), *_rest = document.items()
        root = self._element(name, value)
        if self.namespace:
            root.set('xmlns', self.namespace)
        return webob.Response(body=ElementTree.tostring(root, encoding='utf-8'), status=status,
                              content_type='application/xml', charset='UTF-8')

    def _element(self, name: str, value: object) -> ElementTree.Element:
        """Renders one element. Omits null values: clients of AWS would parse the text None as a date or a number."""
        made = ElementTree.Element(_tag(name))
        if name in self.as_json_text:
            made.text = json.dumps(value) if value else None
        elif isinstance(value, Mapping):
            made.extend(self._element(str(key), each) for key, each in value.items() if each is not None)
        elif isinstance(value, list | tuple):
            made.extend(self._element('member', each) for each in value)
        elif name in self.booleans:
            made.text = str(value).lower()
        else:
            made.text = _UNPRINTABLE.sub('', str(value)) or None
        return made


def _tag(name: str) -> str:
    name = _NOT_IN_NAMES.sub('.', name)
    return name if _NAME_START.match(name) else f'_{name}'
