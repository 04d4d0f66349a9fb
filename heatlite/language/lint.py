"""Finds all errors of a definition, in the order in which clients expect them.

`check` collects diagnostics; clients see the first one, so its error has the text of the API. The others follow as
details, each with its place in the text and, where possible, a hint. The modules `*_checks` find the errors of one
stack; the order, and the nested stacks, are here.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.common.yaml_reading import ROOT
from heatlite.language import call_checks, document_checks, property_checks, reference_checks, rules, type_checks
from heatlite.language import nested as nesting
from heatlite.language.budget import shared
from heatlite.language.check_state import CLIENT_ERRORS, STEPS_PER_ITEM, CheckState, Memory, until_error
from heatlite.language.constraints import as_json
from heatlite.language.definition import DefinedResource, StackDefinition
from heatlite.language.diagnostics import MOST_COMPLAINTS, Diagnostic, did_you_mean, raise_first, ruled
from heatlite.language.expression import ABSENT, UNKNOWNS, evaluate
from heatlite.language.facts import NotAtHand, TypeCatalog, TypeFacts
from heatlite.language.property_checks import guessed
from heatlite.language.registry import RESOURCES, FoundType
from heatlite.language.schema import FAILED, Reader
from heatlite.language.template import Template
from heatlite.language.type_checks import template_of

__all__ = ['MOST_COMPLAINTS', 'Checker', 'Diagnostic', 'check', 'did_you_mean', 'raise_first']

MOST_INSIDE = 20_000                # resources of nested stacks that are checked


PARTS: tuple[tuple[str, Callable[[CheckState], Iterator[Diagnostic]]], ...] = (     # (rule, check), in order
    (rules.PARAMETER_VALUE, document_checks.parameters),
    (rules.PARAMETER_GROUP, document_checks.groups),
    (rules.CONDITION, document_checks.conditions),
    (rules.TYPE, type_checks.types),
    (rules.DUPLICATE, type_checks.duplicates),
    (rules.OUTPUT, call_checks.outputs),
    (rules.REFERENCE, reference_checks.references),
    (rules.CYCLE, reference_checks.cycles),
)


def check(definition: StackDefinition, types: TypeCatalog, *, all: bool = True, values: bool = True,
          look_inside: bool = True, updating: bool = False,
          known: Mapping[str, Template] | None = None, right: frozenset[str] = frozenset()) -> list[Diagnostic]:
    """Diagnostics in order; with `all` False at most one.

    `values` False: checks as `POST /validate` and as for nested stacks, without values of parameters and properties.
    `look_inside` False does not read nested templates. `updating`: an unknown section has another wire name then.
    `known`: templates of files that were parsed before. `right`: resources without an error (`language.plain`).
    """
    checker = Checker(definition, types, values=values, look_inside=look_inside, updating=updating,
                      memory=Memory(dict(known or {})))
    checker.right = right
    found: list[Diagnostic] = []
    seen: set[tuple[str, tuple[object, ...]]] = set()
    section = definition.template.section('resources')
    with shared(definition.limits, len(section) if isinstance(section, Mapping) else 0):
        for diagnostic in checker.diagnostics():
            if diagnostic.identity in seen:
                continue
            seen.add(diagnostic.identity)
            found.append(checker.placed(diagnostic))
            if not all or len(found) >= MOST_COMPLAINTS:
                break
    definition.known_attributes = None          # the checker, and what it knows of each resource, is not needed again
    return found


class Checker(CheckState):
    """The check of one definition, in the order in which clients expect errors, and that of its nested stacks."""

    def diagnostics(self) -> Iterator[Diagnostic]:
        definition = self.definition
        if self.depth == 0:
            yield from ruled(rules.PARAMETER, document_checks.files(self))
        if (yield from until_error(ruled(rules.PARAMETER, document_checks.definitions(self)))):
            definition.forget_wrong_parameters()
        yield from ruled(rules.ENVIRONMENT, (
            Diagnostic(error) for error in definition.environment.diagnostics(self.types.sink_error)))
        if (yield from document_checks.section_errors(self)):
            return
        yield from document_checks.expressions(self)
        for rule, part in PARTS:
            yield from ruled(rule, part(self))
        definition.known_attributes = functools.partial(reference_checks.attribute_exists, self)
        for name in self.order:
            turns.spend(STEPS_PER_ITEM)
            if name not in self.broken and name in self.facts and name not in self.right:
                yield from ruled(rules.PROPERTY_VALUE,
                                 self._within_budget(definition.resources[name], self.facts[name]))
        yield from ruled(rules.FUNCTION, call_checks.output_arguments(self))

    def _within_budget(self, resource: DefinedResource, facts: TypeFacts) -> list[Diagnostic]:
        """Check one resource, with its nested stack, as one evaluation."""
        with self.definition.ledger.evaluation(resource.name):
            return list(itertools.islice(self._resource(resource, facts), MOST_COMPLAINTS))

    def _resource(self, resource: DefinedResource, facts: TypeFacts) -> Iterator[Diagnostic]:
        values = yield from property_checks.check_resource(self, resource, facts)
        if values is not None and self.look_inside and self._has_inside(resource):
            yield from ruled(rules.FILE, self._inside(resource, facts, *values))

    # --- nested stacks ----------------------------------------------------------------------------------------

    def child(self, resource: DefinedResource) -> StackDefinition | None:
        """Return the nested stack of a resource that was checked, from what is known of its properties so far.

        Raises StackValidationFailed if its template cannot be read.
        """
        facts = self.facts[resource.name]
        if not self._has_inside(resource):
            return None
        source = self._source(resource, facts, resource.guessed_properties(), guessed(self, resource))
        if source is None:
            return None
        return nesting.child_definition(self.definition, resource, *source, self.found[resource.name].path)

    def _has_inside(self, resource: DefinedResource) -> bool:
        facts = self.facts[resource.name]
        return self.found[resource.name].is_template or facts.nested is not None or facts.nested_at is not None

    def _source(self, resource: DefinedResource, facts: TypeFacts, given: Mapping[str, object],
                values: Mapping[str, object]) -> tuple[Template, Mapping[str, object]] | None:
        """Return the template and the parameters of the nested stack; None if there is none, or it is not known yet."""
        found = self.found[resource.name]
        if found.is_template:
            return template_of(self, found), nesting.child_parameters(facts.properties, given, values)
        if facts.nested_at is not None:
            place = facts.nested_at(resource, values)
            return (template_of(self, FoundType(place[0], is_user=True)), place[1]) if place is not None else None
        document = facts.nested(resource, values) if facts.nested is not None else None
        return (Template(dict(document), source=nesting.MEMBERS), {}) if document is not None else None

    def _inside(self, resource: DefinedResource, facts: TypeFacts, given: Mapping[str, object],
                values: Mapping[str, object]) -> Iterator[Diagnostic]:
        found = self.found[resource.name]
        known = {name: value for name, value in given.items()
                 if value is not ABSENT and not isinstance(value, FAILED)}
        if self.values and resource.referring:
            # Here the name of a resource serves as its reference; in the nested stack it would be taken for a value.
            blank = {name: evaluate(resource.property_expressions[name], UNKNOWNS)
                     for name in resource.referring if name in known}
            known = {**known, **blank}
            values = Reader(lambda error: None, constraints=False).read(facts.properties, known, resource.path)
        try:
            source = self._source(resource, facts, known, values)
            if source is None:
                return
            template, parameters = source
            limit = self.definition.limits.max_nested_depth
            if self.depth >= limit:
                raise too_deep(limit)
        except NotAtHand:
            return
        except (*CLIENT_ERRORS, TypeError, ValueError) as error:
            rule = rules.LIMIT if isinstance(error, exception.RequestLimitExceeded) else rules.FILE
            yield Diagnostic(self._from_inside(resource, error), resource.path, rule=rule)
            return
        if not self._is_worth_it(resource, template, parameters, found):
            return
        child = nesting.child_definition(self.definition, resource, template, parameters, found.path)
        checker = Checker(child, self.types, values=self.values, depth=self.depth + 1, memory=self.memory)
        for diagnostic in checker.diagnostics():
            placed = checker.placed(diagnostic)
            seen = self._from_inside(resource, placed.error)
            if template.text is None:               # made by the group: the place to report is the group's
                yield replace(diagnostic, error=seen, path=resource.path, file=ROOT, line=None, column=None)
            else:
                yield replace(placed, error=seen)

    def _is_worth_it(self, resource: DefinedResource, template: Template, parameters: Mapping[str, object],
                     found: FoundType) -> bool:
        """Whether a nested stack must be checked.

        The same one twice gives no new diagnostics; beyond the limit of a tree, stacks are checked when they are
        created.
        """
        own_entries = bool(self.definition.environment.resource_registry.get(RESOURCES))
        key = (self.depth, id(template) if found.is_template else as_json(template.document), found.path,
               resource.name if own_entries else '', as_json(parameters))
        if key in self.memory.seen or self.memory.inside > MOST_INSIDE:
            return False
        self.memory.seen.add(key)
        self.memory.inside += 1 + len(template.section('resources') or ())
        return True

    def _from_inside(self, resource: DefinedResource, error: Exception) -> exception.StackValidationFailed:
        """Return an error of a nested stack, as reported for this stack."""
        found = self.found[resource.name]
        name = str(found.target) if found.is_template else nesting.MEMBERS
        if self.facts[resource.name].nested_at is not None:
            name = str(resource.guessed_properties().get('TemplateURL'))
        path = [self.keys.resources, f'{resource.name}<{name}>']
        if isinstance(error, exception.StackValidationFailed):
            inner = list(error.path)
            if name == nesting.MEMBERS and inner[:1] == ['outputs'] and inner[2:3] == ['value']:
                inner[2] = 'Value'              # clients expect the outputs of members under this key
            return exception.StackValidationFailed(
                error=error.error, path=[*path, *inner], message=error.error_message)
        return exception.StackValidationFailed(error=type(error).__name__, path=path, message=str(error))


def too_deep(limit: int) -> exception.RequestLimitExceeded:
    """Return the error for a nested stack below `limit` others."""
    return exception.RequestLimitExceeded(_('Recursion depth exceeds %d.') % limit)
