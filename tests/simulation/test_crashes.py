"""Killed at a durable write or a call to the cloud, whichever: the same end state, nothing twice, nothing orphaned."""

from __future__ import annotations

import copy
import os

import pytest

from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import OFFSET, Cluster, kill_engines_in, lose_database_in

PAIRS = int(os.environ.get('HEATLITE_TEST_PAIRS', '48'))     # every which pair of points is tried; 1: all


def thing(value='', fixed='', needs=(), **more):
    found = {'type': 'Sim::Thing', 'properties': {'value': value, 'fixed': fixed, **more}}
    if needs:
        found['depends_on'] = list(needs)
    return found


def template(resources, outputs=None):
    return {'heat_template_version': '2018-08-31', 'resources': resources, 'outputs': outputs or {}}


def twenty():
    """Four layers of five, each thing standing on one or two of the layer below."""
    found = {}
    for layer in range(4):
        for place in range(5):
            needs = [f'r{layer - 1}{place}', f'r{layer - 1}{(place + 1) % 5}'][:1 + place % 2] if layer else []
            found[f'r{layer}{place}'] = thing(f'v{layer}', needs=needs)
    return template(found, {'ids': {'value': [{'get_resource': 'r00'}]}})


SMALL = template({'a': thing('1'), 'b': thing({'get_resource': 'a'}), 'c': thing('3', needs=['b'])})


def small_update():
    """a is replaced, b follows, c goes, d comes."""
    changed = copy.deepcopy(SMALL)
    changed['resources']['a']['properties']['fixed'] = 'new'
    del changed['resources']['c']
    changed['resources']['d'] = thing('4', needs=['a'])
    return changed


def assert_one_object_per_resource(cluster, stack_id):
    states = cluster.states(stack_id)
    physical = [state[2] for rows in states.values() for state in rows]
    assert all(len(rows) == 1 for rows in states.values()), states
    assert sorted(physical) == sorted(cluster.cloud.objects), (physical, cluster.cloud.objects)


def small_create(cluster):
    stack_id = cluster.create('s', template({'a': thing('1'), 'b': thing({'get_resource': 'a'})}))
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
    assert len(cluster.cloud.made) == 2
    assert_one_object_per_resource(cluster, stack_id)


def create(cluster):
    stack_id = cluster.create('s', twenty())
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
    assert len(cluster.cloud.objects) == 20
    assert len(cluster.cloud.made) == len(set(cluster.cloud.made)), 'made twice under one name'
    assert_one_object_per_resource(cluster, stack_id)


def update(cluster):
    cluster.chaos.enabled = False
    stack_id = cluster.create('s', SMALL)
    cluster.settle(stack_id)
    cluster.chaos.enabled = True
    cluster.update(stack_id, small_update())
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
    assert set(cluster.states(stack_id)) == {'a', 'b', 'd'}
    assert_one_object_per_resource(cluster, stack_id)
    a = cluster.states(stack_id)['a'][0][2]
    assert cluster.cloud.objects[cluster.states(stack_id)['b'][0][2]]['value'] == a


def rollback(cluster):
    cluster.chaos.enabled = False
    stack_id = cluster.create('s', SMALL, disable_rollback=False)
    cluster.settle(stack_id)
    cluster.chaos.enabled = True
    failing = small_update()
    failing['resources']['d']['properties']['fail'] = True
    cluster.update(stack_id, failing)
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('ROLLBACK', 'COMPLETE'), row.reason
    assert set(cluster.states(stack_id)) == {'a', 'b', 'c'}
    assert_one_object_per_resource(cluster, stack_id)
    a = cluster.states(stack_id)['a'][0][2]
    assert cluster.cloud.objects[cluster.states(stack_id)['b'][0][2]]['value'] == a


def delete(cluster):
    cluster.chaos.enabled = False
    stack_id = cluster.create('s', twenty())
    cluster.settle(stack_id)
    cluster.chaos.enabled = True
    cluster.delete(stack_id)
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('DELETE', 'COMPLETE'), row.reason
    assert cluster.cloud.objects == {} and cluster.states(stack_id) == {}


SCENARIOS = {scenario.__name__: scenario for scenario in (create, update, rollback, delete)}


def points(scenario):
    with Cluster() as cluster:
        cluster.chaos.enabled = True
        scenario(cluster)
        return cluster.chaos.count


@pytest.mark.parametrize('name', SCENARIOS)
def test_killed_at_any_point(name):
    assert kill_engines_in(SCENARIOS[name], 3) > 10


def test_killed_at_any_pair_of_points_of_a_small_create():
    count = points(small_create)
    pairs = [(first, second) for first in range(1, count + 1)
             for second in range(first + 1, count + 8)]     # the second life is a few points longer
    for first, second in pairs[OFFSET % PAIRS::PAIRS]:
        with Cluster(seed=first * 1000 + second, kill_at=[first, second], restart_after=1.0) as cluster:
            cluster.chaos.enabled = True
            try:
                small_create(cluster)
            except BaseException as error:
                raise AssertionError(f'killed at {cluster.chaos.killed}: {error}') from error


def test_every_answer_to_a_create_is_lost():
    with Cluster(seed=7) as cluster:
        cluster.cloud.lose_creates = True
        create(cluster)
        cluster.delete(cluster.user_stack('s'))
        cluster.settle(cluster.user_stack('s'))
        assert cluster.cloud.objects == {}


@pytest.mark.parametrize('name', SCENARIOS)
def test_the_database_away_at_any_time(name):
    lose_database_in(SCENARIOS[name], 17)


def check_of_a_failed_create(cluster):
    """A check that is cut off does not make a resource of one whose creation has failed."""
    stack_id = cluster.create('s', template({'a': thing('1', fail=True)}), disable_rollback=True)
    assert cluster.settle(stack_id).status == 'FAILED'
    cluster.chaos.enabled = True
    cluster.ask(messages.StackAction(stack_id, 'check'))
    cluster.update(stack_id, template({'a': thing('1')}))
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
    assert_one_object_per_resource(cluster, stack_id)


def test_killed_in_a_check_of_a_resource_that_was_never_made():
    assert kill_engines_in(check_of_a_failed_create, 1, from_the_start=False) > 5


class Vanishing(cloud.Thing):
    """Its object is lost while an engine that updates it dies."""

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        cloud.CLOUD.objects.pop(self.resource_id)
        cloud.CLOUD.chaos.point('lost', self.runtime)


def test_an_object_that_is_gone_when_its_update_goes_on_is_replaced(monkeypatch):
    types = {**cloud.resource_mapping(), 'Sim::Vanishing': Vanishing}
    monkeypatch.setattr(cloud, 'resource_mapping', lambda: types)
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template({'a': {**thing('1'), 'type': 'Sim::Vanishing'}}))
        cluster.settle(stack_id)
        cluster.chaos.begin([('lost', 1)])
        cluster.update(stack_id, template({'a': {**thing('2'), 'type': 'Sim::Vanishing'}}))
        row = cluster.settle(stack_id)
        assert cluster.chaos.killed
        assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        assert_one_object_per_resource(cluster, stack_id)
        assert [found['value'] for found in cluster.cloud.objects.values()] == ['2']
