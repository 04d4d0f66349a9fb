"""Computes the answer to a question once for all threads that ask it at the same time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from heatlite.common.runtime import Flag, Runtime

T = TypeVar('T')


@dataclass
class _Computation(Generic[T]):
    """One computation. `number`: in the order in which they begin; `answers`: at most one, none after an error."""

    number: int
    done: Flag
    answers: list[T] = field(default_factory=list)


class SharedAnswers(Generic[T]):
    """For the green threads of one process. One thread at a time computes the answer to a question; those that ask it
    meanwhile wait, and share the next computation: no answer is older than its question."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._numbers = itertools.count()
        self._running: dict[Hashable, _Computation[T]] = {}

    def answer(self, question: Hashable, compute: Callable[[], T]) -> T:
        """Return `compute()`, or what another thread has computed since this was called. An error is raised in the
        thread that computes only; the next one that waits computes for itself."""
        asked = next(self._numbers)
        while (running := self._running.get(question)) is not None:
            running.done.wait()
            if running.answers and running.number > asked:
                return running.answers[0]
        mine: _Computation[T] = _Computation(next(self._numbers), self._runtime.flag())
        self._running[question] = mine
        try:
            mine.answers.append(compute())
            return mine.answers[0]
        finally:
            del self._running[question]
            mine.done.set()
