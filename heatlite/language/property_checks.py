"""Checks of the properties and policies of one resource, by the facts of its type."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence

from heatlite.common import exception
from heatlite.common.document_size import measure
from heatlite.common.i18n import _
from heatlite.language import rules, translation
from heatlite.language.budget import here
from heatlite.language.call_checks import resource_arguments
from heatlite.language.check_state import CLIENT_ERRORS, CheckState, path_of, until_error
from heatlite.language.definition import RETAIN, DefinedResource, property_error
from heatlite.language.diagnostics import Diagnostic, did_you_mean, ruled
from heatlite.language.expression import PLACEHOLDERS, UNKNOWNS, evaluate
from heatlite.language.facts import TypeFacts
from heatlite.language.reference_checks import is_reported
from heatlite.language.schema import NOT_ASSIGNED, FailedValue, Reader
from heatlite.language.translation import TranslationRule
from heatlite.language.unknown import UNKNOWN, is_known

PropertyValues = tuple[dict[str, object], dict[str, object]]   # as given, and as the type would see them


def check_resource(state: CheckState, resource: DefinedResource,
                   facts: TypeFacts) -> Generator[Diagnostic, None, PropertyValues | None]:
    """Check one resource. Return its values, for the check of its nested stack; None if that cannot be checked."""
    if facts.available is not None and not resource.is_external:
        try:
            facts.available()
        except CLIENT_ERRORS as error:
            yield Diagnostic(error, (*resource.path, state.keys.type), rule=rules.TYPE)
            return None
    wrong = yield from resource_arguments(state, resource)
    policy = resource.parsed.deletion_policy
    if policy not in facts.deletion_policies and policy != RETAIN:
        yield Diagnostic(exception.StackValidationFailed(
            path=[*resource.path, state.keys.deletion_policy],
            message=_('"%s" deletion policy not supported') % policy), rule=rules.POLICY)
    if facts.update_policy or resource.parsed.update_policy is not None:
        yield from ruled(rules.POLICY, _update_policy(state, resource, facts))
    if facts.accepts_any_property:
        return None
    return (yield from _properties(state, resource, facts, wrong))


def _update_policy(state: CheckState, resource: DefinedResource, facts: TypeFacts) -> Iterator[Diagnostic]:
    path = (*resource.path, state.keys.update_policy)
    try:
        given = resource.update_policy(PLACEHOLDERS)
    except Exception as error:          # functions, yaql above all, may raise anything
        yield Diagnostic(property_error(path, error), path)
        return
    errors: list[exception.StackValidationFailed] = []
    Reader(errors.append, lookup=state.types.lookup).read(facts.update_policy, given, path)
    yield from (_complaint(error, facts.update_policy) for error in errors)


def _properties(state: CheckState, resource: DefinedResource, facts: TypeFacts,
                wrong: set[object]) -> Generator[Diagnostic, None, PropertyValues | None]:
    """`wrong`: names of properties that have a wrong call, whose values are not known."""
    unknown = _unknown_properties(resource, facts)
    for error in unknown:
        yield _complaint(error, facts.properties)
    if resource.is_external:
        if state.values:
            yield from _external(resource, facts)
        return None
    path = resource.property_path()
    given = {name: UNKNOWN if name in wrong else _evaluated(state, resource, name, expression)
             for name, expression in resource.property_expressions.items() if name in facts.properties}
    try:
        if given:
            here(state.definition.limits).hold(measure(given, state.definition.limits))
    except exception.RequestLimitExceeded as error:
        yield Diagnostic(error, path)
        return None
    translations = _translations(resource, facts, given)
    if translations:
        try:
            given = translation.apply(translations, given, path, schemas=facts.properties)
        except exception.StackValidationFailed as error:
            if state.values:
                yield _complaint(error, facts.properties)
            return None
    errors: list[exception.StackValidationFailed] = []
    values = Reader(errors.append, lookup=state.lookup, constraints=state.values).read(
        facts.properties, given, path, translation.moved(translations, frozenset(resource.referring)))
    reported = False
    if state.depth and facts.own_check is not None:     # for nested stacks clients expect the types' own errors
        reported = yield from until_error(ruled(rules.OWN_CHECK, _own_check(state, resource, facts, values)))
    if state.values and not reported:
        for wrong_value in errors:
            yield _complaint(wrong_value, facts.properties)
        if errors:
            return None
    if state.values and not state.depth and facts.own_check is not None:
        # The type's own check finds unknown properties and the errors of other resources' types again.
        found_before = {str(error) for error in unknown} | state.type_errors
        yield from ruled(rules.OWN_CHECK, _own_check(state, resource, facts, values, found_before))
    return given, values


def _unknown_properties(resource: DefinedResource, facts: TypeFacts) -> list[exception.StackValidationFailed]:
    return [exception.StackValidationFailed(error='Property error', path=resource.property_path(),
                                            message=_('Unknown Property %s') % name)
            for name in resource.property_expressions if name not in facts.properties]


def _external(resource: DefinedResource, facts: TypeFacts) -> Iterator[Diagnostic]:
    """Check that the object of an external resource is there. Inside a nested stack its id may be unknown yet: the
    check runs again when the stack is created."""
    if facts.check_external is None:
        return
    try:
        if is_known(evaluate(resource.parsed.external_id, UNKNOWNS)):
            facts.check_external(resource)
    except CLIENT_ERRORS as error:
        yield Diagnostic(error, path_of(error, resource.path))


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


def _own_check(state: CheckState, resource: DefinedResource, facts: TypeFacts, values: Mapping[str, object],
               reported: Collection[str] = ()) -> Iterator[Diagnostic]:
    """Yield what the type's own check finds. `reported`: texts of errors that were reported where they are, and are
    left out here."""
    assert facts.own_check is not None
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
        if state.depth == 0 or not is_of_values:
            yield Diagnostic(own, path_of(own, resource.path))


def _evaluated(state: CheckState, resource: DefinedResource, name: str, expression: object) -> object:
    try:
        return evaluate(expression, PLACEHOLDERS)
    except Exception as error:          # functions, yaql above all, may raise anything
        if is_reported(state, resource, error):
            return UNKNOWN
        return FailedValue(property_error(resource.property_path(name), error))


def _complaint(error: exception.StackValidationFailed, schemas: Mapping[str, object]) -> Diagnostic:
    start, _space, name = error.error_message.rpartition(' ')
    if start == _('Unknown Property'):
        known = _schemas_at(schemas, error.path[3:])
        return Diagnostic(error, (*error.path, name), found=name, expected=tuple(sorted(known)),
                          hint=did_you_mean(name, known), rule=rules.UNKNOWN_PROPERTY)
    before, _name, after = NOT_ASSIGNED.partition('%s')
    missing = error.error_message.startswith(before) and error.error_message.endswith(after)
    return Diagnostic(error, tuple(error.path), rule=rules.MISSING_PROPERTY if missing else '')


def guessed(state: CheckState, resource: DefinedResource) -> dict[str, object]:
    """All properties of a resource as its type would see them, from what is known so far."""
    facts, given = state.facts[resource.name], resource.guessed_properties()
    with contextlib.suppress(exception.StackValidationFailed):      # reported by the check of the properties
        given = translation.apply(_translations(resource, facts, given), given, schemas=facts.properties)
    return Reader(lambda error: None, constraints=False).read(facts.properties, given, (resource.name,))


def _schemas_at(schemas: object, path: Iterable[object]) -> Mapping[str, object]:
    """Return the schemas of the map at `path` below a resource's properties."""
    for part in path:
        schema = schemas if isinstance(part, int) else schemas.get(part) if isinstance(schemas, Mapping) else None
        if schema is None:
            return {}
        schemas = getattr(schema, 'schema', schema) or {}
    return schemas if isinstance(schemas, Mapping) else {}
