"""Finds the resources that an update of a settled stack need not visit (`planning.unvisited`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

from heatlite.common import exception
from heatlite.db.resources import AppliedType
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.engine.reconcile.unread_rows import ReadRows, UnreadRows
from heatlite.engine.resource import Resource
from heatlite.language.definition import StackDefinition
from heatlite.language.expression import PLACEHOLDERS, requirements
from heatlite.planning import unvisited
from heatlite.planning.states import Action, ResourceState

NONE: frozenset[str] = frozenset()
MOST_APART = 1000               # names whose rows are read by name; beyond it, all rows are read


@dataclass(frozen=True)
class Unvisited:
    """`names`: the resources; `read`: the rows with which a traversal can begin that does not visit them, where the
    rows of the stack are not in memory. None: it needs all rows."""

    names: frozenset[str] = NONE
    read: ReadRows | None = None


VISIT_ALL = Unvisited()


def of_update(leased: LeasedStack, objects: ResourceObjects) -> Unvisited:
    """Return what the update need not visit; no names if it has to look at every resource.

    Changes nothing of `leased`. If its rows are not read yet, most of those of resources that are not visited stay so.
    """
    if not leased.definition.as_applied or leased.row.action != Action.UPDATE or leased.row.converge:
        return VISIT_ALL
    unread = leased.unread_rows
    if unread is not None:
        kinds = unread.kinds()
        if _are_as_applied(kinds, leased.definition):
            return _of_unread(leased, objects, unread, kinds)
    rows = list(leased.rows.values())
    examples = {(row.type, row.template_id): row for row in rows}   # what a type means depends on nothing else
    return Unvisited(_find(leased.definition, objects, examples.values(), rows) or NONE)


def _are_as_applied(kinds: Iterable[AppliedType], definition: StackDefinition) -> bool:
    """Whether each resource that was applied has one row, and there are no other rows.

    Each of a settled stack has one that is COMPLETE, so that equal numbers suffice. Disabled ones have none."""
    found: Counter[str] = Counter()
    for kind in kinds:
        found[kind.type] += kind.number
    shared = definition.as_applied
    return bool(shared.types) and found == shared.types and len(shared.others) <= MOST_APART


def _of_unread(leased: LeasedStack, objects: ResourceObjects, unread: UnreadRows,
               kinds: Iterable[AppliedType]) -> Unvisited:
    """Reads the rows of the resources that are visited, and of those that they require: planning asks for no others."""
    definition, desired = leased.definition, leased.traversal.desired
    shared = definition.as_applied
    examples = [ResourceState(0, '', '', kind.type, template_id=kind.template_id) for kind in kinds]
    read = unread.unlike_applied({each.type for each in examples if not _stays(each, objects)})
    read += unread.of_names(shared.others.difference([row.name for row in read.rows]))
    names = {row.name for row in read.rows}
    left = shared.same.difference(names)
    found = _find(definition, objects, examples, read.rows, left)
    if found is None:
        return VISIT_ALL
    visited = [name for name in names.union(shared.others).difference(found) if name in desired]
    needed = {other for name in visited for other in desired[name].requires}.union(_used(definition)) & left
    if len(needed) > MOST_APART:
        return Unvisited(found, unread.all())
    read += unread.of_names(needed)
    return Unvisited(found, replace(read, unread=left - needed, next_row=max(kind.last for kind in kinds) + 1))


def _find(definition: StackDefinition, objects: ResourceObjects, examples: Iterable[ResourceState],
          rows: Iterable[ResourceState], others: Set[str] = NONE) -> frozenset[str] | None:
    """Return the names; None if types require a visit of all. `examples`: a row of each kind of the stack's rows;
    `others`: resources without requirements whose rows are as they were applied."""
    examples = list(examples)
    if not all(_is_understood(row, objects) for row in examples):
        return None
    staying = {(row.type, row.template_id) for row in examples if _stays(row, objects)}
    snippets, type_key = definition.snippets, definition.keys.type
    return unvisited.find(definition.as_applied.same, rows, lambda row: (
        (row.type, row.template_id) in staying and snippets[row.name].get(type_key) == row.type), others)


def _used(definition: StackDefinition) -> Iterator[str]:
    """Yield the resources that outputs use."""
    for output in definition.outputs.values():
        try:
            for _trail, need in requirements(output.expression, PLACEHOLDERS):
                if isinstance(need.resource, str):
                    yield need.resource
        except exception.HeatException:             # resolving it reports the error
            continue


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
        return (not kind.always_inspected and not kind.sends_files and objects.means_the_same(row)
                and kind.add_dependencies is Resource.add_dependencies)
    except exception.HeatException:
        return False
