"""When each resource of a stack was worked on in one action, beside what the same took the time before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from heatlite.planning import explanation
from heatlite.planning.explanation import Happened, Path


@dataclass(frozen=True, slots=True)
class Bar:
    """One action on a resource. `seconds`: to its end, or until now. `seconds_before`: what it took when it was
    completed last before the action of the stack began; None: it never was, or its events are gone."""

    path: Path
    type: str
    action: str
    status: str
    began: datetime
    seconds: float
    seconds_before: float | None


def bars(happened: Iterable[Happened], earlier: Iterable[Happened], now: datetime) -> list[Bar]:
    """Return a bar for each action on a resource, in the order of their beginnings.

    `happened`: the events since the action of the stack began, `earlier`: some before it; both oldest first. `now`:
    where actions end whose end is not among the events.
    """
    before = _by_path(earlier)
    found = [Bar(path, events[-1].type, run.action, run.status, run.began,
                 max(((run.ended or now) - run.began).total_seconds(), 0.0),
                 explanation.last_seconds(before.get(path, ()), run.action, run.began))
             for path, events in _by_path(happened).items() for run in explanation.runs(events)]
    return sorted(found, key=lambda bar: (bar.began, bar.path))


def longest(bars: Sequence[Bar], most: int) -> list[Bar]:
    """Return at most `most` of the bars, the longest ones, in the order that they have."""
    if len(bars) <= most:
        return list(bars)
    kept = set(sorted(range(len(bars)), key=lambda place: -bars[place].seconds)[:most])
    return [bar for place, bar in enumerate(bars) if place in kept]


def _by_path(events: Iterable[Happened]) -> dict[Path, list[Happened]]:
    found: dict[Path, list[Happened]] = defaultdict(list)
    for event in events:
        found[event.path].append(event)
    return found
