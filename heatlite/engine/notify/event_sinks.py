"""Sends events of stacks to the sinks in their environments (docs/spec/rest.rst, "Event sinks").

Events are read from the history in the database; a flag signals that there are new ones. So only durable events are
sent, in their order, and after a crash those of the running action once more, with the same ids. The engine that drives
the stack sends them; events added while no engine does are sent by the process that added them (`idle_outlets`). Sinks
never delay or fail an action; an event that a sink refuses is not sent again. A sink that refuses several in a
row is left out for a minute, but for the event with which an action ends: clients wait for that.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from sqlalchemy import Connection

from heatlite.common import defects, log_throttle, retries, turns
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_EVENT_SINKS
from heatlite.common.runtime import Flag, Runtime
from heatlite.db import codec, events, leases, resource_data, resources, templates
from heatlite.db.connection import Database
from heatlite.db.stacks import StoredStack
from heatlite.engine import clients
from heatlite.engine.durability.event_history import EventHistory
from heatlite.engine.notify.idle_outlets import IdleOutlets
from heatlite.engine.types import event_sink_types
from heatlite.engine.types.event_sink_types import Sink
from heatlite.language.definition import StackDefinition
from heatlite.language.masking import Mask
from heatlite.planning.states import Event, Status

LOG = logging.getLogger(__name__)

BLOCK = 100                             # events read at once
VERSION = '0.1'                         # of the payload's format
LONGEST_TARGET = 255                    # characters of the name of a queue
MOST_FAILURES = 5                       # in a row, after which a sink is left out
PAUSE = 60.0                            # seconds for which it is left out, again after each further failure
STEPS_OF_SINK = 20                      # of `turns`, to send one event to one sink
TIME = '%Y-%m-%dT%H:%M:%S'


class FollowedStack(Protocol):
    """The interface to a stack that this engine drives or has loaded."""

    @property
    def id(self) -> str: ...

    @property
    def row(self) -> StoredStack: ...

    @property
    def definition(self) -> StackDefinition: ...

    @property
    def context(self) -> RequestContext: ...

    def bind(self) -> None:
        """Make log lines of this thread carry the ids of the stack."""


class ZaqarQueue:
    """The sink `{type: zaqar-queue, target: QUEUE, ttl: SECONDS}`: a queue in the project of the stack's owner."""

    def __init__(self, target: str, ttl: int = 3600) -> None:
        """Raise ValueError for a target that cannot be the name of a queue, or a ttl that is no number of seconds."""
        if not isinstance(target, str) or not 0 < len(target) <= LONGEST_TARGET:
            raise ValueError(_('target must be the name of a queue, of at most %d characters') % LONGEST_TARGET)
        if isinstance(ttl, bool) or not isinstance(ttl, int) or ttl <= 0:
            raise ValueError(_('ttl must be a number of seconds, greater than 0'))
        self._target = target
        self._ttl = ttl

    def consume(self, context: RequestContext, event: Mapping[str, object]) -> None:
        clients.of(context).client('zaqar').queue(self._target).post({'body': event, 'ttl': self._ttl})


