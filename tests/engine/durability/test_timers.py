"""Calls at given times: in their order, each apart from the errors of others, and cancelled without a trace."""

from __future__ import annotations

import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.engine.durability.timers import FEW, Timers
from heatlite.testing.runtime import Universe


@pytest.fixture
def universe():
    made = Universe(1)
    yield made
    made.close()


def pass_time(universe, seconds):
    end = universe.time + seconds
    process = universe.process('clock')
    process.spawn(process.sleep, seconds)
    universe.run(lambda: universe.time >= end)
    universe.run(lambda: False, limit=0.0)


def test_an_error_of_one_call_keeps_no_other_back(universe, caplog):
    timers, made = Timers(universe.process('engine')), []
    timers.after(1.0, lambda: 1 / 0)
    timers.after(1.0, lambda: made.append('beside it'))
    pass_time(universe, 2.0)
    timers.after(1.0, lambda: made.append('later'))
    pass_time(universe, 2.0)
    assert made == ['beside it', 'later']
    assert 'ZeroDivisionError' in caplog.text


def test_calls_that_take_time_do_not_put_off_the_next_one(universe):
    engine, made = universe.process('engine'), []
    timers = Timers(engine)
    for _ in range(5):
        timers.after(1.0, lambda: engine.sleep(0.5))
    timers.after(4.0, lambda: made.append(engine.monotonic()))
    begin = engine.monotonic()
    pass_time(universe, 10.0)
    assert made == [begin + 4.0]


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=300))
def test_only_what_is_not_cancelled_is_called_in_its_order(calls):
    universe = Universe(1)
    try:
        timers, made = Timers(universe.process('engine')), []
        started = [timers.after(seconds, lambda seconds=seconds: made.append(seconds)) for seconds, _ in calls]
        for timer, (_, is_cancelled) in zip(started, calls, strict=True):
            if is_cancelled:
                timer.cancel()
                timer.cancel()
        assert len(timers) == sum(not is_cancelled for _, is_cancelled in calls)
        pass_time(universe, 30.0)
        assert made == sorted(seconds for seconds, is_cancelled in calls if not is_cancelled)
        assert len(timers) == 0
        for timer in started:
            timer.cancel()
        assert len(timers) == 0
    finally:
        universe.close()


def test_cancelled_calls_leave_nothing_behind(universe):
    class Large:
        def call(self):
            pass

    timers, ended = Timers(universe.process('engine')), []
    for _ in range(1000):
        large = Large()
        ended.append(weakref.ref(large))
        timer = timers.after(3600.0, large.call)
        timer.cancel()
    del large
    gc.collect()
    assert not [each for each in ended if each() is not None]
    assert len(timers) == 0
    assert len(timers._heap) <= FEW
