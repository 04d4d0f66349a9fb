"""Finds stacks that an update need not visit: nothing can have changed in them, at any depth.

A stack is settled if a create or an update brought it to its definition, nothing has happened to it since - no request,
no signal, no mark - and its definition uses no value that changes by itself. What had an influence on a nested stack is
known to its parent; a root has its own definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heatlite.common import crypt
from heatlite.db import settled_stacks, stacks
from heatlite.db.connection import Database
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.request_keys import INPUTS, TOLERANCE, WAITING
from heatlite.engine.reconcile.revisions import encoded
from heatlite.engine.resource import Resource
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.engine.rsrc_defn import ResourceDefinition
from heatlite.engine.types.contract_names import is_built_in
from heatlite.language.definition import StackDefinition
from heatlite.language.influence import Influence
from heatlite.language.resource_definition import Reference
from heatlite.planning.states import Action, ResourceState, Status

BROUGHT = frozenset({Action.CREATE, Action.UPDATE})


class SettledStacks:
    """The settled nested stacks of one stack that is updated."""

    def __init__(self, parent: LeasedStack, database: Database, key: str) -> None:
        """`key`: of the digests, so that they reveal nothing about hidden values."""
        self._parent = parent
        self._database = database
        self._key = key
        self._influence: tuple[object, Influence] | None = None    # of the definition that it was made of
        self._inputs_below: tuple[int, Mapping[str, str]] = -1, {}  # of a generation: read once for all nested stacks

    def inputs(self, definition: ResourceDefinition) -> dict[str, str]:
        """Return what to store with a request to the nested stack of a resource: the digest of its influences."""
        digest = self._digest(definition)
        return {} if digest is None else {INPUTS: digest}

    def has(self, stack_id: str, definition: ResourceDefinition) -> bool:
        """Whether the nested stack of an unchanged resource is settled. One SELECT for each update."""
        generation = self._parent.row.generation
        if self._inputs_below[0] != generation:
            with self._database.reader() as tx:
                found = settled_stacks.settled_below(tx, self._parent.row.root_id, self._parent.row.id)
            self._inputs_below = generation, found
        known = self._inputs_below[1].get(stack_id)
        return known is not None and known == self._digest(definition)

    def _digest(self, definition: ResourceDefinition) -> str | None:
        wanted = self._parent.definition
        if self._influence is None or self._influence[0] is not wanted:
            self._influence = wanted, Influence(wanted.environment, wanted.files)
        texts = self._influence[1].on({'type': definition.resource_type, 'properties': definition['Properties']})
        return None if texts is None else crypt.digest(texts, self._key)


def inputs_of_root(definition: StackDefinition, key: str) -> str | None:
    """Return the digest of what besides its own text has an influence on a root stack; None: not known.

    `key`: of the digest."""
    texts = Influence(definition.environment, definition.files).on_resources(
        definition.snippets, encoded(definition.template))
    return None if texts is None else crypt.digest(texts, key)


def without_inputs(request: Mapping[str, object]) -> dict[str, object]:
    """Return the request of a signal, which brings a group to another size than its definition says."""
    return {name: value for name, value in request.items() if name != INPUTS}


def is_waiting(row: stacks.StoredStack, name: str) -> bool:
    """Whether a member of the stack of a group is to stay as it is until its batch."""
    return name in (row.request or {}).get(WAITING, {})


def tolerance(row: stacks.StoredStack) -> int:
    """Return how many resources of the stack may fail while the others go on."""
    return int((row.request or {}).get(TOLERANCE, 0))


KindOf = Callable[[ResourceState], type[Resource]]
IsLive = Callable[[str, str], bool]
"""(resource, attribute) -> whether the attribute must be read anew each time."""


def settled(leased: LeasedStack, status: Status | None, outputs: list[dict[str, object]], kind_of: KindOf,
            is_live: IsLive, key: str) -> str | None:
    """Return the value of the column `settled` after the end of an action; None if the next update has to look.

    `outputs`: of the stack, as resolved at its end; `key`: of digests.
    """
    row, definition = leased.row, leased.definition
    if status is not Status.COMPLETE or row.action not in BROUGHT:
        return None
    if leased.has_been_signalled or leased.lease.former is not None:    # a former owner may have handled some
        return None
    if definition.environment.has_hooks() or any(output.get('live') for output in outputs):
        return None
    if row.owner_id is None and definition.environment.event_sinks:     # its own updates have events to send
        return None
    nested = 0
    unvisited = leased.traversal.unvisited          # settled before, and nothing has happened to it
    for name in definition.resources:
        if name in unvisited:
            continue
        resource = definition.resources[name]
        member = leased.current(name)
        if member is None or member.failed or resource.is_external or not all(
                _is_stable(need, leased, kind_of, is_live) for need in resource.needs):
            return None
        kind = kind_of(member)
        if not kind.always_inspected:
            continue
        if not has_known_inputs(kind):
            return None
        nested += 1
    digest = inputs_of_root(definition, key) if row.owner_id is None else (row.request or {}).get(INPUTS, '')
    return None if digest is None else settled_stacks.settling(row.generation, nested, digest)


def has_known_inputs(resource_class: type[Resource]) -> bool:
    """Whether the nested stack of a type follows from its properties, environment and files alone. That is not known of
    types of plug-ins."""
    return issubclass(resource_class, StackResource) and is_built_in(resource_class)


def _is_stable(need: Reference, leased: LeasedStack, kind_of: KindOf, is_live: IsLive) -> bool:
    """Whether the value of a reference changes by nothing but actions and signals of the stack."""
    attribute = need.requirement.attribute
    if attribute is None:
        return True
    row = leased.current(need.resource) if isinstance(need.resource, str) else None
    if row is None or not attribute or not isinstance(attribute[0], str) or is_live(row.name, attribute[0]):
        return False
    kind = kind_of(row)
    if not issubclass(kind, StackResource):
        return True
    return not hasattr(kind, 'get_size') and not attribute[0].startswith('resource.')     # else read from the members
