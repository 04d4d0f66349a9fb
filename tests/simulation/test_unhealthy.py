"""Marking resources unhealthy while signals arrive: neither is lost, and neither makes the other wait."""

from __future__ import annotations

from heatlite.rpc import messages
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