class EventSinks:
    """Follows the stacks of this engine that have sinks. Other stacks cost one dictionary lookup for each change."""

    def __init__(self, runtime: Runtime, database: Database, history: EventHistory,
                 read: Callable[[str], FollowedStack | None]) -> None:
        """`read(stack_id)`: loads a stack for reading; None if it is gone."""
        self._runtime = runtime
        self._database = database
        self._history = history
        self._read = read
        self._outlets: dict[str, Outlet] = {}
        self._idle = IdleOutlets(runtime, self._idle_outlet)

    def follow(self, leased: FollowedStack, sent: Callable[[], None], *, is_taken_over: bool = False) -> None:
        """Begin to send events of a stack that this engine drives, or wake up its thread after a new definition.

        `sent()` is called whenever all events are sent. `is_taken_over`: the last owner of the stack died, perhaps
        before it sent the last events, so all of the last action are sent again; consumers know them by their ids.
        """
        outlet = self._outlets.get(leased.id)
        if outlet is not None and outlet.leased is leased:
            outlet.wake()
        elif leased.definition.environment.event_sinks:
            self.leave(leased.id)
            position = self._database.retry_until_available(lambda tx: events.position(
                tx, leased.id, of_action=is_taken_over or leased.row.status == Status.IN_PROGRESS), reading=True)
            self._outlets[leased.id] = outlet = Outlet(self._runtime, self._database, leased, position, sent)
            self._runtime.spawn(outlet.run)

    def follows(self, stack_id: str) -> bool:
        return stack_id in self._outlets

    def is_behind(self, stack_id: str) -> bool:
        """Whether there are events of a followed stack that were not sent yet."""
        outlet = self._outlets.get(stack_id)
        return outlet is not None and outlet.is_behind

    def add(self, tx: Connection, row: StoredStack, new: Event) -> Callable[[], None]:
        """Add an event to a stack that another process may drive. Call the returned function after the commit."""
        return self.add_all(tx, row, [new])

    def add_all(self, tx: Connection, row: StoredStack, new: Sequence[Event]) -> Callable[[], None]:
        """Add some events, which are not many, to a stack that another process may drive. Call the returned function
        after the commit.

        Three statements, and one for the environment if no engine drives the stack; seldom those that remove old
        events.
        """
        since = events.position(tx, row.id, of_action=False)
        events.insert_many(tx, row.id, new)
        self._history.limit(tx, row.id, len(new))
        if leases.owner(tx, row.id) is not None:
            return lambda: self.wake(row.id)
        if not (templates.environment(tx, row.template_id) or {}).get('event_sinks'):
            return lambda: None

        return lambda: self._idle.tell(row, since)

    def _idle_outlet(self, stack_id: str, since: int) -> Outlet | None:
        leased = self._read(stack_id)
        if leased is None:
            return None
        outlet = Outlet(self._runtime, self._database, leased, since, sent=lambda: None)
        outlet.leaves = True
        return outlet

    def wake(self, stack_id: str) -> None:
        """Wake up the thread of a stack after events were added."""
        outlet = self._outlets.get(stack_id)
        if outlet is not None:
            outlet.wake()

    def leave(self, stack_id: str) -> None:
        """Stop following a stack that this engine no longer drives, after its remaining events are sent."""
        outlet = self._outlets.pop(stack_id, None)
        if outlet is not None:
            outlet.leave()


