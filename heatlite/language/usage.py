"""Finds parameters and conditions that no part of a template uses, and conditions that have only one value."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Final

from heatlite.common.i18n import _
from heatlite.language import definition as definitions
from heatlite.language import rules
from heatlite.language.constraints import AllowedValues
from heatlite.language.definition import StackDefinition
from heatlite.language.diagnostics import Advice
from heatlite.language.environment import Environment

PARAMETER_CALLS: Final = ('get_param', 'Ref')
CONDITION_CALLS: Final = ('if', 'Fn::If')               # their first argument names a condition
MOST_CASES: Final = 64                                  # combinations of parameter values that are tried

ALWAYS: Final = _('The condition "%s" is true for all parameter values: it has no effect')
NEVER: Final = _('The condition "%s" is false for all parameter values: what depends on it is never created')


def maps(value: object, path: tuple[object, ...]) -> Iterator[tuple[tuple[object, ...], Mapping[str, object]]]:
    """Yield all maps inside a value with their paths, outer ones first."""
    if isinstance(value, Mapping):
        yield path, value
        for key, item in value.items():
            yield from maps(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from maps(item, (*path, place))


def parameters_in(value: object) -> tuple[frozenset[str], bool]:
    """Return the names of parameters that calls inside a value use, and whether these are all: a name may be
    computed."""
    names: set[str] = set()
    all_known = True
    for _path, found in maps(value, ()):
        for call in PARAMETER_CALLS:
            if call in found and len(found) == 1:
                argument = found[call]
                name = argument[0] if isinstance(argument, list) and argument else argument
                if isinstance(name, str):
                    names.add(name)
                else:
                    all_known = False
    return frozenset(names), all_known


def unused_parameters(definition: StackDefinition) -> Iterator[Advice]:
    """Nothing is reported if the name of a parameter is computed."""
    document, key = definition.template.document, definition.edition.sections['parameters']
    used, all_known = parameters_in({name: section for name, section in document.items() if name != key})
    for name in definition.parameters.declared if all_known else ():
        if name not in used:
            yield Advice(rules.UNUSED_PARAMETER, _('The parameter "%s" is not used') % name, (key, name))


def unused_conditions(definition: StackDefinition) -> Iterator[Advice]:
    if not definition.edition.has_conditions:
        return
    used: set[object] = set()
    for _path, found in maps(definition.template.document, ()):
        for value in found.values():
            if isinstance(value, str):                  # of a resource, an output, or a function such as `not`
                used.add(value)
            elif isinstance(value, list):
                used.update(item for item in value if isinstance(item, str))
    for name in definition.conditions.definitions:
        if name not in used:
            yield Advice(rules.UNUSED_CONDITION, _('The condition "%s" is not used') % name,
                         (definition.conditions.key, name))


def constant_conditions(definition: StackDefinition) -> Iterator[Advice]:
    """Evaluate conditions whose parameters have few values (a boolean, `allowed_values`) for all these values."""
    if not definition.edition.has_conditions:
        return
    for name in definition.conditions.definitions:
        try:
            cases = _cases(definition, name)
            values = set() if cases is None else {_holds(definition, name, case) for case in cases}
        except Exception:               # functions may raise anything; diagnostics report it
            continue
        if len(values) == 1:
            text = ALWAYS if values == {True} else NEVER
            yield Advice(rules.CONSTANT_CONDITION, text % name, (definition.conditions.key, name))


def _cases(definition: StackDefinition, condition: str) -> list[dict[str, object]] | None:
    """Return the combinations of values of all parameters that a condition depends on; None if they are unlimited."""
    section = definition.conditions.definitions
    names: set[str] = set()
    waiting, seen = [condition], {condition}
    while waiting:
        body = section[waiting.pop()]
        found, all_known = parameters_in(body)
        if not all_known:
            return None
        names |= found
        texts = {body} if isinstance(body, str) else {
            item for _path, each in maps(body, ()) for value in each.values()
            for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)}
        for other in texts.intersection(section) - seen:
            seen.add(other)
            waiting.append(other)
    choices: list[list[object]] = []
    count = 1
    for name in sorted(names):
        values = _values(definition, name)
        if values is None:
            return None
        choices.append(values)
        count *= len(values)
    if count > MOST_CASES:
        return None
    return [dict(zip(sorted(names), case, strict=True)) for case in itertools.product(*choices)]


def _values(definition: StackDefinition, name: str) -> list[object] | None:
    schema = definition.parameters.declared.get(name)
    if schema is None or schema.kind not in ('string', 'number', 'boolean'):
        return None
    for constraint in schema.constraints:
        if isinstance(constraint, AllowedValues):
            return list(constraint.allowed)
    return [True, False] if schema.kind == 'boolean' else None


def _holds(definition: StackDefinition, condition: str, parameters: Mapping[str, object]) -> bool:
    given = definition.environment
    environment = Environment({'parameters': dict(parameters)}, given.operator)
    return definitions.build(definition.template, environment, {}, definition.identity, limits=definition.limits,
                             assume_unknown=True).conditions.holds(condition)
