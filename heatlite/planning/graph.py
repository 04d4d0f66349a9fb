"""Orders a directed graph of requirements over hashable nodes, and finds its cycles."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from heatlite.common import turns

Node = TypeVar('Node', bound=Hashable)
NEEDED_A_STEP = 8                       # requirements that are looked at in one step of `turns`
Requires = Mapping[Node, Collection[Node]]


def dependents(requires: Iterable[tuple[Node, Collection[Node]]]) -> dict[Node, list[Node]]:
    """Return the reversed edges: node -> nodes that need it, without the nodes that no other one needs. A node that is
    given twice is named twice."""
    turned: dict[Node, list[Node]] = {}
    for node, needed in requires:
        turns.spend(1 + len(needed) // NEEDED_A_STEP)
        for other in needed:
            turned.setdefault(other, []).append(node)
    return turned


def order(requires: Requires[Node]) -> Iterator[Node]:
    """Yield the nodes in topological order, needed ones first. Nodes on or behind a cycle are left out.

    Linear in nodes and edges.
    """
    waiting = {node: len(needed) for node, needed in requires.items()}
    behind = dependents(requires.items())
    ready = [node for node, count in waiting.items() if not count]
    ready.reverse()
    while ready:
        node = ready.pop()
        turns.spend(1)
        yield node
        for other in behind.get(node, ()):
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)


def cycle(requires: Requires[Node]) -> list[Node]:
    """Return one cycle: each node needs the next, the last needs the first. [] if there is none."""
    left = dict(requires)
    for node in order(requires):
        del left[node]
    if not left:
        return []
    # `left` has the nodes on a cycle and those behind one. Each of them needs another node in `left`, so a walk
    # along these edges must return to a node already seen.
    path: list[Node] = []
    position: dict[Node, int] = {}
    node = next(iter(left))
    while node not in position:
        position[node] = len(path)
        path.append(node)
        node = next(other for other in left[node] if other in left)
    return path[position[node]:]
