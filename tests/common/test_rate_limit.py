"""How often something is permitted, by the clock of the runtime."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import rate_limit
from heatlite.common.rate_limit import Rate
from tests.common.clock import stopped


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
