"""Signed requests of AWS's protocols while Keystone is away: the client may try again, and nothing is wrong here."""

import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode

import pytest
import webob

from heatlite.api import deploy as rest
from heatlite.api.aws import layers
from heatlite.api.cfn import deploy
from heatlite.api.console.identity import IdentityService
from heatlite.common import exception, log_throttle
from tests.api import in_process
from tests.system import aws, options

AWAY = 'http://127.0.0.1:1/v3'
HOST = 'heat.example:8000'


@pytest.fixture
def app(database, tmp_path):
    file = tmp_path / 'heatlite.conf'
    options.write(file, options.identity(AWAY, 'RegionOne', 'heatlite', 'service', 'heatlite'))
    return deploy.build(in_process.options(files=[str(file)]), database, in_process.NoEngine())


def test_a_signature_that_cannot_be_checked(app, caplog):
    signed = aws.version_2(('access', 'secret'), 'GET', HOST, '/v1/', Action='ListStacks')
    with caplog.at_level(logging.INFO):
        answer = in_process.ask(app, 'GET', f'/v1/?{urlencode(signed)}', None, project=None, headers={'Host': HOST})
    assert (answer.status_code, '<Code>ServiceUnavailable</Code>' in answer.text) == (503, True), answer.text
    assert 'Traceback' not in caplog.text
    assert 'could not be served' not in caplog.text, 'it was logged as an outage'


@pytest.mark.parametrize('url', [AWAY, '127.0.0.1:1/v3'], ids=['refused', 'without-scheme'])
def test_a_token_that_cannot_be_validated(database, tmp_path, caplog, url):
    file = tmp_path / 'heatlite.conf'
    options.write(file, options.identity(url, 'RegionOne', 'heatlite', 'service', 'heatlite'))
    app = in_process.build(in_process.options(files=[str(file)]), database, in_process.NoEngine(), identity=None)
    with caplog.at_level(logging.INFO):
        answers = [in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks', project=None,
                                  headers={'X-Auth-Token': 'token'}) for _time in range(2)]
    for answer in answers:
        assert (answer.status_code, answer.content_type) == (503, 'application/json'), answer.text
        assert answer.json['error']['type'] == 'KeystoneUnavailable'
        assert answer.json['error']['message'] == 'The identity service cannot validate tokens.'
        assert answer.headers['Retry-After']
    assert 'Traceback' not in caplog.text and 'Unexpected' not in caplog.text


class SilentKeystone(ThreadingHTTPServer):
    """Lets the service log in, if `is_known`, and answers nothing else. `unanswered`: what else it was asked for."""

    def __init__(self, is_known):
        super().__init__(('127.0.0.1', 0), _Asked)
        self.is_known, self.unanswered, self.is_over = is_known, [], threading.Event()
        self.url = f'http://127.0.0.1:{self.server_port}/v3'


class _Asked(BaseHTTPRequestHandler):
    def do_GET(self):
        self._answer({'/v3': (200, {'version': {
            'id': 'v3.14', 'status': 'stable', 'links': [{'rel': 'self', 'href': self.server.url}]}})})

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        place = {'region': 'RegionOne', 'region_id': 'RegionOne', 'url': self.server.url}
        self._answer({'/v3/auth/tokens': (201, {'token': {
            'methods': ['password'], 'expires_at': '2100-01-01T00:00:00.000000Z',
            'issued_at': '2026-01-01T00:00:00.000000Z',
            'user': {'id': 'u', 'name': 'u', 'domain': {'id': 'default', 'name': 'Default'}},
            'catalog': [{'type': 'identity', 'name': 'keystone', 'id': 'i', 'endpoints': [
                {**place, 'interface': each, 'id': each} for each in ('public', 'internal', 'admin')]}]}})})

    def _answer(self, known):
        if not self.server.is_known or self.path not in known:
            self.server.unanswered.append(f'{self.command} {self.path.partition("?")[0]}')
            self.server.is_over.wait()
            return
        status, body = known[self.path]
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {'Content-Type': 'application/json', 'X-Subject-Token': 'own',
                            'Content-Length': str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments):
        pass


@pytest.mark.parametrize('is_known, unanswered', [
    (True, ['GET /v3/auth/tokens'] * 2), (False, ['GET /v3', 'POST /v3/auth/tokens'])])
def test_how_often_a_keystone_that_says_nothing_is_asked(database, tmp_path, is_known, unanswered):
    file = tmp_path / 'heatlite.conf'
    with SilentKeystone(is_known) as keystone:
        threading.Thread(target=keystone.serve_forever, daemon=True).start()
        options.write(file, options.identity(keystone.url, 'RegionOne', 'heatlite', 'service', 'heatlite'), {
            'keystone_authtoken': {'http_connect_timeout': '1'}})
        app = in_process.build(in_process.options(files=[str(file)]), database, in_process.NoEngine(), identity=None)
        answer = in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks', project=None,
                                headers={'X-Auth-Token': 'token'})
        keystone.is_over.set()
        keystone.shutdown()
    assert (answer.status_code, answer.json['error']['type']) == (503, 'KeystoneUnavailable'), answer.text
    assert keystone.unanswered == unanswered


