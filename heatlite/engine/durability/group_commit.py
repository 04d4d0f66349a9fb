"""Commits small requests that arrive together in one transaction: ten new stacks take the round trips of one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, NoReturn, TypeVar

from oslo_db import exception as db_exception
from sqlalchemy import Connection

from heatlite.common import allowance, commits, exception
from heatlite.common.runtime import Runtime
from heatlite.common.shared_errors import SharedError
from heatlite.db import bulk
from heatlite.db.connection import Database

T = TypeVar('T')

COMMIT_WAIT_SECONDS = 1.0   # seconds until a request no longer waits for the transaction under way
LARGEST = 50                # requests in one transaction


class _Request(Generic[T]):
    """A request that waits. `go_on`: what its thread calls when it is woken; returns the answer, or raises. `leads`:
    that is the transaction under way."""

    def __init__(self, runtime: Runtime, store: Callable[[Connection], T]) -> None:
        self.store = store
        self.woken = runtime.flag()
        self.go_on: Callable[[], T] | None = None
        self.leads = False

    def wake(self, go_on: Callable[[], T], leads: bool = False) -> None:
        self.go_on, self.leads = go_on, leads
        self.woken.set()


class GroupCommit(Generic[T]):
    """For all threads. A request that comes alone has a transaction of its own, without delay. What arrives while it is
    under way shares the next one."""

    def __init__(self, runtime: Runtime, database: Database) -> None:
        self._runtime = runtime
        self._database = database
        self._is_under_way = False
        self._waiting: deque[_Request[T]] = deque()

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a transaction."""
        return len(self._waiting)

    def commit(self, store: Callable[[Connection], T]) -> T:
        """Return `store(tx)`, once `tx` is committed. `store` only inserts, and must be repeatable: it is called again
        if the transaction fails, that of a group for each of its requests alone.

        Raises what `store` raises, and DatabaseUnavailable; then the outcome may be unknown. A commit that may have
        stored it is counted in `commits` for this thread, also if another thread has begun it."""
        with allowance.held():                  # from here on it may be stored by the thread of another request
            return self._commit_next(store)

    def _commit_next(self, store: Callable[[Connection], T]) -> T:
        if not self._is_under_way:
            self._is_under_way = True
            try:
                return self._alone(store)
            finally:
                self._next()
        request = _Request(self._runtime, store)
        self._waiting.append(request)
        try:
            if not request.woken.wait(COMMIT_WAIT_SECONDS) and request in self._waiting:
                self._waiting.remove(request)   # the one under way waits for a lock
                return self._alone(store)
            request.woken.wait()
        except BaseException:                   # the thread is killed
            self._abandon(request)
            raise
        assert request.go_on is not None
        return request.go_on()

    def _next(self) -> None:
        """A transaction has ended: the first request that waits begins another one."""
        if self._waiting:
            first = self._waiting.popleft()
            first.wake(partial(self._lead, first), leads=True)
        else:
            self._is_under_way = False

    def _abandon(self, request: _Request[T]) -> None:
        if request in self._waiting:
            self._waiting.remove(request)
        elif request.leads:
            self._next()
        else:
            commits.begin()                         # another thread stores it

    def _lead(self, first: _Request[T]) -> T:
        """Commit the first request that waited with all that wait now, and wake them. Return its answer."""
        others = [self._waiting.popleft() for _ in range(min(len(self._waiting), LARGEST - 1))]
        try:
            if not others:
                return self._alone(first.store)
            return self._commit(first, others)
        finally:
            self._next()

    def _alone(self, store: Callable[[Connection], T]) -> T:
        try:
            answer, = self._database.retry(partial(_store, [store]))
        except db_exception.DBDuplicateEntry:   # which of its statements has failed is known if they are apart
            return self._database.retry(store)
        return answer

    def _commit(self, first: _Request[T], others: Sequence[_Request[T]]) -> T:
        before = commits.begun()
        try:
            answer, *answers = self._database.retry(partial(_store, [first.store, *(each.store for each in others)]))
        except exception.DatabaseUnavailable as error:
            shared = SharedError(error)
            for each in others:
                each.wake(partial(_fail, shared, commits.begun() != before))
            raise
        except BaseException as error:          # one of them has failed, or this thread is killed
            for each in others:
                each.wake(partial(self._database.retry, each.store))
            if not isinstance(error, Exception):
                raise
            return self._database.retry(first.store)
        for each, found in zip(others, answers, strict=True):
            each.wake(partial(_same, found))
        return answer


def _store(stores: Sequence[Callable[[Connection], T]], tx: Connection) -> list[T]:
    with bulk.together(tx):
        return [store(tx) for store in stores]


def _same(answer: T) -> T:
    commits.begin()                             # for this thread, too: what it has asked for is stored
    return answer


def _fail(error: SharedError, may_be_stored: bool) -> NoReturn:
    if may_be_stored:
        commits.begin()                         # another engine must not be asked to store it again
    raise error.again()
