"""Group commit: writes the changes of all stacks of this engine together.

The rule of durability: callers wait for intents and physical ids, not for completions. An awaited change is written
immediately, with all pending ones; other changes may linger a few milliseconds, so that an IN_PROGRESS and the COMPLETE
right after it become one write.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, ParamSpec

from heatlite.common import exception, metrics, outages, retries
from heatlite.common.fair_queue import NO_OWNERS, FairQueue
from heatlite.common.runtime import Flag, Runtime
from heatlite.db import changes
from heatlite.db.changes import EncodedChange
from heatlite.db.connection import Database
from heatlite.db.errors import Contention, TakesNoWrites
from heatlite.planning.states import Change, Status

LOG = logging.getLogger(__name__)
P = ParamSpec('P')

ROOM = 2                        # transactions: changes that may be pending when a stack goes on to submit many
EACH = 20                       # changes in a transaction for each tree while several have some, about 5 ms on MariaDB
SHARED = 200                    # changes in it for all of them, about 20 ms
SHARED_CHARACTERS = 1_000_000   # characters that complete it while several trees have changes
MOST_CHARACTERS = 8_000_000     # and in any case
SHARED_SECONDS = 10.0           # how long another tree is expected after there was one


MISSING = 'an earlier one is missing'


class StopsDriving(BaseException):
    """This engine must not go on with a stack: the receiver stops working on it.

    Not an Exception: a resource type that catches all errors must not go on after this one.
    """


class LeaseLost(StopsDriving):
    """Another engine owns the stack now: the receiver must write nothing."""


class NotStored(StopsDriving):
    """The database refuses a change of a stack that this engine may still own: the state in memory is no longer the
    stored one. `Journal.refused` was called with the cause before."""

    def __init__(self, stack_id: str, cause: Exception | str) -> None:
        self.cause = cause
        super().__init__(f'a change of stack {stack_id} cannot be stored: {cause}')


class Superseded(Exception):
    """A newer request was accepted: the change of the stack's own row was not written, the rest was."""


Then = Callable[[StopsDriving | Superseded | None], None]           # None: durable; else why not


class JournalEntry(NamedTuple):
    """A change that is to be written. `number`: in the order in which they were submitted."""

    encoded: EncodedChange
    then: Then | None
    number: int


