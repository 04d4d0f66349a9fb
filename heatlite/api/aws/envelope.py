"""Renders answers of AWS's query protocol as XML, or as JSON if the request has `ContentType=JSON`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

import webob

from heatlite.common import turns

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
        """Render a document, which has one key: the outermost element.

        Without an XML declaration, as Heat: os-collect-config hands the decoded text to lxml, which refuses texts that
        name an encoding.
        """
        if as_json:
            return webob.Response(body=json.dumps(document).encode('ascii'), status=status,
                                  content_type='application/json', charset=None)
        (name, value), *_rest = document.items()
        return webob.Response(body=''.join(self._pieces(name, value)).encode('utf-8'), status=status,
                              content_type='application/xml', charset='UTF-8')

    def _pieces(self, name: str, value: object) -> Iterator[str]:
        """Render an element piece by piece, with turns for other requests; values may be nested at any depth."""
        attributes = f' xmlns={quoteattr(self.namespace)}' if self.namespace else ''
        waiting: list[str | tuple[str, object]] = [(name, value)]           # the next one last; texts: ends of elements
        while waiting:
            found = waiting.pop()
            if isinstance(found, str):
                yield found
                continue
            turns.spend()
            tag, content = _tag(found[0]), self._content(*found)
            if not content:
                yield f'<{tag}{attributes} />'
            elif isinstance(content, str):
                yield f'<{tag}{attributes}>{escape(content)}</{tag}>'
            else:
                yield f'<{tag}{attributes}>'
                waiting.append(f'</{tag}>')
                waiting += reversed(content)
            attributes = ''

    def _content(self, name: str, value: object) -> str | list[tuple[str, object]]:
        """Return the text of an element, or the elements in it. Omits null values: clients of AWS would parse the text
        None as a date or a number."""
        if name in self.as_json_text:
            return json.dumps(value) if value else ''
        if isinstance(value, Mapping):
            return [(str(key), each) for key, each in value.items() if each is not None]
        if isinstance(value, list | tuple):
            return [('member', each) for each in value]
        if name in self.booleans:
            return str(value).lower()
        return _UNPRINTABLE.sub('', str(value))


def _tag(name: str) -> str:
    name = _NOT_IN_NAMES.sub('.', name)
    return name if _NAME_START.match(name) else f'_{name}'
