"""Deletions of copies that take long, never end, or lose their engine: of snapshots, and of stacks with snapshots."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import snapshots
from heatlite.db.tables import lease
from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import wait
from tests.simulation.test_snapshot_copies import (
    Copied,
    copying,
    created,
    records,
    saved,
    template,
    updated,
)

NEVER = 10**9                           # checks
LATER = [('DELETE', 'FAILED', 'resources.a: Timed out')]


@pytest.fixture
def cluster(monkeypatch):
    with copying(monkeypatch) as place:
        yield place


def waiting(cluster, monkeypatch, **options):
    """A stack whose delete waits for a copy."""
    stack_id = created(cluster, template('a'), **options)
    saved(cluster, stack_id)
    monkeypatch.setattr(Copied, 'DELETING', NEVER)
    cluster.delete(stack_id)
    wait(cluster, 10)
    assert (cluster.row(stack_id).status, records(cluster, stack_id)) == (
        'IN_PROGRESS', [('DELETE', 'IN_PROGRESS', None)])
    return stack_id


def lose_lease(cluster, stack_id, _runner):
    with cluster.database.writer() as tx:
        tx.execute(lease.update().where(lease.c.stack_id == stack_id).values(
            engine_id=None, wanted=True, epoch=lease.c.epoch + 1))


ENDS = {'drained': lambda cluster, stack_id, runner: runner.drain(0.0),
        'stopped': lambda cluster, stack_id, runner: runner.stop(),
        'the lease is lost': lose_lease}


@pytest.mark.parametrize('end', ENDS)
def test_the_wait_ends_with_the_runner(cluster, monkeypatch, end):
    """The next runner goes on, and calls no handler again."""
    stack_id = waiting(cluster, monkeypatch)
    ((_runtime, service),) = cluster.engines
    runner = service.runners.get(stack_id)
    ENDS[end](cluster, stack_id, runner)
    assert cluster.universe.run(runner.calls_done.is_set, limit=10)
    monkeypatch.setattr(Copied, 'DELETING', 0)
    cluster.until_deleted(stack_id)
    assert Copied.DELETED == ['a-0']


def test_the_wait_ends_with_a_forced_delete(cluster, monkeypatch):
    stack_id = waiting(cluster, monkeypatch, timeout_mins=600)
    cluster.ask(messages.ForceDeleteStack(stack_id))
    cluster.until_deleted(stack_id)
    assert (cluster.row(stack_id).reason, records(cluster, stack_id)) == ('Stack DELETE completed successfully', [])


def test_another_delete_goes_on_with_what_has_begun(cluster, monkeypatch):
    stack_id = waiting(cluster, monkeypatch)
    cluster.delete(stack_id)
    wait(cluster, 10)
    monkeypatch.setattr(Copied, 'DELETING', 0)
    cluster.until_deleted(stack_id)
    assert Copied.DELETED == ['a-0']


def test_all_snapshots_have_one_limit(cluster, monkeypatch):
    stack_id = created(cluster, template('a'), timeout_mins=1)
    for _each in range(3):
        saved(cluster, stack_id)
    monkeypatch.setattr(Copied, 'DELETING', NEVER)
    cluster.delete(stack_id)
    begun = cluster.universe.time
    row = cluster.settle(stack_id)
    assert (row.status, row.reason) == ('FAILED', 'Snapshot deletion failed: resources.a: Timed out')
    assert cluster.universe.time - begun < 2 * 60
    assert records(cluster, stack_id) == LATER * 3


@pytest.mark.parametrize('with_stack', [False, True])
def test_what_takes_longer_than_a_request(cluster, monkeypatch, with_stack):
    """It is repeated, and its type is asked only whether the copy is deleted."""
    stack_id = created(cluster, template('a'))
    snapshot_id = saved(cluster, stack_id)
    monkeypatch.setattr(Copied, 'DELETING', NEVER)
    cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
    wait(cluster, 60)                       # this user repeats what is not answered at once
    assert records(cluster, stack_id) == LATER
    with cluster.database.reader() as tx:
        assert snapshots.BEGUN not in snapshots.show(tx, snapshot_id).export
    monkeypatch.setattr(Copied, 'DELETING', 0)
    if with_stack:
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
    else:
        cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
    assert (records(cluster, stack_id), Copied.DELETED) == ([], ['a-0'])


@pytest.mark.parametrize('with_stack', [False, True])
def test_a_deletion_whose_engine_has_ended(monkeypatch, with_stack):
    """It is one that has begun, for another request and for the delete of the stack."""
    with copying(monkeypatch, engines=2) as cluster:
        stack_id = created(cluster, template('a'))
        snapshot_id = saved(cluster, stack_id)
        monkeypatch.setattr(Copied, 'DELETING', NEVER)
        (first, service), _other = cluster.engines
        first.spawn(service.endpoint.handle, cluster.context, messages.DeleteSnapshot(stack_id, snapshot_id))
        wait(cluster, 5)
        first.kill()
        wait(cluster, 60)
        assert records(cluster, stack_id) == [('DELETE', 'IN_PROGRESS', None)]
        monkeypatch.setattr(Copied, 'DELETING', 0)
        if with_stack:
            cluster.delete(stack_id)
            cluster.until_deleted(stack_id)
        else:
            cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
        assert (records(cluster, stack_id), Copied.DELETED) == ([], ['a-0'])


def test_a_deletion_under_way_and_the_delete_of_the_stack(cluster, monkeypatch):
    stack_id = created(cluster, template('a'))
    snapshot_id = saved(cluster, stack_id)
    monkeypatch.setattr(Copied, 'DELETING', 8)
    ((runtime, service),) = cluster.engines
    runtime.spawn(service.endpoint.handle, cluster.context, messages.DeleteSnapshot(stack_id, snapshot_id))
    wait(cluster, 3)
    cluster.delete(stack_id)
    cluster.until_deleted(stack_id)
    assert Copied.DELETED == ['a-0']


# --- what can never be deleted ---------------------------------------------------------------------------


@pytest.mark.parametrize('with_stack', [False, True])
def test_a_type_that_is_gone(cluster, with_stack):
    """Its copy is left; those of the others are deleted."""
    ((_runtime, service),) = cluster.engines
    service.registry.register('Sim::Gone', cloud.Thing)
    stack_id = created(cluster, template('a', z={'type': 'Sim::Gone'}))
    snapshot_id = saved(cluster, stack_id)
    updated(cluster, stack_id, template('a'))
    service.registry._entries.pop('Sim::Gone')
    service.registry._operator = None
    if with_stack:
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
    else:
        cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
    assert (records(cluster, stack_id), Copied.DELETED) == ([], ['a-0'])


def test_only_the_type_says_that_a_copy_is_gone(cluster, monkeypatch):
    """A handler looks up more than its copy: a 404 of a secret with a login says nothing about it."""
    def look_up(_self, _saved):
        raise exception.NotFound('no secret')

    stack_id = created(cluster, template('a'))
    snapshot_id = saved(cluster, stack_id)
    monkeypatch.setattr(Copied, 'handle_delete_snapshot', look_up)
    cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
    assert records(cluster, stack_id) == [('DELETE', 'FAILED', 'resources.a: no secret')]
