"""Delivers events to the listeners of this process: one reader of the database for all of them.

While there are listeners, one thread reads what has been committed since its last look and hands each event to the
listeners of its project and of its stack. Nothing is asked for one listener, so that thousands of idle ones cost memory
only. Threads are those of `threading`: cooperative in our own programs, real ones under other servers.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from oslo_config import cfg

from heatlite.api.event_cursor import EventCursor
from heatlite.common import exception, metrics, outages, runtime
from heatlite.common.i18n import _
from heatlite.common.keyed_count import KeyedCount
from heatlite.db import event_stream
from heatlite.db.connection import Database
from heatlite.db.event_stream import Streamed

LOG = logging.getLogger(__name__)

PAGE = 500                      # events that are read at once
SPAN = 10_000                   # events of all projects in which those of one are looked for at once
NUMBERS = 10_000                # numbers that are compared with missing ones at once
NEWEST = 1000                   # numbers in which a new reader looks for missing ones
WAITING = 1000                  # events that may wait for one listener; beyond, its stream ends
WAITING_BYTES = 1_048_576       # of these events: reasons may be long
REPLAYED = 100                  # earlier events that are read at once for one listener
CHUNK = 65_536                  # bytes after which a chunk ends, so that it has one event more at most
SHARE = 4                       # a project has a part of the listeners that others leave, so that some are left for all
LISTENERS_BETWEEN_TURNS = 100   # listeners that get an event before other requests run
THREAD_SECONDS = 60.0           # of a stream that takes a thread of another server
RECONNECT_MILLISECONDS = 2000   # milliseconds after which a client connects again

SLOW, REFUSED = 'slow', 'refused'   # why a stream was ended, or not begun

Render = Callable[[Streamed], Sequence[bytes]]
"""Returns the text of an event without its id: parts, between which the base of the listener's links belongs."""

Clock = Callable[[], float]


@dataclass(frozen=True)
class EventStreamBounds:
    """Options of [event_streams]. Seconds."""

    poll: float
    heartbeat: float
    longest: float
    listeners: int
    listeners_in_threads: int
    listeners_of_project: int

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> EventStreamBounds:
        given = conf.event_streams
        return cls(given.poll_interval, given.heartbeat, given.longest, given.listeners,
                   given.listeners_in_threads, given.listeners_per_project)


@dataclass(frozen=True)
class StreamScope:
    """What a listener gets: everything of a project, or of one stack and the stacks nested in it. `owner`: the project
    in whose name it listens."""

    owner: str
    project_id: str | None = None
    stack_id: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        return ('project', self.project_id) if self.project_id is not None else ('tree', self.stack_id or '')