class Journal:
    LINGER = 0.05                                   # seconds that a change without a waiter may be delayed
    TRIES = 5                                       # of a batch that ends its connection while the database answers
    TRIES_WITHOUT_SPACE = 60                        # of one that the database has no space for, about two minutes

    def __init__(self, runtime: Runtime, database: Database, largest: int,
                 refused: Callable[[str, Exception], None] = lambda stack_id, error: None,
                 noted: Callable[[str], None] = lambda stack_id: None,
                 owners: Callable[[str], tuple[str, str]] = lambda stack_id: NO_OWNERS) -> None:
        """`largest`: the most changes in one transaction; `refused(stack, error)`: called for a change that cannot be
        stored, before its `then`; `noted(stack)`: called when events of a stack were stored. Both run in the journal's
        thread, as the `then` of `submit`: an error of one is logged, and `refused` is called with it.
        `owners(stack)`: its project and its root stack, which take turns, as do the stacks of a tree."""
        self._largest = largest
        self._runtime = runtime
        self._database = database
        self._pending: FairQueue[JournalEntry] = FairQueue()
        self._characters = 0                        # of all that are pending
        self._owners = owners
        self._shared_until = 0.0                    # monotonic time until which several trees are expected
        self._has_work = runtime.flag()
        self._hurried = runtime.flag()
        self._submitted = 0                         # the number of the last entry
        self._open: dict[int, str] = {}             # entries that are not written: number -> stack, in their order
        self._flushes: list[tuple[int, Flag]] = []  # waits until all entries up to a number are written
        self._taken = runtime.flag()                # changes were taken from those that are pending
        self._refused = refused
        self._noted = noted
        self._gaps: dict[str, int] = {}             # stack -> epoch, while a change of it is missing
        self._thread = runtime.spawn_essential('The journal', self._run)

    def __len__(self) -> int:
        """The number of changes that are not being written yet."""
        return len(self._pending)

    def trees(self, project_id: str) -> int:
        """The number of root stacks of a project in whose trees changes are not being written yet."""
        return self._pending.users(project_id)

    def submit(self, change: Change, then: Then | None = None) -> None:
        """Write `change` soon. `then` is called in the journal's thread with the result; it must not block. The values
        are encoded here: the journal's thread works for all stacks."""
        encoded = changes.encoded(change)
        self._characters += encoded.size
        self._submitted += 1
        self._open[self._submitted] = change.stack_id
        self._pending.put(JournalEntry(encoded, then, self._submitted), *self._owners(change.stack_id), change.stack_id)
        self._has_work.set()
        if then is not None:
            self._hurried.set()

    def write(self, change: Change) -> None:
        """Write `change` and return when it is durable. Raises LeaseLost, NotStored or Superseded."""
        done = self._runtime.flag()
        fate: list[StopsDriving | Superseded | None] = []

        def written(why_not: StopsDriving | Superseded | None) -> None:
            fate.append(why_not)
            done.set()

        self.submit(change, written)
        done.wait()
        if fate[0] is not None:
            raise fate[0]

    def make_room(self) -> None:
        """Wait while more changes are pending than a few transactions take: each has some hundred bytes, and the texts
        of its values."""
        self._taken.clear()
        while len(self._pending) > ROOM * self._largest or self._characters > ROOM * MOST_CHARACTERS:
            self._hurried.set()
            self._taken.wait()
            self._taken.clear()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all changes submitted so far are written. Returns False if `timeout` (seconds) passed first."""
        if not self._open:
            return True
        flush = self._submitted, self._runtime.flag()
        self._flushes.append(flush)
        self._hurried.set()
        try:
            return flush[1].wait(timeout)
        finally:
            self._flushes.remove(flush)

    def settle(self, change: Change) -> None:
        """Return when all changes of a stack so far are written. `change`: one of it without content, which is written
        only if others are open. Raises LeaseLost and NotStored."""
        if change.stack_id in self._open.values():
            self.write(change)

    def begin(self, stack_id: str, epoch: int) -> None:
        """Return when all changes of a stack are written that will be: before the engine reads it. Raises LeaseLost and
        NotStored."""
        self.write(Change(stack_id, epoch))
        self._gaps.pop(stack_id, None)

    def check(self, stack_id: str, epoch: int) -> None:
        """Return when all changes of a stack so far are stored. Raises LeaseLost, and NotStored if one is missing."""
        self.write(Change(stack_id, epoch))
        if self._gaps.get(stack_id) == epoch:
            raise NotStored(stack_id, MISSING)

    def stop(self) -> None:
        self._thread.kill()

    def _run(self) -> None:
        while True:
            self._has_work.wait()
            self._hurried.wait(self.LINGER)
            self._runtime.sleep(0)                    # lets other threads submit to the same transaction
            self._has_work.clear()
            self._hurried.clear()
            while self._pending:
                batch = self._take()
                self._taken.set()
                self._commit(batch)
                self._close(batch)

    def _close(self, batch: Sequence[JournalEntry]) -> None:
        """Note that these have been written, or refused."""
        for entry in batch:
            del self._open[entry.number]
        first = next(iter(self._open), self._submitted + 1)
        for last, flag in self._flushes:
            if last < first:
                flag.set()

    def _take(self) -> Sequence[JournalEntry]:
        """Remove the changes of the next transaction from those that are pending."""
        most, characters = self._room()
        if self._characters <= characters:
            batch = self._pending.take_many(most)
            self._characters -= sum([entry.encoded.size for entry in batch])
            return batch
        taken: list[JournalEntry] = []
        size = 0
        while self._pending and len(taken) < most and size < characters:
            taken.append(self._pending.take())
            size += taken[-1].encoded.size
        self._characters -= size
        return taken

    def _room(self) -> tuple[int, int]:
        """The most changes in the next transaction, and the characters with which it is complete: few while several
        trees have changes, as each waits for it."""
        now, trees = self._runtime.monotonic(), self._pending.users()
        if trees > 1:
            self._shared_until = now + SHARED_SECONDS
        if now >= self._shared_until:
            return self._largest, MOST_CHARACTERS
        return min(self._largest, SHARED, EACH * trees), SHARED_CHARACTERS

    def _commit(self, batch: Sequence[JournalEntry], is_part: bool = False) -> None:
        """`is_part`: of a batch that could not be stored as a whole, but may have been written partly."""
        began = self._runtime.monotonic()
        if self._gaps:
            batch = self._without_untrue(batch)
            if not batch:
                return
        try:
            written = self._write([entry.encoded for entry in batch], is_part)
        except Exception as error:
            self._isolate(batch, error)
            return
        metrics.journal_changes.observe(len(batch))
        metrics.journal_characters.observe(sum([entry.encoded.size for entry in batch]))
        metrics.journal_seconds.observe(self._runtime.monotonic() - began)
        for entry in batch:
            change, then = entry.encoded.change, entry.then
            if change.events:
                self._call(change.stack_id, self._noted, change.stack_id)
            if then is None:
                continue
            if written.is_refused(change):
                self._call(change.stack_id, then, LeaseLost(change.stack_id))
            elif written.is_superseded(change):
                self._call(change.stack_id, then, Superseded(change.stack_id))
            else:
                self._call(change.stack_id, then, None)

    def _call(self, stack_id: str, callback: Callable[P, None], *arguments: P.args, **named: P.kwargs) -> None:
        """Make a call to another part of the engine. Its error stops the runner of that stack, and no other."""
        try:
            callback(*arguments, **named)
        except Exception as error:
            LOG.exception('What follows from a change of stack %s has failed', stack_id)
            with suppress(Exception):               # all that is left to do is done
                self._refused(stack_id, error)

    def _without_untrue(self, batch: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Refuse the changes that set a stack to COMPLETE although an earlier change of it is missing, until the stack
        is read again (`begin`) or has another epoch. Return the others."""
        found = []
        for entry in batch:
            change = entry.encoded.change
            stack_id, epoch = change.stack_id, self._gaps.get(change.stack_id)
            if epoch is not None and epoch != change.epoch:
                del self._gaps[stack_id]
            elif epoch is not None and change.stack is not None and change.stack.status is Status.COMPLETE:
                if entry.then is not None:
                    self._call(stack_id, entry.then, NotStored(stack_id, MISSING))
                continue
            found.append(entry)
        return found

    def _isolate(self, batch: Sequence[JournalEntry], error: Exception) -> None:
        """Find the change that cannot be stored by bisecting the batch, so that the others are stored.

        The runner of its stack is stopped, as its state differs from the stored one.
        """
        if len(batch) > 1:
            middle = len(batch) // 2
            self._commit(batch[:middle], is_part=True)
            self._commit(batch[middle:], is_part=True)
            return
        change, then = batch[0].encoded.change, batch[0].then
        self._gaps[change.stack_id] = change.epoch
        # First: a runner whose thread meets NotStored ends, and has to know the defect by then.
        self._call(change.stack_id, self._refused, change.stack_id, error)
        if then is not None:
            self._call(change.stack_id, then, NotStored(change.stack_id, error))

    def _write(self, batch: list[EncodedChange], is_part: bool) -> changes.Written:
        """Write a batch, retrying while the database is unavailable. The lease, not this loop, decides whether the
        engine may act meanwhile.

        Raises DatabaseUnavailable after `TRIES` of a batch that ends its connection while the database takes other
        writes, such as one beyond the largest packet: other changes must not wait for it. A part of such a batch has
        one try. A full disk is waited for longer, as a batch is hardly ever the cause of it.
        """
        again, failed, tries = is_part, 0, 1 if is_part else self.TRIES
        texts = {value: text for each in batch for value, text in each.texts.items()}

        def transaction() -> changes.Written:
            with self._database.writer() as tx:
                return changes.write(tx, [each.change for each in batch], again, texts)

        def is_refused(error: Exception) -> bool:
            nonlocal failed
            is_its_own = not isinstance(error, Contention) and self.is_writable()
            failed = failed + 1 if is_its_own else 0
            has_no_space = isinstance(error, TakesNoWrites) and not is_part
            return failed >= (self.TRIES_WITHOUT_SPACE if has_no_space else tries)

        def wait(error: Exception, seconds: float) -> None:
            nonlocal again
            again = True
            outages.away(outages.DATABASE, error)
            LOG.debug('%d changes wait for the database; next try in %.2f s', len(batch), seconds)

        return retries.call(transaction, retries.JOURNAL, exception.DatabaseUnavailable, gives_up=is_refused,
                            before_pause=wait, sleep=self._runtime.sleep)

    def is_writable(self) -> bool:
        """Whether the database accepts a write (one that changes nothing)."""
        try:
            with self._database.writer() as tx:
                changes.touch_nothing(tx)
        except exception.DatabaseUnavailable:
            return False
        return True
