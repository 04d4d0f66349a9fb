"""Requests to URLs of users: what is sent, what counts as an answer, what is never asked."""

import _socket
import contextlib
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from oslo_config import cfg

from heatlite.common import config, urlfetch
from tests.silent_names import Resolver
from tests.system.processes import free_port


class Answers(BaseHTTPRequestHandler):
    """The path says what is answered: a status, a redirect, headers that never end."""

    got = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.got.append((self.path, self.headers['Content-Type'], self.headers['Authorization'], json.loads(body)))
        if self.path.startswith('/drip'):
            with contextlib.suppress(OSError):
                self.wfile.write(b'HTTP/1.1 200 OK\r\n')
                while True:
                    self.wfile.write(b'X-More: 1\r\n')
                    threading.Event().wait(0.05)
            return
        status = int(self.path.partition('?')[0].strip('/'))
        self.send_response(status)
        if status == 302:
            self.send_header('Location', '/200')
        self.end_headers()

    def log_message(self, *what):
        pass


@pytest.fixture
def url():
    config.register(cfg.CONF)
    Answers.got.clear()
    server = ThreadingHTTPServer(('127.0.0.1', 0), Answers)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f'http://127.0.0.1:{server.server_port}'
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def allowed():
    config.register(cfg.CONF)
    cfg.CONF.set_override('template_fetch_allow', ['127.0.0.1'])
    yield
    cfg.CONF.clear_override('template_fetch_allow')


@pytest.mark.parametrize('status', [200, 204, 302, 404, 500])
def test_the_status_is_returned(url, allowed, status):
    assert urlfetch.post(f'{url}/{status}?a=b', b'{"x": 1}', 5.0) == status
    assert Answers.got == [(f'/{status}?a=b', 'application/json', None, {'x': 1})]       # a redirect is not followed


def test_credentials_in_the_url(url, allowed):
    urlfetch.post(url.replace('http://', 'http://ann:word@') + '/200', b'{}', 5.0)
    assert Answers.got[0][2] == 'Basic YW5uOndvcmQ='


def test_an_address_that_is_denied_is_not_asked(url):
    with pytest.raises(urlfetch.URLFetchError, match='template_fetch_deny'):
        urlfetch.post(f'{url}/200?secret', b'{}', 5.0)
    assert Answers.got == []


def test_an_answer_that_never_ends(url, allowed):
    with pytest.raises(urlfetch.URLFetchError) as failed:
        urlfetch.post(f'{url}/drip?secret', b'{}', 0.5)
    assert 'secret' not in str(failed.value)


def test_nobody_listens(allowed):
    with pytest.raises(urlfetch.URLFetchError, match='ConnectionRefused'):
        urlfetch.post(f'http://127.0.0.1:{free_port()}/', b'{}', 5.0)


@pytest.mark.parametrize('wrong', ['ftp://a/', 'file:///etc/passwd', 'http://', 'http://[1', 'http://a b/\r\nX: y'])
def test_what_is_no_address(allowed, wrong):
    with pytest.raises(urlfetch.URLFetchError):
        urlfetch.post(wrong, b'{}', 1.0)


@pytest.mark.parametrize('ask', [
    lambda url: urlfetch.ask(url, b'{}', 0.05, 100), lambda url: urlfetch.post(url, b'{}', 0.05)])
def test_a_name_that_nobody_resolves_takes_no_longer_than_the_rest(monkeypatch, ask):
    """The system's resolver has time-outs of its own, which are longer."""
    config.register(cfg.CONF)
    resolver = Resolver(found=())
    monkeypatch.setattr(_socket, 'getaddrinfo', resolver)
    try:
        with pytest.raises(urlfetch.URLFetchError):
            ask('http://silent.policies.example/')
    finally:
        resolver.is_answering = True


def test_a_blocking_call_is_given_up_by_cooperative_threads():
    """In a process of its own: the library's threads replace those of Python."""
    script = ('from heatlite.common import os_threads, runtime; runtime.patch()\n'
              'from eventlet import patcher\n'
              'ended, pool = patcher.original("threading").Event(), os_threads.ThreadPool(2, 2)\n'
              'assert pool.call(9.0, int, "7") == 7\n'
              'try: pool.call(0.05, ended.wait)\n'
              'except TimeoutError: print("given up")\n'
              'ended.set()\n')
    found = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout == 'given up\n'
