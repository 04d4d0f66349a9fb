"""Breakpoints of the user: held until they are cleared, and cleared for good, whoever dies meanwhile."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import resources
from heatlite.language.registry import HOOK_TYPES
from heatlite.rpc import messages
from tests.simulation.house import House, kill_engines_in, owner, wait


def chain(value='x'):
    """`b` comes after two others, so that an engine that takes the stack over needs a while to get there."""
    names = ['a', 'a2', 'b', 'c']
    return {'heat_template_version': '2018-08-31', 'resources': {
        name: {'type': 'Sim::Thing', 'properties': {'value': value}, 'depends_on': [names[place - 1]] if place else []}
        for place, name in enumerate(names)}}


def breakpoint_at(hook):
    return {'resource_registry': {'resources': {'b': {'hooks': hook}}}}


def held(house, stack_id):
    with house.database.reader() as tx:
        return list(resources.held(tx, stack_id, HOOK_TYPES).values())


def kill_the_owner(house, stack_id):
    runtime = owner(house, stack_id)
    runtime.kill()
    house.chaos.on_kill(runtime)


def stays(house, stack_id, seconds):
    """Nothing goes on for that long."""
    wait(house, seconds)
    return house.row(stack_id).status == 'IN_PROGRESS' and held(house, stack_id)


def begin(house, hook):
    """The stack, held at the breakpoint."""
    if hook.endswith('create'):
        stack_id = house.create('s', chain(), breakpoint_at(hook))
    else:
        stack_id = house.create('s', chain())
        house.settle(stack_id)
        house.ask(messages.UpdateStack(stack_id=stack_id, template=chain('y'), environment=breakpoint_at(hook)))
    assert house.universe.run(lambda: held(house, stack_id) == [hook], limit=200)
    return stack_id


def clear(house, stack_id, hook):
    house.ask(messages.SignalResource(stack_id, 'b', {'unset_hook': hook}, False),
              allowed=[exception.InvalidBreakPointHook])        # an earlier try was stored, and its answer lost


HOOKS = [hook for hook in HOOK_TYPES if not hook.endswith('delete')]


@pytest.mark.parametrize('hook', HOOKS)
def test_held_by_whoever_takes_over(hook):
    with House() as house:
        stack_id = begin(house, hook)
        kill_the_owner(house, stack_id)
        assert stays(house, stack_id, 30) == [hook]
        clear(house, stack_id, hook)
        row = house.settle(stack_id)
        assert row.status == 'COMPLETE', row.reason
        assert held(house, stack_id) == []
        told = [why for name, _, _, why in house.events(stack_id) if 'Hook' in why]
        assert len(told) == 2, told


@pytest.mark.parametrize('hook', HOOKS)
def test_cleared_once_is_enough(hook):
    def life(house):
        stack_id = begin(house, hook)
        house.chaos.enabled = True
        kill_the_owner(house, stack_id)
        clear(house, stack_id, hook)
        row = house.settle(stack_id)
        assert row.status == 'COMPLETE', row.reason
        assert held(house, stack_id) == []

    kill_engines_in(life, 9, from_the_start=False)


def test_the_next_request_is_held_again():
    with House() as house:
        stack_id = begin(house, 'pre-update')
        for value in ('z', 'x'):
            clear(house, stack_id, 'pre-update')
            assert house.settle(stack_id).status == 'COMPLETE'
            house.ask(messages.UpdateStack(stack_id=stack_id, template=chain(value),
                                           environment=breakpoint_at('pre-update')))
            assert house.universe.run(lambda: held(house, stack_id) == ['pre-update'], limit=200)
