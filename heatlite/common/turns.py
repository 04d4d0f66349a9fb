"""Lets other requests run during long pure computations, so that pure packages need neither a clock nor a thread.

Loops over user input count their steps with `spend`. After each `EVERY` steps the function that the program installed
with `use` runs; it may switch to another green thread. Without one (tests, tools) steps are only counted.

A caller must not rely on shared state across `spend`. A block that must not be interrupted, such as a database
transaction, is put into `held`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from heatlite.common import allowance

T = TypeVar('T')

EVERY = 100             # steps between two turns; one step is one event, node, call or item: some microseconds

_held: ContextVar[bool] = ContextVar('turns held', default=False)
_check: ContextVar[Callable[[], None] | None] = ContextVar('turns check', default=None)
_owners: ContextVar[tuple[str, ...]] = ContextVar('turns owners', default=())
_turn: Callable[..., None] | None = None
_spent = 0


def use(turn: Callable[..., None] | None) -> None:
    """Install the function that runs after each `EVERY` steps, for the whole process. It gets the owners of the work:
    project and root stack, or nothing where they are not known."""
    global _turn
    _turn = turn


def spend(steps: int = 1) -> None:
    """Count steps of work. May be called from any thread; may switch green threads.

    Raises what the check of this green thread raises (`checked`).
    """
    global _spent
    _spent += steps
    if _spent >= EVERY:
        _spent = 0
        check = _check.get()
        if check is not None:
            check()
        if _turn is not None and not _held.get():
            _turn(*_owners.get())


def begin(project_id: str | None, root_id: str | None = None) -> None:
    """Let other work run first if the process has been busy for long: projects take turns, and below each its trees of
    stacks. For a thread that is about to begin work for a project, such as a request, or for a tree; it must not have a
    database transaction. What this green thread computes from now on is work of these, until it begins other work."""
    if _turn is not None:
        owners = (project_id, root_id or project_id) if project_id else ()
        _owners.set(owners)
        _turn(*owners)


def owners() -> tuple[str, ...]:
    """Return the owners of what this green thread computes: project and root stack, or nothing."""
    return _owners.get()


def forget() -> None:
    """Let what this green thread computes from now on be of no known owner: it may be used for another caller."""
    _owners.set(())


def paced(items: Iterable[T], steps: int = 1) -> Iterator[T]:
    """Yield the items, and count steps for each."""
    for item in items:
        spend(steps)
        yield item


@contextmanager
def held() -> Iterator[None]:
    """Prevent switches in this block, for this green thread: it has a database transaction."""
    token = _held.set(True)
    try:
        with allowance.held():
            yield
    finally:
        _held.reset(token)


@contextmanager
def undisturbed() -> Iterator[None]:
    """In this block steps are only counted: no switches and no checks. For short work inside code that relies on both,
    such as a log line."""
    token = _check.set(None)
    try:
        with held():
            yield
    finally:
        _check.reset(token)


@contextmanager
def checked(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` at the turns of this block, in this green thread; it may raise to end the work."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)
