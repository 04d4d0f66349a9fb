"""Compares the stored with the wanted definition, asking the type in the order that plug-ins rely on.

Source: docs/spec/engine.rst, "Deciding about an update", "Restricted actions" and "Comparing with reality".
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from heatlite.common import exception
from heatlite.common.timeutils import isotime
from heatlite.engine.properties import Properties, PropertyDiff
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.resource import Resource
from heatlite.engine.resource_update import Comparison, Observed
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.registry import IGNORE
from heatlite.planning import drift, marks, text
from heatlite.planning.decide import Verdict
from heatlite.planning.plan import NOT_READ
from heatlite.planning.replacement import MARKED, Reason, ReplacementCause
from heatlite.planning.states import Action, ResourceState, Status

LOG = logging.getLogger(__name__)
UPDATE, REPLACE = 'update', 'replace'


@dataclass(frozen=True)
class UpdateArguments:
    """The arguments of `handle_update`, and what was observed before, if anything was."""

    definition: ResourceDefinition
    template: ResourceDefinitionDiff
    properties: PropertyDiff            # types may change it
    observed: Observed | None = None


def inspect(resource: Resource, resource_class: type[Resource], definition: ResourceDefinition, leased: LeasedStack,
            row: ResourceState, observe: bool = False) -> tuple[Verdict, UpdateArguments | None]:
    """Return the verdict, and for an update the arguments of its handler.

    `resource`: an object of the stored state; `resource_class`: the current class of the wanted type; `observe`:
    compare with the state that the service reports. A change that is not supported is refused; other errors of the type
    pass through: the resource then fails.
    """
    restricted = leased.definition.environment.restricted_actions(resource.name)
    try:
        verdict, difference = _ask(resource, resource_class, definition, leased, row, observe)
    except exception.NotSupported as error:
        return _refused(error, row), None
    if verdict.replace is not None and REPLACE in restricted:
        return _refused(exception.ResourceActionRestricted(action=REPLACE), row), None
    if verdict.replace is None and verdict.changed and UPDATE in restricted:
        return _refused(exception.ResourceActionRestricted(action=UPDATE), row), None
    return verdict, difference


def _refused(error: exception.HeatException, row: ResourceState) -> Verdict:
    """Refuse a change before anything was done for it: the resource is still as its row says."""
    return Verdict(changed=True, refused=exception.ResourceFailure(error, row, Action.UPDATE).message,
                   why_refused=str(error))


def _ask(resource: Resource, resource_class: type[Resource], definition: ResourceDefinition, leased: LeasedStack,
         row: ResourceState, observe: bool) -> tuple[Verdict, UpdateArguments | None]:
    plain = text.requires_replacement(resource.name)
    if not is_of_class(resource, resource_class):
        return Verdict(changed=True, replace=plain, cause=_of_type(row, definition)), None
    if definition.external_id() is not None or resource.external_id is not None:
        resource.check_external_id_kept(definition)
        return Verdict(changed=False), None
    if _was_never_made(row):
        return Verdict(changed=True, replace=plain, cause=ReplacementCause(Reason.FAILED, row.reason)), None
    if row.status is Status.COMPLETE and resource.was_removed_first():
        return Verdict(changed=True, replace=plain, cause=ReplacementCause(Reason.GONE, '')), None
    row = marks.as_for_update(row)
    resource.take_state(row)
    comparison = resource.compare(definition)
    is_unsure = marks.is_uncertain(row.fingerprint) and resource.resource_id is not None
    converges = (observe or leased.row.converge) and leased.definition.environment.drift_policy(
        resource.name, resource.type()) != IGNORE
    if converges or is_unsure:                  # the state after an interrupted update is not stored
        try:
            comparison = resource.observe(comparison)
        except exception.EntityNotFound:
            return Verdict(changed=True, replace=plain, cause=_of_gone(row, resource)), None
        except exception.ObjectUncomparable as error:
            LOG.info('%s is updated without a look at its object: %s', resource, error)
    try:
        if not resource.needs_update(comparison):
            return Verdict(changed=False), None
    except exception.UpdateReplace:
        return Verdict(changed=True, replace=plain, cause=_of_state(row, resource)), None
    comparison.after_props.validate()
    try:
        template_diff, property_diff = resource.changes(comparison)
    except exception.UpdateReplace as replaced:
        return Verdict(changed=True, replace=str(replaced), announced=True), None
    return Verdict(changed=True), UpdateArguments(definition, template_diff, property_diff, resource.observed)


def is_of_class(resource: Resource, resource_class: type[Resource]) -> bool:
    """Whether the resource need not be replaced for its class, that of its stored type."""
    return type(resource) is resource_class or bool(resource.support_status.is_substituted(resource_class))


def _was_never_made(row: ResourceState) -> bool:
    """Whether an action on what exists was interrupted, or had nothing to do, at a resource whose creation had failed
    before there was an object."""
    return (row.action in marks.ON_EXISTING and row.status is not Status.FAILED
            and marks.read(row.fingerprint).applied in ('', marks.FAILED_BEFORE) and row.physical_id is None)


def _of_type(row: ResourceState, definition: ResourceDefinition) -> ReplacementCause:
    """Return the cause of a replacement by another type: the template names it, or the environment maps the name."""
    kind = definition.resource_type
    return ReplacementCause(Reason.TYPE, kind if row.type == kind else f'{row.type} -> {kind}')


def _of_gone(row: ResourceState, resource: Resource) -> ReplacementCause:
    mark = _mark(resource)
    return mark if mark is not None and mark.reason is Reason.GONE and mark.at and mark.at >= _changed_at(row) else (
        ReplacementCause(Reason.GONE, row.physical_id or ''))


def _of_state(row: ResourceState, resource: Resource) -> ReplacementCause:
    """Return why a type asks for a replacement before its properties were compared."""
    if row.status is not Status.FAILED:
        return ReplacementCause(Reason.RULE)
    mark = _mark(resource)
    at = _changed_at(row) if row.reason else None   # else its last change is an action that came after the failure
    if row.action is not Action.CHECK:
        return ReplacementCause(Reason.FAILED, row.reason, at=at)
    return mark if mark is not None and at in (mark.at, None) else ReplacementCause(Reason.UNHEALTHY, row.reason, at=at)


def _mark(resource: Resource) -> ReplacementCause | None:
    """Return what the resource was marked with, for its next update."""
    stored = (resource.record.cause or {}).get(MARKED) if resource.record is not None else None
    return None if stored is None else ReplacementCause.from_json(stored)


def _changed_at(row: ResourceState) -> str:
    at = row.updated_at or row.created_at
    return '' if at is None else isotime(at)


@dataclass(frozen=True)
class PropertyChange:
    """The change of one property, for previews. `new` may be or contain UNKNOWN; `live`: NOT_READ, or the value that
    the service reports."""

    old: object
    new: object
    forces_replacement: bool
    live: object = NOT_READ


def property_changes(resource: Resource, definition: ResourceDefinition, observed: Observed | None = None,
                     compared: Comparison | None = None) -> dict[str, PropertyChange]:
    """Return every property that differs, whether or not the type ignores the change. For a preview.

    `observed`: what the service says, if it was asked; then the properties of which it says something else than what
    is stored differ, too. `compared`: `resource.compare(wanted)`, if it was done.
    """
    comparison = compared if compared is not None else resource.compare(definition)
    live = observed.values if observed is not None else {}
    compared_live = resource.with_live(comparison, live) if live else comparison
    seen = compared_live.before_props
    changed_values: dict[str, tuple[object, object, object]] = {}
    for name in comparison.after_props:
        old, new = _readable(comparison.before_props, name), _readable(comparison.after_props, name)
        reported = _readable(seen, name) if name in live else NOT_READ
        if reported is not NOT_READ and drift.same(old, reported):
            reported = old
        if old != new or reported not in (NOT_READ, old):
            changed_values[name] = old, new, reported
    replacing = resource.replacing(set(changed_values), compared_live) if changed_values else ()
    return {name: PropertyChange(old, new, name in replacing, reported)
            for name, (old, new, reported) in changed_values.items()}


def _readable(properties: Properties, name: str) -> object:
    """Return the value converted by the schema; unconverted if it does not fit or is not known yet."""
    try:
        return properties.get(name)
    except Exception:
        return properties.given.get(name)
