"""Texts with places to fill in: `/routers/{router}/tags`. A text that is one place becomes the value itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.properties import Values

PLACE = re.compile(r'\{([^{}]+)\}')
FILTERS: dict[str, Callable[[object], object]] = {
    'last': lambda value: str(value).rstrip('/').rpartition('/')[2],        # of a reference that is a URL, its id
    'text': lambda value: None if value is None else str(value),
    'json': lambda value: json.dumps(value),
}


class TemplatingScope:
    """The values of places: first the names of `known` (values, or functions that are called when needed), then
    properties; `.name` is a property even when `known` has the name. Dots lead into maps, `|` names a filter."""

    def __init__(self, properties: Values, known: Mapping[str, object]) -> None:
        self.properties = properties
        self.known = known

    def having(self, **more: object) -> TemplatingScope:
        return TemplatingScope(self.properties, {**self.known, **more})

    def value(self, place: str) -> Any:
        path, _bar, how = place.partition('|')
        first, *rest = path.lstrip('.').split('.')
        if first in self.known and not path.startswith('.'):
            found = self.known[first]
            found = found() if callable(found) else found
        else:
            found = self.properties.get(first)
        for part in rest:
            found = found.get(part) if isinstance(found, Mapping) else None
        return FILTERS[how](found) if how else found


def fill(template: object, scope: TemplatingScope) -> Any:
    """`template` with its places filled. A key whose place has no value is left out; a null written as such stays."""
    match template:
        case str():
            whole = PLACE.fullmatch(template)
            if whole:
                return scope.value(whole[1])
            return PLACE.sub(lambda found: str(scope.value(found[1])), template)
        case Mapping():
            filled = {key: fill(item, scope) for key, item in template.items()}
            return {key: value for key, value in filled.items() if value is not None or template[key] is None}
        case list():
            return [fill(item, scope) for item in template]
    return template


def fill_path(template: str, scope: TemplatingScope) -> str:
    """A path, its places quoted. Raises Error when one of them has no value."""
    def quoted(found: re.Match[str]) -> str:
        value = scope.value(found[1])
        if value is None or value == '':
            raise exception.Error(_('%(place)s is not known, so %(path)s cannot be asked.')
                                  % {'place': found[1], 'path': template})
        return quote(str(value), safe='')
    return PLACE.sub(quoted, template)


def places(template: object) -> Iterator[str]:
    """Names of all places of `template`, without filters and what follows the first dot."""
    match template:
        case str():
            for found in PLACE.finditer(template):
                yield found[1].partition('|')[0]
        case Mapping():
            for item in template.values():
                yield from places(item)
        case list():
            for item in template:
                yield from places(item)


def pick(value: object, path: str) -> Any:
    """The part of `value` at the end of a dotted `path`; `*` takes every item of a list, '' is all of it."""
    parts = path.split('.') if path else []
    for number, part in enumerate(parts):
        if part == '*':
            rest = '.'.join(parts[number + 1:])
            return [pick(item, rest) for item in value] if isinstance(value, list) else []
        if isinstance(value, list) and part.isdigit():
            value = value[int(part)] if int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    return value
