"""Threads share a computation: all get its result or its error, and none gets the end of another thread."""

from __future__ import annotations

import traceback

import pytest

from heatlite.common.shared_computations import SharedComputations
from heatlite.testing.runtime import SimulatedRuntime, Universe


class World:
    """Threads that ask for what takes a second to compute. `fails`: numbers of computations that raise an error."""

    def __init__(self, fails=()):
        self.universe = Universe(1)
        self.runtime = SimulatedRuntime(self.universe, 'engine')
        self.shared = SharedComputations(self.runtime)
        self.computed, self.fails = [], fails
        self.answers = {}
        self.errors = []

    def compute(self):
        number = len(self.computed) + 1
        self.computed.append(number)
        self.runtime.sleep(1.0)
        if number in self.fails:
            raise ValueError(number)
        return number

    def ask(self, who, after=0.0, key='k'):
        def run():
            self.runtime.sleep(after)
            try:
                self.answers[who] = self.shared.get(key, self.compute)
            except ValueError as error:
                self.answers[who] = f'error {error}'
                self.errors.append((error, len(traceback.extract_tb(error.__traceback__))))

        return self.runtime.spawn(run)

    def run(self, count):
        assert self.universe.run(lambda: len(self.answers) == count)
        assert self.shared._running == {}
        return self.answers


def test_all_get_the_result_of_one_computation():
    world = World()
    for number in range(5):
        world.ask(number, after=number / 10)
    assert world.run(5) == dict.fromkeys(range(5), 1)


def test_each_key_is_computed_for_itself():
    world = World()
    world.ask('first')
    world.ask('other', after=0.5, key='other')
    assert world.run(2) == {'first': 1, 'other': 2}


def test_all_get_the_error_and_the_next_call_computes_anew():
    world = World(fails={1})
    for number in range(5):
        world.ask(number, after=number / 10)
    assert world.run(5) == dict.fromkeys(range(5), 'error 1')
    assert len({id(error) for error, _frames in world.errors}) == 1
    frames = [frames for _error, frames in world.errors]
    assert max(frames) <= min(frames) + 1           # no thread adds to the traceback of another one
    world.ask('later')
    assert world.run(6)['later'] == 2


def test_the_end_of_a_thread_is_no_answer_for_another():
    world = World()
    first = world.ask('first')
    for number in range(3):
        world.ask(number, after=0.1)
    world.universe.run(lambda: world.universe.time >= 0.5)
    first.kill()
    assert world.run(3) == dict.fromkeys(range(3), 2)


@pytest.mark.parametrize('fails', [(), (1,)])
def test_a_thread_waits_for_the_computation_under_way(fails):
    world = World(fails)
    waited = []

    def wait():
        waited.append(world.shared.wait('k'))
        world.runtime.sleep(0.5)
        try:
            waited.append(world.shared.wait('k'))
        except ValueError as error:
            waited.append(error.args[0])

    world.runtime.spawn(wait)
    world.ask('first', after=0.2)
    world.run(1)
    assert world.universe.run(lambda: len(waited) == 2)
    assert waited == [False, 1 if fails else True]
