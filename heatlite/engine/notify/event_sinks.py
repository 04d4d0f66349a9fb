"""Events of stacks, told to where their environment says (`event_sinks`; REST specification 13.3).

The history in the database is what is told: a bell says that there is more of it. So nothing but durable events is
told, in their order, and after a crash those of the running action once more, with the ids they had. Whoever drives
the stack tells; what is added while nobody does is told by who added it. Nobody waits for a sink, and nothing fails for
one; what it refuses is lost for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from oslo_log import log

from heatlite.common.context import RequestContext, bind
from heatlite.common.runtime import Flag, Runtime
from heatlite.db import events, leases, templates
from heatlite.db.connection import Database
from heatlite.db.stacks import Stack
from heatlite.engine import clients
from heatlite.engine.compat import extensions
from heatlite.engine.types import event_sink_types
from heatlite.language.definition import StackDefinition
from heatlite.planning.states import Event, Status

LOG = log.getLogger(__name__)

BLOCK = 100                             # events read at once
VERSION = '0.1'                         # of the form of what is told
TIME = '%Y-%m-%dT%H:%M:%S'


class FollowedStack(Protocol):
    """What event sinks ask of a stack that this engine drives or has read."""

    row: Stack
    definition: StackDefinition
    context: RequestContext

    @property
    def id(self) -> str: ...


class ZaqarQueue:
    """`{type: zaqar-queue, target: QUEUE, ttl: SECONDS}`; the queue of the stack's owner."""

    def __init__(self, target: str, ttl: int = 3600) -> None:
        self._target = target
        self._ttl = ttl

    def consume(self, context: Any, event: Mapping[str, Any]) -> None:
        clients.of(context).client('zaqar').queue(self._target).post({'body': event, 'ttl': self._ttl})


BUILT_IN: dict[str, Callable[..., Any]] = {event_sink_types.ZAQAR_QUEUE: ZaqarQueue}


def make(entry: Mapping[str, Any]) -> Any:
    """The sink of one entry of an environment. Raises KeyError for a type nobody has, and what the class raises."""
    rest = {name: value for name, value in entry.items() if name != 'type'}
    name = entry['type']
    if name in extensions.names(extensions.EVENT_SINKS):
        return extensions.load(extensions.EVENT_SINKS, name)(**rest)
    return BUILT_IN[name](**rest)


class EventSinks:
    """Follows the stacks of this engine that have sinks. Others cost one look into a dictionary for each change."""

    def __init__(self, runtime: Runtime, database: Database, read: Callable[[str], FollowedStack | None]) -> None:
        """`read(stack_id)`: a stack as it is stored, None when it is gone."""
        self._runtime = runtime
        self._database = database
        self._read = read
        self._outlets: dict[str, Outlet] = {}

    def follow(self, leased: FollowedStack) -> None:
        """The stack is driven here, or has a new definition."""
        outlet = self._outlets.get(leased.id)
        if outlet is not None and outlet.leased is leased:
            outlet.bell.set()
        elif leased.definition.environment.event_sinks:
            self.leave(leased.id)
            position = self._database.retry_until_available(lambda tx: events.position(
                tx, leased.id, of_action=leased.row.status == Status.IN_PROGRESS), reading=True)
            self._outlets[leased.id] = outlet = Outlet(self._runtime, self._database, leased, position)
            self._runtime.spawn(outlet.run)

    def add(self, tx: Any, row: Stack, new: Event) -> Callable[[], None]:
        """Adds to the history of a stack that this process need not drive. What it returns is called after the commit.

        Three statements, one more for the environment when nobody drives the stack.
        """
        since = events.position(tx, row.id, of_action=False)
        events.insert_many(tx, row.id, [new])
        if leases.owner(tx, row.id) is not None:
            return lambda: self.ring(row.id)
        if not templates.show(tx, row.template_id).environment.get('event_sinks'):
            return lambda: None
        return lambda: self._runtime.spawn(self._tell_alone, row.id, since)

    def _tell_alone(self, stack_id: str, since: int) -> None:
        leased = self._read(stack_id)
        if leased is not None:
            outlet = Outlet(self._runtime, self._database, leased, since)
            outlet.leaves = True
            outlet.run()

    def ring(self, stack_id: str) -> None:
        """Something was added to its history."""
        outlet = self._outlets.get(stack_id)
        if outlet is not None:
            outlet.bell.set()

    def leave(self, stack_id: str) -> None:
        """Nobody drives it here any more; what is left is still told."""
        outlet = self._outlets.pop(stack_id, None)
        if outlet is not None:
            outlet.leaves = True
            outlet.bell.set()


class Outlet:
    """One stack's, with a thread of its own: a slow sink is slow for nobody else."""

    def __init__(self, runtime: Runtime, database: Database, leased: FollowedStack, position: int) -> None:
        """`position`: number of the last event that need not be told."""
        self.leased = leased
        self.bell: Flag = runtime.flag()
        self.leaves = False
        self._database = database
        self._sinks: list[Any] = []
        self._entries: Any = None           # what they were made of
        self._position = position
        self.bell.set()

    def run(self) -> None:
        """Until the stack is left and everything is told."""
        while True:
            self.bell.wait()
            self.bell.clear()
            leaves = self.leaves            # before the last look
            while self._tell():
                continue
            if leaves:
                return

    def _tell(self) -> bool:
        """The next events; False when there are none."""
        bind(self.leased.context)
        found = self._database.retry_until_available(
            lambda tx: events.following(tx, self.leased.id, self._position, BLOCK), reading=True)
        for event in found:
            self._position = event.id
            told = payload(event)
            for sink in self._current_sinks():
                try:
                    sink.consume(self.leased.context, told)
                except Exception as error:
                    LOG.warning('Event %s of stack %s was not told to %s: %s', event.uuid, self.leased.id,
                                type(sink).__name__, error)
        return bool(found)

    def _current_sinks(self) -> list[Any]:
        entries = self.leased.definition.environment.event_sinks
        if entries is not self._entries:
            self._entries = entries
            self._sinks = [sink for entry in entries if (sink := self._made(entry)) is not None]
        return self._sinks

    def _made(self, entry: Mapping[str, Any]) -> Any:
        """None, and a line in the log, for one that cannot be made."""
        try:
            return make(entry)
        except Exception as error:
            LOG.warning('The event sink %s of stack %s cannot be made: %s', entry['type'], self.leased.id, error)
            return None


def payload(event: events.Shown) -> dict[str, Any]:
    """What consumers know."""
    return {
        'timestamp': event.created_at.strftime(TIME), 'version': VERSION, 'type': 'os.heat.event', 'id': event.uuid,
        'payload': {
            'resource_name': event.resource_name, 'physical_resource_id': event.physical_id,
            'stack_id': event.stack_id, 'resource_action': event.action, 'resource_status': event.status,
            'resource_status_reason': event.reason, 'resource_type': event.resource_type,
            'resource_properties': event.properties or {}, 'version': VERSION}}
