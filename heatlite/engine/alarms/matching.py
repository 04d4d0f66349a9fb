"""Data that alarms of stacks get although their metric is another one, as in Heat (docs/users/autoscaling.rst).

An alarm of a stack gets all data of its namespace and name whose dimensions contain its own. Guests push with
dimensions that no template can know, such as the id of the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from heatlite.common import turns
from heatlite.common.expiring_cache import ExpiringCache
from heatlite.db import alarms
from heatlite.db.connection import Database
from heatlite.monitoring.alarms import Datapoint, Metric

PROJECTS: Final = 1_000                     # whose metrics are remembered
SECONDS: Final = 10.0                       # the alarms of other engines get no such data before
MOST_KINDS: Final = 30                      # sets of names of dimensions of one metric: so many copies of a datapoint
PREFIX: Final = 'metering.'                 # of tags that groups give to their servers

Pairs = frozenset[tuple[str, str]]
# (namespace, name) -> names of dimensions -> dimensions -> metric
Index = Mapping[tuple[str, str], Mapping[frozenset[str], Mapping[Pairs, Metric]]]


class Matching:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: ExpiringCache[Index] = ExpiringCache(PROJECTS, SECONDS)

    def widened(self, project_id: str, points: Sequence[Datapoint]) -> list[Datapoint]:
        """The datapoints, with a copy for each other metric that alarms of stacks watch."""
        index: Index | None = self._known.get(project_id)
        if index is None:
            with self._database.reader() as tx:
                index = indexed(alarms.metrics_of_stacks(tx, project_id))
            self._known.put(project_id, index)
        if not index:
            return list(points)
        found = []
        for point in points:
            turns.spend()
            found.append(point)
            found += [replace(point, metric=metric) for metric in others(index, point.metric)]
        return found

    def forget(self, project_id: str) -> None:
        """Read the alarms of a project anew."""
        self._known.remove(project_id)


def indexed(metrics: Iterable[Metric]) -> Index:
    found: dict[tuple[str, str], dict[frozenset[str], dict[Pairs, Metric]]] = {}
    for each in metrics:
        kinds = found.setdefault((each.namespace, each.name), {})
        names = frozenset(name for name, _value in each.dimensions)
        if names in kinds or len(kinds) < MOST_KINDS:
            kinds.setdefault(names, {})[frozenset(each.dimensions)] = each
    return found


def others(index: Index, metric: Metric) -> list[Metric]:
    """The metrics with some of the dimensions of this one, or none. A prefix of tags counts as if it was not there."""
    kinds = index.get((metric.namespace, metric.name))
    if not kinds:
        return []
    given = {name.removeprefix(PREFIX): value for name, value in metric.dimensions} | dict(metric.dimensions)
    found = []
    for names, metrics in kinds.items():
        if names <= given.keys():
            other = metrics.get(frozenset((name, given[name]) for name in names))
            if other is not None and other != metric:
                found.append(other)
    return found
