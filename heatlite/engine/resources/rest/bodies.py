"""Properties to the fields of a request, and fields of an answer back to properties, as a description's `body` says.

A rule is a field name (dots lead into sub-objects), None (not sent), or a map: `to`, `values` (value -> value), `cast`
(string, integer), `spread` (its entries become fields). A rule whose name has dots renames inside maps and the items
of lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from heatlite.engine.resources.rest.templating import pick
from heatlite.engine.resources.yaml_lines import Written

CASTS = {'string': str, 'integer': int}


class BodyRules:
    """The `body` of one description, prepared."""

    def __init__(self, written: Written, spread: Iterable[str] = (), nulls: str = 'drop') -> None:
        self.top = {name: rule for name, rule in written.items() if '.' not in name}
        self.top.update({name: {'spread': True} for name in spread})
        self.inside: dict[str, list[tuple[list[str], str | None]]] = {}
        for name, rule in written.items():
            first, *rest = name.split('.')
            if rest:
                self.inside.setdefault(first, []).append(([part for part in rest if part != '*'], rule))
        self.spread = frozenset(spread)
        self.nulls = nulls

    def render(self, given: Mapping[str, object], keep_nulls: bool = False) -> dict[str, object]:
        """The fields for `given`. `keep_nulls`: a property without a value is sent as null (it was taken away)."""
        body: dict[str, object] = {}
        for name, value in given.items():
            rule = self.top.get(name, name)
            if rule is None:
                continue
            value = self._converted(name, rule, value)
            if isinstance(rule, Mapping) and rule.get('spread'):
                body.update(value or {})
                continue
            if value is None and not keep_nulls:
                continue
            if self.nulls == 'empty' and not keep_nulls and value in ('', [], {}):
                continue
            place(body, self.field(name), value)
        return body

    def field(self, name: str) -> str | None:
        """Return the path of a property in the body; None if it has none of its own."""
        rule = self.top.get(name, name)
        if isinstance(rule, Mapping):
            return None if rule.get('spread') else str(rule.get('to', name))
        return None if rule is None else str(rule)

    def inner(self, name: str, value: object) -> object:
        """`value` of a property with what is inside it renamed."""
        for path, field in self.inside.get(name, ()):
            value = renamed(value, path, field)
        return value

    def _converted(self, name: str, rule: object, value: object) -> Any:
        value = self.inner(name, value)
        value = without_nulls(value) if self.nulls != 'keep' else value
        if isinstance(rule, Mapping) and value is not None:
            if value in list(rule.get('values', ())):
                return rule['values'][value]
            if 'cast' in rule:
                value = CASTS[rule['cast']](value)
        return value

    def live(self, name: str, found: Mapping[str, object]) -> tuple[bool, object]:
        """(whether the answer tells it, its value in the property's own names)."""
        field = self.field(name)
        if field is None:
            return False, None
        holder = pick(found, field.rpartition('.')[0]) if '.' in field else found
        last = field.rpartition('.')[2] if '.' in field else field
        if not isinstance(holder, Mapping) or last not in holder:
            return False, None
        value = holder[last]
        for path, inner in self.inside.get(name, ()):
            if inner is not None:
                value = renamed(value, [*path[:-1], inner], path[-1])
        rule = self.top.get(name)
        if isinstance(rule, Mapping):
            back = [theirs for theirs, sent in rule.get('values', {}).items() if sent == value]
            value = back[0] if back else value
        return True, value


def place(body: dict[str, Any], field: str | None, value: object) -> None:
    *holders, last = str(field).split('.')
    for holder in holders:
        body = body.setdefault(holder, {})
    body[last] = value


def renamed(value: object, path: list[str], field: str | None) -> object:
    """`value` with the entry at the end of `path` called `field`, in every item of lists on the way; None: left out."""
    if isinstance(value, list):
        return [renamed(item, path, field) for item in value]
    if not isinstance(value, Mapping) or path[0] not in value:
        return value
    if len(path) > 1:
        return {**value, path[0]: renamed(value[path[0]], path[1:], field)}
    kept = {name: item for name, item in value.items() if name != path[0]}
    return kept if field is None else {**kept, field: value[path[0]]}


def without_nulls(value: object) -> Any:
    """Maps without their empty entries, at every depth."""
    if isinstance(value, Mapping):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
