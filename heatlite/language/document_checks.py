"""Checks of a definition that need no resource types: files, sections, calls, parameters, conditions.

Must not know the order of checks (`lint`) or types.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from typing import TypedDict, TypeGuard

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.common.template_format import VERSION_KEYS
from heatlite.language import parameters as parameter_definitions
from heatlite.language import rules, versions, wrong_parameters
from heatlite.language import template as templates
from heatlite.language.check_state import CLIENT_ERRORS, STEPS_PER_ITEM, CheckState, path_of
from heatlite.language.diagnostics import LONGEST_NAME, Diagnostic, did_you_mean, ruled
from heatlite.language.document import DocumentError
from heatlite.language.resource_definition import wrong_parts
from heatlite.language.template import Template


def section_errors(state: CheckState) -> Generator[Diagnostic, None, bool]:
    """Check the sections; return whether the resources cannot be checked."""
    yield from ruled(rules.SECTION, _shapes(state))
    try:
        state.definition.snippets                                        # noqa: B018
    except CLIENT_ERRORS:
        return True
    return False


def files(state: CheckState) -> Iterator[Diagnostic]:
    """Parse the files that are templates, and check their parameters."""
    given = state.definition.files
    if given.id is not None:                # they were accepted when they were stored
        return
    for name, text in given.items():
        if name in state.memory.templates or not isinstance(text, str):
            continue
        if not any(key in text for key in VERSION_KEYS):
            continue
        try:
            document = templates.parse(text, name, state.definition.limits)
        except (DocumentError, exception.RequestLimitExceeded):
            continue
        try:
            template = given.templates[name] = Template(document, source=name, text=text)
            parameter_definitions.schemata(template.section('parameters'), template.edition)
        except CLIENT_ERRORS as error:
            yield Diagnostic(error, file=name)


def definitions(state: CheckState) -> Iterator[Diagnostic]:
    """Check the definitions of parameters."""
    section = state.definition.template.section('parameters')
    key = state.definition.edition.sections['parameters']
    if isinstance(section, Mapping):
        for name, definition in section.items():
            turns.spend(STEPS_PER_ITEM)
            for wrong in wrong_parameters.errors_of(name, definition, state.definition.edition):
                yield Diagnostic(wrong.error, (key, name, *wrong.path), **(
                    {} if wrong.path else _near_key(wrong.part, state.definition.edition)))
    else:
        try:
            parameter_definitions.schemata(section, state.definition.edition)
        except CLIENT_ERRORS as error:
            yield Diagnostic(error, (key,))


def _shapes(state: CheckState) -> Iterator[Diagnostic]:
    definition = state.definition
    section = definition.template.unknown_section()
    if section is not None:
        error = exception.InvalidTemplateSection(section=section)
        known = sorted(definition.edition.section_keys - {versions.IGNORED_SECTION})
        plain = state.depth == 0 and not state.updating
        yield Diagnostic(exception.StackValidationFailed(message=str(error)) if plain else error,
                         (section,), found=section, expected=tuple(known), hint=did_you_mean(section, known))
    try:
        snippets = definition.snippets
    except CLIENT_ERRORS as error:
        yield Diagnostic(error, (state.keys.resources,))
        return
    wrong = set()
    for name, snippet in snippets.items():
        if name in state.right:
            continue
        turns.spend(1)
        try:
            definition.check_shape(snippet)
        except CLIENT_ERRORS as error:
            unknown = [key for key in snippet if key not in state.keys.of_resources] \
                if isinstance(snippet, Mapping) else []
            wrong.add(name)
            if _is_part(state, name, snippet):            # what is in it is not of a resource
                yield replace(_wrong_shape(state, error, name, unknown[0] if unknown else None), hint=_(
                    'was "%s" meant to be indented one level deeper, inside a resource?') % name)
                continue
            shape = _wrong_shape(state, error, name, unknown[0] if unknown else None)
            yield replace(shape, hint=_('write "%(name)s: {%(key)s: %(type)s}"') % {
                'name': name, 'key': state.keys.type, 'type': snippet}) if _is_type(snippet) else shape
            for key in unknown[1:] if state.definition.edition.is_hot else ():
                try:
                    definition.check_shape({key: snippet[key]})
                except CLIENT_ERRORS as further:
                    yield _wrong_shape(state, further, name, key)
    if wrong:
        definition.leave_out(frozenset(wrong))
    limit = definition.limits.max_resources
    if 0 <= limit < len(snippets):
        yield Diagnostic(exception.StackResourceLimitExceeded(), (state.keys.resources,), rule=rules.LIMIT)


def _is_part(state: CheckState, name: str, snippet: object) -> bool:
    """Whether a wrong resource looks like a part of one: by its name, and because it has no type, not even a
    misspelt one."""
    return name in state.keys.of_resources and not (isinstance(snippet, Mapping) and any(
        key == state.keys.type or did_you_mean(key, [state.keys.type]) for key in snippet))


def _wrong_shape(state: CheckState, error: exception.HeatException, name: str, key: str | None) -> Diagnostic:
    """`key`: the unknown one that the error is about."""
    return Diagnostic(error, (state.keys.resources, name) + ((key,) if key else ()), found=key,
                      hint=did_you_mean(key, state.keys.of_resources) if key else None, rule=rules.SHAPE)


def expressions(state: CheckState) -> Iterator[Diagnostic]:
    """Check that the calls of functions in resources and conditions can be parsed; leaves out resources that cannot be
    checked further."""
    definition = state.definition
    wrong: set[str] = set()
    parts: dict[str, frozenset[str]] = {}       # wrong ones of resources whose other parts can be checked
    for name in turns.paced(definition.all_resources, STEPS_PER_ITEM):
        if name in state.right:
            continue
        resource = definition.all_resources[name]
        try:
            resource.parsed                                             # noqa: B018
        except exception.StackValidationFailed:
            keys = set()
            for part in wrong_parts(resource):
                keys.add(part.key)
                path = (state.keys.resources, name, part.key)
                yield Diagnostic(part.error, path_of(part.error, path), rule=rules.FUNCTION)
            if keys & {state.keys.type, state.keys.properties, state.keys.external_id}:
                wrong.add(name)
            else:
                parts[name] = frozenset(keys)
        except CLIENT_ERRORS as error:
            wrong.add(name)
            yield Diagnostic(error, path_of(error, (state.keys.resources, name)), rule=rules.FUNCTION)
            continue
        try:
            definition.is_enabled(name, resource.snippet)
        except CLIENT_ERRORS as error:
            parts[name] = parts.get(name, frozenset()) | {state.keys.condition}
            yield Diagnostic(error, path_of(error, (state.keys.resources, name)), rule=rules.CONDITION)
    if parts:                                   # their other errors are reported at the same time
        definition.forget_parts(parts)
    if wrong:
        definition.leave_out(frozenset(wrong))
    try:
        names = list(definition.conditions.definitions)
    except CLIENT_ERRORS as error:
        yield Diagnostic(error, (definition.conditions.key,), rule=rules.CONDITION)
        return
    for name in names:
        try:
            definition.conditions.parsed(name)
        except CLIENT_ERRORS as error:
            yield Diagnostic(error, path_of(error, (definition.conditions.key, name)), rule=rules.CONDITION)


def parameters(state: CheckState) -> Iterator[Diagnostic]:
    """Check the values of parameters."""
    declared = state.definition.parameters
    key = state.definition.edition.sections['parameters']
    for name, error in declared.diagnostics(state.lookup, values=state.values):
        hint = None
        if isinstance(error, exception.UnknownUserParameter) and name is not None:
            hint = did_you_mean(name, declared.declared)
        yield Diagnostic(error, (key, name) if name in declared.declared else (key,), hint=hint)


def groups(state: CheckState) -> Iterator[Diagnostic]:
    """Check the groups of parameters."""
    known = frozenset(state.definition.parameters.declared)
    section = state.definition.template.section('parameter_groups')
    for error in parameter_definitions.group_complaints(section, known):
        yield Diagnostic(error, ('parameter_groups',))


def conditions(state: CheckState) -> Iterator[Diagnostic]:
    """Check that conditions can be evaluated."""
    found = state.definition.conditions
    try:
        for name, error in found.diagnostics():
            yield Diagnostic(error, path_of(error, (found.key, name)))
    except CLIENT_ERRORS:
        return                              # the section is not a map, which was reported


def _is_type(snippet: object) -> TypeGuard[str]:
    """Whether the type of a resource stands where a map with it should."""
    return isinstance(snippet, str) and '::' in snippet and len(snippet) <= LONGEST_NAME


class _Near(TypedDict, total=False):
    """The parts of a diagnostic about a word: what was found, what is known, and which known word is similar."""

    found: object
    expected: tuple[str, ...]
    hint: str | None


def _near_key(definition: object, edition: versions.Edition) -> _Near:
    if not isinstance(definition, Mapping):
        return {}
    known = parameter_definitions.HOT_DEFINITION if edition.is_hot else parameter_definitions.CFN_DEFINITION
    wrong = next((key for key in definition if key not in known), None)
    if wrong is not None:
        return {'found': wrong, 'hint': did_you_mean(wrong, known)}
    word = definition.get('type' if edition.is_hot else 'Type')
    kinds = parameter_definitions.HOT_KINDS if edition.is_hot else parameter_definitions.CFN_KINDS
    if not isinstance(word, str) or word not in kinds:
        return {'found': word, 'expected': tuple(kinds), 'hint': did_you_mean(word, kinds)}
    return {}
