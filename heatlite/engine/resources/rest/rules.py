"""Checks that concern several properties: the `check` of a description, each form with its standard error."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest.templating import pick
from heatlite.engine.resources.rest.words import CheckWords
from heatlite.language.unknown import UNKNOWN

KEYS = frozenset({'exclusive', 'one_of', 'exactly_one', 'needs', 'when', 'require', 'forbid', 'each', 'ordered',
                  'message', 'only'})
FORMS = ('exclusive', 'one_of', 'exactly_one', 'needs', 'when', 'ordered', 'only')
SOMETHING = object()                        # a value that is there and not known yet
PERHAPS = object()                          # a value that is not known yet, and may be empty


def _of_entry(entry: object, path: str) -> object:
    return _known(pick(entry, path))


def check(rules: Iterable[CheckWords], value_of: Callable[[str], object]) -> None:
    """`value_of(path)`: None when nothing was given, `SOMETHING` or `PERHAPS` when it is not known yet.

    Raises ResourcePropertyConflict, PropertyUnspecifiedError, ResourcePropertyDependency or StackValidationFailed.
    """
    for rule in rules:
        if 'each' in rule:
            entries = value_of(rule['each'])
            for entry in entries if isinstance(entries, list) else ():
                _check_one(rule, partial(_of_entry, entry))
        else:
            _check_one(rule, value_of)


def _known(value: object) -> object:
    return PERHAPS if value is UNKNOWN else value


def _check_one(rule: CheckWords, value_of: Callable[[str], object]) -> None:
    def given(name: str | list[str]) -> bool:
        if isinstance(name, list):
            return any(given(each) for each in name)
        value = value_of(name)
        return value is not None and value is not False and value not in ('', [], {})

    def is_open(name: str | list[str]) -> bool:
        return all(value_of(each) in (None, PERHAPS) for each in (name if isinstance(name, list) else [name]))

    if 'exclusive' in rule or 'exactly_one' in rule:
        names = rule.get('exclusive') or rule['exactly_one']
        found = [name for name in names if given(name) and not is_open(name)]
        if len(found) > 1:
            raise exception.ResourcePropertyConflict(*_flat(found))
    if 'one_of' in rule or 'exactly_one' in rule:
        names = rule.get('one_of') or rule['exactly_one']
        if not any(given(name) for name in names):
            raise exception.PropertyUnspecifiedError(*_flat(names))
    for name, needed in rule.get('needs', {}).items():
        if given(name) and not given(needed):
            raise exception.ResourcePropertyDependency(prop1=name, prop2=needed)
    for name, wanted in rule.get('only', {}).items():
        (other, value), = wanted.items()
        if given(name) and not _is(value_of(other), value) and value_of(other) not in (SOMETHING, PERHAPS):
            raise exception.ResourcePropertyValueDependency(prop1=name, prop2=other, value=value)
    if 'ordered' in rule:
        _check_order(rule['ordered'], value_of, rule.get('message'))
    if 'when' in rule and all(_is(value_of(name), wanted) for name, wanted in rule['when'].items()):
        said = ', '.join(f'{name} {_shown(value_of(name))}' for name in rule['when'])
        for name in rule.get('require', ()):
            if not given(name):
                raise exception.StackValidationFailed(message=rule.get('message') or _(
                    'Property %(name)s is required when %(said)s.') % {'name': name, 'said': said})
        for name in rule.get('forbid', ()):
            if given(name):
                raise exception.StackValidationFailed(message=rule.get('message') or _(
                    'Property %(name)s must not be given when %(said)s.') % {'name': name, 'said': said})


def _is(value: object, wanted: object) -> bool:
    """A list means one of its values, `~` nothing given, `"*"` anything given; `{not: x}` anything but that."""
    if isinstance(wanted, Mapping):
        return value not in (SOMETHING, PERHAPS) and not _is(value, wanted['not'])
    if wanted == '*':
        return value is not None
    return value in wanted if isinstance(wanted, list) else value == wanted


def _shown(value: object) -> str:
    return _('is not given') if value is None else f'is {value}'


def _flat(names: Iterable[str | list[str]]) -> list[str]:
    return [each for name in names for each in (name if isinstance(name, list) else [name])]


def _check_order(names: list[str], value_of: Callable[[str], object], message: str | None) -> None:
    values = [(name, value_of(name)) for name in names]
    numbers = [(name, value) for name, value in values if isinstance(value, int | float)]
    for (low, smaller), (high, larger) in itertools.pairwise(numbers):
        if smaller > larger:
            raise exception.StackValidationFailed(message=(message or _(
                'Illegal prefix bounds: %(low)s=%(smaller)s, %(high)s=%(larger)s.')) % {
                    'low': low, 'smaller': smaller, 'high': high, 'larger': larger})