class Hub:
    """The listeners of this process. Thread-safe."""

    def __init__(self, database: Database, bounds: EventStreamBounds, clock: Clock = time.monotonic) -> None:
        self.database = database
        self.bounds = bounds
        self.clock = clock
        self._lock = threading.Lock()
        self._listeners: dict[tuple[str, str], dict[int, EventListener]] = {}
        self._counts: KeyedCount[str] = KeyedCount()        # listeners, by the project in whose name they listen
        self._cursor: EventCursor | None = None
        self._is_running = False
        metrics.streams.set_function(self._counts.total)

    def listen(self, scope: StreamScope, render: Render, position: int | None = None, seconds: float | None = None,
               is_stopping: Callable[[], bool] | None = None,
               is_left: Callable[[], bool] | None = None, base: bytes = b'') -> EventListener:
        """Return a new listener, from now on or from `position` on. `seconds`: the longest it lives, if less than the
        option. `base`: of its links, see `Render`.

        `is_stopping`: whether the server is about to stop; only the built-in one has it, others give each listener a
        thread. `is_left`: whether its events are in another cell by now; asked at each heartbeat.

        Raises HTTPServiceUnavailable if this process, or the project, has too many: a project has one at least, and a
        SHARE of those that others leave at most.
        """
        most, longest = self.bounds.listeners, self.bounds.longest
        if is_stopping is None:
            most, longest = min(most, self.bounds.listeners_in_threads), min(longest, THREAD_SECONDS)
        until = self.clock() + min(longest, longest if seconds is None else seconds)
        with self._lock:
            if not self._has_room(scope.owner, most):
                metrics.streams_ended.labels(REFUSED).inc()
                raise exception.HTTPServiceUnavailable(_('There are too many event streams; try again later.'))
            if self._cursor is None:
                self._cursor = self._begin()
            if position is not None and position > self._cursor.top and position > self._newest():
                position = None                     # of another database: one that was restored is behind its clients
            made = EventListener(self, scope, render, self._cursor.top, self._cursor.floor, position, until,
                                 is_stopping, is_left, base)
            self._listeners.setdefault(scope.key, {})[id(made)] = made
            self._counts.add(scope.owner)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name='events', daemon=True).start()
        return made

    def _has_room(self, owner: str, most: int) -> bool:
        """Whether a project may have one more listener. `most`: of all projects."""
        own, total = self._counts.count(owner), self._counts.total()
        share = max(1, (most - (total - own)) // SHARE)
        return total < most and own < min(share, self.bounds.listeners_of_project)

    def leave(self, listener: EventListener) -> None:
        with self._lock:
            among = self._listeners.get(listener.scope.key, {})
            if among.pop(id(listener), None) is None:
                return
            if not among:
                del self._listeners[listener.scope.key]
            self._counts.remove(listener.scope.owner)

    @property
    def count(self) -> int:
        return self._counts.total()

    def look(self) -> int:
        """Read what is new, once, and hand it out. Return the number of events."""
        cursor, now = self._cursor, self.clock()
        if cursor is None:
            return 0
        with self.database.reader() as tx:
            spans = cursor.wanted(now)
            late = cursor.missing(event_stream.numbers_within(tx, spans, NUMBERS)) if spans else []
            found = event_stream.by_numbers(tx, late) if late else []
            new = event_stream.after(tx, cursor.top, PAGE)
        for each in found:                          # one by one: the floor must not pass what is not handed out yet
            cursor.fill(each.event.id)
            self._hand_out(each, cursor.floor)
        for each in new:
            cursor.advance(each.event.id, now)
            self._hand_out(each, cursor.floor)
        if found or new:
            self._measure([*found, *new])
        return len(found) + len(new)

    def _measure(self, read: Sequence[Streamed]) -> None:
        """Once for each look: one that reads many events must not take longer for it."""
        oldest = min(each.event.created_at for each in read)
        metrics.stream_events.inc(len(read))
        metrics.stream_lag.observe(max(0.0, (runtime.current().now() - oldest).total_seconds()))

    def _begin(self) -> EventCursor:
        with self.database.reader() as tx:
            return EventCursor(event_stream.newest(tx, NEWEST), self.clock())

    def _newest(self) -> int:
        with self.database.reader() as tx:
            return max(event_stream.newest(tx, 1), default=0)

    def _run(self) -> None:
        while not self._is_over():
            if self._look_if_possible() < PAGE:
                time.sleep(self.bounds.poll)

    def _look_if_possible(self) -> int:
        """As `look`; 0 while the database is away: the next look finds what this one would have found."""
        try:
            found = self.look()
        except exception.DatabaseUnavailable as error:
            outages.away(outages.DATABASE, error)
            return 0
        except Exception:
            LOG.exception('Event streams could not read events')
            return 0
        return found

    def _is_over(self) -> bool:
        """End the reading without listeners; wake all of them when their server stops."""
        with self._lock:
            if not self.count:
                self._is_running, self._cursor = False, None
                return True
            every = [each for among in self._listeners.values() for each in among.values()]
        checks = {each.is_stopping for each in every if each.is_stopping is not None}
        if any(check() for check in checks):
            for each in every:
                each.wake()
        return False

    def _hand_out(self, streamed: Streamed, floor: int) -> None:
        keys = dict.fromkeys([('project', streamed.project_id), ('tree', streamed.root_id),
                              ('tree', streamed.event.stack_id)])
        with self._lock:
            wanted = [listener for key in keys for listener in self._listeners.get(key, {}).values()]
        made: dict[Render, Sequence[bytes]] = {}    # all listeners share the text
        for number, listener in enumerate(wanted):
            parts = made.get(listener.render)
            if parts is None:
                parts = made[listener.render] = listener.render(streamed)
            listener.add(streamed.event.id, floor, parts)
            if number % LISTENERS_BETWEEN_TURNS == LISTENERS_BETWEEN_TURNS - 1:
                time.sleep(0)


class EventListener:
    """One stream as the body of an answer: an iterator over chunks, which waits for events.

    `position`: the client's, None: it has none. What was committed before this listener began is read from the database
    page by page, as fast as the client reads it.
    """

    __slots__ = (
        '_added',
        '_base',
        '_flag',
        '_floor',
        '_has_begun',
        '_heartbeat_at',
        '_hub',
        '_is_full',
        '_is_left',
        '_past',
        '_position',
        '_replayed',
        '_taken',
        '_top',
        '_until',
        '_waiting',
        'is_stopping',
        'render',
        'scope',
    )

    def __init__(self, hub: Hub, scope: StreamScope, render: Render, top: int, floor: int, position: int | None,
                 until: float, is_stopping: Callable[[], bool] | None,
                 is_left: Callable[[], bool] | None = None, base: bytes = b'') -> None:
        self.scope = scope
        self.render = render
        self.is_stopping = is_stopping
        self._is_left = is_left
        self._base = base
        self._hub = hub
        self._top, self._floor = top, floor         # of the reader when this listener began
        self._past = 0 if position is None else position        # what the client has already
        self._position = position if position is not None and position < top else None
        self._until = until
        self._replayed: set[int] = set()            # numbers above the floor, which the reader may find as well
        self._waiting: deque[tuple[int, int, Sequence[bytes]]] = deque()
        self._added = self._taken = 0               # bytes, each counted by one thread: of the hub, of the listener
        self._flag = threading.Event()
        self._heartbeat_at = hub.clock() + hub.bounds.heartbeat
        self._is_full = self._has_begun = False

    def add(self, number: int, floor: int, parts: Sequence[bytes]) -> None:
        size = sum(map(len, parts))
        if not self._is_full and self._has_room(size):
            self._waiting.append((number, floor, parts))
            self._added += size
        elif not self._is_full:
            metrics.streams_ended.labels(SLOW).inc()
            self._is_full = True                    # it gets no more here: it resumes by another connection
        self._flag.set()

    def _has_room(self, size: int) -> bool:
        waiting = len(self._waiting)
        return waiting == 0 or (waiting < WAITING and self._added - self._taken + size <= WAITING_BYTES)

    def wake(self) -> None:
        self._flag.set()

    def close(self) -> None:
        """End it; servers call it when the answer is over, or its client is."""
        self._hub.leave(self)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if not self._has_begun:
            self._has_begun = True
            return b'retry: %d\nid: %d\n\n' % (RECONNECT_MILLISECONDS,
                                               self._floor if self._position is None else self._position)
        if self._position is not None and (text := self._replay()):
            return text
        while True:
            if text := self._take():
                return text
            now = self._hub.clock()
            if self._is_full or now >= self._until or (self.is_stopping is not None and self.is_stopping()):
                self.close()
                raise StopIteration
            if now >= self._heartbeat_at:
                self._heartbeat_at = now + self._hub.bounds.heartbeat
                if self._is_left is not None and self._is_left():
                    self._is_full = True
                    continue
                return b':\n\n'
            self._flag.wait(max(min(self._heartbeat_at, self._until) - now, 0.001))
            self._flag.clear()

    def _take(self) -> bytes:
        """Return what waits, as one chunk."""
        found, size = [], 0
        while self._waiting and size < CHUNK:
            number, floor, parts = self._waiting.popleft()
            self._taken += sum(map(len, parts))
            if number > self._past and number not in self._replayed:
                found.append(self._text(floor, parts))
                size += len(found[-1])
        if found:
            self._heartbeat_at = self._hub.clock() + self._hub.bounds.heartbeat
        return b''.join(found)

    def _text(self, position: int, parts: Sequence[bytes]) -> bytes:
        return b'id: %d\n%s' % (position, self._base.join(parts))

    def _replay(self) -> bytes:
        """Return the next chunk of earlier events, or a new position where none of them are of this listener; empty at
        the end. Each statement reads SPAN events of others at most, however far back the position is."""
        position, scope, end = self._position or 0, self.scope, self._top
        with self._hub.database.reader() as tx:
            if scope.project_id is not None:
                end = event_stream.end_of_span(tx, position, self._top, SPAN)
                found = event_stream.of_project(tx, scope.project_id, position, end, REPLAYED)
            else:
                found = event_stream.of_tree(tx, scope.stack_id or '', position, self._top, REPLAYED)
        texts = self._replayed_texts(found)
        if len(texts) < len(found) or len(found) == REPLAYED:
            self._position = found[len(texts) - 1].event.id
        elif end < self._top:
            self._position = end
        else:
            self._position = None
        if not found and self._position is not None:        # a client that comes again need not begin before this
            return b'id: %d\n\n' % min(end, self._floor)
        return b''.join(texts)

    def _replayed_texts(self, found: Sequence[Streamed]) -> list[bytes]:
        """Return the texts of the first of these events that make one chunk."""
        texts, size = list[bytes](), 0
        for each in found:
            if size >= CHUNK:
                break
            number = each.event.id
            if number > self._floor:
                self._replayed.add(number)
            texts.append(self._text(min(number, self._floor), self.render(each)))
            size += len(texts[-1])
        return texts
