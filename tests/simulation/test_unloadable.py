"""A stored definition that cannot be built, as after a plug-in was removed: its stack waits, and its users see why."""

from __future__ import annotations

import logging

import pytest

from heatlite.common import exception
from heatlite.db import leases, signals, tables
from heatlite.engine.reconcile import loading, unloadable
from heatlite.engine.reconcile.signal_dispatcher import SignalDispatcher
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


def unreadable(cluster, stack_id):
    """Nothing can be read of the stack's own row, and a signal waits for it."""
    with cluster.database.writer() as tx:
        signals.insert(tx, stack_id, 'r', {}, cluster.user.now())
        tx.execute(tables.stack.update().where(tables.stack.c.id == stack_id).values(outputs='{"broken'))


def holder(cluster, stack_id):
    with cluster.database.reader() as tx:
        return leases.owner(tx, stack_id)


def test_one_whose_own_row_cannot_be_read_is_put_off_and_given_back(caplog):
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', TEMPLATE)
        done(cluster, stack_id, 'CREATE')
        assert cluster.universe.run(lambda: holder(cluster, stack_id) is None, limit=60.0)
        unreadable(cluster, stack_id)
        [(_runtime, service)] = cluster.engines
        loader = service.controller._loader
        for _turn in range(3):
            assert cluster.universe.run(lambda: stack_id in loader._put_off_leases, limit=100.0)
            assert holder(cluster, stack_id) is not None and not loader.loading
            assert cluster.universe.run(lambda: holder(cluster, stack_id) is None, limit=100.0)
        assert not any(each.exc_info for each in caplog.records)
        with cluster.database.writer() as tx:
            tx.execute(tables.stack.update().where(tables.stack.c.id == stack_id).values(outputs=None))
        assert cluster.universe.run(lambda: is_free(cluster, stack_id), limit=100.0)
        assert cluster.row(stack_id).status == 'COMPLETE'


def test_one_that_was_tried_for_days_is_tried_again_each_minute(removed, caplog):
    with Cluster(engines=1) as cluster:
        stack_id = begun(cluster, removed)
        [(_runtime, service)] = cluster.engines
        service.controller._loader._unloadable._tries[stack_id] = 5000
        del removed[1:]
        wait(cluster, 600.0)
        assert 6 <= len(removed) <= 14
        assert not any(each.exc_info for each in caplog.records)
        del removed[:]
        done(cluster, stack_id, 'CHECK')


def test_one_that_cannot_be_driven_is_put_off(removed, monkeypatch):
    take_over, failed = SignalDispatcher.take_over, []

    def fail_once(dispatcher):
        failed.append(dispatcher)
        if len(failed) == 1:
            raise ValueError('a defect')
        take_over(dispatcher)

    with Cluster(engines=1) as cluster:
        stack_id = begun(cluster, removed)
        monkeypatch.setattr(SignalDispatcher, 'take_over', fail_once)
        del removed[:]
        done(cluster, stack_id, 'CHECK')
        assert len(failed) == 2
        [(_runtime, service)] = cluster.engines
        assert cluster.universe.run(lambda: service.controller.is_idle, limit=60.0)


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
