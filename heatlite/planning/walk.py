"""Walks a graph of steps: each step once, needed ones first."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Generic, TypeVar

from heatlite.planning import graph

Node = TypeVar('Node', bound=Hashable)


class Walk(Generic[Node]):
    """Counts the unfinished requirements of each step. Each step is returned once, by `ready` or `finish`."""

    def __init__(self, requires: Mapping[Node, Collection[Node]]) -> None:
        self._ready = [node for node, needed in requires.items() if not needed]
        self._waiting = {node: len(needed) for node, needed in requires.items() if needed}
        self._behind = graph.dependents(requires.items())
        self._unfinished = len(requires)

    def ready(self) -> list[Node]:
        """Return the steps without requirements, in the order given. The walk keeps no step that it has returned."""
        ready, self._ready = self._ready, []
        return ready

    def finish(self, node: Node) -> list[Node]:
        """Mark `node` as done. Returns the steps whose last unfinished requirement it was."""
        self._unfinished -= 1
        started = []
        for other in self._behind.pop(node, ()):
            self._waiting[other] -= 1
            if not self._waiting[other]:
                del self._waiting[other]
                started.append(other)
        return started

    @property
    def is_finished(self) -> bool:
        return self._unfinished == 0
