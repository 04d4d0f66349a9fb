"""Sorts the resources of a definition by what they require, and finds all cycles among them, for their errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from heatlite.common import turns
from heatlite.language.diagnostics import MOST_COMPLAINTS


def sorted_names(requires: Mapping[str, Collection[str]]) -> tuple[list[str], dict[str, int]]:
    """(names, required ones first and without those on or behind a cycle; name -> number of its requirements left)."""
    waiting: dict[str, int] = {}
    needed_by: dict[str, list[str]] = {name: [] for name in requires}
    for name, needed in requires.items():
        waiting[name] = len(needed)
        turns.spend(1 + len(needed) // 4)
        for other in needed:
            needed_by[other].append(name)
    ready = [name for name, count in waiting.items() if not count]
    position = 0
    while position < len(ready):
        for name in needed_by[ready[position]]:
            waiting[name] -= 1
            if not waiting[name]:
                ready.append(name)
        position += 1
    return ready, waiting


def find_cycle(requires: Mapping[str, Iterable[str]]) -> list[str]:
    """Names of one cycle, each requiring the next. `requires` has only names that require another one of it."""
    place: dict[str, int] = {}
    walk: list[str] = []
    name = next(iter(requires))
    while name not in place:
        place[name] = len(walk)
        walk.append(name)
        name = next(iter(requires[name]))
    return walk[place[name]:]


def separate_cycles(requires: Mapping[str, Collection[str]]) -> Iterator[list[str]]:
    """Cycles without a common name, as `find_cycle`; at most MOST_COMPLAINTS."""
    left = dict(requires)
    for _number in range(MOST_COMPLAINTS):
        if not left:
            return
        cycle = find_cycle(left)
        yield cycle
        found = frozenset(cycle)
        kept = {name: [other for other in needed if other not in found]
                for name, needed in left.items() if name not in found}
        _names, waiting = sorted_names(kept)
        left = {name: [other for other in needed if waiting[other]] for name, needed in kept.items() if waiting[name]}
