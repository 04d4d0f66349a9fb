"""Whether the answers of all APIs together can be those of one stack that changes at one moment for each request.

The check is the usual one of linearizability for a register: each request takes effect at one moment between its
beginning and its end, and each reader gets what was written last before its own moment. Follows the operations in
the order of their ends and keeps every state the register may be in (Lowe, Testing for linearizability, 2017).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

READ, WRITE = 'read', 'write'
Possible = tuple[str | None, frozenset[int]]    # the value, and those in progress that have had their effect already


@dataclass(frozen=True)
class Operation:
    """`end`: seconds; infinite for a write that was never accepted, which may have its effect at any time, or never."""

    kind: str
    value: str
    begin: float
    end: float


class History:
    """The operations on many registers, from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._operations: dict[str, list[Operation]] = {}

    def add(self, register: str, operation: Operation) -> None:
        with self._lock:
            self._operations.setdefault(register, []).append(operation)

    def __len__(self) -> int:
        return sum(map(len, self._operations.values()))

    def contradictions(self) -> Iterator[str]:
        """One line for each register whose operations cannot be put in an order."""
        for register, operations in sorted(self._operations.items()):
            found = contradiction(operations)
            if found is not None:
                yield f'{register}: {found}'


def contradiction(operations: Iterable[Operation]) -> Operation | None:
    """The first operation that cannot have ended as it did after those that ended before it; None if all can."""
    listed = list(operations)
    moments = sorted([(each.begin, 0, number) for number, each in enumerate(listed)]
                     + [(each.end, 1, number) for number, each in enumerate(listed) if each.end < inf])
    running: set[int] = set()
    possible: set[Possible] = {(None, frozenset())}
    for _, is_end, number in moments:
        if not is_end:
            running.add(number)
            continue
        possible = {(value, done - {number}) for value, done in _reachable(possible, running, listed)
                    if number in done}
        running.discard(number)
        if not possible:
            return listed[number]
    return None


def _reachable(possible: set[Possible], running: set[int], operations: list[Operation]) -> set[Possible]:
    """Also all that become possible when operations in progress have their effect, in any order."""
    found, new = set(possible), list(possible)
    while new:
        value, done = new.pop()
        for number in running - done:
            operation = operations[number]
            if operation.kind == READ and operation.value != value:
                continue
            after = operation.value if operation.kind == WRITE else value, done | {number}
            if after not in found:
                found.add(after)
                new.append(after)
    return found
