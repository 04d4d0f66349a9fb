"""Stopped as by SIGTERM at any point: no call is repeated that returns in time, and no user sees a failure."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from heatlite.db.tables import lease
from heatlite.engine import properties, resource
from heatlite.engine.durability.journal import LeaseLost
from tests.simulation import cloud as clouds
from tests.simulation.cluster import Cluster, owner, stop_engines_in, wait
from tests.simulation.test_crashes import SCENARIOS, assert_one_object_per_resource, template, thing
from tests.simulation.test_signals import signal

ANSWER = 1.0                            # seconds until a service answers


class Plain(resource.Resource):
    """As most plug-ins: its object cannot be found again, and its service answers late."""

    VALUE = 'value'
    properties_schema = {VALUE: properties.Schema(properties.Schema.STRING, default='', update_allowed=True)}
    hangs = False

    def _wait(self):
        self.runtime.sleep(1000.0 if self.hangs else ANSWER)

    def handle_create(self):
        ident = clouds.CLOUD.create(self.runtime, self.physical_resource_name(), self.properties[self.VALUE])
        self._wait()
        self.resource_id_set(ident)

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        clouds.CLOUD.update(self.runtime, self.resource_id, prop_diff[self.VALUE])
        self._wait()

    def handle_signal(self, details=None):
        clouds.CLOUD.tell(self.runtime, details['word'])
        self._wait()

    def handle_delete(self):
        if self.resource_id is not None:
            clouds.CLOUD.delete(self.runtime, self.resource_id)


class Never(clouds.Thing):
    """Waits, and no call of it is under way but for a moment."""

    def check_create_complete(self, handle):
        return False


@pytest.fixture(autouse=True)
def _types(monkeypatch):
    types = {**clouds.resource_mapping(), 'Sim::Plain': Plain, 'Sim::Never': Never}
    monkeypatch.setattr(clouds, 'resource_mapping', lambda: types)      # also for engines that start later


def plain(value='', needs=()):
    found = {'type': 'Sim::Plain', 'properties': {'value': value}}
    return {**found, 'depends_on': list(needs)} if needs else found


def four(value):
    return template({'a': plain(value), 'b': plain(value), 'c': plain(value, ['a']), 'd': thing(value, needs=['c'])})


def settled(cluster, stack_id, action):
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == (action, 'COMPLETE'), row.reason
    assert not [event for event in cluster.events(stack_id) if event[2] == 'FAILED']
    assert_one_object_per_resource(cluster, stack_id)


def create(cluster):
    stack_id = cluster.create('s', four('first'))
    settled(cluster, stack_id, 'CREATE')
    assert len(cluster.cloud.made) == 4
    return stack_id


def prepared(cluster):
    cluster.chaos.enabled = False
    stack_id = create(cluster)
    cluster.chaos.enabled = True
    return stack_id


def update(cluster):
    stack_id = prepared(cluster)
    cluster.update(stack_id, four('second'))
    settled(cluster, stack_id, 'UPDATE')
    updated = [name for action, name in cluster.cloud.calls if action == 'update']
    assert len(updated) == len(set(updated)) == 4, updated


def take_signals(cluster):
    stack_id = prepared(cluster)
    for number in range(3):
        signal(cluster, stack_id, 'a', {'word': str(number)})
    cluster.settle(stack_id)
    assert cluster.universe.run(lambda: len(cluster.cloud.heard) == 3, limit=60.0)
    wait(cluster, 5.0)
    assert cluster.cloud.requests.count('tell') == 3


def create_nested(cluster):
    stack_id = cluster.create('s', template({'group': {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': 2, 'resource_def': plain()}}}))
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
    assert not [event for event in cluster.events(stack_id) if event[2] == 'FAILED']
    assert len(cluster.cloud.made) == 2


@pytest.mark.parametrize('life', [create, update, take_signals, create_nested])
def test_no_call_is_repeated(life):
    assert stop_engines_in(life, 5) > 5


@pytest.mark.parametrize('name', SCENARIOS)
def test_stopped_at_any_point(name):
    assert stop_engines_in(SCENARIOS[name], 25) > 10


def held_by(cluster, stack_id):
    with cluster.database.reader() as tx:
        return tx.execute(sa.select(lease.c.engine_id).where(lease.c.stack_id == stack_id)).scalar()


def under_way(cluster, monkeypatch, **options):
    """A stack whose create does not return, and its engine: (id, runtime, service)."""
    monkeypatch.setattr(Plain, 'hangs', True)
    stack_id = cluster.create('s', template({'a': plain()}))
    assert cluster.universe.run(lambda: cluster.cloud.objects, limit=20.0)
    runtime = owner(cluster, stack_id)
    return stack_id, runtime, next(service for other, service in cluster.engines if other is runtime)


def test_a_call_that_does_not_return_is_ended_behind_the_fence(monkeypatch):
    with Cluster(**{'engine.stop_timeout': 4.0}) as cluster:
        stack_id, runtime, service = under_way(cluster, monkeypatch)
        known, began, ended = service.runners.get(stack_id).leased.lease, cluster.universe.time, []

        def stop():
            service.stop()
            ended.append(cluster.universe.time)
            with pytest.raises(LeaseLost):
                service.lease_manager.may_act(known)
            ended.append('fenced')

        runtime.spawn(stop)
        assert cluster.universe.run(lambda: len(ended) == 2, limit=60.0)
        assert 4.0 <= ended[0] - began < 6.0, ended
        assert not service.controller.driven
        Plain.hangs = False
        runtime.kill()
        cluster._died(runtime)
        assert cluster.settle(stack_id).status == 'COMPLETE'


def test_stacks_that_only_wait_do_not_wait_for_the_others(monkeypatch):
    with Cluster() as cluster:
        stack_id, runtime, service = under_way(cluster, monkeypatch)
        waiting = []
        while not any(owner(cluster, each) is runtime for each in waiting):
            waiting.append(cluster.create(f'w{len(waiting)}', template({'t': {'type': 'Sim::Never'}})))
            wait(cluster, 2.0)
        stopping = cluster.stop_engine(runtime)
        assert cluster.universe.run(lambda: cluster.universe.steps % 50 == 0 and all(
            held_by(cluster, each) not in (None, service.engine_id) for each in waiting), limit=3.0)
        assert stopping in runtime.threads, 'the stop is over already'
        assert held_by(cluster, stack_id) == service.engine_id
