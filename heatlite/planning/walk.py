"""Which steps are ready: a graph being walked, each step once, needed ones first."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Generic, TypeVar

from heatlite.planning import graph

Node = TypeVar('Node', bound=Hashable)


class Walk(Generic[Node]):
    """Counts what each step still waits for. A step is handed out once, by `ready` or `finish`."""

    def __init__(self, requires: Mapping[Node, Collection[Node]]) -> None:
        self._waiting = {node: len(needed) for node, needed in requires.items()}
        self._behind = graph.dependents(requires)
        self._unfinished = len(self._waiting)

    def ready(self) -> list[Node]:
        """Those that need nothing, in the order given."""
        return [node for node, count in self._waiting.items() if not count]

    def finish(self, node: Node) -> list[Node]:
        """`node` is done; those that waited for it last."""
        self._unfinished -= 1
        started = []
        for other in self._behind[node]:
            self._waiting[other] -= 1
            if not self._waiting[other]:
                started.append(other)
        return started

    @property
    def is_finished(self) -> bool:
        return self._unfinished == 0

    @property
    def unfinished(self) -> int:
        """How many steps have not finished, those that never will behind a failure included."""
        return self._unfinished
