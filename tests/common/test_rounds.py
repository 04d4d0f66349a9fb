"""Green threads that seldom wait share the process, and do not wake up in vain for it."""

from __future__ import annotations

import eventlet
import pytest

from heatlite.common import green_threads

THREADS, CALLS = 20, 10


class Counted(green_threads.Rounds):
    """Counts how often a thread waits for the next round."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = 0

    def _next(self) -> None:
        self.waits += 1
        super()._next()


@pytest.fixture
def clock(clock_of):
    return clock_of(green_threads)


def test_one_thread_at_a_time_waits_for_the_next_round(clock):
    rounds, done = Counted(), []

    def work(name):
        for _ in range(CALLS):
            rounds.turn()
            clock.seconds += green_threads.TURN           # each call takes a round
            done.append(name)

    threads = [eventlet.spawn(work, name) for name in range(THREADS)]
    for thread in threads:
        thread.wait()
    assert rounds.waits <= 2 * THREADS * CALLS
    assert len(set(done[:THREADS])) > THREADS // 2, 'some threads had no turn'


def test_a_long_computation_does_not_keep_those_from_work_that_are_about_to_begin_some(clock):
    """It pauses only when it has used up the round, and continues before them in the next one."""
    rounds, begun = Counted(), []

    def compute():
        for _ in range(100):
            clock.seconds += green_threads.TURN
            rounds.pause()

    def work(name):
        rounds.turn()
        begun.append(name)

    computing = eventlet.spawn(compute)
    eventlet.sleep(0)
    threads = [eventlet.spawn(work, name) for name in range(10)]
    computing.wait()
    assert begun == [*range(10)]
    for thread in threads:
        thread.wait()


def test_a_killed_thread_does_not_keep_the_others_waiting(clock):
    rounds, done = Counted(), []

    def work(name):
        rounds.turn()
        clock.seconds += green_threads.TURN
        done.append(name)

    threads = [eventlet.spawn(work, name) for name in range(5)]
    eventlet.sleep(0)                               # the first one waits for a round, the others for the first
    threads[1].kill()
    threads[2].kill()
    for thread in threads[3:]:
        thread.wait()
    assert {3, 4} <= set(done)
