"""A cause that fails again and again is a line at once, then one a minute with the number of others."""

import ast
import logging
from pathlib import Path

import pytest

from heatlite.common import expiring_cache, log_throttle

PACKAGE = Path(log_throttle.__file__).parents[1]

LOG = logging.getLogger('heatlite.x')


@pytest.fixture
def clock(monkeypatch):
    found = [100.0]
    for name, seconds in (('_passed', log_throttle.INTERVAL), ('_left_out', log_throttle.REMEMBERED)):
        monkeypatch.setattr(log_throttle, name, expiring_cache.ExpiringCache(10, seconds, lambda: found[0]))
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


def test_the_count_of_one_cause_survives_many_others(clock, caplog):
    caplog.set_level(logging.INFO)
    for cause in range(20):                 # more than are remembered
        for _time in range(2):
            log_throttle.log(LOG, logging.INFO, cause, '%d', cause)
    for _time in range(3):
        log_throttle.log(LOG, logging.INFO, 'refused', 'refused')
    lines(caplog)
    clock[0] += log_throttle.INTERVAL
    log_throttle.log(LOG, logging.INFO, 'refused', 'refused')
    assert lines(caplog) == ['refused (2 more of this kind since the last such line)']


def test_what_was_left_out_long_ago_is_forgotten(clock, caplog):
    caplog.set_level(logging.INFO)
    for _time in range(3):
        log_throttle.log(LOG, logging.INFO, 'refused', 'refused')
    clock[0] += log_throttle.REMEMBERED
    log_throttle.log(LOG, logging.INFO, 'refused', 'refused')
    assert lines(caplog) == ['refused', 'refused']


# Expressions that have few values, none of them chosen by a user.
FEW = {'type(error)', 'type(error).__name__', 'type(sink)', 'message.method()', 'collection.many', 'self._kind'}
OPTIONS = {'heatlite/api/middleware/authorities.py': 'option',
           'heatlite/engine/clients/own_logins.py': 'self._options'}


def causes():
    """(file, expression) of each part of each cause in the package."""
    for file in PACKAGE.rglob('*.py'):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == 'log_throttle.log':
                cause = node.args[2]
                for part in cause.elts if isinstance(cause, ast.Tuple) else (cause,):
                    yield str(file.relative_to(PACKAGE.parent)), part


def test_no_user_chooses_a_cause():
    found = [(file, ast.unparse(part)) for file, part in causes() if not isinstance(part, ast.Constant)]
    assert len(found) > 10
    assert not [(file, text) for file, text in found if text not in FEW and text != OPTIONS.get(file)]


def test_a_line_names_the_place_that_wrote_it(clock, caplog):
    caplog.set_level(logging.INFO)
    log_throttle.log(LOG, logging.INFO, 'x', 'x')
    assert caplog.records[0].pathname == __file__
