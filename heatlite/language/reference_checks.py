"""Checks of references between resources: those to missing ones, and cycles of requirements."""

from __future__ import annotations

from collections.abc import Iterator

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.language import rules
from heatlite.language.check_state import STEPS_PER_ITEM, CheckState
from heatlite.language.cycles import separate_cycles, sorted_names
from heatlite.language.definition import DefinedResource
from heatlite.language.diagnostics import Diagnostic, did_you_mean

LONGEST_ID = 255                # characters of an external id, the size of the column


def references(state: CheckState) -> Iterator[Diagnostic]:
    """Check the external ids of resources, and that what the others depend on and refer to is there."""
    resources, known = state.definition.resources, state.definition.resource_names
    for name in resources:
        if name in state.right:
            continue
        resource = resources[name]
        turns.spend(STEPS_PER_ITEM + len(resource.depends_on) // 4)
        if resource.is_external:
            external_id = _external_id(resource)
            if isinstance(external_id, str) and len(external_id) > LONGEST_ID:
                yield Diagnostic(exception.StackValidationFailed(
                    message=_('External id is longer than %s characters') % LONGEST_ID),
                    (*resource.path, state.keys.external_id), rule=rules.REFERENCE)
            if resource.depends_on:
                yield Diagnostic(exception.InvalidExternalResourceDependency(
                    resource_type=resource.type, external_id=external_id), resource.path)
            continue
        for needed in resource.depends_on:
            if needed not in state.definition.all_resources and needed not in state.definition.left_out:
                yield _bad_reference(state, resource, needed, name, (state.keys.depends_on,))
        for need in resource.needs:
            if not isinstance(need.resource, str) or need.resource not in known:
                word, key = (('Metadata', state.keys.metadata) if need.property_name is None
                             else ('Properties', state.keys.properties))
                where = exception.path_text([name, word, *need.path()])
                yield _bad_reference(state, resource, need.resource, where, (key, *need.path()))


def _external_id(resource: DefinedResource) -> object:
    try:
        return resource.external_id()
    except Exception:           # the id is only for the text; its own error is reported elsewhere
        return resource.parsed.external_id


def _bad_reference(state: CheckState, resource: DefinedResource, found: object, where: str,
                   path: tuple[object, ...]) -> Diagnostic:
    state.bad_references.add(resource.name)
    return Diagnostic(exception.InvalidTemplateReference(resource=found, key=where), (*resource.path, *path),
                      found=found, hint=did_you_mean(str(found), state.definition.resources))


def is_reported(state: CheckState, resource: DefinedResource, error: Exception | None) -> bool:
    """Return whether `references` has reported this error of a resource."""
    return resource.name in state.bad_references and isinstance(error, exception.InvalidTemplateReference)


def cycles(state: CheckState) -> Iterator[Diagnostic]:
    """Sort resources so that required ones come first; reports each cycle as the list of its resources.

    Those that are right are left out unless others require them: there is no cycle of them alone. Those on or
    behind a cycle come last, in the order of the template: what else is wrong with them is reported, too."""
    resources = state.definition.resources
    required = _requirements(state)
    state.order, waiting = sorted_names(required)
    if len(state.order) < len(required) and state.right:      # the text of the error names any cycle of all
        required = {name: requires(state, resource) for name, resource in resources.items()}
        state.order, waiting = sorted_names(required)
    if len(state.order) < len(required):
        left = {name: sorted(other for other in required[name] if waiting[other])   # the same error each time
                for name in resources if waiting[name]}
        state.order += left
        for cycle in separate_cycles(left):
            text = ' -> '.join([*cycle, cycle[0]])
            yield Diagnostic(exception.CircularDependencyException(cycle=f'{_cycle_text(state, cycle)} ({text})'),
                             (state.keys.resources, cycle[0]), found=text)


def _requirements(state: CheckState) -> dict[str, frozenset[str]]:
    """Return the requirements of the resources that are not right, and of those that they require, in template
    order."""
    resources = state.definition.resources
    if not state.right:
        return {name: requires(state, resource) for name, resource in turns.paced(resources.items(), STEPS_PER_ITEM)}
    found: dict[str, frozenset[str]] = {}
    waiting = [name for name in resources if name not in state.right]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = requires(state, resources[name])
            waiting += found[name]
    return found if len(found) < 2 else {name: found[name] for name in resources if name in found}


def requires(state: CheckState, resource: DefinedResource) -> frozenset[str]:
    """Return the names of the resources that a resource waits for, with those that its type adds."""
    facts = state.facts.get(resource.name)
    found = resource.requires
    if facts is not None and facts.needs is not None:
        found |= {name for name in facts.needs(resource) if name in state.definition.resources}
    released = {name for name in found if name in state.facts and not state.facts[name].strict_dependency}
    return found - released.difference(resource.depends_on) if released else found


def _cycle_text(state: CheckState, cycle: list[str]) -> str:
    """Return the cycle in the words of Heat's error, which programs may look for."""
    def named(name: str) -> str:
        facts = state.facts.get(name)
        return f'{facts.class_name if facts else "Resource"} "{name}"'
    members = [f'{named(name)}: {{{named(needed)}}}'
               for name, needed in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
    return f'{{{", ".join(members)}}}'


def attribute_exists(state: CheckState, resource_name: str, attribute: str) -> bool | None:
    """Return whether a resource has an attribute; None if that is not known yet."""
    facts = state.facts.get(resource_name)
    if facts is None:
        return None
    found = state.found.get(resource_name)
    if found is not None and found.is_template:
        return None                         # missing outputs of a nested stack are found when they are read
    return facts.has_attribute(attribute)
