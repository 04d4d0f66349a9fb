"""Finds all errors of a definition, in the order in which clients expect them.

`check` collects diagnostics; clients see the first one, so its error has the text of the API. The others follow as
details, each with its place in the text and, where possible, a hint.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from heatlite.common import exception, turns
from heatlite.common.document_size import measure
from heatlite.common.i18n import _
from heatlite.common.yaml_reading import ROOT
from heatlite.language import expression as expressions
from heatlite.language import nested as nesting
from heatlite.language import rules, translation
from heatlite.language import template as templates
from heatlite.language.budget import here, shared
from heatlite.language.constraints import as_json
from heatlite.language.cycles import separate_cycles, sorted_names
from heatlite.language.definition import RETAIN, DefinedResource, StackDefinition, property_error
from heatlite.language.diagnostics import MOST_COMPLAINTS, Diagnostic, did_you_mean, raise_first, ruled
from heatlite.language.document_checks import CLIENT_ERRORS, DocumentChecks, Memory
from heatlite.language.expression import ABSENT, PLACEHOLDERS, UNKNOWNS, evaluate
from heatlite.language.facts import NotAtHand, TypeCatalog, TypeFacts
from heatlite.language.registry import RESOURCES, FoundType
from heatlite.language.schema import FAILED, NOT_ASSIGNED, FailedValue, Reader
from heatlite.language.template import Template
from heatlite.language.translation import TranslationRule
from heatlite.language.unknown import UNKNOWN, is_known

__all__ = ['MOST_COMPLAINTS', 'Checker', 'Diagnostic', 'check', 'did_you_mean', 'raise_first']

STEPS_PER_ITEM = 10                 # of `turns`, for checking one resource or output
LONGEST_NAME = 255                  # characters, the size of the column
MOST_INSIDE = 20_000                # resources of nested stacks that are checked


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


class Checker(DocumentChecks):
    """The check of one definition."""

    # --- the order of checks ----------------------------------------------------------------------------------

    def diagnostics(self) -> Iterator[Diagnostic]:
        definition = self.definition
        if self.depth == 0:
            yield from ruled(rules.PARAMETER, self._files())
        if (yield from self._until_error(ruled(rules.PARAMETER, self._definitions()))):
            definition.forget_wrong_parameters()
        yield from ruled(rules.ENVIRONMENT, (
            Diagnostic(error) for error in definition.environment.diagnostics(self.types.sink_error)))
        if (yield from self._section_errors()):
            return
        yield from self._expressions()
        yield from ruled(rules.PARAMETER_VALUE, self._parameters())
        yield from ruled(rules.PARAMETER_GROUP, self._groups())
        yield from ruled(rules.CONDITION, self._conditions())
        yield from ruled(rules.TYPE, self._types())
        yield from ruled(rules.DUPLICATE, self._duplicates())
        yield from ruled(rules.OUTPUT, self._outputs())
        yield from ruled(rules.REFERENCE, self._references())
        yield from ruled(rules.CYCLE, self._cycles())
        definition.known_attributes = self._attribute_exists
        for name in self.order:
            turns.spend(STEPS_PER_ITEM)
            if name not in self.broken and name in self.facts and name not in self.right:
                yield from ruled(rules.PROPERTY_VALUE,
                                 self._within_budget(definition.resources[name], self.facts[name]))
        yield from ruled(rules.FUNCTION, self._output_arguments())

    # --- types, duplicates ------------------------------------------------------------------------------------

    def _types(self) -> Iterator[Diagnostic]:
        known: dict[object, tuple[TypeFacts, FoundType]] = {}   # of types of resources that are right
        resources, snippets, type_key = self.definition.resources, self.definition.snippets, self.keys.type
        for name in resources:
            if name in self.right and snippets[name][type_key] in known:
                self.facts[name], self.found[name] = known[snippets[name][type_key]]
                continue
            resource = resources[name]
            turns.spend(STEPS_PER_ITEM)
            path = (self.keys.resources, name, self.keys.type)
            if '/' in name:
                yield Diagnostic(exception.StackValidationFailed(message=_('Resource name may not contain "/"')), path,
                                 rule=rules.NAME)
            if '\0' in name:
                yield Diagnostic(exception.StackValidationFailed(message=_(
                    'Resource name may not contain the character NUL')), path, rule=rules.NAME)
            if len(name) > LONGEST_NAME:
                yield Diagnostic(exception.StackValidationFailed(
                    message=_('Resource name is longer than %s characters') % LONGEST_NAME), path, rule=rules.NAME)
            if len(resource.type) > LONGEST_NAME:
                yield Diagnostic(exception.StackValidationFailed(
                    message=_('Resource type is longer than %s characters') % LONGEST_NAME), path, rule=rules.TYPE)
            try:
                self.facts[name] = self._facts_of(resource)
                if name in self.right:
                    known[resource.type] = self.facts[name], self.found[name]
            except NotAtHand:
                self.broken.add(name)
            except CLIENT_ERRORS as error:
                self.broken.add(name)
                self.type_errors.add(str(error))
                yield Diagnostic(error, path, found=resource.type, hint=did_you_mean(resource.type, self._type_names()))

    def _type_names(self) -> list[str]:
        return list(self.definition.environment.registry.types())

    def _facts_of(self, resource: DefinedResource) -> TypeFacts:
        environment = self.definition.environment
        found = environment.find(resource.type, resource.name)
        self.found[resource.name] = found
        if not found.is_template:
            return self.types.facts(resource.type, resource.name, environment)
        template = self.template(found)
        key = (str(found.target), resource.type)
        if key not in self.memory.facts:
            self.memory.facts[key] = nesting.template_facts(template, resource.type, environment)
        facts = self.memory.facts[key]
        if not templates.is_template_name(resource.type):
            inside = environment.child({}, resource.name, found.first)
            try:
                original = inside.find(resource.type, resource.name)
            except exception.StackValidationFailed:
                return facts
            if not original.is_template:
                nesting.check_against_facade(facts, self.types.facts(resource.type, resource.name, inside))
            elif original.target != found.target:
                nesting.check_against_facade(facts, nesting.template_facts(
                    self.template(original), resource.type, environment))
        return facts

    def template(self, found: FoundType) -> Template:
        name, known = str(found.target), self.memory.templates
        if name not in known:
            template = nesting.template_among(name, self.definition.files, self.definition.limits.of_later)
            if template is not None:
                return template
            known[name] = nesting.parse_child(
                self.types.fetch(name, found.by_operator), name, self.definition.limits.of_later)
        return known[name]

    def _duplicates(self) -> Iterator[Diagnostic]:
        both = sorted(set(self.definition.parameters.declared) & set(self.definition.resources))
        if both:
            yield Diagnostic(exception.StackValidationFailed(message=_('Duplicate names %s') % set(both)),
                             (self.keys.resources, both[0]))

    # --- outputs ----------------------------------------------------------------------------------------------

    def _outputs(self) -> Iterator[Diagnostic]:
        try:
            outputs = self.definition.outputs
        except CLIENT_ERRORS as error:
            yield Diagnostic(error, (self.keys.outputs,))
            return
        for output in outputs.values():
            turns.spend(STEPS_PER_ITEM)
            try:
                output.expression                                           # noqa: B018
            except CLIENT_ERRORS as error:
                path = self._path_of(error, output.path)
                is_call = len(path) > len(output.path) + 1
                yield Diagnostic(error, path, rule=rules.FUNCTION if is_call else '')

    def _output_arguments(self) -> Iterator[Diagnostic]:
        for output in self.definition.outputs.values():
            turns.spend(STEPS_PER_ITEM)
            try:
                expression = output.expression
            except CLIENT_ERRORS:
                continue                                                    # reported by `_outputs`
            prefix = (*output.path, self.keys.output_value)
            for misuse in expressions.check(expression):
                yield self._misuse(misuse, prefix)

    def _misuse(self, misuse: expressions.InvalidCall, prefix: tuple[object, ...]) -> Diagnostic:
        error = misuse.at(*prefix)
        hint, rule = None, rules.FUNCTION
        if misuse.cause is not None:
            found = str(misuse.cause.kwargs.get('key', ''))
            rule = rules.ATTRIBUTE
            if isinstance(misuse.cause, exception.InvalidTemplateReference):
                rule = rules.REFERENCE
                hint = did_you_mean(str(misuse.cause.kwargs.get('resource')), self.definition.resources)
            else:
                facts = self.facts.get(str(misuse.cause.kwargs.get('resource')))
                hint = did_you_mean(found, facts.attributes) if facts else None
        return Diagnostic(error, (*prefix, *misuse.path), hint=hint, rule=rule)

    # --- references, dependencies -----------------------------------------------------------------------------

    def _references(self) -> Iterator[Diagnostic]:
        resources, known = self.definition.resources, self.definition.resource_names
        for name in resources:
            if name in self.right:
                continue
            resource = resources[name]
            turns.spend(STEPS_PER_ITEM + len(resource.depends_on) // 4)
            if resource.is_external:
                external_id = self._external_id(resource)
                if isinstance(external_id, str) and len(external_id) > LONGEST_NAME:
                    yield Diagnostic(exception.StackValidationFailed(
                        message=_('External id is longer than %s characters') % LONGEST_NAME),
                        (*resource.path, self.keys.external_id), rule=rules.REFERENCE)
                if resource.depends_on:
                    yield Diagnostic(exception.InvalidExternalResourceDependency(
                        resource_type=resource.type, external_id=external_id), resource.path)
                continue
            for needed in resource.depends_on:
                if needed not in self.definition.all_resources and needed not in self.definition.left_out:
                    yield self._bad_reference(resource, needed, name, (self.keys.depends_on,))
            for need in resource.needs:
                if not isinstance(need.resource, str) or need.resource not in known:
                    word, key = (('Metadata', self.keys.metadata) if need.property_name is None
                                 else ('Properties', self.keys.properties))
                    where = exception.path_text([name, word, *need.path()])
                    yield self._bad_reference(resource, need.resource, where, (key, *need.path()))

    @staticmethod
    def _external_id(resource: DefinedResource) -> object:
        try:
            return resource.external_id()
        except Exception:           # the id is only for the text; its own error is reported elsewhere
            return resource.parsed.external_id

    def _bad_reference(self, resource: DefinedResource, found: object, where: str,
                       path: tuple[object, ...]) -> Diagnostic:
        self.bad_references.add(resource.name)
        return Diagnostic(exception.InvalidTemplateReference(resource=found, key=where), (*resource.path, *path),
                          found=found, hint=did_you_mean(str(found), self.definition.resources))

    def _cycles(self) -> Iterator[Diagnostic]:
        """Sort resources so that required ones come first; reports each cycle as the list of its resources.

        Those that are right are left out unless others require them: there is no cycle of them alone. Those on or
        behind a cycle come last, in the order of the template: what else is wrong with them is reported, too."""
        resources = self.definition.resources
        requires = self._requirements()
        self.order, waiting = sorted_names(requires)
        if len(self.order) < len(requires) and self.right:      # the text of the error names any cycle of all
            requires = {name: self.requires(resource) for name, resource in resources.items()}
            self.order, waiting = sorted_names(requires)
        if len(self.order) < len(requires):
            left = {name: sorted(other for other in requires[name] if waiting[other])   # the same error each time
                    for name in resources if waiting[name]}
            self.order += left
            for cycle in separate_cycles(left):
                text = ' -> '.join([*cycle, cycle[0]])
                yield Diagnostic(exception.CircularDependencyException(cycle=f'{self._cycle_text(cycle)} ({text})'),
                                 (self.keys.resources, cycle[0]), found=text)

    def _requirements(self) -> dict[str, frozenset[str]]:
        """Return the requirements of the resources that are not right, and of those that they require, in template
        order."""
        resources = self.definition.resources
        if not self.right:
            return {name: self.requires(resource) for name, resource in turns.paced(resources.items(), STEPS_PER_ITEM)}
        found: dict[str, frozenset[str]] = {}
        waiting = [name for name in resources if name not in self.right]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self.requires(resources[name])
                waiting += found[name]
        return found if len(found) < 2 else {name: found[name] for name in resources if name in found}

    def requires(self, resource: DefinedResource) -> frozenset[str]:
        """Return the names of the resources that a resource waits for, with those that its type adds."""
        facts = self.facts.get(resource.name)
        found = resource.requires
        if facts is not None and facts.needs is not None:
            found |= {name for name in facts.needs(resource) if name in self.definition.resources}
        released = {name for name in found if name in self.facts and not self.facts[name].strict_dependency}
        return found - released.difference(resource.depends_on) if released else found

    def _cycle_text(self, cycle: list[str]) -> str:
        """Return the cycle in the words of Heat's error, which programs may look for."""
        def named(name: str) -> str:
            facts = self.facts.get(name)
            return f'{facts.class_name if facts else "Resource"} "{name}"'
        members = [f'{named(name)}: {{{named(needed)}}}'
                   for name, needed in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
        return f'{{{", ".join(members)}}}'

    def _within_budget(self, resource: DefinedResource, facts: TypeFacts) -> list[Diagnostic]:
        """Check the properties and policies of one resource, as one evaluation."""
        with self.definition.ledger.evaluation(resource.name):
            return list(itertools.islice(self._resource(resource, facts), MOST_COMPLAINTS))

    # --- properties, policies ---------------------------------------------------------------------------------

    def _attribute_exists(self, resource_name: str, attribute: str) -> bool | None:
        facts = self.facts.get(resource_name)
        if facts is None:
            return None
        found = self.found.get(resource_name)
        if found is not None and found.is_template:
            return None                         # missing outputs of a nested stack are found when they are read
        return facts.has_attribute(attribute)

    def _resource(self, resource: DefinedResource, facts: TypeFacts) -> Iterator[Diagnostic]:
        if facts.available is not None and not resource.is_external:
            try:
                facts.available()
            except CLIENT_ERRORS as error:
                yield Diagnostic(error, (*resource.path, self.keys.type), rule=rules.TYPE)
                return
        wrong: set[object] = set()
        parsed = resource.parsed
        for key, part in ((self.keys.properties, parsed.properties), (self.keys.metadata, parsed.metadata)):
            for misuse in expressions.check(part):
                wrong.add(misuse.path[0] if key == self.keys.properties else key)
                if not self._was_said(resource, misuse.cause):
                    yield self._misuse(misuse, (*resource.path, key))
        if parsed.update_policy is not None:
            policy_path = (*resource.path, self.keys.update_policy)
            for misuse in (*expressions.check(parsed.update_policy), *_policy_attributes(resource)):
                yield self._misuse(misuse, policy_path)
        policy = parsed.deletion_policy
        if policy not in facts.deletion_policies and policy != RETAIN:
            yield Diagnostic(exception.StackValidationFailed(
                path=[*resource.path, self.keys.deletion_policy],
                message=_('"%s" deletion policy not supported') % policy), rule=rules.POLICY)
        if facts.update_policy or parsed.update_policy is not None:
            yield from ruled(rules.POLICY, self._update_policy(resource, facts))
        yield from self._properties(resource, facts, wrong)

    def _update_policy(self, resource: DefinedResource, facts: TypeFacts) -> Iterator[Diagnostic]:
        path = (*resource.path, self.keys.update_policy)
        try:
            given = resource.update_policy(PLACEHOLDERS)
        except Exception as error:          # functions, yaql above all, may raise anything
            yield Diagnostic(property_error(path, error), path)
            return
        errors: list[exception.StackValidationFailed] = []
        Reader(errors.append, lookup=self.types.lookup).read(facts.update_policy, given, path)
        yield from (self._property_complaint(error, facts.update_policy) for error in errors)

    def _properties(self, resource: DefinedResource, facts: TypeFacts, wrong: set[object]) -> Iterator[Diagnostic]:
        if facts.accepts_any_property:
            return
        path = resource.property_path()
        given: dict[str, object] = {}
        unknown: set[str] = set()               # the texts of errors, which the type's own check finds again
        expressions_of = resource.property_expressions
        for name in expressions_of:
            if name not in facts.properties:
                error = exception.StackValidationFailed(
                    error='Property error', path=path, message=_('Unknown Property %s') % name)
                unknown.add(str(error))
                yield self._property_complaint(error, facts.properties)
        if resource.is_external:
            if self.values:
                yield from self._external(resource, facts)
            return
        for name, expression in expressions_of.items():
            if name in facts.properties:
                given[name] = UNKNOWN if name in wrong else self._evaluated(resource, name, expression)
        try:
            if given:
                here(self.definition.limits).hold(measure(given, self.definition.limits))
        except exception.RequestLimitExceeded as error:
            yield Diagnostic(error, path)
            return
        errors: list[exception.StackValidationFailed] = []
        translations = self._translations(resource, facts, given)
        if translations:
            try:
                given = translation.apply(translations, given, path, schemas=facts.properties)
            except exception.StackValidationFailed as error:
                if self.values:
                    yield self._property_complaint(error, facts.properties)
                return
        values = Reader(errors.append, lookup=self.lookup, constraints=self.values).read(
            facts.properties, given, path, translation.moved(translations, frozenset(resource.referring)))
        reported = False
        if self.depth:                          # for nested stacks clients expect the types' own errors
            reported = yield from self._until_error(ruled(rules.OWN_CHECK, self._own_check(resource, facts, values)))
        if self.values and not reported:
            yield from (self._property_complaint(error, facts.properties) for error in errors)
            if errors:
                return
        if self.values and not self.depth:
            yield from ruled(rules.OWN_CHECK, self._own_check(resource, facts, values, unknown | self.type_errors))
        if self.look_inside:
            yield from ruled(rules.FILE, self._inside(resource, facts, given, values))

    def _external(self, resource: DefinedResource, facts: TypeFacts) -> Iterator[Diagnostic]:
        """Check that the object of an external resource is there. Inside a nested stack its id may be unknown yet: the
        check runs again when the stack is created."""
        if facts.check_external is None:
            return
        try:
            if is_known(evaluate(resource.parsed.external_id, UNKNOWNS)):
                facts.check_external(resource)
        except CLIENT_ERRORS as error:
            yield Diagnostic(error, self._path_of(error, resource.path))

    @staticmethod
    def _translations(resource: DefinedResource, facts: TypeFacts,
                      given: Mapping[str, object]) -> Sequence[TranslationRule]:
        """Return the rules; empty if the type fails to compute them from a wrong value, which is reported
        separately."""
        if facts.rules is None:
            return ()
        try:
            return facts.rules(resource, {name: UNKNOWN if isinstance(value, FailedValue) else value
                                          for name, value in given.items()})
        except Exception:                   # may be a plug-in's; it is called again when the resource is created
            return ()

    def _own_check(self, resource: DefinedResource, facts: TypeFacts, values: Mapping[str, object],
                   reported: Collection[str] = ()) -> Iterator[Diagnostic]:
        """Yield what the type's own check finds. `reported`: texts of errors that were reported where they are, and are
        left out here."""
        if facts.own_check is None:
            return
        found: list[exception.HeatException] = []
        try:
            found.extend(facts.own_check(resource, values))
        except CLIENT_ERRORS as error:
            found.append(error)
        except Exception as error:          # a defect of a plug-in is reported as such
            if not is_known(dict(values)):
                return                      # it used an unknown value; the check runs again when the value is known
            found.append(exception.StackValidationFailed(
                error=type(error).__name__, path=resource.path, message=str(error)))
        for own in found:
            if str(own) in reported:
                continue
            # In nested stacks some values are guesses until the stack is created; errors that depend on them are
            # ignored.
            is_of_values = isinstance(own, exception.StackValidationFailed) and bool(own.error)
            if self.depth == 0 or not is_of_values:
                yield Diagnostic(own, self._path_of(own, resource.path))

    def _evaluated(self, resource: DefinedResource, name: str, expression: object) -> object:
        try:
            return evaluate(expression, PLACEHOLDERS)
        except Exception as error:          # functions, yaql above all, may raise anything
            if self._was_said(resource, error):
                return UNKNOWN
            return FailedValue(property_error(resource.property_path(name), error))

    def _was_said(self, resource: DefinedResource, error: Exception | None) -> bool:
        return resource.name in self.bad_references and isinstance(error, exception.InvalidTemplateReference)

    def _property_complaint(self, error: exception.StackValidationFailed, schemas: Mapping[str, object]) -> Diagnostic:
        start, _space, name = error.error_message.rpartition(' ')
        if start == _('Unknown Property'):
            known = _schemas_at(schemas, error.path[3:])
            return Diagnostic(error, (*error.path, name), found=name, expected=tuple(sorted(known)),
                              hint=did_you_mean(name, known), rule=rules.UNKNOWN_PROPERTY)
        before, _name, after = NOT_ASSIGNED.partition('%s')
        missing = error.error_message.startswith(before) and error.error_message.endswith(after)
        return Diagnostic(error, tuple(error.path), rule=rules.MISSING_PROPERTY if missing else '')

    # --- nested stacks ----------------------------------------------------------------------------------------

    def child(self, resource: DefinedResource) -> StackDefinition | None:
        """Return the nested stack of a resource that was checked, from what is known of its properties so far.

        Raises StackValidationFailed if its template cannot be read.
        """
        facts = self.facts[resource.name]
        if not self._has_inside(resource):
            return None
        source = self._source(resource, facts, resource.guessed_properties(), self.guessed(resource))
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
            return self.template(found), nesting.child_parameters(facts.properties, given, values)
        if facts.nested_at is not None:
            place = facts.nested_at(resource, values)
            return (self.template(FoundType(place[0], is_user=True)), place[1]) if place is not None else None
        document = facts.nested(resource, values) if facts.nested is not None else None
        return (Template(dict(document), source=nesting.MEMBERS), {}) if document is not None else None

    def guessed(self, resource: DefinedResource) -> dict[str, object]:
        """All properties of a resource as its type would see them, from what is known so far."""
        facts, given = self.facts[resource.name], resource.guessed_properties()
        with contextlib.suppress(exception.StackValidationFailed):      # reported by the check of the properties
            given = translation.apply(self._translations(resource, facts, given), given, schemas=facts.properties)
        return Reader(lambda error: None, constraints=False).read(facts.properties, given, (resource.name,))

    def _inside(self, resource: DefinedResource, facts: TypeFacts, given: Mapping[str, object],
                values: Mapping[str, object]) -> Iterator[Diagnostic]:
        found = self.found[resource.name]
        if not self._has_inside(resource):
            return
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


def _policy_attributes(resource: DefinedResource) -> Iterator[expressions.InvalidCall]:
    """Find invalid attributes.

    An update policy makes no dependency, so it may only use attributes of required resources.
    """
    for trail, call in expressions.calls(resource.parsed.update_policy):
        for need in call.requirements(PLACEHOLDERS):
            if need.attribute is not None and need.resource not in resource.requires:
                cause = exception.InvalidTemplateAttribute(
                    resource=need.resource, key=need.attribute[0] if need.attribute else None)
                misuse = expressions.InvalidCall(str(cause))
                misuse.path, misuse.cause = list(expressions.spelled(trail)), cause
                yield misuse


def _schemas_at(schemas: object, path: Iterable[object]) -> Mapping[str, object]:
    """Return the schemas of the map at `path` below a resource's properties."""
    for part in path:
        schema = schemas if isinstance(part, int) else schemas.get(part) if isinstance(schemas, Mapping) else None
        if schema is None:
            return {}
        schemas = getattr(schema, 'schema', schema) or {}
    return schemas if isinstance(schemas, Mapping) else {}
