"""Checks of the types of resources, which find their facts, and of the names of resources."""

from __future__ import annotations

from collections.abc import Iterator

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.language import nested as nesting
from heatlite.language import rules
from heatlite.language import template as templates
from heatlite.language.check_state import CLIENT_ERRORS, STEPS_PER_ITEM, CheckState
from heatlite.language.definition import DefinedResource
from heatlite.language.diagnostics import Diagnostic, did_you_mean
from heatlite.language.facts import NotAtHand, TypeFacts
from heatlite.language.registry import FoundType
from heatlite.language.template import Template

LONGEST_NAME = 255              # characters, the size of the column


def types(state: CheckState) -> Iterator[Diagnostic]:
    """Check the names and types of all resources. Fills `state.facts`, `state.found` and `state.broken`."""
    known: dict[object, tuple[TypeFacts, FoundType]] = {}   # of types of resources that are right
    resources, snippets, type_key = state.definition.resources, state.definition.snippets, state.keys.type
    for name in resources:
        if name in state.right and snippets[name][type_key] in known:
            state.facts[name], state.found[name] = known[snippets[name][type_key]]
            continue
        resource = resources[name]
        turns.spend(STEPS_PER_ITEM)
        path = (state.keys.resources, name, state.keys.type)
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
            state.facts[name] = _facts_of(state, resource)
            if name in state.right:
                known[resource.type] = state.facts[name], state.found[name]
        except NotAtHand:
            state.broken.add(name)
        except CLIENT_ERRORS as error:
            state.broken.add(name)
            state.type_errors.add(str(error))
            yield Diagnostic(error, path, found=resource.type, hint=did_you_mean(resource.type, _type_names(state)))


def _type_names(state: CheckState) -> list[str]:
    return list(state.definition.environment.registry.types())


def _facts_of(state: CheckState, resource: DefinedResource) -> TypeFacts:
    environment = state.definition.environment
    found = environment.find(resource.type, resource.name)
    state.found[resource.name] = found
    if not found.is_template:
        return state.types.facts(resource.type, resource.name, environment)
    template = template_of(state, found)
    key = (str(found.target), resource.type)
    if key not in state.memory.facts:
        state.memory.facts[key] = nesting.template_facts(template, resource.type, environment)
    facts = state.memory.facts[key]
    if not templates.is_template_name(resource.type):
        inside = environment.child({}, resource.name, found.first)
        try:
            original = inside.find(resource.type, resource.name)
        except exception.StackValidationFailed:
            return facts
        if not original.is_template:
            nesting.check_against_facade(facts, state.types.facts(resource.type, resource.name, inside))
        elif original.target != found.target:
            nesting.check_against_facade(facts, nesting.template_facts(
                template_of(state, original), resource.type, environment))
    return facts


def template_of(state: CheckState, found: FoundType) -> Template:
    """Return the template of a type, parsed once for all stacks of the tree.

    Raises StackValidationFailed, InvalidTemplateVersion, RequestLimitExceeded, NotAtHand.
    """
    name, known = str(found.target), state.memory.templates
    if name not in known:
        template = nesting.template_among(name, state.definition.files, state.definition.limits.of_later)
        if template is not None:
            return template
        known[name] = nesting.parse_child(
            state.types.fetch(name, found.by_operator), name, state.definition.limits.of_later)
    return known[name]


def duplicates(state: CheckState) -> Iterator[Diagnostic]:
    """Check that no parameter has the name of a resource."""
    both = sorted(set(state.definition.parameters.declared) & set(state.definition.resources))
    if both:
        yield Diagnostic(exception.StackValidationFailed(message=_('Duplicate names %s') % set(both)),
                         (state.keys.resources, both[0]))
