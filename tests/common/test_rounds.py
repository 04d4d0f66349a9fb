"""Green threads that seldom wait share the process, and do not wake up in vain for it."""

from __future__ import annotations

import eventlet
import pytest

from heatlite.common import green_threads, green_workers, turns
from heatlite.common.green_threads import MOST_VOTES, RUN_SECONDS, RUN_SECONDS_ALONE, RUN_SECONDS_BESIDE, SHARED_SECONDS

THREADS, CALLS = 20, 10
LARGE, OTHER_TREE, OTHER = ('project', 'large'), ('project', 'other'), ('other project', 'small')


class Counted(green_threads.Rounds):
    """Counts the rounds."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def _round(self) -> None:
        self.number += 1
        super()._round()


@pytest.fixture
def clock(clock_of):
    return clock_of(green_threads)


@pytest.fixture
def rounds(clock):
    return Counted()


@pytest.fixture
def done():
    """The names of the pieces of work, in the order in which they were done."""
    return []


@pytest.fixture
def work(clock, rounds, done):
    """`work(name, owners)`: takes a whole round, when it is its turn."""
    def worked(name, owners):
        rounds.turn(*owners)
        clock.seconds += RUN_SECONDS_ALONE
        done.append(name)
    return worked


def finished(threads):
    for thread in threads:
        thread.wait()


def test_threads_continue_in_the_order_in_which_they_came_and_each_round_has_its_seconds(clock, rounds):
    done = []

    def work(name):
        for _ in range(CALLS):
            rounds.turn()
            clock.seconds += RUN_SECONDS_ALONE / 4
            done.append(name)

    finished([eventlet.spawn(work, name) for name in range(THREADS)])
    assert len(done) == THREADS * CALLS
    assert rounds.number <= THREADS * CALLS / 4 + 1
    assert len(set(done[:4 * THREADS])) > THREADS // 2, 'some threads had no turn'


def test_hundreds_of_threads_of_a_project_do_not_delay_one_of_another(work, done):
    """Each takes the whole round: the thread of the other project waits for two, and not for hundreds."""
    threads = [eventlet.spawn(work, number, ('project', f'tree {number}')) for number in range(200)]
    eventlet.sleep(0)
    threads.append(eventlet.spawn(work, 'small', OTHER))
    finished(threads)
    assert done.index('small') <= 3


def test_requests_of_a_project_wait_for_few_of_another(clock, rounds, monkeypatch):
    monkeypatch.setattr(turns, '_turn', rounds.turn)
    done = []

    def request(project_id):
        turns.begin(project_id)
        clock.seconds += RUN_SECONDS_ALONE
        done.append(project_id)

    threads = [eventlet.spawn(request, project_id) for project_id in ('busy', None) for _ in range(100)]
    eventlet.sleep(0)
    threads.append(eventlet.spawn(request, 'quiet'))
    finished(threads)
    assert done.index('quiet') <= 4


def test_threads_without_owners_take_every_second_turn(work, done):
    """The pool's threads: which call is the next one is decided when they continue."""
    threads = [eventlet.spawn(work, 'stack', (f'project {number}', f'tree {number}')) for number in range(50)]
    threads += [eventlet.spawn(work, 'pool', ()) for _ in range(5)]
    finished(threads)
    assert done[:10].count('pool') == 5


def rounds_of(rounds, clock, owners, calls=16):
    """The number of rounds that work of these takes, of half the shortest round at each call."""
    before = rounds.number

    def work():
        for _ in range(calls):
            rounds.turn(*owners)
            clock.seconds += RUN_SECONDS_BESIDE / 2

    finished([eventlet.spawn(work)])
    return rounds.number - before


def test_a_tree_that_works_most_of_the_time_has_short_rounds_beside_another(clock, rounds):
    rounds_of(rounds, clock, LARGE, MOST_VOTES)
    rounds_of(rounds, clock, OTHER_TREE, 1)
    assert rounds_of(rounds, clock, LARGE) >= 7
    assert rounds_of(rounds, clock, OTHER_TREE) <= 2, 'the other one goes on'


def test_trees_that_work_equally_much_have_longer_rounds(clock, rounds):
    for _ in range(MOST_VOTES):
        rounds_of(rounds, clock, LARGE, 1)
        rounds_of(rounds, clock, OTHER_TREE, 1)
    assert rounds_of(rounds, clock, LARGE) <= 2


