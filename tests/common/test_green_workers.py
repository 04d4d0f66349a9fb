"""Green threads are used again, and nothing of one job is left for the next."""

import logging
import resource
import threading
from contextvars import ContextVar
from weakref import WeakKeyDictionary

import eventlet
import greenlet
import pytest
from eventlet import hubs

from heatlite.common import context, green_threads, green_workers

JOBS = 2000
HELD = ContextVar('held', default=None)


@pytest.fixture(autouse=True)
def no_idle_workers(monkeypatch):
    monkeypatch.setattr(green_workers, '_idle_of', WeakKeyDictionary())


def idle():
    return green_workers._idle(hubs.get_hub())


def settle():
    for _ in range(5):
        eventlet.sleep(0)


def down(levels):
    return levels and down(levels - 1)


def test_jobs_run_in_the_order_in_which_they_were_spawned_whoever_runs_them():
    done = []
    for number in range(3):
        green_workers.spawn(done.append, number)
    settle()
    for number in range(3, 9):
        green_workers.spawn(done.append, number)
    settle()
    assert done == list(range(9))


def test_jobs_one_after_the_other_share_a_thread_and_map_no_memory():
    threads = set()

    def job():
        down(300)
        threads.add(id(greenlet.getcurrent()))

    def faults():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(JOBS):
            green_workers.spawn(job)
            eventlet.sleep(0)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    faults()
    assert faults() < JOBS / 10
    assert len(threads) == 1


def test_a_job_leaves_nothing_behind():
    runtime, seen = green_threads.GreenRuntime(), []

    def leave():
        HELD.set('of the former')
        context.RequestContext(request_id='req-former')
        context.note(stack_name='former')
        runtime.serve('former')

    def look():
        seen.append((HELD.get(), context.context.get_current(), context.subject().stack_name, runtime.serve(None)))

    runtime.spawn(leave)
    settle()
    runtime.spawn(look)
    settle()
    assert seen == [(None, None, None, None)]


def test_the_error_of_a_job_is_logged_and_its_worker_goes_on(caplog):
    with caplog.at_level(logging.ERROR):
        green_workers.spawn(divmod, 1, 0)
        settle()
    assert 'ZeroDivisionError' in caplog.text
    assert len(idle()) == 1


def test_many_jobs_at_once_leave_few_workers():
    done = []
    for number in range(3 * green_workers.MOST_IDLE):
        green_workers.spawn(done.append, number)
    settle()
    assert len(done) == 3 * green_workers.MOST_IDLE
    assert len(idle()) == green_workers.MOST_IDLE


def test_a_thread_of_the_system_uses_no_worker_of_another_one():
    """As in a server with threads for requests: each has an event loop of its own."""
    done = []

    def work(name):
        green_workers.spawn(done.append, name)
        settle()

    for name in ('first', 'second', 'third'):
        thread = threading.Thread(target=work, args=[name], daemon=True)
        thread.start()
        thread.join(30)
        assert done[-1:] == [name]


# --- killing ---------------------------------------------------------------------------------------------------

def test_a_job_that_has_not_begun_is_not_done():
    done = []
    green_workers.spawn(done.append, 1).kill()
    settle()
    assert done == []


@pytest.mark.parametrize('error', [None, TimeoutError('too late')])
def test_a_waiting_job_is_ended_by_the_error_and_its_worker_not_used_again(error):
    ends = []

    def wait():
        try:
            eventlet.sleep(3600)
        except BaseException as found:
            ends.append(type(found))

    job = green_workers.spawn(wait)
    settle()
    job.kill() if error is None else job.kill(error)
    settle()
    assert ends == [greenlet.GreenletExit if error is None else TimeoutError]
    assert idle() == []


def test_a_job_that_has_ended_is_not_killed_in_the_next_one():
    done = []
    first = green_workers.spawn(done.append, 1)
    settle()

    def wait():
        eventlet.sleep(0)
        done.append(2)

    green_workers.spawn(wait)
    eventlet.sleep(0)
    first.kill()
    settle()
    assert done == [1, 2]


def test_what_ends_the_process_passes_through():
    def end():
        raise SystemExit(3)

    green_workers.spawn(end)
    with pytest.raises(SystemExit):
        settle()
