"""One computation serves all threads that ask the same question at once, and no answer is older than its question."""

from __future__ import annotations

import pytest

from heatlite.engine.reconcile.shared_answers import SharedAnswers
from heatlite.testing.runtime import SimulatedRuntime, Universe


class World:
    """Threads that ask; each computation takes a second and answers with its number, or fails with it."""

    def __init__(self, failing=()):
        self.universe = Universe(1)
        self.runtime = SimulatedRuntime(self.universe, 'engine')
        self.shared = SharedAnswers(self.runtime)
        self.computed, self.failing = [], failing
        self.answers = {}

    def compute(self):
        number = len(self.computed) + 1
        self.computed.append(number)
        self.runtime.sleep(1.0)
        if number in self.failing:
            raise ValueError(number)
        return number

    def ask(self, who, after=0.0, question='q'):
        def run():
            self.runtime.sleep(after)
            try:
                self.answers[who] = self.shared.answer(question, self.compute)
            except ValueError as error:
                self.answers[who] = f'error {error}'

        self.runtime.spawn(run)

    def run(self, count):
        assert self.universe.run(lambda: len(self.answers) == count)
        return self.answers


def test_those_that_ask_meanwhile_share_the_next_computation():
    world = World()
    world.ask('first')
    for number in range(5):
        world.ask(number, after=0.5)
    assert world.run(6) == {'first': 1, **dict.fromkeys(range(5), 2)}
    assert world.computed == [1, 2]


def test_one_that_asks_later_gets_an_answer_of_its_own():
    world = World()
    world.ask('first')
    world.ask('second', after=5.0)
    assert world.run(2) == {'first': 1, 'second': 2}


def test_other_questions_are_computed_at_the_same_time():
    world = World()
    world.ask('first')
    world.ask('other', after=0.5, question='other')
    assert world.run(2) == {'first': 1, 'other': 2}


@pytest.mark.parametrize('failing, expected', [
    ({1}, ['error 1', 2, 2, 2]), ({2}, [1, 3, 3, 'error 2']), ({1, 2, 3}, [4, 'error 1', 'error 2', 'error 3'])])
def test_an_error_is_of_one_thread_only(failing, expected):
    world = World(failing)
    world.ask('first')
    for number in range(3):
        world.ask(number, after=0.5)
    assert sorted(map(str, world.run(4).values())) == sorted(map(str, expected))
    assert world.shared._running == {}
