"""The pool of threads over the simulated runtime: whose call is next is decided when a thread is free."""

import eventlet
import pytest

from heatlite.common.green_threads import GreenRuntime
from heatlite.engine.durability.pool import Pool
from heatlite.testing.runtime import Universe


@pytest.fixture
def universe():
    found = Universe(1)
    yield found
    found.close()


def test_owners_take_turns(universe):
    runtime = universe.process('engine')
    pool, called = Pool(runtime, 2), []
    for number in range(6):
        pool.run(lambda number=number: called.append(f'a{number}'), 'a', 'a1')
    pool.run(lambda: called.append('b0'), 'b', 'b1')
    assert (pool.waiting, pool.users('a'), pool.users('b')) == (7, 1, 1)
    assert universe.run(lambda: len(called) == 7)
    assert called == ['a0', 'b0', 'a1', 'a2', 'a3', 'a4', 'a5']
    assert (pool.waiting, pool.users('a'), pool.running) == (0, 0, 0)


def test_a_call_that_waits_holds_one_thread(universe):
    runtime = universe.process('engine')
    pool, called, gate = Pool(runtime, 4), [], runtime.flag()
    pool.run(gate.wait)
    for number in range(4):
        pool.run(lambda number=number: called.append(number))
    assert universe.run(lambda: len(called) == 4)
    assert (pool.running, pool.waiting) == (1, 0)
    gate.set()
    assert universe.run(lambda: pool.running == 0)
    pool.run(lambda: called.append('again'))
    assert universe.run(lambda: called[-1] == 'again')


def test_calls_of_one_owner_leave_threads_to_others(universe):
    runtime = universe.process('engine')
    pool, called, gate = Pool(runtime, 8), [], runtime.flag()
    for number in range(20):
        pool.run(gate.wait, 'a', f'a{number % 3}')
    assert universe.run(lambda: pool.running == 4)
    for _ in range(20):
        pool.run(gate.wait, 'b', 'b1')
    assert universe.run(lambda: pool.running == 6)
    pool.run(lambda: called.append('c'), 'c', 'c1')
    assert universe.run(lambda: called == ['c'])
    assert (pool.running, pool.waiting, pool.users('a')) == (6, 34, 3)
    gate.set()
    assert universe.run(lambda: (pool.running, pool.waiting) == (0, 0))


def test_the_only_thread_is_taken_by_owners_in_turn(universe):
    runtime = universe.process('engine')
    pool, called = Pool(runtime, 1), []
    for number in range(3):
        pool.run(lambda number=number: called.append(f'a{number}'), 'a', 'a1')
    pool.run(lambda: called.append('b0'), 'b', 'b1')
    assert universe.run(lambda: called == ['a0', 'b0', 'a1', 'a2'])


def test_a_killed_call_no_longer_counts_for_its_owner(universe):
    runtime = universe.process('engine')
    pool, called = Pool(runtime, 2), []
    hangs = runtime.flag().wait
    pool.run(hangs, 'a', 'a1')
    pool.run(lambda: called.append('next'), 'a', 'a1')
    assert universe.run(lambda: pool.running == 1)
    assert called == []
    pool.kill(hangs)
    assert universe.run(lambda: called == ['next'])
    assert pool.running == 0


def test_a_thread_that_is_killed_leaves_its_place(universe):
    runtime = universe.process('engine')
    pool, called = Pool(runtime, 1), []
    hangs = runtime.flag().wait
    pool.run(hangs)
    pool.run(lambda: called.append('next'))
    assert universe.run(lambda: pool.running == 1)
    pool.kill(hangs)
    assert universe.run(lambda: called == ['next'])


def test_a_call_that_fails_ends_no_thread(universe, caplog):
    runtime = universe.process('engine')
    pool, called = Pool(runtime, 1), []

    def fails():
        raise KeyError('defect')
    pool.run(fails)
    pool.run(lambda: called.append('next'))
    assert universe.run(lambda: called == ['next'])
    assert 'KeyError' in caplog.text


class Unhurried(GreenRuntime):
    def turn(self, *owners):
        """The round has time left."""


def test_a_burst_of_calls_that_do_not_block_needs_few_threads():
    """To wake up a thread for each costs as much as a short call."""
    pool, called = Pool(Unhurried(), 100), []
    for number in range(50):
        pool.run(lambda number=number: called.append(number))
    eventlet.sleep(0)
    pool.stop()
    assert called == [*range(50)]
    assert len(pool._workers) <= 2


def test_calls_that_block_are_under_way_together(universe):
    runtime = universe.process('engine')
    pool, gate = Pool(runtime, 100), runtime.flag()
    for _ in range(50):
        pool.run(gate.wait)
    assert universe.run(lambda: pool.running == 50)
    gate.set()
    assert universe.run(lambda: pool.running == 0)
