"""A cause that fails again and again is a line at once, then one a minute with the number of others."""

import logging

import pytest

from heatlite.common import expiring_cache, log_throttle

LOG = logging.getLogger('heatlite.x')


@pytest.fixture
def clock(monkeypatch):
    found = [100.0]
    monkeypatch.setattr(log_throttle, '_passed', expiring_cache.ExpiringCache(
        10, log_throttle.INTERVAL, lambda: found[0]))
    log_throttle.forget()
    return found


def lines(caplog, level=logging.INFO):
    found = [record.getMessage() for record in caplog.records if record.levelno >= level]
    caplog.clear()
    return found


def test_one_line_a_minute_with_the_number_of_others(clock, caplog):
    caplog.set_level(logging.DEBUG)
    for number in range(1200):              # two and a half minutes of eight failures a second
        log_throttle.log(LOG, logging.INFO, 'refused', 'Request %d was refused', number)
        clock[0] += 0.125
    assert lines(caplog) == ['Request 0 was refused',
                             'Request 480 was refused (479 more of this kind since the last such line)',
                             'Request 960 was refused (479 more of this kind since the last such line)']


def test_all_are_there_at_debug(clock, caplog):
    caplog.set_level(logging.DEBUG)
    for number in range(3):
        log_throttle.log(LOG, logging.WARNING, 'refused', 'Request %d was refused', number)
    assert lines(caplog, logging.DEBUG) == [f'Request {number} was refused' for number in range(3)]


def test_causes_do_not_hide_each_other(clock, caplog):
    caplog.set_level(logging.INFO)
    for cause in ('one', 'two', 'one'):
        log_throttle.log(LOG, logging.INFO, cause, cause)
        log_throttle.log(logging.getLogger('heatlite.y'), logging.INFO, cause, cause)
    assert lines(caplog) == ['one', 'one', 'two', 'two']


def test_a_line_names_the_place_that_wrote_it(clock, caplog):
    caplog.set_level(logging.INFO)
    log_throttle.log(LOG, logging.INFO, 'x', 'x')
    assert caplog.records[0].pathname == __file__
