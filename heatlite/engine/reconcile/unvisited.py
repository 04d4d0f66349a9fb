"""Finds the resources that an update of a settled stack need not visit (`planning.unvisited`)."""

from __future__ import annotations

from heatlite.common import exception
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.engine.resource import Resource
from heatlite.planning import unvisited
from heatlite.planning.states import Action, ResourceState

NONE: frozenset[str] = frozenset()


def of_update(leased: LeasedStack, objects: ResourceObjects) -> frozenset[str]:
    """Return the names; none if the update has to look at every resource."""
    same, definition = leased.definition.as_applied, leased.definition
    if not same or leased.row.action != Action.UPDATE or leased.row.converge:
        return NONE
    rows = list(leased.rows.values())
    kinds = {(row.type, row.template_id): row for row in rows}      # what a type means depends on nothing else
    if not all(_is_understood(row, objects) for row in kinds.values()):
        return NONE
    staying = {kind for kind, row in kinds.items() if _stays(row, objects)}
    snippets, type_key = definition.snippets, definition.keys.type
    return unvisited.find(same, rows, lambda row: (
        (row.type, row.template_id) in staying and snippets[row.name].get(type_key) == row.type))


def _is_understood(row: ResourceState, objects: ResourceObjects) -> bool:
    """Whether a row's type means the same for all resources, and all that use its values require it."""
    if objects.environment.registry.is_by_resource or objects.environment_of(row).registry.is_by_resource:
        return False
    try:
        return objects.kind_of(row).strict_dependency
    except exception.HeatException:
        return True


def _stays(row: ResourceState, objects: ResourceObjects) -> bool:
    """Whether an equal definition of the row's type means that nothing has to be done. Types that look for their
    requirements themselves may find others than before."""
    try:
        kind = objects.kind_of(row)
        return (not kind.always_inspected and objects.means_the_same(row)
                and kind.add_dependencies is Resource.add_dependencies)
    except exception.HeatException:
        return False
