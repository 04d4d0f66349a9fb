"""One computation serves all threads that ask the same question at once, and no answer is older than its question."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

import pytest

from heatlite.common import allowance, exception
from heatlite.common.context import RequestContext
from heatlite.engine.reconcile.shared_answers import SharedAnswers
from heatlite.rpc.slots import Slots
from heatlite.testing.runtime import SimulatedRuntime, Universe


class World:
    """Threads that ask; each computation takes `seconds` and answers with its number, or fails with it.

    `deadline`: seconds, of each thread; `threads`: of the engine; `taken`: slots and computations begun at each end."""

    def __init__(self, failing=(), seconds=1.0, deadline=None, threads=None):
        self.universe = Universe(1)
        self.runtime = SimulatedRuntime(self.universe, 'engine')
        self.shared = SharedAnswers(self.runtime)
        self.computed, self.failing = [], failing
        self.answers = {}
        self.seconds, self.deadline = seconds, deadline
        self.slots = Slots(self.runtime, threads) if threads else None
        self.taken = []

    def compute(self):
        number = len(self.computed) + 1
        self.computed.append(number)
        self.runtime.sleep(self.seconds)
        if self.slots is not None:
            self.taken.append((self.slots._taken.total(), len(self.computed)))
        if number in self.failing:
            raise ValueError(number)
        return number

    def ask(self, who, after=0.0, question='q'):
        def run():
            self.runtime.sleep(after)
            try:
                with self.request():
                    self.answers[who] = self.shared.answer(question, self.compute)
            except exception.TooLate:
                self.answers[who] = 'too late'
            except ValueError as error:
                self.answers[who] = f'error {error}'

        self.runtime.spawn(run)

    @contextmanager
    def request(self):
        with ExitStack() as held:
            if self.slots is not None:
                held.enter_context(self.slots.taken(RequestContext(project_id='p', overwrite=False), self.deadline))
            if self.deadline is not None:
                held.enter_context(allowance.limited(self.runtime, self.deadline, reads=True))
            yield

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


@pytest.mark.parametrize('seconds', [6.0, 9.0, 14.0])
def test_a_request_computes_for_itself_before_it_is_too_late(seconds):
    """As long as one computation takes less than its time."""
    world = World(seconds=seconds, deadline=15.0)
    world.ask('first')
    world.run(1)                                # how long it takes is known
    world.ask('second')
    for number in range(3):
        world.ask(number, after=0.5)
    assert 'too late' not in world.run(5).values()
    assert world.shared._running == {}


def test_a_request_does_not_wait_for_a_first_computation_for_long():
    world = World(seconds=9.0, deadline=15.0)
    world.ask('first')
    world.ask('second', after=0.5)
    assert world.run(2) == {'first': 1, 'second': 2}


def test_many_requests_share_answers_before_their_deadlines():
    world = World(deadline=15.0)
    world.ask('first')
    for number in range(5):
        world.ask(number, after=0.5)
    assert world.run(6) == {'first': 1, **dict.fromkeys(range(5), 2)}


def test_more_requests_than_slots_share_answers_before_their_deadlines():
    world = World(seconds=6.0, deadline=15.0, threads=160)      # of the ten slots, three are of a project
    world.ask('first')
    world.run(1)
    world.ask('second')
    for number in range(12):
        world.ask(number, after=0.5)
    assert 'too late' not in world.run(14).values()
    assert len(world.computed) == 5                             # two compute for themselves, the others share one
    assert not world.slots._taken.total()


def test_a_request_that_waits_has_no_slot_and_one_that_computes_has_one():
    world = World(deadline=15.0, threads=96)    # of the six slots, two are of a project
    world.ask('first')
    world.ask('second', after=0.5)              # waits for the first one
    world.ask('third', after=0.6, question='other')
    world.run(3)
    assert world.answers == {'first': 1, 'third': 2, 'second': 3}
    assert world.taken == [(2, 2), (2, 3), (1, 3)] and not world.slots._taken.total()
