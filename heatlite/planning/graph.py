"""Who needs whom: a directed graph over anything hashable, its order and its cycles."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import TypeVar

from heatlite.common import turns

Node = TypeVar('Node', bound=Hashable)
Requires = Mapping[Node, Collection[Node]]


def dependents(requires: Requires[Node]) -> dict[Node, list[Node]]:
    """The edges turned round: node -> those that need it. Needed nodes without an entry of their own get one."""
    turned: dict[Node, list[Node]] = {node: [] for node in requires}
    for node, needed in requires.items():
        turns.spend(1 + len(needed) // 8)
        for other in needed:
            turned.setdefault(other, []).append(node)
    return turned


def order(requires: Requires[Node]) -> Iterator[Node]:
    """Needed ones first. Nodes on or behind a cycle never come; linear in nodes and edges."""
    waiting = {node: len(needed) for node, needed in requires.items()}
    behind = dependents(requires)
    ready = [node for node, count in waiting.items() if not count]
    ready.reverse()
    while ready:
        node = ready.pop()
        turns.spend(1)
        yield node
        for other in behind[node]:
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)


def cycle(requires: Requires[Node]) -> list[Node]:
    """One cycle, each node needing the next and the last the first; [] when there is none."""
    left = dict(requires)
    for node in order(requires):
        del left[node]
    if not left:
        return []
    # What is left are the nodes on a cycle and those behind one; every one of them needs another that is
    # left, so walking along those needs must come back to a node already seen.
    path: list[Node] = []
    position: dict[Node, int] = {}
    node = next(iter(left))
    while node not in position:
        position[node] = len(path)
        path.append(node)
        node = next(other for other in left[node] if other in left)
    return path[position[node]:]
