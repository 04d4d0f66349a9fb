"""Marking resources unhealthy while signals arrive: neither is lost, and neither makes the other wait."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import codec, resources, tables
from heatlite.planning.states import Status
from heatlite.rpc import messages
from tests.simulation import statements
from tests.simulation.cluster import Cluster, done, kill_engines_in

TWO = {'heat_template_version': '2018-08-31', 'resources': {
    name: {'type': 'Sim::Thing', 'properties': {'value': 'v'}} for name in ('a', 'b')}}


def signal_and_mark(cluster):
    cluster.chaos.enabled = False
    stack_id = cluster.create('s', TWO)
    done(cluster, stack_id, 'CREATE')
    cluster.chaos.enabled = True
    words = [f'{name} {number}' for number in range(3) for name in ('a', 'b')]
    for number, word in enumerate(words):
        cluster.ask(messages.SignalResource(stack_id, word.split()[0], {'word': word}))
        if number in (1, 3):
            cluster.ask(messages.MarkUnhealthy(stack_id, 'b', True, 'felt so'))       # not refused
    assert cluster.universe.run(lambda: cluster.cloud.heard >= set(words), limit=100), cluster.cloud.heard
    cluster.settle(stack_id)
    states = {name: rows[0] for name, rows in cluster.states(stack_id).items()}
    assert states['b'][:2] == ('CHECK', 'FAILED'), 'what was marked was written over'
    cluster.update(stack_id, TWO)
    done(cluster, stack_id, 'UPDATE')
    assert cluster.states(stack_id)['b'][0][2] != states['b'][2], 'not replaced'
    assert cluster.states(stack_id)['a'][0][2] == states['a'][2]


def test_a_signal_does_not_make_a_stack_busy():
    for seed in range(20):
        with Cluster(seed) as cluster:
            signal_and_mark(cluster)


def test_killed():
    kill_engines_in(signal_and_mark, 7, from_the_start=False)


def rows_read(cluster, stack_id, name_or_id, is_unhealthy):
    with statements.rows_fetched(lambda statement: 'FROM resource' in statement) as found:
        try:
            cluster.ask(messages.MarkUnhealthy(stack_id, name_or_id, is_unhealthy, 'x'))
        except exception.ResourceNotFound:
            assert name_or_id == 'unknown'
    return len(found), sum(found)


def test_a_mark_reads_the_rows_of_its_resource_only():
    """Whatever the number of the others, which no cache has values of."""
    read = {}
    for number in (10, 200):
        with Cluster(engines=1, interleaved=False) as cluster:
            stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
                f'r{each}': {'type': 'Sim::Thing', 'properties': {'value': 'v'}} for each in range(number)}})
            done(cluster, stack_id, 'CREATE')
            physical_id = cluster.states(stack_id)['r3'][0][2]
            read[number] = [rows_read(cluster, stack_id, text, is_unhealthy)
                            for text in ('r3', physical_id, 'unknown') for is_unhealthy in (True, False)]
    assert read[10] == read[200]


def test_a_resource_is_found_by_name_then_by_physical_id_then_by_reference():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            name: {'type': 'Sim::Thing', 'properties': {'value': 'v'}} for name in ('a', 'b', 'c', 'd')}})
        done(cluster, stack_id, 'CREATE')
        with cluster.database.writer() as tx:
            for name, values in {'b': {'physical_id': 'a'}, 'c': {'physical_id': 'id'}, 'd': {
                    'attributes': codec.encode({'': 'id', 'other': 'no'})}}.items():
                tx.execute(tables.resource.update().where(tables.resource.c.name == name).values(**values))

        def marked(text):
            cluster.ask(messages.MarkUnhealthy(stack_id, text, True, 'x'))
            found = {name for name, rows in cluster.states(stack_id).items() if rows[0][:2] == ('CHECK', 'FAILED')}
            for name in found:
                cluster.ask(messages.MarkUnhealthy(stack_id, name, False, 'x'))
            return found

        assert marked('a') == {'a'} and marked('id') == {'c'}
        with cluster.database.writer() as tx:
            tx.execute(tables.resource.update().where(tables.resource.c.name == 'c').values(physical_id='else'))
        assert marked('id') == {'d'}
        with pytest.raises(exception.ResourceNotFound):
            marked('no')


def test_the_current_one_of_several_rows_is_marked():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', TWO)
        done(cluster, stack_id, 'CREATE')
        with cluster.database.writer() as tx:
            old, = resources.named(tx, stack_id, 'a')
            resources.insert_many(tx, stack_id, [old._replace(
                id=99, uuid='new', physical_id='of the new one', replaces=old.id, template_id='another')])
        with pytest.raises(exception.ResourceNotFound):
            cluster.ask(messages.MarkUnhealthy(stack_id, 'of the new one', True, 'x'))
        cluster.ask(messages.MarkUnhealthy(stack_id, old.physical_id, True, 'x'))
        with cluster.database.reader() as tx:
            assert [row.failed for row in resources.named(tx, stack_id, 'a')] == [True, False]
            one = resources.named(tx, stack_id, 'b')[0]
        with cluster.database.writer() as tx:
            resources.set_state(tx, stack_id, one._replace(status=Status.IN_PROGRESS))
        with pytest.raises(exception.ActionInProgress):
            cluster.ask(messages.MarkUnhealthy(stack_id, 'a', False, 'x'))
