"""A graph of dependencies for types and plug-ins that build one themselves. The engine uses planning.graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from heatlite.common import exception

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource

Element = TypeVar('Element', bound=Hashable)
Other = TypeVar('Other', bound=Hashable)


class Edges(Protocol):
    """What a resource type fills in `add_dependencies`: a graph, or the names that the engine collects."""

    def __iadd__(self, edge: tuple[Resource, Resource | None]) -> Self: ...


class Dependencies(Generic[Element]):
    """A graph filled by `deps += (requirer, required)`; `(requirer, None)` adds an element without requirements.

    Iterates over all elements, required ones first. Elements must be hashable.
    """

    def __init__(self, edges: Iterable[tuple[Element, Element | None]] | None = None) -> None:
        self._requires: dict[Element, dict[Element, None]] = {}     # the inner dict is an ordered set
        for edge in edges or ():
            self += edge

    def __iadd__(self, edge: tuple[Element, Element | None]) -> Self:
        requirer, required = edge
        needs = self._requires.setdefault(requirer, {})
        if required is not None:
            self._requires.setdefault(required, {})
            needs[required] = None
        return self

    def requires(self, last: Element) -> list[Element]:
        """Return the elements that `last` needs directly. Raises KeyError if it is unknown."""
        return list(self._requires[last])

    def required_by(self, last: Element) -> list[Element]:
        """Return the elements that need `last` directly. Raises KeyError if it is unknown."""
        if last not in self._requires:
            raise KeyError(last)
        return [requirer for requirer, needs in self._requires.items() if last in needs]

    def graph(self, reverse: bool = False) -> dict[Element, set[Element]]:
        """Return element -> elements to process before it; `reverse`: in the order of deletion."""
        if not reverse:
            return {name: set(needs) for name, needs in self._requires.items()}
        turned: dict[Element, set[Element]] = {name: set() for name in self._requires}
        for requirer, needs in self._requires.items():
            for required in needs:
                turned[required].add(requirer)
        return turned

    def roots(self) -> list[Element]:
        """Return the elements that no other element needs."""
        needed = {required for needs in self._requires.values() for required in needs}
        return [name for name in self._requires if name not in needed]

    def leaves(self) -> list[Element]:
        """Return the elements without requirements."""
        return [name for name, needs in self._requires.items() if not needs]

    def __getitem__(self, last: Element) -> Dependencies[Element]:
        """Return the subgraph of `last` and all elements that need it, directly or not."""
        wanted, waiting = set(), [last]
        while waiting:
            name = waiting.pop()
            if name not in wanted:
                wanted.add(name)
                waiting += self.required_by(name)
        part: Dependencies[Element] = Dependencies()
        for name in self._requires:
            if name in wanted:
                part += (name, None)
                for required in self._requires[name]:
                    if required in wanted:
                        part += (name, required)
        return part

    def __iter__(self) -> Iterator[Element]:
        return iter(in_order(self.graph()))

    def __reversed__(self) -> Iterator[Element]:
        return iter(in_order(self.graph(reverse=True)))

    def __len__(self) -> int:
        return len(self._requires)

    def translate(self, transform: Callable[[Element], Other]) -> Dependencies[Other]:
        """Return the same graph with each element replaced by `transform(element)`."""
        found: Dependencies[Other] = Dependencies()
        for name, needs in self._requires.items():
            found += (transform(name), None)
            for required in needs:
                found += (transform(name), transform(required))
        return found


def in_order(graph: Mapping[Element, set[Element]]) -> list[Element]:
    """Return all elements in topological order, required ones first. Raises CircularDependencyException."""
    left = {name: len(needs) for name, needs in graph.items()}
    needed_by: dict[Element, list[Element]] = {name: [] for name in graph}
    for name, needs in graph.items():
        for required in needs:
            needed_by[required].append(name)
    done = [name for name, count in left.items() if not count]
    for name in done:                       # grows while it is walked
        for other in needed_by[name]:
            left[other] -= 1
            if not left[other]:
                done.append(other)
    if len(done) < len(graph):
        cycle = {str(name): sorted(map(str, needs)) for name, needs in graph.items() if left[name]}
        raise exception.CircularDependencyException(cycle=str(cycle))
    return done
