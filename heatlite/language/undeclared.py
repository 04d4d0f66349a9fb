"""Finds parameters and conditions that a template uses but does not declare.

The service accepts such names in outputs and in the definitions of conditions, because Heat does: an output then shows
an error, and a condition fails in the first stack that needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.language import rules
from heatlite.language.definition import StackDefinition
from heatlite.language.diagnostics import Advice, did_you_mean
from heatlite.language.usage import CONDITION_CALLS, PARAMETER_CALLS, maps

REFERENCE: Final = 'Ref'                                # names a parameter or, in an output, a resource
OF_CONDITIONS: Final = ('not', 'and', 'or', 'Fn::Not', 'Fn::And', 'Fn::Or')     # their arguments may name conditions


def undeclared_parameters(definition: StackDefinition) -> Iterator[Advice]:
    """Find them in outputs and in the definitions of conditions. Names that are computed are not checked."""
    edition, keys = definition.edition, definition.keys
    parameters, resources = definition.parameters.schemas, definition.template.section('resources') or {}
    for name, output in definition.outputs.items():
        path = (keys.outputs, name, keys.output_value)
        for where, call, found in _parameter_calls(output.snippet.get(keys.output_value), path, edition.functions):
            if call == REFERENCE and found not in parameters and found not in resources:
                yield Advice(rules.UNDECLARED_PARAMETER, _('There is no parameter or resource "%s"') % found, where,
                             hint=did_you_mean(found, [*parameters, *resources]))
            elif call != REFERENCE and found not in parameters:
                yield _no_parameter(found, where, parameters)
    if edition.has_conditions:
        conditions = definition.conditions
        for where, _call, found in _parameter_calls(
                conditions.definitions, (conditions.key,), edition.condition_functions):
            if found not in parameters:
                yield _no_parameter(found, where, parameters)


def _no_parameter(name: str, path: tuple[object, ...], parameters: Mapping[str, object]) -> Advice:
    return Advice(rules.UNDECLARED_PARAMETER, _('There is no parameter "%s"') % name, path,
                  hint=did_you_mean(name, parameters))


def _parameter_calls(value: object, path: tuple[object, ...], functions: Mapping[str, object]) -> Iterator[
        tuple[tuple[object, ...], str, str]]:
    """Yield (path, function, name of the parameter)."""
    for where, found in maps(value, path):
        for call in PARAMETER_CALLS:
            if len(found) == 1 and call in found and call in functions:
                argument = found[call]
                name = argument[0] if isinstance(argument, list) and argument else argument
                if isinstance(name, str):
                    yield (*where, call), call, name


def undeclared_conditions(definition: StackDefinition) -> Iterator[Advice]:
    """Find them in the definitions of other conditions; everywhere else they are errors."""
    if not definition.edition.has_conditions:
        return
    conditions = definition.conditions
    for where, found in maps(conditions.definitions, (conditions.key,)):
        for call in OF_CONDITIONS:
            if len(found) == 1 and call in found and call in definition.edition.condition_functions:
                argument = found[call]
                for place, name in enumerate(argument) if isinstance(argument, list) else ((None, argument),):
                    if isinstance(name, str) and name not in conditions.definitions:
                        yield Advice(rules.UNDECLARED_CONDITION, _('There is no condition "%s"') % name,
                                     (*where, call) if place is None else (*where, call, place),
                                     hint=did_you_mean(name, conditions.definitions))


def hint_of(error: BaseException, path: tuple[object, ...], definition: StackDefinition) -> str | None:
    """Return a similar name that is declared, if the error at `path` is about a parameter or a condition that is
    not."""
    missing = error if isinstance(error, exception.UserParameterMissing) else error.__cause__
    if isinstance(missing, exception.UserParameterMissing):
        name = missing.kwargs['key']
        return None if name in definition.parameters.schemas else did_you_mean(name, definition.parameters.declared)
    if path and path[-1] in (definition.keys.condition, *CONDITION_CALLS) and definition.edition.has_conditions:
        found = _value_at(definition.template.document, path)
        found = found[0] if isinstance(found, list) and found else found
        names = definition.conditions.section
        if isinstance(found, str) and isinstance(names, Mapping) and found not in names:
            return did_you_mean(found, names)
    return None


def _value_at(document: object, path: tuple[object, ...]) -> object:
    """Return the value at a path; None if there is none."""
    value = document
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value
