"""A request is ended where it waits, in green threads of production. More in virtual time: tests/rpc/test_slots.py."""

import socket
import threading

import pytest
from oslo_config import cfg

from heatlite.common import allowance, exception, urlfetch
from heatlite.common import config as _config  # noqa: F401 - declares the limits of fetching
from heatlite.common.green_threads import GreenRuntime


@pytest.fixture
def runtime():
    return GreenRuntime()


def test_a_thread_that_waits_is_ended(runtime):
    for wait in (lambda: runtime.sleep(1000), lambda: runtime.flag().wait(), lambda: runtime.flag().wait(1000)):
        with pytest.raises(exception.TooLate), allowance.limited(runtime, 0.01, True):
            wait()
    assert allowance.current() is None


def test_it_is_not_ended_later(runtime):
    with allowance.limited(runtime, 0.01, True):
        pass
    runtime.sleep(allowance.GRACE + 0.1)


@pytest.fixture
def silent():
    """The URL of a host that accepts connections and says nothing; the number of connections."""
    accepted = []
    with socket.create_server(('127.0.0.1', 0)) as listening:
        def accept():
            while True:
                try:
                    accepted.append(listening.accept()[0])
                except OSError:
                    return
        threading.Thread(target=accept, daemon=True).start()
        cfg.CONF.set_override('template_fetch_allow', ['127.0.0.1'])
        yield f'http://127.0.0.1:{listening.getsockname()[1]}', accepted
        cfg.CONF.clear_override('template_fetch_allow')
        listening.shutdown(socket.SHUT_RDWR)
    for each in accepted:
        each.close()


def test_all_fetches_of_a_request_share_its_deadline(runtime, silent):
    url, accepted = silent
    ended = []
    with allowance.limited(runtime, 0.2, True):
        for number in range(10):
            with pytest.raises(exception.HeatException) as refused:
                urlfetch.get_template(f'{url}/{number}')
            ended.append(refused.type)
    assert ended == [exception.TooLate] * 10        # a URL that is slow in what is left of the time is not wrong
    assert len(accepted) == 1


def test_a_url_is_fetched_once_in_a_request(runtime, silent):
    url, accepted = silent
    cfg.CONF.set_override('template_fetch_timeout', 1)
    try:
        with allowance.limited(runtime, 100, True):
            for _ in range(3):
                with pytest.raises(urlfetch.URLFetchError):
                    urlfetch.get_template(url)
    finally:
        cfg.CONF.clear_override('template_fetch_timeout')
    assert len(accepted) == 1
