"""What an update would do, found by driving the very traversal that would do it - with nothing called or stored.

The types are asked as they would be; every create, update and delete is taken to succeed, and what a resource
that does not exist yet would say is `Unknown`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heatlite.common.context import RequestContext
from heatlite.common.world import World
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.db.stacks import Stack
from heatlite.engine import clients, loading
from heatlite.engine.errands import Errands
from heatlite.engine.facade import Stack as Facade
from heatlite.engine.inspection import PropertyChange
from heatlite.engine.owned import OwnedStack
from heatlite.engine.records import Records
from heatlite.language.definition import StackDefinition
from heatlite.planning import commands as c
from heatlite.planning.states import Action, ResourceState


@dataclass
class Change:
    """What would become of one resource. `properties`: those that differ; `why` a replacement, or why it is unknown."""

    name: str
    kind: str                           # unchanged, updated, replaced, added, deleted, unknown
    row: ResourceState | None = None    # as stored; None for one that would be added
    properties: Mapping[str, PropertyChange] = field(default_factory=dict)
    why: str = ''
    calls: list[str] = field(default_factory=list)


class DryRun:
    """Answers each command of the traversal at once."""

    def __init__(self, world: World, owned: OwnedStack, errands: Errands) -> None:
        self._world = world
        self._owned = owned
        self._errands = errands
        self.changes: dict[str, Change] = {}
        self.failures: dict[str, str] = {}
        self._reached: set[str] = set()

    def run(self) -> dict[str, Change]:
        owned = self._owned
        before = {row.name: row for row in owned.rows.values() if row.replaced_by is None}
        waiting: deque[c.Command] = deque(owned.traversal.start(self._world.now()))
        while waiting:
            event = self._answer(waiting.popleft())
            if event is not None:
                waiting.extend(owned.traversal.handle(event, self._world.now()))
        for name, properties in self._errands.property_changes.items():
            if name in self.changes:
                self.changes[name].properties = properties
        for name in owned.definition.resources:
            if name in self._reached:
                self.changes.setdefault(name, Change(name, 'unchanged', before.get(name)))
            else:                                   # the update ends before it comes there, or goes on otherwise
                self.changes[name] = Change(name, 'unknown', before.get(name), why=self._why_not(name))
        for name, reason in self.failures.items():
            self.changes[name] = Change(name, 'unknown', before.get(name), why=reason)
        return self.changes

    def _why_not(self, name: str) -> str:
        failed = next(iter(self.failures.items()), None)
        return f'The update does not get beyond {failed[0]}: {failed[1]}' if failed else 'The update ends before it'

    def _answer(self, command: c.Command) -> c.Event | None:
        match command:
            case c.Persist(step, row, wait=True):
                self._owned.kept.pop(row.id, None)
                return c.Durable(step)
            case c.Inspect(step, row):
                return self._inspected(step, row)
            case c.Call(step, row, verb):
                self._called(row, verb)
                return c.Called(step, None, done=True)
            case c.Poll(step) | c.Recover(step):
                return c.Polled(step, True)
            case c.Later(step):
                return c.Due(step)
        return None

    def _inspected(self, step: Any, row: ResourceState) -> c.Event:
        found = self._errands.inspect(step, row)
        self._reached.add(row.name)
        match found:
            case c.Inspected(_, verdict) if verdict.refused is not None:
                self.failures[row.name] = verdict.refused
            case c.Inspected(_, verdict) if verdict.replace is not None:
                change = self._change(row.name, 'replaced', row)
                change.why, change.properties = verdict.replace, verdict.changed_properties
            case c.Inspected(_, verdict) if verdict.changed:
                self._change(row.name, 'updated', row)
            case c.Failed(_, reason) if not found.replace:
                self.failures[row.name] = reason
        return found

    def _called(self, row: ResourceState, verb: Action) -> None:
        name = row.name
        self._reached.add(name)
        if verb in (Action.CREATE, Action.ADOPT):
            self._errands.to_make.add(row.id)
            self._change(name, 'added' if row.replaces is None else 'replaced', None)
        elif verb is Action.DELETE and name not in self._owned.definition.resources:
            self._change(name, 'deleted', row)
        elif verb is Action.UPDATE:
            self._errands.changed.add(row.id)
            self._change(name, 'updated', row)
        if name in self.changes:
            self.changes[name].calls.append(str(verb))

    def _change(self, name: str, kind: str, row: ResourceState | None) -> Change:
        known = self.changes.get(name)
        if known is None:
            known = self.changes[name] = Change(name, kind, row)
        elif known.kind == 'updated' and kind == 'replaced':
            known.kind = kind
        return known


def of_update(world: World, database: Database, registry: Any, context: RequestContext, row: Stack,
              wanted: StackDefinition, rows: Iterable[ResourceState], software: Any = None) -> dict[str, Change]:
    """Every resource of both sides, by name, in the order of the new template.

    `software`: what types ask for software configs, engine.software.Software.
    """
    update = loading.as_updated(row)
    traversal = loading.traversal(world, update, wanted, list(rows), 0)
    owned = OwnedStack(update, Lease(row.id, '', 0), wanted, context, traversal)
    with database.reader() as tx:                   # as the update itself would take them
        owned.kept.update(loading.kept_values(tx, row.id))
    made: list[Errands] = []
    facade = Facade(owned, lambda name: made[0].unmade(name), clients.of, world)
    facade.software = software
    errands = Errands(world, owned, None, registry, facade, Records(world, database, None, row.id), lambda lease: None,
                      dry=True)
    made.append(errands)
    changes = DryRun(world, owned, errands).run()
    order = [*wanted.resources, *(name for name in changes if name not in wanted.resources)]
    return {name: changes[name] for name in order}
