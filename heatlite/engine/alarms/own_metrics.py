"""The metrics that stacks have of themselves, in the namespace Heat/Stack (docs/users/autoscaling.rst).

They are measured once a minute, and only if an alarm watches them. The dimensions StackId and StackName, or one of
them, name the stack; with ResourceName it is the nested stack of that resource, such as the members of a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.db import alarms, metrics, resource_lists, stack_trees, stacks
from heatlite.db.leases import Lease
from heatlite.db.metrics import moment
from heatlite.db.resource_lists import ResourceCount
from heatlite.engine.alarms import evaluation
from heatlite.monitoring.alarms import MINUTE, Datapoint, Metric

NAMESPACE: Final = 'Heat/Stack'
STACK_ID, STACK_NAME, RESOURCE_NAME = 'StackId', 'StackName', 'ResourceName'
DIMENSIONS: Final = frozenset((STACK_ID, STACK_NAME, RESOURCE_NAME))
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


def record(tx: Connection, lease: Lease, most: int) -> int:
    """Store the metrics of the shard for the minute that runs, unless they are there. `most`: metrics of a project.

    Returns how many. Raises LeaseLost.
    """
    shard = evaluation.held(tx, lease)
    now = evaluation.time(tx)
    begin = int(now) - int(now) % MINUTE
    stored = 0
    for project_id, points in collect(tx, shard, now).items():
        known = metrics.find(tx, project_id, [point.metric for point in points])
        measured = {period.metric_id for period in metrics.statistics(
            tx, known.values(), begin, begin + MINUTE, MINUTE)}
        new = [point for point in points if known.get(point.metric) not in measured]
        if not new:
            continue
        try:
            metrics.store(tx, project_id, new, now, most)
        except exception.LimitExceeded:
            continue                        # the metrics of an alarm are there, unless the limit was lowered
        stored += len(new)
    return stored


def collect(tx: Connection, shard: int, now: float) -> dict[str, list[Datapoint]]:
    """The datapoints of all metrics that alarms of the shard watch, by project."""
    found: dict[str, list[Datapoint]] = {}
    for project_id, watched in alarms.watched(tx, shard, NAMESPACE).items():
        points = _points(tx, project_id, watched, now)
        if points:
            found[project_id] = points
    return found


def _points(tx: Connection, project_id: str, watched: Iterable[Metric], now: float) -> list[Datapoint]:
    known: dict[tuple[tuple[str, str], ...], MeasuredStack | None] = {}
    found = []
    for metric in watched:
        if metric.name not in METRICS:
            continue
        if metric.dimensions not in known:
            known[metric.dimensions] = measured(tx, project_id, dict(metric.dimensions))
        stack = known[metric.dimensions]
        if stack is not None:
            unit, value_of = METRICS[metric.name]
            value = value_of(stack, moment(now))
            found.append(Datapoint(metric, now, unit, 1.0, value, value, value))
    return found


def measured(tx: Connection, project_id: str, dimensions: Mapping[str, str]) -> MeasuredStack | None:
    """None if the project has no such stack, or the dimensions name none."""
    row = _stack(tx, project_id, dimensions)
    if row is not None and RESOURCE_NAME in dimensions:
        row = stack_trees.child(tx, row.id, dimensions[RESOURCE_NAME])
    if row is None:
        return None
    return MeasuredStack(stacks.changed_at(tx, row.id), tuple(resource_lists.counts(tx, row.id)))


def _stack(tx: Connection, project_id: str, dimensions: Mapping[str, str]) -> stacks.Identity | None:
    if not dimensions.keys() <= DIMENSIONS:
        return None
    if STACK_ID in dimensions:
        stack_id = dimensions[STACK_ID].rpartition('/')[2]          # of an ARN, which CFN templates have
        row = stacks.identity(tx, stack_id)
    elif STACK_NAME in dimensions:
        row = stacks.by_name(tx, project_id, dimensions[STACK_NAME])
    else:
        return None
    if row is None or row.project_id != project_id or row.deleted_at is not None:
        return None
    return row if dimensions.get(STACK_NAME, row.name) == row.name else None
