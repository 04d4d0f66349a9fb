"""Stack sets whose members are places of the counted cloud: waves, tolerance, another try, engines that are killed."""

from __future__ import annotations

import pytest

from heatlite.api import stack_set_bodies
from heatlite.api.stack_set_views import Inside
from heatlite.api.stack_set_views import members as shown
from heatlite.db import resources, stack_trees
from tests.simulation.cluster import Cluster, done, kill_engines_in
from tests.simulation.test_crashes import template

PLACES = {'resource_registry': {'OS::Heat::Stack': 'Sim::Place'}}


def a_set(names, text='one', failing='', moved='', **settings):
    places = [{'name': name, 'credential_secret_id': f'{name} elsewhere' if name in moved else name} for name in names]
    return template({'set': {'type': 'OS::Heatlite::StackSet', 'properties': {
        'members': places, 'template': text, 'max_concurrent': 2,
        'overrides': {name: {'fail': True} for name in failing}, **settings}}})


def members(cluster, stack_id):
    with cluster.database.reader() as tx:
        nested = stack_trees.child(tx, stack_id, 'set')
    return {} if nested is None else {
        name: [(action, status) for action, status, _physical in rows]
        for name, rows in cluster.states(nested.id).items()}


def all_are(names, *state):
    return {name: [state] for name in names}


def life(cluster):
    """Created with one failure, tried again, updated with other members, deleted."""
    stack_id = cluster.create('s', a_set('abcde', failing='b', failure_tolerance=1), PLACES)
    done(cluster, stack_id, 'CREATE')
    states = members(cluster, stack_id)
    assert {name: [status for _action, status in rows] for name, rows in states.items()} == {       # any action: b is
        name: ['FAILED' if name == 'b' else 'COMPLETE'] for name in 'abcde'}        # updated if it was interrupted
    assert len(cluster.cloud.made) == len(set(cluster.cloud.made)) == 5
    cluster.update(stack_id, a_set('abcdf', 'two'), PLACES)
    done(cluster, stack_id, 'UPDATE')
    states = members(cluster, stack_id)
    assert sorted(states) == [*'abcdf'] and {status for rows in states.values() for _action, status in rows} == {
        'COMPLETE'}
    assert {found['value'] for found in cluster.cloud.objects.values()} == {'two'}
    assert len(cluster.cloud.objects) == 5
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert not cluster.cloud.objects


def test_the_life_of_a_set():
    with Cluster() as cluster:
        life(cluster)


@pytest.mark.thorough
def test_the_life_of_a_set_with_engines_that_are_killed():
    assert kill_engines_in(life, stride=11) > 40


def test_one_failure_too_many_stops_the_waves_behind_it():
    with Cluster() as cluster:
        stack_id = cluster.create('s', a_set('abcdef', failing='cd', failure_tolerance=1), PLACES)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED') and 'the place is closed' in row.reason
        assert members(cluster, stack_id) == {
            **all_are('ab', 'CREATE', 'COMPLETE'), **all_are('cd', 'CREATE', 'FAILED'),
            **all_are('ef', 'INIT', 'COMPLETE')}


def test_a_kept_stack_stays_when_its_member_is_removed():
    with Cluster() as cluster:
        stack_id = cluster.create('s', a_set('abc', on_removal='keep'), PLACES)
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, a_set('ab'), PLACES)
        row = cluster.settle(stack_id)
        assert (row.status, len(cluster.cloud.objects)) == ('FAILED', 3) and 'on_removal' in row.reason
        cluster.update(stack_id, a_set('ab', on_removal='keep'), PLACES)
        done(cluster, stack_id, 'UPDATE')
        assert set(members(cluster, stack_id)) == {'a', 'b'} and len(cluster.cloud.objects) == 3


def inside(cluster, stack_id):
    """The members as the API reads them."""
    with cluster.database.reader() as tx:
        nested = stack_trees.child(tx, stack_id, 'set')
        rows = resources.light(tx, nested.id)
        return Inside.of(nested, rows, resources.columns(tx, nested.id, None, ('properties',)))


@pytest.mark.parametrize('then', ['moves', 'returns', 'is deleted'])
def test_the_stack_of_a_member_that_cannot_move_stays(then):
    with Cluster() as cluster:
        stack_id = cluster.create('s', a_set('abc', failure_tolerance=1), PLACES)
        done(cluster, stack_id, 'CREATE')
        before = set(cluster.cloud.objects)
        kept = inside(cluster, stack_id).stack_id('a')
        for _attempt in range(2):
            cluster.update(stack_id, a_set('abc', moved='a', failing='a', failure_tolerance=1), PLACES)
            done(cluster, stack_id, 'UPDATE')
            assert before < set(cluster.cloud.objects) and len(cluster.cloud.objects) == 4
            found = inside(cluster, stack_id)
            settings = stack_set_bodies.settings({'members': [{'name': name} for name in 'abc'], 'template': 'one'})
            member, *others = shown(settings, found)
            assert (member['state'], member['stack_id']) == ('failed', kept)
            assert 'the place is closed' in member['status_reason']
            assert [each['state'] for each in others] == ['current', 'current']
        if then == 'is deleted':
            cluster.delete(stack_id)
            done(cluster, stack_id, 'DELETE')
            assert not cluster.cloud.objects
            return
        cluster.update(stack_id, a_set('abc', moved='a' if then == 'moves' else '', failure_tolerance=1), PLACES)
        done(cluster, stack_id, 'UPDATE')
        assert len(cluster.cloud.objects) == 3 and (kept in cluster.cloud.objects) is (then == 'returns')
        assert members(cluster, stack_id).keys() == set('abc')
        assert {status for rows in members(cluster, stack_id).values() for _action, status in rows} == {'COMPLETE'}
