"""Notifications are sent in order by one thread at a time; those too many, or refused, are lost and counted."""

import pytest

from heatlite.common import bus_sender, outages
from heatlite.common.bus_sender import BusSender

BUS = 'bus of this test'


@pytest.fixture(autouse=True)
def forgotten():
    outages.forget()
    yield
    outages.forget()


def test_further_ones_are_lost_while_the_bus_hangs():
    begun, sent = [], []
    sender = BusSender(BUS, begun.append)
    for number in range(bus_sender.WAITING + 3):
        sender.put(lambda number=number: sent.append(number))
    assert outages.current[BUS].failures == 3
    [send_all] = begun                          # one thread sends
    send_all()
    assert sent == list(range(bus_sender.WAITING)) and BUS not in outages.current
    sender.put(lambda: sent.append('later'))
    begun[1]()
    assert sent[-1] == 'later'


def test_a_refused_one_does_not_hinder_the_others():
    begun, sent = [], []
    sender = BusSender(BUS, begun.append)

    def refuse():
        raise ConnectionError('refused')

    for send in (lambda: sent.append(1), refuse, refuse):
        sender.put(send)
    begun[0]()
    assert sent == [1] and outages.current[BUS].failures == 2


def test_a_system_without_threads_fails_no_caller():
    begun, sent = [], []

    def spawn(function):
        begun.append(function)
        if len(begun) == 1:
            raise RuntimeError("can't start new thread")

    sender = BusSender(BUS, spawn)
    for number in range(2):
        sender.put(lambda number=number: sent.append(number))
    begun[1]()
    assert sent == [0, 1]
