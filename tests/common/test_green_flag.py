"""Green threads wait for a flag, with and without a time-out, and are killed meanwhile."""

import eventlet
import pytest

from heatlite.common.green_threads import GreenFlag

FOREVER = 3600.0


@pytest.fixture
def flag():
    return GreenFlag()


def waiting(flag, *timeouts):
    """A thread for each time-out, all of which wait."""
    threads = [eventlet.spawn(flag.wait, timeout) for timeout in timeouts]
    eventlet.sleep(0)
    return threads


def test_a_set_flag_lets_through(flag):
    flag.set()
    assert flag.is_set() and flag.wait() and flag.wait(0)


def test_all_waiters_are_released(flag):
    threads = waiting(flag, None, FOREVER, None)
    flag.set()
    assert [thread.wait() for thread in threads] == [True, True, True]


def test_a_cleared_flag_has_released_who_waited(flag):
    early = waiting(flag, None, FOREVER)
    flag.set()
    flag.clear()
    late, = waiting(flag, 0)
    assert [thread.wait() for thread in (*early, late)] == [True, True, False]


def test_the_time_is_over(flag):
    assert flag.wait(0) is False
    first, other = waiting(flag, 0, None)
    assert first.wait() is False
    flag.set()
    assert other.wait() is True


@pytest.mark.parametrize('timeout', [None, FOREVER])
def test_a_killed_waiter_is_not_woken_and_hinders_no_other(flag, timeout):
    killed, other = waiting(flag, timeout, None)
    killed.kill()
    flag.set()
    assert other.wait() is True and killed.dead


def test_a_waiter_killed_after_the_release_is_not_woken_later(flag):
    later = GreenFlag()
    seen = []

    def work():
        try:
            flag.wait()
        finally:
            seen.append(later.wait(0))              # a wake-up meant for the first flag would end this one early
            seen.append(later.wait())

    thread = eventlet.spawn(work)
    eventlet.sleep(0)
    flag.set()
    thread.kill()
    eventlet.sleep(0)
    assert seen == [False]
    later.set()
    eventlet.sleep(0)
    assert seen == [False, True]


def test_the_wake_up_of_one_flag_does_not_end_another(flag):
    other = GreenFlag()
    thread = eventlet.spawn(lambda: (flag.wait(FOREVER), other.wait(0)))
    eventlet.sleep(0)
    flag.set()
    assert thread.wait() == (True, False)
