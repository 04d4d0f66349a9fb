"""Compares two definitions of a stack: templates, environments, parameters and files, by name and path."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heatlite.common import turns
from heatlite.language import masking
from heatlite.language.hiding import HIDDEN_TEXT
from heatlite.language.masking import Mask
from heatlite.planning import text_diff
from heatlite.planning.plan import value_changes

Json = dict[str, Any]

# What is compared by name: list -> the section of a template, in HOT and in CFN.
SECTIONS: Mapping[str, tuple[str, str]] = {
    'resources': ('resources', 'Resources'), 'outputs': ('outputs', 'Outputs'),
    'conditions': ('conditions', 'Conditions'), 'parameter_definitions': ('parameters', 'Parameters')}
LISTS = ('resources', 'parameters', 'outputs', 'conditions', 'parameter_definitions', 'template', 'environment',
         'files')

PSEUDO = ('OS::', 'AWS::')              # how the names of parameters begin that the service sets

MOST_VALUES = 2000                      # changed values in one comparison
LONGEST_DIFF = 20_000                   # characters of the diff of one file
MOST_COMPARED = 10                      # files that are compared line by line


@dataclass(frozen=True)
class ComparedDefinition:
    """One definition. `parameters`: the values as users see them."""

    document: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def mask(self) -> Mask:
        return masking.of_documents(self.document, self.environment)

    def given(self, name: str) -> object:
        """Return the value that the environment gives to a parameter, or None."""
        for section in ('parameters', 'parameter_defaults'):
            values = self.environment.get(section) or {}
            if name in values:
                return values[name]
        return None


def compare(before: ComparedDefinition, after: ComparedDefinition) -> Json:
    """Return the differences: for each of LISTS the names that were added, removed or changed, with their values.

    Values that are hidden in one of the definitions are masked in both; `hidden`: a difference is in masked parts.
    `truncated`: there are more than MOST_VALUES.
    """
    comparison = _Comparison(before.mask | after.mask)
    old, new = _parts(before), _parts(after)
    found: Json = {name: list(comparison.entries(old[name], new[name])) for name in LISTS if name != 'files'}
    found['parameters'] = list(comparison.hidden_parameters(before, after, found['parameters']))
    for entry in found['resources']:
        resource = new['resources'].get(entry['name'], old['resources'].get(entry['name']))
        entry['type'] = (resource.get('type') or resource.get('Type')) if isinstance(resource, Mapping) else None
    found['files'] = list(comparison.files(before.files, after.files))
    return {'is_empty': not any(found.values()), 'truncated': comparison.left < 0, **found}


def changed_properties(before: ComparedDefinition, after: ComparedDefinition) -> dict[str, list[str]]:
    """Return the properties that may differ of each resource that both have: what is written differs, or a parameter or
    a file that it names."""
    old, new = _parts(before), _parts(after)
    given = {name for name in after.parameters if (before.parameters.get(name), before.given(name)) != (
        after.parameters[name], after.given(name))}
    given |= {name for name in after.files if before.files.get(name) != after.files[name]}
    found: dict[str, list[str]] = {}
    for name in old['resources'].keys() & new['resources'].keys():
        was, now = (_properties(each['resources'][name]) for each in (old, new))
        found[name] = sorted(key for key in {*was, *now} if was.get(key) != now.get(key) or _names(now.get(key), given))
    return found


def _properties(resource: object) -> Mapping[str, object]:
    found = resource.get('properties', resource.get('Properties')) if isinstance(resource, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _names(value: object, names: Collection[str]) -> bool:
    """Whether one of the names is in a value, such as the argument of a function."""
    waiting = [value] if names else []
    while waiting:
        turns.spend(1)
        each = waiting.pop()
        if isinstance(each, str) and each in names:
            return True
        waiting.extend(each.values() if isinstance(each, Mapping) else each if isinstance(each, list) else ())
    return False


def _parts(source: ComparedDefinition) -> dict[str, Mapping[str, object]]:
    """Return list -> name -> what is compared."""
    parts: dict[str, Mapping[str, object]] = {}
    rest = dict(source.document)
    for name, keys in SECTIONS.items():
        key = next((key for key in keys if isinstance(rest.get(key), Mapping)), None)
        parts[name] = {} if key is None else rest.pop(key)
    parts['template'] = rest
    parts['parameters'] = {name: value for name, value in source.parameters.items() if not name.startswith(PSEUDO)}
    hidden = masking.hidden_names(source.document, source.environment)
    defaults = source.environment.get('parameter_defaults') or {}
    parts['environment'] = {
        **{name: value for name, value in source.environment.items() if name not in ('parameters', masking.VALUES)},
        'parameter_defaults': {name: value for name, value in defaults.items() if name not in hidden}}
    return parts


class _Comparison:
    def __init__(self, mask: Mask) -> None:
        self.left = MOST_VALUES
        self._mask = mask

    def entries(self, before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[Json]:
        for name in dict.fromkeys((*before, *after)):
            kind = _kind(name in before, name in after)
            values = list(self._values(before.get(name), after.get(name)))
            if values or kind != 'changed':
                yield {'name': str(name), 'change': kind, 'values': values}

    def _values(self, before: object, after: object) -> Iterator[Json]:
        if isinstance(before or after, Mapping):            # what is added or removed is shown key by key, too
            before, after = before or {}, after or {}
        for path, old, new, _unknown in value_changes('', before, after, lambda value: True):
            self.left -= 1
            if self.left >= 0:
                shown = self._mask(old), self._mask(new)
                yield _value(self._mask(list(path[1:])), *shown, hidden=shown[0] == shown[1])

    def hidden_parameters(self, before: ComparedDefinition, after: ComparedDefinition,
                          found: list[Json]) -> Iterator[Json]:
        """Yield the changes of parameters, also of hidden ones, which look equal: their given values differ."""
        yield from found
        known = {entry['name'] for entry in found}
        for name in after.parameters:
            shown = before.parameters.get(name), after.parameters.get(name)
            if name not in known and shown == (HIDDEN_TEXT, HIDDEN_TEXT) and before.given(name) != after.given(name):
                yield {'name': name, 'change': 'changed', 'values': [_value([], *shown, hidden=True)]}

    def files(self, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Json]:
        compared = 0
        for name in sorted({*before, *after}):
            old, new = before.get(name), after.get(name)
            if old == new:
                continue
            kind, text, truncated = _kind(old is not None, new is not None), None, True
            shown = self._mask.text(old or ''), self._mask.text(new or '')
            compared += 1
            if compared <= MOST_COMPARED:
                text, truncated = text_diff.unified(*shown, LONGEST_DIFF)
            yield {'name': name, 'change': kind, 'diff': text, 'truncated': truncated,
                   'hidden': kind == 'changed' and shown[0] == shown[1]}


def _kind(was: bool, is_now: bool) -> str:
    return ('changed' if is_now else 'removed') if was else 'added'


def _value(path: list[object], before: object, after: object, *, hidden: bool) -> Json:
    return {'path': path, 'before': before, 'after': after, 'hidden': hidden}
