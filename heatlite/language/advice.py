"""Hints at what is allowed but probably not meant, in addition to diagnostics, for `heatlite-lint`.

Typing errors that silently become data, keys that are ignored, references that fail only when an output is read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.language import expression as expressions
from heatlite.language import rules, undeclared, usage, versions
from heatlite.language.definition import StackDefinition
from heatlite.language.diagnostics import Advice, did_you_mean
from heatlite.language.expression import PLACEHOLDERS, UNKNOWNS
from heatlite.language.positions import Positions
from heatlite.language.usage import maps

EVERY_FUNCTION = frozenset(row.name for row in (*versions.FUNCTIONS, *versions.CONDITION_FUNCTIONS))

# What a look raises for parts of the wrong form, which diagnostics report.
OF_WRONG_TEMPLATES = (exception.HeatException, AttributeError, TypeError, ValueError)


def advise(definition: StackDefinition) -> list[Advice]:
    """Find the hints about a definition, in the order of the text."""
    found: list[Advice] = []
    for look in (_repeated_keys, _lookalikes, _several_functions, _ignored_keys, _hollow_references, _failing_metadata,
                 _hidden_entries, usage.unused_parameters, usage.unused_conditions, usage.constant_conditions,
                 undeclared.undeclared_parameters, undeclared.undeclared_conditions):
        with contextlib.suppress(*OF_WRONG_TEMPLATES):
            found += look(definition)
    template = definition.template
    placed = []
    for advice in found:
        position = template.position(advice.path) if advice.line is None else (advice.line, advice.column)
        line, column = position or (None, None)
        placed.append(replace(advice, line=line, column=column))
    return sorted(placed, key=lambda advice: (advice.line or 0, advice.column or 0))


def _repeated_keys(definition: StackDefinition) -> Iterator[Advice]:
    if definition.template.text is None:
        return
    for path, (line, column) in Positions(definition.template.text).duplicates:
        yield Advice(rules.REPEATED_KEY, _('The key "%s" stands here twice; the last one counts') % path[-1],
                     path, line, column)


def _lookalikes(definition: StackDefinition) -> Iterator[Advice]:
    """Find maps whose only key looks like a function that this version does not have."""
    known = set(definition.edition.functions) | set(definition.edition.condition_functions)
    later = EVERY_FUNCTION - known
    for section in (definition.keys.resources, definition.keys.outputs):
        for path, name in _single_keys(definition.template.document.get(section), (section,)):
            if len(path) < 3:
                continue
            if name in later:
                yield Advice(rules.NO_FUNCTION, _('"%(name)s" is no function of %(version)s: it is taken as data')
                             % {'name': name, 'version': definition.template.version}, (*path, name))
            elif name not in known and ('_' in name or '::' in name):
                near = did_you_mean(name, known)
                if near is not None:
                    yield Advice(rules.NO_FUNCTION, _('"%s" is no function: it is taken as data') % name,
                                 (*path, name), hint=near)


def _several_functions(definition: StackDefinition) -> Iterator[Advice]:
    known = set(definition.edition.functions) | set(definition.edition.condition_functions)
    for section in (definition.keys.resources, definition.keys.outputs):
        for path, value in maps(definition.template.document.get(section), (section,)):
            names = sorted(known.intersection(value)) if len(path) > 2 and len(value) > 1 else []
            if len(names) > 1:
                yield Advice(rules.SEVERAL_FUNCTIONS,
                             _('Several functions in one map (%s): it is taken as data') % ', '.join(names),
                             (*path, names[0]))


def _single_keys(value: object, path: tuple[object, ...]) -> Iterator[tuple[tuple[object, ...], str]]:
    for where, found in maps(value, path):
        if len(found) == 1:
            yield where, next(iter(found))


def _ignored_keys(definition: StackDefinition) -> Iterator[Advice]:
    keys = definition.keys
    known_outputs = {keys.output_value, keys.description, keys.condition}
    for name, output in definition.outputs.items():
        for key in output.snippet:
            if key not in known_outputs:
                yield Advice(rules.IGNORED_KEY,
                             _('The key "%s" of an output means nothing') % key, (keys.outputs, name, key),
                             hint=did_you_mean(key, known_outputs))
    if not definition.edition.is_hot:
        for name, snippet in definition.snippets.items():
            for key in snippet:
                if key not in keys.of_resources:
                    yield Advice(rules.IGNORED_KEY,
                                 _('The key "%s" of a resource means nothing') % key, (keys.resources, name, key),
                                 hint=did_you_mean(key, keys.of_resources))
    if definition.edition.is_hot and not definition.edition.has('2017-09-01'):
        for path, call in _calls(definition):
            if call.name == 'repeat' and 'permutations' in (call.literal_map() or {}):
                yield Advice(rules.IGNORED_KEY, _('"permutations" is ignored before version 2017-09-01'), path)


def _calls(definition: StackDefinition) -> Iterator[tuple[tuple[object, ...], expressions.Call]]:
    keys = definition.keys
    for name, resource in definition.resources.items():
        for trail, call in expressions.calls(resource.parsed.properties):
            yield (keys.resources, name, keys.properties, *expressions.spelled(trail)), call
    for name, output in definition.outputs.items():
        for trail, call in expressions.calls(output.expression):
            yield (keys.outputs, name, keys.output_value, *expressions.spelled(trail)), call


def _hollow_references(definition: StackDefinition) -> Iterator[Advice]:
    """Find references of outputs to missing resources: they fail only when the output is read."""
    keys = definition.keys
    for name, output in definition.outputs.items():
        for trail, need in expressions.requirements(output.expression, PLACEHOLDERS):
            if need.attribute is None and need.resource not in definition.resources:
                yield Advice(rules.OUTPUT_REFERENCE,
                             _('There is no resource "%s": this output will only show an error') % need.resource,
                             (keys.outputs, name, keys.output_value, *expressions.spelled(trail)),
                             hint=did_you_mean(need.resource, definition.resources))


def _failing_metadata(definition: StackDefinition) -> Iterator[Advice]:
    """Find metadata that fails whatever values its resources have: users would see the error only at creation."""
    for resource in definition.resources.values():
        try:
            resource.metadata(UNKNOWNS)
        except Exception as error:          # functions, yaql above all, may raise anything
            path = (*resource.path, definition.keys.metadata)
            yield Advice(rules.METADATA, _('The metadata cannot be evaluated: %s') % error, path,
                         hint=undeclared.hint_of(error, path, definition))


def _hidden_entries(definition: StackDefinition) -> Iterator[Advice]:
    """Find exact registry entries that come after a matching wildcard."""
    entries = definition.environment.registry.entries
    wildcards = [key for key in entries if key.endswith('*')]
    for name in entries:
        before = [key for key in wildcards if key != name and name.startswith(key[:-1]) and key < name]
        if before:
            yield Advice(rules.REGISTRY_ORDER, _('The registry entry "%(before)s" is tried before "%(name)s"')
                         % {'before': before[0], 'name': name}, ())
