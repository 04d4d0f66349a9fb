"""Checks of the arguments of functions, in outputs and in resources."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from heatlite.common import exception, turns
from heatlite.language import expression as expressions
from heatlite.language import rules
from heatlite.language.check_state import CLIENT_ERRORS, STEPS_PER_ITEM, CheckState, path_of
from heatlite.language.definition import DefinedResource
from heatlite.language.diagnostics import Diagnostic, did_you_mean
from heatlite.language.expression import PLACEHOLDERS
from heatlite.language.reference_checks import is_reported


def outputs(state: CheckState) -> Iterator[Diagnostic]:
    """Check that the section and the values of outputs can be parsed."""
    try:
        found = state.definition.outputs
    except CLIENT_ERRORS as error:
        yield Diagnostic(error, (state.keys.outputs,))
        return
    for output in found.values():
        turns.spend(STEPS_PER_ITEM)
        try:
            output.expression                                           # noqa: B018
        except CLIENT_ERRORS as error:
            path = path_of(error, output.path)
            is_call = len(path) > len(output.path) + 1
            yield Diagnostic(error, path, rule=rules.FUNCTION if is_call else '')


def output_arguments(state: CheckState) -> Iterator[Diagnostic]:
    """Check the calls in values of outputs, once the types of resources are known."""
    for output in state.definition.outputs.values():
        turns.spend(STEPS_PER_ITEM)
        try:
            expression = output.expression
        except CLIENT_ERRORS:
            continue                                                    # reported by `outputs`
        prefix = (*output.path, state.keys.output_value)
        for misuse in expressions.check(expression):
            yield _invalid_call(state, misuse, prefix)


def _invalid_call(state: CheckState, misuse: expressions.InvalidCall, prefix: tuple[object, ...]) -> Diagnostic:
    """`prefix`: the path of the part of the template in which the call is."""
    error = misuse.at(*prefix)
    hint, rule = None, rules.FUNCTION
    if misuse.cause is not None:
        found = str(misuse.cause.kwargs.get('key', ''))
        rule = rules.ATTRIBUTE
        if isinstance(misuse.cause, exception.InvalidTemplateReference):
            rule = rules.REFERENCE
            hint = did_you_mean(str(misuse.cause.kwargs.get('resource')), state.definition.resources)
        else:
            facts = state.facts.get(str(misuse.cause.kwargs.get('resource')))
            hint = did_you_mean(found, facts.attributes) if facts else None
    return Diagnostic(error, (*prefix, *misuse.path), hint=hint, rule=rule)


def resource_arguments(state: CheckState, resource: DefinedResource) -> Generator[Diagnostic, None, set[object]]:
    """Check the calls in the properties, metadata and update policy of a resource.

    Return the names of the properties that have a wrong one, and the key of the metadata if these do.
    """
    wrong: set[object] = set()
    parsed = resource.parsed
    for key, part in ((state.keys.properties, parsed.properties), (state.keys.metadata, parsed.metadata)):
        for misuse in expressions.check(part):
            wrong.add(misuse.path[0] if key == state.keys.properties else key)
            if not is_reported(state, resource, misuse.cause):
                yield _invalid_call(state, misuse, (*resource.path, key))
    if parsed.update_policy is not None:
        policy_path = (*resource.path, state.keys.update_policy)
        for misuse in (*expressions.check(parsed.update_policy), *_policy_attributes(resource)):
            yield _invalid_call(state, misuse, policy_path)
    return wrong


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
