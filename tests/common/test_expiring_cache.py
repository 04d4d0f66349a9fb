"""Values expire by the clock of the runtime, and there are never more than so many."""

import logging

import pytest

from heatlite.common import defects
from heatlite.common.expiring_cache import ExpiringCache
from heatlite.common.logs import Seldom
from heatlite.engine.clients import caching
from tests.common.clock import stopped


@pytest.fixture
def clock():
    with stopped() as found:
        yield found


def test_a_value_holds_for_its_time(clock):
    cache = ExpiringCache(10, 60)
    cache.put('a', 1)
    clock.time = 59.9
    assert cache.get('a') == 1 and cache.get('b', 2) == 2
    clock.time = 60.0
    assert cache.get('a') is None


def test_a_value_that_is_put_again_holds_anew(clock):
    cache = ExpiringCache(10, 60)
    cache.put('a', 1)
    clock.time = 50.0
    cache.put('a', 2)
    clock.time = 100.0
    assert cache.get('a') == 2


def test_a_key_is_added_once_in_its_time(clock):
    cache = ExpiringCache(10, 60)
    assert cache.add('a') and not cache.add('a') and cache.add('b')
    clock.time = 60.0
    assert cache.add('a')
    cache.clear()
    assert cache.add('a')


def test_of_too_many_the_one_that_was_used_least_recently_goes(clock):
    cache = ExpiringCache(2, 60)
    cache.put('a', 1)
    cache.put('b', 2)
    cache.get('a')
    cache.put('c', 3)
    assert [cache.get(key) for key in 'abc'] == [1, None, 3]


def test_answers_hold_for_one_work(clock):
    cache = caching.LocalCache()
    cache.put(('a', 1), None)
    assert cache.get(('a', 1)) is None and cache.get(('b', 1)) is caching.MISSING
    clock.time = caching.ONE_WORK
    assert cache.get(('a', 1)) is caching.MISSING
    for number in range(caching.LARGEST + 1):
        cache.put(number, number)
    assert cache.get(0) is caching.MISSING and cache.get(1) == 1


def test_a_defect_is_news_once_an_hour(clock, monkeypatch):
    def failing():
        try:
            raise TypeError
        except TypeError as error:
            return error

    monkeypatch.setattr(defects, '_reported', ExpiringCache(defects.MOST_PLACES, defects.AGAIN_AFTER))
    assert [defects.is_news(failing()) for _time in range(2)] == [True, False]
    clock.time = defects.AGAIN_AFTER
    assert defects.is_news(failing())


def test_a_place_logs_once_a_minute(clock):
    seldom = Seldom()
    record = logging.LogRecord('amqp', logging.WARNING, 'amqp.py', 7, 'again', (), None)
    other = logging.LogRecord('amqp', logging.WARNING, 'amqp.py', 8, 'again', (), None)
    assert [seldom.filter(each) for each in (record, record, other)] == [True, False, True]
    clock.time = 60.0
    assert seldom.filter(record)