class Outlet:
    """Sends the events of one stack, in a thread of its own: a slow sink does not delay other stacks."""

    def __init__(self, runtime: Runtime, database: Database, leased: FollowedStack, position: int,
                 sent: Callable[[], None]) -> None:
        """`position`: number of the last event that is not to be sent; `sent()`: called when all others are."""
        self.leased = leased
        self.leaves = False
        self.is_behind = False
        self._runtime = runtime
        self._bell: Flag = runtime.flag()
        self._sent = sent
        self._database = database
        self._sinks: list[Sink] = []
        self._failures: dict[int, int] = {}    # of the sink at a place, in a row, during the present action
        self._left_out: dict[int, float] = {}  # place of a sink -> monotonic time until which it is left out
        self._entries: object = None           # entries of the environment from which the sinks were made
        self._position = position
        self._has_begun = False                # all secrets of the stack were read
        self._known: set[int] = set()          # rows whose secrets were read, while they were there
        self._secrets: set[str] = set()
        self._generated = Mask()               # hides these
        self.wake()

    def wake(self) -> None:
        """Look for new events."""
        self.is_behind = True
        self._bell.set()

    def leave(self) -> None:
        """End `run` when all events are sent that it was woken up for: the next owner of the stack sends later ones."""
        self.leaves = True
        self._bell.set()

    def run(self) -> None:
        """Send events until `leaves` is set and all events are sent."""
        while True:
            self._bell.wait()
            self._bell.clear()
            leaves = self.leaves            # read before the last query
            if leaves and not self.is_behind:
                return
            self._tell_all()
            if leaves and not self._bell.is_set():
                return
            if not self._bell.is_set():     # else there may be more by now
                self.is_behind = False
                self._sent()

    def _tell_all(self) -> None:
        """Send all events. Those that cannot be read are tried again, and left for the next wake-up in the end: nothing
        waits for them any longer."""
        try:
            while retries.call(self._tell, retries.EVENTS, Exception, sleep=self._runtime.sleep):
                continue
        except Exception as error:
            defects.log(LOG, error, 'Events of stack %s were not sent', self.leased.id)

    def _tell(self) -> bool:
        """Send the next block of events. Returns False if there are none."""
        self.leased.bind()
        following, present, secrets = self._database.retry_until_available(self._block, reading=True)
        self._has_begun = True
        self._known |= present
        if not secrets <= self._secrets:
            self._secrets |= secrets
            self._generated = Mask(self._secrets)
        found, mask = deque(following), self.leased.definition.mask | self._generated
        any_left = bool(found)
        while found:                        # each is decoded when it is sent, and released then
            event = found.popleft()
            self._position = event.id
            is_of_stack = event.physical_id == self.leased.id
            if is_of_stack and event.status == Status.IN_PROGRESS:
                self._forget_failures()             # of the action before
            is_end = is_of_stack and event.status != Status.IN_PROGRESS
            body = payload(event, mask, event.resource_id is None or event.resource_id in self._known)
            for place, sink in enumerate(self._current_sinks()):
                turns.spend(STEPS_OF_SINK)
                if is_end or self._runtime.monotonic() >= self._left_out.get(place, 0.0):
                    self._send(place, sink, body, event.uuid)
        return any_left

    def _block(self, tx: Connection) -> tuple[list[events.ShownEvent], set[int], set[str]]:
        """Return the next block of events, the rows of its resources that are still there, and the generated secrets
        that may be in their properties: at first all of the stack, then their own, and those of the rows that they
        require. No rows if a secret cannot be read: the events are sent without properties, as no later one waits for
        them."""
        found = events.following(tx, self.leased.id, self._position, BLOCK)
        rows = resources.of_names(tx, self.leased.id, {event.resource_name for event in found})
        numbers = {number for row in rows for number in (row.id, *row.requires.values())} if self._has_begun else None
        try:
            return found, {row.id for row in rows}, resource_data.secrets(tx, self.leased.id, numbers)
        except codec.UNDECODABLE as error:
            LOG.warning('A secret of stack %s cannot be read, so events are sent without properties: %s',
                        self.leased.id, error)
            return found, set(), set()

    def _send(self, place: int, sink: Sink, body: Mapping[str, object], event_id: str) -> None:
        try:
            sink.consume(self.leased.context, body)
            self._failures.pop(place, None)
            self._left_out.pop(place, None)
        except Exception as error:
            self._failures[place] = failed = self._failures.get(place, 0) + 1
            if failed >= MOST_FAILURES:
                self._left_out[place] = self._runtime.monotonic() + PAUSE
            log_throttle.log(LOG, logging.WARNING, (type(sink), type(error)),
                             'Event %s of stack %s was not sent to %s: %s%s', event_id, self.leased.id,
                             type(sink).__name__, error, '' if failed < MOST_FAILURES
                             else f'; it is left out for {PAUSE:.0f} s')

    def _forget_failures(self) -> None:
        self._failures.clear()
        self._left_out.clear()

    def _current_sinks(self) -> list[Sink]:
        entries = self.leased.definition.environment.event_sinks[:MOST_EVENT_SINKS]     # of an earlier release: more
        if entries != self._entries:
            self._entries = entries
            self._forget_failures()
            self._sinks = [sink for entry in entries if (sink := self._made(entry)) is not None]
        return self._sinks

    def _made(self, entry: Mapping[str, object]) -> Sink | None:
        """Make a sink; None, with a warning in the log, if it cannot be made."""
        try:
            return event_sink_types.make(entry)
        except Exception as error:
            LOG.warning('The event sink %s of stack %s cannot be made: %s', entry['type'], self.leased.id, error)
            return None


def payload(event: events.ShownEvent, mask: Mask, is_known: bool) -> dict[str, object]:
    """Return the message for consumers, in Heat's format. `mask`: hides what the API hides in the event, as more users
    may read a queue than the stack. `is_known`: whether it has all secrets of the properties; else none are sent."""
    return {
        'timestamp': event.created_at.strftime(TIME), 'version': VERSION, 'type': 'os.heat.event', 'id': event.uuid,
        'payload': {
            'resource_name': event.resource_name, 'physical_resource_id': event.physical_id,
            'stack_id': event.stack_id, 'resource_action': event.action, 'resource_status': event.status,
            'resource_status_reason': event.reason, 'resource_type': event.resource_type,
            'resource_properties': dict(mask(event.properties or {})) if is_known else {}, 'version': VERSION}}
