"""An outage is a line at its beginning, one a minute, and one at its end; and a metric."""

import logging

import pytest

from heatlite.common import logs, metrics, outages

SERVICE = outages.DATABASE


@pytest.fixture
def clock(clock_of):
    return clock_of(outages)


def lines(caplog):
    found = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    caplog.clear()
    return found


def is_away():
    return metrics.registry.get_sample_value('heatlite_outage', {'service': SERVICE})


def test_an_outage_is_a_line_a_minute(clock, caplog):
    for _ in range(1500):                   # two and a half minutes of ten failures a second
        outages.away(SERVICE, 'refused')
        clock.seconds += 0.1
    assert lines(caplog) == ['Work waits for the database: refused'] * 3 and is_away() == 1
    outages.back(SERVICE)
    outages.back(SERVICE)
    assert lines(caplog) == ['The database answers again after 150.0 s (1500 failures)'] and is_away() == 0


def test_a_service_that_comes_and_goes_is_not_logged_more_often(clock, caplog):
    for _ in range(500):                    # 50 seconds
        outages.away(SERVICE, 'refused')
        outages.back(SERVICE)
        clock.seconds += 0.1
    assert len(lines(caplog)) == 2


@pytest.mark.parametrize('name', [*logs.RECONNECTING, *logs.VALIDATING])
def test_libraries_that_log_each_failure_do_so_seldom(name):
    from oslo_config import cfg

    from heatlite.common import config
    config.load([], 'test', cfg.ConfigOpts(), default_files=[])
    assert any(isinstance(each, logs.Seldom) for each in logging.getLogger(name).filters)
