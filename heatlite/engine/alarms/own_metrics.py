"""The metrics that stacks have of themselves, in the namespace Heat/Stack (docs/users/autoscaling.rst).

They are measured once a minute, and only if an alarm watches them, each stack once for all alarms that do. The
dimensions StackId and StackName, or one of them, name the stack; with ResourceName it is the nested stack of that
resource, such as the members of a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.db import alarms, metrics, resource_lists, shards, stack_trees, stacks
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.db.metrics import moment
from heatlite.db.resource_lists import ResourceCount
from heatlite.engine.alarms import evaluation
from heatlite.monitoring.alarms import MINUTE, Datapoint, Metric

NAMESPACE: Final = 'Heat/Stack'
STACK_ID, STACK_NAME, RESOURCE_NAME = 'StackId', 'StackName', 'ResourceName'
DIMENSIONS: Final = frozenset((STACK_ID, STACK_NAME, RESOURCE_NAME))
MOST_PLACES: Final = 2_500              # different dimensions that are looked up for one project at a time; others wait
DEPLOYMENTS: Final = ('OS::Heat::SoftwareDeployment', 'OS::Heat::StructuredDeployment')


@dataclass(frozen=True)
class MeasuredStack:
    """One stack. `counts`: of its own resources."""

    since: datetime                         # its last update, or its creation
    counts: tuple[ResourceCount, ...]

    def total(self, wanted: Callable[[ResourceCount], bool]) -> float:
        return float(sum(each.number for each in self.counts if wanted(each)))


# Name of the metric -> (unit, its value at a time)
METRICS: Final[Mapping[str, tuple[str, Callable[[MeasuredStack, datetime], float]]]] = {
    'Members': ('Count', lambda stack, at: stack.total(
        lambda each: each.action != 'DELETE' and each.status != 'FAILED')),
    'PendingResources': ('Count', lambda stack, at: stack.total(lambda each: each.status == 'IN_PROGRESS')),
    'FailedResources': ('Count', lambda stack, at: stack.total(lambda each: each.status == 'FAILED')),
    'FailedDeployments': ('Count', lambda stack, at: stack.total(
        lambda each: each.status == 'FAILED' and each.type in DEPLOYMENTS)),
    'UnhealthyResources': ('Count', lambda stack, at: stack.total(
        lambda each: (each.action, each.status) == ('CHECK', 'FAILED'))),
    'SecondsSinceUpdate': ('Seconds', lambda stack, at: max(0.0, (at - stack.since).total_seconds())),
}


def record(database: Database, lease: Lease, most: int) -> int:
    """Store the metrics of the shard for the minute that runs, unless they are there. `most`: metrics of a project.

    Stacks are counted before the transaction that locks the shard. Returns how many metrics. Raises LeaseLost.
    """
    shard = shards.number(lease.stack_id)
    assert shard is not None
    with database.reader() as tx:
        now = evaluation.time(tx)
        found = collect(tx, shard, now)
    return database.retry(lambda tx: _store(tx, lease, found, now, most)) if found else 0


def collect(tx: Connection, shard: int, now: float) -> dict[str, list[Datapoint]]:
    """Return the datapoints of this minute that alarms of the shard watch and that are not stored, by project."""
    found: dict[str, list[Datapoint]] = {}
    for project_id, watched in alarms.watched(tx, shard, NAMESPACE).items():
        points = _points(StackMeter(tx, project_id), _missing(tx, project_id, watched, now), now)
        if points:
            found[project_id] = points
    return found


def _store(tx: Connection, lease: Lease, found: Mapping[str, list[Datapoint]], now: float, most: int) -> int:
    evaluation.held(tx, lease)
    stored = 0
    for project_id, points in found.items():
        # Asked again: an earlier try of this transaction may have been committed.
        missing = set(_missing(tx, project_id, [point.metric for point in points], now))
        new = [point for point in points if point.metric in missing]
        if not new:
            continue
        try:
            metrics.store(tx, project_id, new, now, most)
        except exception.LimitExceeded:
            continue                        # the metrics of an alarm are there, unless the limit was lowered
        stored += len(new)
    return stored


def _missing(tx: Connection, project_id: str, watched: Iterable[Metric], now: float) -> list[Metric]:
    """Return those metrics that have no data of the minute that runs. Two statements for each 500."""
    wanted = [each for each in watched if each.name in METRICS]
    known = metrics.find(tx, project_id, wanted)
    begin = int(now) - int(now) % MINUTE
    there = {period.metric_id for period in metrics.statistics(tx, known.values(), begin, begin + MINUTE, MINUTE)}
    return [each for each in wanted if known.get(each) not in there]


def _points(meter: StackMeter, watched: Iterable[Metric], now: float) -> list[Datapoint]:
    found = []
    for metric in watched:
        stack = meter.measured(metric.dimensions)
        if stack is not None:
            unit, value_of = METRICS[metric.name]
            value = value_of(stack, moment(now))
            found.append(Datapoint(metric, now, unit, 1.0, value, value, value))
    return found


class StackMeter:
    """Measures the stacks of one project in one transaction: each is looked up and counted once."""

    def __init__(self, tx: Connection, project_id: str) -> None:
        self._tx = tx
        self._project_id = project_id
        self._places: dict[tuple[tuple[str, str], ...], MeasuredStack | None] = {}      # by dimensions
        self._by_id: dict[str, stacks.Identity | None] = {}
        self._measured: dict[str, MeasuredStack] = {}                                   # by id of the stack

    def measured(self, dimensions: tuple[tuple[str, str], ...]) -> MeasuredStack | None:
        """Return None if the project has no such stack, the dimensions name none, or too many others were looked up."""
        if dimensions not in self._places and len(self._places) < MOST_PLACES:
            row = self._stack_at(dict(dimensions))
            self._places[dimensions] = None if row is None else self._of(row.id)
        return self._places.get(dimensions)

    def _stack_at(self, dimensions: Mapping[str, str]) -> stacks.Identity | None:
        row = self._named(dimensions)
        if row is not None and RESOURCE_NAME in dimensions:
            return stack_trees.child(self._tx, row.id, dimensions[RESOURCE_NAME])
        return row

    def _named(self, dimensions: Mapping[str, str]) -> stacks.Identity | None:
        if not dimensions.keys() <= DIMENSIONS:
            return None
        if STACK_ID in dimensions:
            row = self._with_id(dimensions[STACK_ID].rpartition('/')[2])        # of an ARN, which CFN templates have
        elif STACK_NAME in dimensions:
            row = stacks.by_name(self._tx, self._project_id, dimensions[STACK_NAME])
        else:
            return None
        if row is None or row.project_id != self._project_id or row.deleted_at is not None:
            return None
        return row if dimensions.get(STACK_NAME, row.name) == row.name else None

    def _with_id(self, stack_id: str) -> stacks.Identity | None:
        if stack_id not in self._by_id:
            self._by_id[stack_id] = stacks.identity(self._tx, stack_id)
        return self._by_id[stack_id]

    def _of(self, stack_id: str) -> MeasuredStack:
        if stack_id not in self._measured:
            self._measured[stack_id] = MeasuredStack(
                stacks.changed_at(self._tx, stack_id), tuple(resource_lists.counts(self._tx, stack_id)))
        return self._measured[stack_id]
