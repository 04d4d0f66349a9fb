"""Calls at given times: each apart from the errors of others."""

from __future__ import annotations

import pytest

from heatlite.engine.durability.timers import Timers
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
