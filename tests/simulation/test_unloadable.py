"""A stored definition that cannot be built, as after a plug-in was removed: its stack waits, and its users see why."""

from __future__ import annotations

import logging

import pytest

from heatlite.common import exception
from heatlite.engine.reconcile import loading, unloadable
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_bad_signals import is_free

TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {'r': {'type': 'Sim::Thing', 'properties': {
    'value': 'v'}}}}
WHY = 'InvalidTemplateVersion: The template version is invalid: no package has it'


@pytest.fixture
def removed(monkeypatch):
    """While it is not empty, no definition can be built. The times at which one was asked for."""
    build, asked = loading.definition, []

    def definition(*given):
        if not asked:
            return build(*given)
        asked.append(0)
        raise exception.InvalidTemplateVersion(explanation='no package has it')

    monkeypatch.setattr(loading, 'definition', definition)
    return asked


def begun(cluster, removed):
    """A stack with an action under way that no engine can load."""
    stack_id = cluster.create('s', TEMPLATE)
    done(cluster, stack_id, 'CREATE')
    removed.append(0)
    cluster.ask(messages.StackAction(stack_id, 'check'))
    return stack_id


def test_it_is_tried_again_ever_more_rarely(removed, caplog):
    with Cluster() as cluster, caplog.at_level(logging.WARNING):
        stack_id = begun(cluster, removed)
        wait(cluster, 60.0)
        row = cluster.row(stack_id)
        assert (row.action, row.status) == ('CHECK', 'IN_PROGRESS')
        assert row.reason == f'The action waits until the stack can be loaded: {WHY}'
        assert 5 < len(removed) < 20
        lines = [each for each in caplog.records if 'cannot be loaded' in each.getMessage()]
        assert 1 <= len(lines) <= 2 and not any(each.exc_info for each in lines)       # one of each engine
        del removed[:]
        done(cluster, stack_id, 'CHECK')


def test_an_engine_remembers_a_limited_number(removed, monkeypatch):
    monkeypatch.setattr(unloadable, 'MOST_REMEMBERED', 2)
    with Cluster(engines=1) as cluster:
        stack_ids = [cluster.create(name, TEMPLATE) for name in 'abcd']
        for stack_id in stack_ids:
            done(cluster, stack_id, 'CREATE')
        removed.append(0)
        for stack_id in stack_ids:
            cluster.ask(messages.StackAction(stack_id, 'check'))
        wait(cluster, 30.0)
        [(_runtime, service)] = cluster.engines
        assert len(service.controller._loader._unloadable._tries) == 2
        assert [cluster.row(each).status for each in stack_ids] == ['IN_PROGRESS'] * 4
        del removed[:]
        for stack_id in stack_ids:
            done(cluster, stack_id, 'CHECK')


def test_a_new_request_tries_at_once(removed):
    with Cluster() as cluster:
        stack_id = begun(cluster, removed)
        wait(cluster, 100.0)
        del removed[:]
        cluster.ask(messages.StackAction(stack_id, 'check'))
        wait(cluster, 5.0)
        assert cluster.row(stack_id).status == 'COMPLETE'


def test_its_action_fails_when_its_time_is_over(removed):
    with Cluster(stack_action_timeout=20) as cluster:
        stack_id = begun(cluster, removed)
        wait(cluster, 60.0)
        row = cluster.row(stack_id)
        assert (row.action, row.status) == ('CHECK', 'FAILED')
        assert row.reason == f'The stack could not be loaded until the timeout of its action: {WHY}'
        assert is_free(cluster, stack_id)
        assert ('s', 'CHECK', 'FAILED', row.reason) in cluster.events(stack_id)
        del removed[:]
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
