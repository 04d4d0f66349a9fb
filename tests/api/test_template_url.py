"""Templates by URL, from a real server that may be hostile: bounded in size and time, only from where it is allowed,
and nothing of what was fetched, nor a secret of the URL, in any error or log line."""

import _socket
import contextlib
import gzip
import logging
import socket
import threading
import time
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from oslo_config import cfg

from heatlite.api import documents, fetching
from heatlite.common import addresses, exception, options, urlfetch
from heatlite.common import config as _config  # noqa: F401 - declares the limits of fetching
from heatlite.common.context import RequestContext
from heatlite.common.limits import Limits
from tests.silent_names import Resolver

TEMPLATE = 'heat_template_version: 2018-08-31\n'
SECRET = 'CANARY'
BOMB = gzip.compress(b'#' * 200_000_000, 1)       # takes as long as a request may: made once, before any


class Server(BaseHTTPRequestHandler):
    def do_GET(self):
        match self.path.partition('?')[0]:
            case '/template':
                self.answer(200, TEMPLATE.encode())
            case '/packed':
                self.answer(200, gzip.compress(TEMPLATE.encode()), Content_Encoding='gzip')
            case '/long':
                self.answer(200, b'#' * 600_000)
            case '/bomb':
                self.answer(200, BOMB, Content_Encoding='gzip')
            case '/odd':
                self.answer(200, b'x', Content_Encoding='br')
            case '/no-gzip':
                self.answer(200, SECRET.encode(), Content_Encoding='gzip')
            case '/elsewhere':
                self.answer(302, b'', Location='/template')
            case '/file':
                self.answer(302, b'', Location='file:///etc/passwd')
            case '/away':
                self.answer(302, b'', Location=f'http://127.0.0.9:{self.server.server_address[1]}/template')
            case '/metadata':
                self.answer(302, b'', Location='http://169.254.169.254/latest/meta-data')
            case '/round':
                self.answer(302, b'', Location='/round')
            case '/broken':
                self.answer(200, f'{SECRET}: [1'.encode())
            case '/other':
                self.answer(200, f'{SECRET}: 1'.encode())
            case '/refused':
                self.answer(403, SECRET.encode())
            case '/liar':
                self.answer(200, TEMPLATE.encode(), Content_Length='1000')
            case '/boast':
                self.answer(200, TEMPLATE.encode(), Content_Length='9' * 30)
            case '/drip' | '/drip-head':
                self.drip(*(b'HTTP/1.1 200 OK\r\n\r\n', b'\n') if self.path.startswith('/drip?')
                          else (b'HTTP/1.1 200 OK\r\nX-A: ', b'\r\n\r\n'))
            case '/nonsense':
                self.wfile.write(SECRET.encode() + b'\r\n\r\n')
            case _:
                self.answer(404, b'')

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in {'Content_Length': str(len(body)), **headers}.items():
            self.send_header(name.replace('_', '-'), value)
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)

    def drip(self, begin, end):
        """An answer with a template, for who waits half a minute for it."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(begin)
            for _ in range(300):
                self.wfile.write(b'#')
                time.sleep(0.1)
            self.wfile.write(end + TEMPLATE.encode())

    def log_message(self, *_arguments):
        pass


@pytest.fixture(scope='module')
def url():
    with ThreadingHTTPServer(('0.0.0.0', 0), Server) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_address[1]}'
        server.shutdown()


@pytest.fixture
def allowed():
    """The one address that the operator allows, and a short time."""
    cfg.CONF.set_override('template_fetch_allow', ['127.0.0.1'])
    cfg.CONF.set_override('template_fetch_timeout', 2)
    yield
    cfg.CONF.clear_override('template_fetch_allow')
    cfg.CONF.clear_override('template_fetch_timeout')


def test_a_project_has_a_share_of_what_is_fetched(url, allowed):
    def fetch(project, path='/drip'):
        RequestContext(project_id=project)              # of this thread
        return documents.template({'template_url': url + path}, Limits())[1]

    with futures.ThreadPoolExecutor() as pool:
        slow = [pool.submit(fetch, 'p') for _ in range(fetching.MOST_AT_ONCE)]
        while fetching.UNDER_WAY.count('p') < fetching.MOST_AT_ONCE:
            assert not any(each.done() for each in slow), slow[0].exception()
            time.sleep(0.01)
        refused = pool.submit(fetch, 'p', '/template').exception()
        assert isinstance(refused, exception.HTTPServiceUnavailable)
        assert pool.submit(fetch, 'q', '/template').result() == TEMPLATE
        assert all(each.exception() for each in slow)
        assert pool.submit(fetch, 'p', '/template').result() == TEMPLATE
    assert not fetching.UNDER_WAY.count('p')


def refusal(url):
    with pytest.raises(exception.HTTPBadRequest) as refused:
        documents.template({'template_url': url}, Limits())
    return str(refused.value)


@pytest.mark.parametrize('path', ['/template', '/elsewhere', '/packed', '/template?sig=x'])
def test_a_template(url, allowed, path):
    assert documents.template({'template_url': url + path}, Limits()) == (
        {'heat_template_version': '2018-08-31'}, TEMPLATE)


def test_the_template_itself_is_stronger(url):
    assert documents.template({'template': {'a': 1}, 'template_url': url + '/nowhere'}, Limits())[0] == {'a': 1}


FAILED = 'Could not retrieve template: Failed to retrieve template from http'


@pytest.mark.parametrize('path, words', [
    ('/long', 'Could not retrieve template: Template exceeds maximum allowed size (524288 bytes)'),
    ('/bomb', 'Could not retrieve template: Template exceeds maximum allowed size (524288 bytes)'),
    ('/broken', 'Could not retrieve template: There is no template at'),
    ('/other', 'Could not retrieve template: There is no template at'),
    *((path, FAILED) for path in ('/nowhere', '/file', '/away', '/metadata', '/round', '/odd', '/no-gzip', '/refused',
                                  '/boast', '/drip', '/drip-head', '/nonsense'))])
def test_refusals(url, allowed, caplog, path, words):
    caplog.set_level(logging.DEBUG)
    said = refusal(f'{url.replace("//", f"//user:{SECRET}@")}{path}?sig={SECRET}')
    assert said.startswith(words), said
    assert SECRET not in said + caplog.text


def test_a_document_that_ends_early_is_not_taken_for_a_whole_one(url, allowed):
    assert refusal(url + '/liar').startswith(FAILED)


# --- where from --------------------------------------------------------------------------------------------

@pytest.mark.parametrize('host', ['127.0.0.1', 'localhost', '127.1', '0', '0.0.0.0', '2130706433', '0x7f.1', '[::1]',
                                  '[::ffff:127.0.0.1]', '[::]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]',
                                  '[64:ff9b:1::7f00:1]', '169.254.169.254', '[fe80::a9fe:a9fe]', '224.0.0.1',
                                  '255.255.255.255'])
def test_what_is_not_asked_unless_it_is_allowed(url, host):
    with socket.create_server(('127.0.0.1', 0)) as listening:
        listening.setblocking(False)
        assert refusal(f'http://{host}:{listening.getsockname()[1]}/template').startswith(FAILED)
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert refusal(f'http://{host}:{url.rsplit(":", 1)[1]}/template').startswith(FAILED)


@pytest.mark.parametrize('address, is_denied', [
    ('169.254.169.254', True), ('100.100.100.200', True), ('168.63.129.16', True), ('fd00:ec2::254', True),
    ('2001:0:4136:e378:8000:63bf:3fff:fdd2', True), ('::ffff:168.63.129.16', True), ('2001:db8::1', False),
    ('100.100.100.201', False), ('10.0.0.1', False)])
def test_addresses_of_metadata_services_are_denied_by_default(address, is_denied):
    assert addresses.Networks(options.FETCH_DENY).include(address) is is_denied


def test_a_name_that_stands_for_something_else_a_moment_later(url, allowed, monkeypatch):
    """The resolver of the attacker: first an address that may be asked, then one that may not."""
    resolver = Resolver(['127.0.0.1'])
    monkeypatch.setattr(_socket, 'getaddrinfo', resolver)
    assert urlfetch.get(f'http://rebinding.example:{url.rsplit(":", 1)[1]}/template') == TEMPLATE
    assert resolver.asked == {'rebinding.example': 1}


@pytest.mark.parametrize('texts, address, name, found', [
    (['10.0.0.0/8'], '10.1.2.3', 'x', True), (['10.0.0.0/8'], '11.1.2.3', 'x', False),
    (['10.0.0.0/8'], '::ffff:10.1.2.3', 'x', True), (['2002::/16'], '2002:a01:203::', 'x', False),
    (['10.0.0.0/8'], '2002:0a01:0203::1', 'x', True), (['127.0.0.0/8'], '64:ff9b::7f00:1', 'x', True),
    (['files.example.com'], '10.1.2.3', 'Files.Example.com.', True),
    (['*.example.com'], '10.1.2.3', 'a.example.com', True),
    (['*.example.com'], '10.1.2.3', 'example.com', False), (['fe80::/10'], 'fe80::1%eth0', 'x', True),
    (['127.0.0.1'], '127.0.0.1', 'x', True), ([], '127.0.0.1', 'x', False)])
def test_lists(texts, address, name, found):
    networks = addresses.Networks(texts)
    assert (networks.include(address) or networks.name(name)) is found


@pytest.mark.parametrize('text', ['10.0.0.0/99', 'http://x', '', '1.2.3', '::g'])
def test_what_stands_in_no_list(text):
    with pytest.raises(ValueError, match='is neither an address, nor a network, nor the name of a host'):
        addresses.Networks([text])
