"""What a bad type does to others: one that raises, one that hangs, one that leaks."""

from __future__ import annotations

import gc

import pytest

from heatlite.engine import resource
from tests.simulation.house import House

KEPT: list[resource.Resource] = []


class Raising(resource.Resource):
    def handle_create(self):
        raise KeyError('watts')


class Hanging(resource.Resource):
    def handle_create(self):
        self.runtime.flag().wait()


class Leaking(resource.Resource):
    def handle_create(self):
        KEPT.append(self)


KINDS = {'Bad::Raising': Raising, 'Bad::Hanging': Hanging, 'Bad::Leaking': Leaking}


@pytest.fixture
def house():
    with House(engines=1) as house:
        for _runtime, service in house.engines:
            for name, kind in KINDS.items():
                service.registry.register(name, kind)
        yield house
    KEPT.clear()


def template(*kinds):
    return {'heat_template_version': '2018-08-31', 'resources': {
        f'r{number}': {'type': kind} for number, kind in enumerate(kinds)}}


def test_one_that_raises_fails_with_its_error(house):
    stack_id = house.create('s', template('Bad::Raising'))
    other = house.create('other', template('Sim::Thing'))
    row = house.settle(stack_id)
    assert (row.action, row.status) == ('CREATE', 'FAILED')
    assert row.reason == "Resource CREATE failed: KeyError: resources.r0: 'watts'"
    assert house.settle(other).status == 'COMPLETE'
    house.delete(stack_id)
    assert house.settle(stack_id).status == 'COMPLETE'


def test_one_that_hangs_holds_up_its_own_stack_until_that_is_out_of_time(house):
    stack_id = house.create('s', template('Bad::Hanging', 'Sim::Thing'), timeout_mins=10)
    other = house.create('other', template('Sim::Thing'))
    assert house.settle(other).status == 'COMPLETE'
    row = house.settle(stack_id)
    assert (row.action, row.status) == ('CREATE', 'FAILED')
    assert 'Timed out' in row.reason
    house.delete(stack_id)
    assert house.settle(stack_id).status == 'COMPLETE'


def test_a_stack_that_hangs_can_be_deleted(house):
    stack_id = house.create('s', template('Bad::Hanging'))
    house.settle(house.create('other', template('Sim::Thing')))
    house.delete(stack_id)
    row = house.settle(stack_id)
    assert (row.action, row.status) == ('DELETE', 'COMPLETE')


def test_hanging_calls_that_are_given_up_free_their_threads(house):
    many = house.engines[0][1]._pool._size + 1
    ids = [house.create(f's{number}', template('Bad::Hanging')) for number in range(many)]
    for stack_id in ids:
        house.delete(stack_id)
    for stack_id in ids:
        assert house.settle(stack_id).status == 'COMPLETE'
    assert house.settle(house.create('other', template('Sim::Thing'))).status == 'COMPLETE'


def test_what_one_leaks_does_not_keep_its_stack_in_memory(house):
    house.settle(house.create('s', template('Bad::Leaking')))
    house.settle(house.create('other', template('Sim::Thing')))
    gc.collect()
    assert [it._stackref() for it in KEPT] == [None]
