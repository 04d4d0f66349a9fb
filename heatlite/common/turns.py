"""Lets other requests run during long pure work, without the pure packages knowing a clock or a thread.

Loops over user input count their steps with `spend`. After each `EVERY` steps the function that the program installed
with `use` runs; it may switch to another green thread. Without one (tests, tools) counting is all that happens.

A caller must not rely on shared state across `spend`, and must not call it while it holds a database transaction.
"""

from __future__ import annotations

from collections.abc import Callable

EVERY = 2000            # steps between two turns; one step is one event, node, call or item: some microseconds

_turn: Callable[[], None] | None = None
_spent = 0


def use(turn: Callable[[], None] | None) -> None:
    """Installs what runs between steps, for the whole process."""
    global _turn
    _turn = turn


def spend(steps: int = 1) -> None:
    """Counts work done. From any thread; may switch green threads."""
    global _spent
    _spent += steps
    if _spent >= EVERY:
        _spent = 0
        if _turn is not None:
            _turn()
