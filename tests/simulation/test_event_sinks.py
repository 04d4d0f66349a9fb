"""Event sinks: what is in the history is told, in its order, through every crash, and at nobody's cost."""

from __future__ import annotations

import json
import os

import pytest

from heatlite.common import exception
from heatlite.db import events
from heatlite.engine.types import event_sink_types
from heatlite.rpc import messages
from tests.simulation.house import House

STRIDE = int(os.environ.get('HEATLITE_TEST_STRIDE', '5'))       # 1: every point
TOLD: list[dict] = []
NOTES = {'event_sinks': [{'type': 'notes', 'shelf': 'a'}]}
TWO = {'heat_template_version': '2018-08-31', 'resources': {
    'one': {'type': 'Sim::Thing'}, 'two': {'type': 'Sim::Thing', 'depends_on': 'one'}}}
NEST = {'heat_template_version': '2018-08-31', 'resources': {'in': {'type': 'two.yaml'}}}


class Notes:
    def __init__(self, shelf):
        self.shelf = shelf

    def consume(self, context, event):
        TOLD.append(event)


class Broken(Notes):
    def consume(self, context, event):
        raise OSError('no shelf')


@pytest.fixture(autouse=True)
def notes(monkeypatch):
    TOLD.clear()
    monkeypatch.setitem(event_sink_types.BUILT_IN, 'notes', f'{__name__}:Notes')
    monkeypatch.setitem(event_sink_types.BUILT_IN, 'broken', f'{__name__}:Broken')


def create(house, environment, template=TWO, files=None):
    stack_id = house.create('s', template, environment, files=files or {})
    assert house.settle(stack_id).status == 'COMPLETE'
    return stack_id


def history(house, stack_id):
    with house.database.reader() as tx:
        return [each.uuid for each in events.following(tx, stack_id, 0, 1000)]


def told(stack_id):
    return [each['id'] for each in TOLD if each['payload']['stack_id'] == stack_id]


def everything_is_told(house, stack_id):
    return house.universe.run(lambda: told(stack_id) == history(house, stack_id), limit=100)


def test_a_whole_life_is_told_in_its_order():
    with House() as house:
        stack_id = create(house, NOTES)
        house.delete(stack_id)
        house.settle(stack_id)
        assert everything_is_told(house, stack_id), told(stack_id)
        first = TOLD[0]
        assert first['type'] == 'os.heat.event' and first['version'] == '0.1'
        assert first['payload'] == {
            'resource_name': 's', 'physical_resource_id': stack_id, 'stack_id': stack_id, 'resource_action': 'CREATE',
            'resource_status': 'IN_PROGRESS', 'resource_status_reason': 'Stack CREATE started',
            'resource_type': 'OS::Heat::Stack', 'resource_properties': {}, 'version': '0.1'}
        assert len(TOLD) == 12


def test_nested_stacks_inherit_them():
    with House() as house:
        create(house, NOTES, NEST, {'two.yaml': json.dumps(TWO)})
        assert house.universe.run(lambda: len({each['payload']['stack_id'] for each in TOLD}) == 2, limit=100)


def test_an_update_may_bring_them_and_take_them_away():
    with House() as house:
        stack_id = create(house, {})
        update = {'stack_id': stack_id, 'template': {**TWO, 'description': 'new'}}
        house.ask(messages.UpdateStack(**update, environment=NOTES))
        house.settle(stack_id)
        assert house.universe.run(lambda: [each['payload']['resource_status'] for each in TOLD] == [
            'IN_PROGRESS', 'COMPLETE'], limit=100)
        house.ask(messages.UpdateStack(**update, environment={}))
        house.settle(stack_id)
        assert not house.universe.run(lambda: len(TOLD) > 2, limit=10)


def test_what_is_added_while_nobody_drives_the_stack_is_told():
    with House() as house:
        stack_id = create(house, NOTES)
        assert everything_is_told(house, stack_id)
        count = len(TOLD)
        house.ask(messages.MarkUnhealthy(stack_id, 'one', True, 'looks ill'))
        assert everything_is_told(house, stack_id), told(stack_id)
        assert len(TOLD) == count + 1
        assert TOLD[-1]['payload']['resource_status_reason'] == 'looks ill'
        house.delete(stack_id)
        house.settle(stack_id)
        assert everything_is_told(house, stack_id), told(stack_id)


def test_a_refused_signal_is_told():
    template = {'heat_template_version': '2018-08-31',
                'resources': {'handle': {'type': 'OS::Heat::WaitConditionHandle'}}}
    with House() as house:
        stack_id = create(house, NOTES, template)
        house.ask(messages.StackAction(stack_id, 'suspend'))
        house.settle(stack_id)
        assert everything_is_told(house, stack_id)
        with pytest.raises(exception.NotSupported):
            house.ask(messages.SignalResource(stack_id, 'handle', {}, False))
        assert everything_is_told(house, stack_id)
        assert TOLD[-1]['payload']['resource_status_reason'] == 'Cannot signal resource during SUSPEND'


@pytest.mark.parametrize('sink', [{'type': 'broken', 'shelf': 'a'}, {'type': 'notes', 'no': 'such argument'}])
def test_a_sink_that_fails_disturbs_nobody(sink):
    with House() as house:
        stack_id = create(house, {'event_sinks': [sink, *NOTES['event_sinks']]})
        assert everything_is_told(house, stack_id)


def test_nothing_of_the_running_action_is_lost_in_a_crash():
    with House() as house:
        house.chaos.enabled = True
        create(house, NOTES)
        points = house.chaos.count
    for point in range(1, points + 1, STRIDE):
        TOLD.clear()
        with House(seed=point, kill_at=[point]) as house:
            house.chaos.enabled = True
            stack_id = create(house, NOTES)
            assert house.universe.run(
                lambda: set(told(stack_id)) == set(history(house, stack_id)), limit=100), point   # noqa: B023