HTTPS = 'https://127.0.0.1:1/v3'


def test_a_signature_and_a_file_that_is_not_there(database, tmp_path, caplog):
    """One of the Keystones has authorities of its own. The next one is asked."""
    file, gone = tmp_path / 'heatlite.conf', tmp_path / 'gone.pem'
    options.write(file, options.identity(AWAY, 'RegionOne', 'heatlite', 'service', 'heatlite'), {
        'ec2authtoken': {'multi_cloud': 'true', 'clouds': 'north,south'},
        'ec2authtoken.north': {'auth_uri': HTTPS, 'ca_file': str(gone)}, 'ec2authtoken.south': {'auth_uri': AWAY}})
    app = deploy.build(in_process.options(files=[str(file)]), database, in_process.NoEngine())
    signed = aws.version_2(('access', 'secret'), 'GET', HOST, '/v1/', Action='ListStacks')
    for _time in range(3):
        answer = in_process.ask(app, 'GET', f'/v1/?{urlencode(signed)}', None, project=None, headers={'Host': HOST})
        assert (answer.status_code, '<Code>ServiceUnavailable</Code>' in answer.text) == (503, True), answer.text
        assert str(gone) not in answer.text
    (line,) = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert '[ec2authtoken.north] ca_file' in line and str(gone) in line
    assert 'Traceback' not in caplog.text
    assert '127.0.0.1:1/v3/ec2tokens' in caplog.text, 'the next one was not asked'


def test_a_token_and_a_file_that_is_not_there(database, tmp_path, caplog):
    file, gone = tmp_path / 'heatlite.conf', tmp_path / 'gone.pem'
    options.write(file, options.identity(HTTPS, 'RegionOne', 'heatlite', 'service', 'heatlite'), {
        'keystone_authtoken': {'cafile': str(gone)}})
    app = in_process.build(in_process.options(files=[str(file)]), database, in_process.NoEngine(), identity=None)
    for _time in range(3):
        answer = in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks', project=None,
                                headers={'X-Auth-Token': 'token'})
        assert (answer.status_code, answer.json['error']['type']) == (503, 'KeystoneUnavailable'), answer.text
        assert str(gone) not in answer.text
    (line,) = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert '[keystone_authtoken] cafile' in line and str(gone) in line
    assert 'Traceback' not in caplog.text


@pytest.mark.parametrize('method, path', [('GET', '/projects'), ('POST', '/token')])
def test_a_login_at_the_console_and_a_file_that_is_not_there(tmp_path, caplog, method, path):
    gone = tmp_path / 'gone.pem'
    service = IdentityService(HTTPS, str(gone))
    with pytest.raises(exception.KeystoneUnavailable) as raised:
        service._ask(webob.Request.blank('/'), method, path)
    assert str(gone) not in str(raised.value)
    assert str(gone) in caplog.text


@pytest.fixture(autouse=True)
def _nothing_logged():
    log_throttle.forget()


@pytest.mark.parametrize('more, reason', [
    ({}, 'ConnectFailure'), ({'clients_keystone__ca_file': '/nowhere/ca.pem'}, '/nowhere/ca.pem')])
def test_a_password_that_cannot_be_checked(database, caplog, more, reason):
    """Flavour standalone: the login may be right."""
    url = AWAY if not more else AWAY.replace('http:', 'https:')
    conf = in_process.options(paste_deploy__flavor='standalone', clients_keystone__auth_uri=url, **more)
    app = in_process.build(conf, database, in_process.NoEngine(), identity=None)
    with caplog.at_level(logging.INFO):
        answer = in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks', project=None,
                                headers={'X-Auth-User': 'u', 'X-Auth-Key': 'k'})
    assert (answer.status_code, answer.json['error']['type']) == (503, 'KeystoneUnavailable'), answer.text
    assert answer.headers['Retry-After'] and '127.0.0.1' not in answer.text
    assert reason in caplog.text and 'Traceback' not in caplog.text


@pytest.mark.parametrize('more, expected', [
    ({}, True), ({'clients__ca_file': '/ca'}, '/ca'),
    ({'clients__ca_file': '/ca', 'clients_keystone__ca_file': '/own'}, '/own'),
    ({'clients__ca_file': '/ca', 'clients_keystone__insecure': True}, False)])
def test_how_the_keystone_of_passwords_is_verified(more, expected):
    conf = in_process.options(paste_deploy__flavor='standalone', clients_keystone__auth_uri=AWAY, **more)
    assert rest.authentication(conf).keywords['verify'] == expected
    without = in_process.options(paste_deploy__flavor='standalone', auth_password__multi_cloud=True,
                                 auth_password__allowed_auth_uris=[AWAY], **more)
    assert rest.authentication(without).keywords['verify'] == expected


@pytest.mark.parametrize('insecure, file, expected', [
    (False, None, True), (False, '/ca', '/ca'), (True, None, False), (True, '/ca', False)])
def test_how_the_keystone_of_signatures_is_verified(insecure, file, expected):
    """As others: `insecure` counts beside a file, too."""
    conf = in_process.options(ec2authtoken__insecure=insecure, ec2authtoken__ca_file=file)
    assert layers._session(conf, 'ec2authtoken').verify == expected
