"""Threads of the system, for calls that would block all green threads: to the system's resolver, to a file system.

Such a call cannot be ended: its callers stop waiting, and its thread lasts until the call ends. So a pool has a number
of threads, and each owner of calls, such as a project, a share of them.
"""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from heatlite.common import runtime
from heatlite.common.keyed_count import KeyedCount

T = TypeVar('T')
Key: TypeAlias = tuple[Callable[..., T], tuple[object, ...]]


class _Call(Generic[T]):
    """A function and its arguments, for all that wait for the same. `flags`: one for each of these."""

    __slots__ = ('error', 'flags', 'key', 'owners', 'result')
    result: T                                   # once it has ended, unless there is an `error`

    def __init__(self, key: Key[T]) -> None:
        self.key = key
        self.owners: list[str] = []             # in whose queues it waits; none once it has begun
        self.flags: dict[runtime.Flag, None] = {}
        self.error: BaseException | None = None

    def run(self) -> None:
        function, arguments = self.key
        try:
            self.result = function(*arguments)
        except BaseException as error:
            self.error = error


class ThreadPool(Generic[T]):
    """At most `threads` threads, of which one owner has at most `share`. A thread ends when no call waits for one.

    Its calls return a `T`. Owners take turns. Equal calls at the same time are one call. For threads of all kinds.
    """

    def __init__(self, threads: int, share: int) -> None:
        self._threads, self._share = threads, share
        self._begin()
        os.register_at_fork(after_in_child=self._begin)         # no thread is left there

    def _begin(self) -> None:
        self._lock = runtime.system_threading().Lock()
        self._calls: dict[Key[T], _Call[T]] = {}      # that wait, or run
        self._waiting: OrderedDict[str, dict[_Call[T], None]] = OrderedDict()      # by owner; the next one first
        self._running: KeyedCount[str] = KeyedCount()                   # threads by owner

    def call(self, seconds: float, function: Callable[..., T], *arguments: object, owner: str = '') -> T:
        """Return `function(*arguments)`, which must be hashable. Raises its error; TimeoutError after `seconds`.

        A call that all its callers have left before its begin is not made.
        """
        flag = runtime.outside_flag()
        call = self._join((function, arguments), owner, flag)
        try:
            if not flag.wait(seconds):
                raise TimeoutError('the time is over')
        finally:
            self._leave(call, flag)
        if call.error is not None:
            raise call.error.with_traceback(None)
        return call.result

    def _join(self, key: Key[T], owner: str, flag: runtime.Flag) -> _Call[T]:
        with self._lock:
            call = self._calls.get(key)
            if call is None:
                call = self._calls[key] = _Call(key)
                self._queue(call, owner)
            elif call.owners and owner not in call.owners:
                self._queue(call, owner)        # it may begin in the turn of either owner
            call.flags[flag] = None
            first = self._take()
        if first is not None:
            try:
                runtime.system_threading().Thread(target=self._work, args=first, daemon=True).start()
            except RuntimeError:                # the limit of the system
                first[0].error = OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
                self._end(*first)
        return call

    def _leave(self, call: _Call[T], flag: runtime.Flag) -> None:
        with self._lock:
            del call.flags[flag]
            if call.owners and not call.flags:
                self._unqueue(call)
                del self._calls[call.key]

    def _work(self, call: _Call[T], owner: str) -> None:
        """Make this call, and then those that wait, as a thread of this pool."""
        following: tuple[_Call[T], str] | None = (call, owner)
        while following is not None:
            call, owner = following
            call.run()
            self._end(call, owner)
            with self._lock:
                following = self._take()

    def _end(self, call: _Call[T], owner: str) -> None:
        with self._lock:
            self._running.remove(owner)
            del self._calls[call.key]
            flags = [*call.flags]
        for flag in flags:
            flag.set()

    def _take(self) -> tuple[_Call[T], str] | None:
        """Begin the next call for which there is a thread: return it and whose share it uses. Owners that have all of
        their share are passed over; there are at most `threads / share` of them."""
        if self._running.total() >= self._threads:
            return None
        for owner, calls in self._waiting.items():
            if self._running.count(owner) < self._share:
                call = next(iter(calls))
                self._waiting.move_to_end(owner)
                self._unqueue(call)
                self._running.add(owner)
                return call, owner
        return None

    def _queue(self, call: _Call[T], owner: str) -> None:
        call.owners.append(owner)
        self._waiting.setdefault(owner, {})[call] = None

    def _unqueue(self, call: _Call[T]) -> None:
        for owner in call.owners:
            calls = self._waiting[owner]
            del calls[call]
            if not calls:
                del self._waiting[owner]
        call.owners = []
