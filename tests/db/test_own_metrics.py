"""The statements that alarms of stacks need: their metrics, and the figures of stacks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heatlite.db import alarms, metrics, resource_lists, resources, shards, signals, stacks
from heatlite.db.resource_lists import ResourceCount
from heatlite.monitoring.alarms import Metric
from tests.db.rows import NOW, Clock, later, leased, stack, state
from tests.db.test_alarms import RULE, alarm

OWN = Metric('Heat/Stack', 'Members', (('StackName', 'a'),))
OTHER = Metric('Heat/Stack', 'Members', (('StackName', 'b'),))


@pytest.fixture
def watched(db):
    rule = replace(RULE, metric=OWN)
    with db.writer() as tx:
        metrics.identify(tx, 'p1', {each.digest: each for each in (OWN, OTHER, RULE.metric)}, Clock.START)
        for each in (alarm('own', stack_id='s1', rule=rule), alarm('twice', stack_id='s1', rule=rule),
                     alarm('plain', stack_id='s1'), alarm('of a user')):
            alarms.put(tx, each)
    return db


def test_the_metrics_that_a_shard_watches(watched):
    with watched.reader() as tx:
        assert alarms.watched(tx, shards.of_project('p1'), 'Heat/Stack') == {'p1': [OWN]}
        assert alarms.watched(tx, shards.of_project('p1') + 1, 'Heat/Stack') == {}
        assert alarms.watched(tx, shards.of_project('p1'), 'Heat/Nothing') == {}


def test_the_metrics_of_alarms_of_stacks(watched):
    with watched.reader() as tx:
        found = alarms.metrics_of_stacks(tx, 'p1')
        assert sorted(each.name for each in found) == ['CPU', 'Members']
        assert alarms.metrics_of_stacks(tx, 'p2') == []


def test_a_stack_without_resources(db):
    with db.writer() as tx:
        leased(tx, stack('s1', updated_at=later(5)), stack('s2'))
        assert (stacks.changed_at(tx, 's1'), stacks.changed_at(tx, 's2')) == (later(5), NOW)
        assert resource_lists.counts(tx, 's1') == []


def test_all_signals_of_a_stack_are_forgotten(db):
    with db.writer() as tx:
        leased(tx, stack('s1'), stack('s2'))
        for stack_id in ('s1', 's1', 's2'):
            signals.insert(tx, stack_id, 'r', {}, NOW)
        signals.clear(tx, 's1')
        assert signals.stacks(tx) == ['s2']


def test_counts_are_by_type_and_state(db):
    """Replaced resources do not count."""
    with db.writer() as tx:
        leased(tx, stack('s1'), stack('s2'))
        resources.insert_many(tx, 's1', [
            state(1, type='T', action='CREATE', status='COMPLETE'),
            state(2, type='T', action='CREATE', status='COMPLETE'),
            state(3, type='T', action='CREATE', status='FAILED'),
            state(4, type='T', action='CREATE', status='COMPLETE', replaced_by=1)])
        resources.insert_many(tx, 's2', [state(1, type='T', action='CREATE', status='COMPLETE')])
        assert sorted(resource_lists.counts(tx, 's1'), key=str) == [
            ResourceCount('T', 'CREATE', 'COMPLETE', 2), ResourceCount('T', 'CREATE', 'FAILED', 1)]