def test_a_tree_that_works_alone_has_the_longest_rounds(clock, rounds):
    rounds_of(rounds, clock, LARGE, MOST_VOTES)
    rounds_of(rounds, clock, OTHER_TREE, 1)
    clock.seconds += SHARED_SECONDS
    assert rounds_of(rounds, clock, LARGE) <= 1


def test_a_long_computation_does_not_keep_those_from_work_that_are_about_to_begin_some(clock, rounds):
    begun = []

    def compute():
        for _ in range(100):
            clock.seconds += RUN_SECONDS_ALONE
            rounds.turn()
        begun.append('computed')

    def work(name):
        rounds.turn(*OTHER)
        begun.append(name)

    computing = eventlet.spawn(compute)
    eventlet.sleep(0)
    threads = [eventlet.spawn(work, name) for name in range(10)]
    finished([computing, *threads])
    assert begun == [*range(10), 'computed']


def test_a_round_is_shorter_while_several_trees_work(clock, rounds):
    def calls_in_a_round(*owners):
        """The calls of 1 ms, one tree after the other, that are made before one waits."""
        clock.seconds += 1
        rounds.turn()                               # another round begins
        number, made = rounds.number, 0
        while rounds.number == number:
            rounds.turn(*owners[made % len(owners)])
            clock.seconds += 0.001
            made += 1
        return made

    def measured():
        clock.seconds += SHARED_SECONDS
        alone = calls_in_a_round(LARGE)
        assert alone == pytest.approx(RUN_SECONDS_ALONE / 0.001, abs=2)
        shared = calls_in_a_round(LARGE, OTHER_TREE)
        assert shared == pytest.approx(RUN_SECONDS / 0.001, abs=2)
        clock.seconds += SHARED_SECONDS
        assert calls_in_a_round(LARGE) == alone

    eventlet.spawn(measured).wait()


def test_a_killed_thread_does_not_keep_the_others_waiting(clock, rounds):
    done = []

    def work(name):
        rounds.turn()
        clock.seconds += RUN_SECONDS_ALONE
        done.append(name)

    threads = [eventlet.spawn(work, name) for name in range(5)]
    eventlet.sleep(0)
    threads[0].kill()
    threads[2].kill()
    finished(threads[3:])
    assert done == [1, 3, 4]


def test_an_error_in_a_thread_does_not_end_the_rounds(clock, rounds, capsys):
    done = []

    def work(name):
        rounds.turn()
        clock.seconds += RUN_SECONDS_ALONE
        if name == 'fails':
            raise RuntimeError('fails')
        done.append(name)

    threads = [eventlet.spawn(work, name) for name in ('first', 'fails', 'last')]
    eventlet.sleep(0)
    with pytest.raises(RuntimeError):
        threads[1].wait()
    threads[2].wait()
    assert done == ['first', 'last']


def test_what_a_thread_computes_is_work_of_those_for_whom_it_began(clock, rounds, monkeypatch):
    """A long computation that names no owners itself leaves short rounds to the tree that waits beside it."""
    monkeypatch.setattr(turns, '_turn', rounds.turn)
    rounds_of(rounds, clock, OTHER_TREE, 1)

    def compute():
        turns.begin(*LARGE)
        for _ in range(MOST_VOTES):
            turns.spend(turns.EVERY)
            clock.seconds += RUN_SECONDS_BESIDE / 2
        before = rounds.number
        for _ in range(16):
            turns.spend(turns.EVERY)
            clock.seconds += RUN_SECONDS_BESIDE / 2
        taken.append(rounds.number - before)

    taken = []
    finished([eventlet.spawn(compute)])
    assert taken[0] >= 7


def test_the_next_job_of_a_thread_has_other_owners(clock, rounds, monkeypatch):
    seen = []
    monkeypatch.setattr(turns, '_turn', lambda *owners: seen.append(owners))

    def of_a_request():
        turns.begin('project')
        turns.spend(turns.EVERY)

    for job in (of_a_request, lambda: turns.spend(turns.EVERY)):
        green_workers.spawn(job)
        eventlet.sleep(0)
    assert seen == [('project', 'project'), ('project', 'project'), ()]
