"""How actions end, and what is reported of it: whatever dies, nothing stays in progress, and nothing untrue is said."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import resource_data, snapshots
from heatlite.engine import resource
from heatlite.language.registry import HOOK_TYPES
from heatlite.rpc import messages
from tests.simulation import cloud as clouds
from tests.simulation.cluster import Cluster, done, kill_engines_in
from tests.simulation.test_crashes import template, thing

SECONDS = 5.0                   # longer than the lease of an engine that dies


class Slow(clouds.Thing):
    """Takes some time for everything."""

    def _is_over(self, began):
        return (self.runtime.now() - self.updated_or_created()).total_seconds() > SECONDS

    def updated_or_created(self):
        return self.updated_time or self.created_time

    def check_create_complete(self, handle):
        return self._is_over(handle)

    def handle_update(self, *arguments):
        super().handle_update(*arguments)
        return {'began': True}

    def check_update_complete(self, handle):
        return self._is_over(handle)

    def handle_suspend(self):
        super().handle_suspend()
        return {'began': True}

    def check_suspend_complete(self, handle):
        return self._is_over(handle)

    def handle_delete(self):
        return {'began': True} if self.resource_id else None

    def check_delete_complete(self, handle):
        if not self._is_over(handle):
            return False
        super().handle_delete()
        return True


class Unlucky(clouds.Thing):
    """Its first create fails, in whichever engine."""

    fails = True

    def handle_create(self):
        if Unlucky.fails:
            Unlucky.fails = False
            raise exception.Error('bad luck')
        return super().handle_create()


class Stubborn(clouds.Thing):
    def handle_suspend(self):
        raise exception.Error('it goes on')


class Vague(resource.Resource):
    """Stops its runner whenever it is asked again whether a snapshot is made."""

    properties_schema = {}
    attributes_schema = {}
    poll_interval = 'soon'

    def handle_create(self):
        self.resource_id_set(self.physical_resource_name())

    def handle_snapshot(self):
        return {'began': True}

    def check_snapshot_complete(self, _handle):
        return False


class Place(Cluster):
    def start_engine(self):
        runtime, service = super().start_engine()
        for kind in (Slow, Unlucky, Stubborn, Vague):
            service.registry.register(f'Sim::{kind.__name__}', kind)
        return runtime, service


@pytest.fixture(autouse=True)
def places(monkeypatch):
    monkeypatch.setattr('tests.simulation.cluster.Cluster', Place)


def slow(value='', needs=()):
    return thing(value, needs=needs) | {'type': 'Sim::Slow'}


def reported(cluster, stack_id):
    return [f'{action}_{status}' for row, action, status, *_more in cluster.notified if row.id == stack_id]


def in_progress(cluster, stack_id):
    return {name: rows for name, rows in cluster.states(stack_id).items()
            if any(status == 'IN_PROGRESS' for _action, status, _physical in rows)}


def assert_ended(cluster, stack_id):
    """Nothing is in progress, so that the stack can be worked on."""
    row = cluster.settle(stack_id)
    assert not in_progress(cluster, stack_id)
    with cluster.database.reader() as tx:
        assert resource_data.held(tx, stack_id, HOOK_TYPES) == {}
    return row


# --- failures ------------------------------------------------------------------------------------------------

def unlucky(cluster):
    """A resource fails beside a slow one; an engine that dies before it has stored the failure has reported none."""
    Unlucky.fails = True
    stack_id = cluster.create('s', template({'a': {'type': 'Sim::Unlucky'}, 'b': slow()}))
    row = assert_ended(cluster, stack_id)
    ended = f'CREATE_{row.status}'
    assert set(reported(cluster, stack_id)) <= {'CREATE_IN_PROGRESS', ended}


def unlucky_and_rolled_back(cluster):
    Unlucky.fails = True
    stack_id = cluster.create('s', template({'a': {'type': 'Sim::Unlucky'}, 'b': thing()}), disable_rollback=False)
    row = assert_ended(cluster, stack_id)
    assert (row.action, row.status) in (('CREATE', 'COMPLETE'), ('ROLLBACK', 'COMPLETE')), row.reason


@pytest.mark.parametrize('life', [unlucky, unlucky_and_rolled_back])
def test_killed_around_a_failure(life):
    assert kill_engines_in(life, 3, engines=1) > 10


# --- work in flight of an action that has ended -------------------------------------------------------------------

def cancelled_create(cluster):
    """The slow resource is made, or its create is not known to have begun; the next one is not begun."""
    stack_id = cluster.create('s', template({'a': slow(), 'b': thing(needs=['a'])}))
    assert cluster.universe.run(lambda: cluster.cloud.objects, limit=100)
    cluster.chaos.enabled = True
    cancel(cluster, stack_id)
    row = assert_ended(cluster, stack_id)
    assert (row.action, row.status, row.reason) == ('CREATE', 'FAILED', 'Stack CREATE cancelled')
    assert cluster.states(stack_id)['a'][0][:2] == ('CREATE', 'COMPLETE')
    assert cluster.states(stack_id)['b'][0][:2] == ('INIT', 'COMPLETE')
    cluster.ask(messages.MarkUnhealthy(stack_id, 'a', True, 'x'))


def cancelled_update(cluster):
    stack_id = cluster.create('s', template({'a': slow('1'), 'b': thing('1', needs=['a'])}))
    done(cluster, stack_id, 'CREATE')
    cluster.update(stack_id, template({'a': slow('2'), 'b': thing('2', needs=['a'])}))
    assert cluster.universe.run(lambda: ('UPDATE', 'IN_PROGRESS') in {
        each[:2] for each in cluster.states(stack_id)['a']}, limit=100)
    cluster.chaos.enabled = True
    cancel(cluster, stack_id)
    row = assert_ended(cluster, stack_id)
    assert (row.action, row.status) == ('UPDATE', 'FAILED')
    assert cluster.states(stack_id)['a'][0][0] == 'UPDATE' and cluster.states(stack_id)['b'][0][0] == 'CREATE'
    cluster.update(stack_id, template({'a': slow('2'), 'b': thing('2', needs=['a'])}))
    done(cluster, stack_id, 'UPDATE')
    assert sorted(each['value'] for each in cluster.cloud.objects.values()) == ['2', '2']


def failed_suspend(cluster):
    """One resource cannot be suspended, while another one takes its time."""
    stack_id = cluster.create('s', template({'a': slow(), 'b': {'type': 'Sim::Stubborn'}}))
    done(cluster, stack_id, 'CREATE')
    cluster.chaos.enabled = True
    cluster.ask(messages.StackAction(stack_id, 'suspend'))
    row = assert_ended(cluster, stack_id)
    assert (row.action, row.status) == ('SUSPEND', 'FAILED')
    assert {name: rows[0][:2] for name, rows in cluster.states(stack_id).items()} == {
        'a': ('SUSPEND', 'COMPLETE'), 'b': ('SUSPEND', 'FAILED')}


def cancelled_at_a_breakpoint(hook):
    def life(cluster):
        stack_id = cluster.create('s', template({'a': thing(), 'b': thing(needs=['a'])}), {
            'resource_registry': {'resources': {'a': {'hooks': hook}}}})
        with cluster.database.reader() as tx:
            assert cluster.universe.run(lambda: resource_data.held(tx, stack_id, HOOK_TYPES), limit=200)
        cluster.chaos.enabled = True
        cancel(cluster, stack_id)
        row = assert_ended(cluster, stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED')
    life.__name__ = f'cancelled_at_{hook}'
    return life


def cancel(cluster, stack_id):
    cluster.ask(messages.CancelStack(stack_id, rollback=False), allowed=[exception.NotSupported])    # it is repeated


@pytest.mark.parametrize('life', [
    cancelled_create, cancelled_update, failed_suspend,
    cancelled_at_a_breakpoint('pre-create'), cancelled_at_a_breakpoint('post-create')], ids=lambda life: life.__name__)
def test_killed_while_work_of_an_ended_action_is_in_flight(life):
    assert kill_engines_in(life, 3, from_the_start=False, engines=1) > 3


# --- stacks that are given up ---------------------------------------------------------------------------------------

def snapshot_of_a_vague_type(cluster):
    stack_id = cluster.create('s', template({'a': {'type': 'Sim::Vague'}}))
    done(cluster, stack_id, 'CREATE')
    cluster.chaos.enabled = True
    made = cluster.ask(messages.SnapshotStack(stack_id, 'monday'), allowed=[exception.ActionInProgress])
    row = assert_ended(cluster, stack_id)
    assert (row.action, row.status) == ('SNAPSHOT', 'FAILED') and 'TypeError' in row.reason, row.reason
    assert cluster.states(stack_id)['a'][0][:2] == ('SNAPSHOT', 'FAILED')
    with cluster.database.reader() as tx:
        found, = snapshots.page(tx, stack_id)
    assert (found.action, found.status) == ('CREATE', 'FAILED') and 'TypeError' in found.reason, found.reason
    cluster.ask(messages.DeleteSnapshot(stack_id, found.id), allowed=[exception.NotFound])
    return made, stack_id


def test_a_stack_that_defects_end_is_reported():
    with Place(engines=1) as cluster:
        _made, stack_id = snapshot_of_a_vague_type(cluster)
        assert reported(cluster, stack_id)[-2:] == ['SNAPSHOT_IN_PROGRESS', 'SNAPSHOT_FAILED']


def test_killed_while_a_stack_is_given_up():
    assert kill_engines_in(snapshot_of_a_vague_type, 3, from_the_start=False, engines=1) > 10


def test_a_newer_request_has_its_own_number_of_tries():
    with Place(engines=1) as cluster:
        _made, stack_id = snapshot_of_a_vague_type(cluster)
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')


# --- a newer request takes the place of an action ------------------------------------------------------------------

def updated_while_a_snapshot_is_made(cluster):
    """The snapshot ends, although the engine that was making it may not have heard of the other request."""
    stack_id = cluster.create('s', template({'a': {'type': 'Sim::Thing'}}))
    done(cluster, stack_id, 'CREATE')
    cluster.chaos.enabled = True
    cluster.ask(messages.SnapshotStack(stack_id, 'monday'), allowed=[exception.ActionInProgress])
    cluster.update(stack_id, template({'a': {'type': 'Sim::Thing', 'properties': {'value': 'new'}}}))
    assert_ended(cluster, stack_id)
    done(cluster, stack_id, 'UPDATE')
    with cluster.database.reader() as tx:
        assert {each.status for each in snapshots.page(tx, stack_id)} <= {'COMPLETE', 'FAILED'}


def suspended_while_it_is_checked(cluster):
    stack_id = cluster.create('s', template({'a': {'type': 'Sim::Thing'}}))
    done(cluster, stack_id, 'CREATE')
    cluster.chaos.enabled = True
    cluster.ask(messages.StackAction(stack_id, 'check'))
    suspend(cluster, stack_id)


def checked_after_its_create_was_stopped(cluster):
    """What was being made when the engine died is not taken for made."""
    stack_id = cluster.create('s', template({'a': slow()}))
    assert cluster.universe.run(lambda: ('CREATE', 'IN_PROGRESS') in {
        each[:2] for rows in cluster.states(stack_id).values() for each in rows}, limit=100)
    cluster.chaos.enabled = True
    cluster.ask(messages.CancelStack(stack_id, rollback=False), [exception.NotSupported])     # stopped before the kill
    cluster.ask(messages.StackAction(stack_id, 'check'))
    assert_ended(cluster, stack_id)
    assert len(cluster.cloud.objects) == 1
    assert [each[:2] for each in cluster.states(stack_id)['a']] == [('CHECK', 'COMPLETE')]


def suspend(cluster, stack_id):
    cluster.ask(messages.StackAction(stack_id, 'suspend'))
    assert_ended(cluster, stack_id)
    done(cluster, stack_id, 'SUSPEND')
    assert [each[:2] for each in cluster.states(stack_id)['a']] == [('SUSPEND', 'COMPLETE')]


@pytest.mark.parametrize('life', [updated_while_a_snapshot_is_made, suspended_while_it_is_checked,
                                  checked_after_its_create_was_stopped], ids=lambda life: life.__name__)
def test_killed_while_a_newer_request_takes_over(life):
    assert kill_engines_in(life, 3, from_the_start=False, engines=1) > 3
