"""Breakpoints of the user: held until they are cleared, and cleared for good, whoever dies meanwhile."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import resource_data
from heatlite.language.registry import HOOK_TYPES
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, kill_engines_in, kill_the_owner, wait


def chain(value='x'):
    """`b` comes after two others, so that an engine that takes the stack over needs a while to get there."""
    names = ['a', 'a2', 'b', 'c']
    return {'heat_template_version': '2018-08-31', 'resources': {
        name: {'type': 'Sim::Thing', 'properties': {'value': value}, 'depends_on': [names[place - 1]] if place else []}
        for place, name in enumerate(names)}}


def breakpoint_at(hook):
    return {'resource_registry': {'resources': {'b': {'hooks': hook}}}}


def held(cluster, stack_id):
    with cluster.database.reader() as tx:
        return list(resource_data.held(tx, stack_id, HOOK_TYPES).values())


def stays(cluster, stack_id, seconds):
    """Nothing goes on for that long."""
    wait(cluster, seconds)
    return cluster.row(stack_id).status == 'IN_PROGRESS' and held(cluster, stack_id)


def begin(cluster, hook):
    """The stack, held at the breakpoint."""
    if hook.endswith('create'):
        stack_id = cluster.create('s', chain(), breakpoint_at(hook))
    elif hook.endswith('delete'):
        stack_id = cluster.create('s', chain(), breakpoint_at(hook))
        cluster.settle(stack_id)
        cluster.delete(stack_id)
    else:
        stack_id = cluster.create('s', chain())
        cluster.settle(stack_id)
        cluster.ask(messages.UpdateStack(stack_id=stack_id, template=chain('y'), environment=breakpoint_at(hook)))
    assert cluster.universe.run(lambda: held(cluster, stack_id) == [hook], limit=200)
    return stack_id


def clear(cluster, stack_id, hook):
    cluster.ask(messages.SignalResource(stack_id, 'b', {'unset_hook': hook}, False),
              allowed=[exception.InvalidBreakPointHook])        # an earlier try was stored, and its answer lost


@pytest.mark.parametrize('hook', HOOK_TYPES)
def test_held_by_whoever_takes_over(hook):
    with Cluster() as cluster:
        stack_id = begin(cluster, hook)
        kill_the_owner(cluster, stack_id)
        assert stays(cluster, stack_id, 30) == [hook]
        clear(cluster, stack_id, hook)
        row = cluster.settle(stack_id)
        assert row.status == 'COMPLETE', row.reason
        assert held(cluster, stack_id) == []
        told = [why for name, _, _, why in cluster.events(stack_id) if 'Hook' in why]
        assert len(told) == 2, told


def test_held_by_a_repeated_request():
    with Cluster() as cluster:
        stack_id = begin(cluster, 'pre-delete')
        cluster.delete(stack_id)
        assert stays(cluster, stack_id, 30) == ['pre-delete']
        clear(cluster, stack_id, 'pre-delete')
        assert cluster.settle(stack_id).status == 'COMPLETE'


@pytest.mark.parametrize('hook', HOOK_TYPES)
def test_cleared_once_is_enough(hook):
    def life(cluster):
        stack_id = begin(cluster, hook)
        cluster.chaos.enabled = True
        kill_the_owner(cluster, stack_id)
        clear(cluster, stack_id, hook)
        row = cluster.settle(stack_id)
        assert row.status == 'COMPLETE', row.reason
        assert held(cluster, stack_id) == []

    kill_engines_in(life, 9, from_the_start=False)


def test_the_next_request_is_held_again():
    with Cluster() as cluster:
        stack_id = begin(cluster, 'pre-update')
        for value in ('z', 'x'):
            clear(cluster, stack_id, 'pre-update')
            assert cluster.settle(stack_id).status == 'COMPLETE'
            cluster.ask(messages.UpdateStack(stack_id=stack_id, template=chain(value),
                                           environment=breakpoint_at('pre-update')))
            assert cluster.universe.run(lambda: held(cluster, stack_id) == ['pre-update'], limit=200)


@pytest.mark.parametrize('hook', [None, [], 'pre-dinner'])
def test_a_signal_that_names_an_unknown_breakpoint_is_refused(hook):
    with Cluster(1, engines=1) as cluster:
        stack_id = begin(cluster, 'pre-create')
        error = cluster.ask(messages.SignalResource(stack_id, 'b', {'unset_hook': hook}, False),
                            (exception.InvalidBreakPointHook,))
        assert str(error).startswith(f'Invalid hook type "{hook}" for ')
