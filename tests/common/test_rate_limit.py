"""How often something is permitted, by the clock of the runtime."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import rate_limit
from heatlite.common.rate_limit import Rate
from tests.common.clock import Clock, stopped


@pytest.fixture
def clock():
    with stopped() as found:
        yield found


def test_as_many_at_once_and_then_evenly(clock):
    rate = Rate(3)
    assert [rate.take('a') for _ in range(3)] == [0, 0, 0]
    assert rate.take('a') == rate.take('a') == pytest.approx(20)        # what is refused does not count
    assert rate.take('b') == 0
    clock.time = 19.0
    assert rate.take('a') == pytest.approx(1)
    clock.time = 20.0
    assert (rate.take('a'), rate.take('a')) == (0, pytest.approx(20))
    clock.time = 1000.0
    assert [rate.take('a') > 0 for _ in range(4)] == [False, False, False, True]


@given(st.integers(1, 50), st.lists(st.floats(0, 30), max_size=200))
def test_no_minute_has_more_than_twice_as_many(most, pauses):
    """As many as there may be at once, and as many again in the minute after that."""
    with stopped() as found:
        rate, permitted = Rate(most), []
        for pause in pauses:
            found.time += pause
            if not rate.take('a'):
                permitted.append(found.time)
        for start in permitted:
            assert sum(start <= at < start + rate_limit.PERIOD for at in permitted) <= 2 * most


def test_a_bounded_number_of_keys(clock, monkeypatch):
    monkeypatch.setattr(rate_limit, 'MOST_KEYS', 2)
    rate = Rate(1)
    assert [rate.take(key) for key in 'abc'] == [0, 0, 0]
    assert (rate.take('c') > 0, rate.take('a')) == (True, 0)


class Sleeper(Clock):
    """Its time passes when a thread sleeps, and only then."""

    def sleep(self, seconds):
        self.time += seconds


@pytest.mark.parametrize('most, at_once, times', [
    (60, 6, [0, 0, 0, 0, 0, 0, 1, 2, 3]), (60, 1.5, [0, 0.5, 1.5]), (1, 1, [0, 60, 120]), (1 / 60, 1, [0, 3600, 7200]),
])
def test_waiting_takes_as_long_as_the_rate_says(most, at_once, times):
    runtime = Sleeper()
    rate, passed, slept = Rate(most, at_once, runtime), [], 0.0
    for _ in times:
        slept += rate.wait('a')
        passed.append(runtime.time)
    assert passed == pytest.approx(times) and slept == pytest.approx(times[-1])
    assert rate.wait('b') == 0


def test_what_was_not_used_is_permitted_later_up_to_what_is_permitted_at_once():
    runtime = Sleeper()
    rate = Rate(60, 3, runtime)
    assert [rate.wait('a') for _ in range(4)] == pytest.approx([0, 0, 0, 1])
    runtime.time += 100.0
    assert [rate.wait('a') for _ in range(4)] == pytest.approx([0, 0, 0, 1])
