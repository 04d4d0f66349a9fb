"""The console's files and its way to Keystone: what is served to whom, under which headers, and what is not."""

import gzip
import io
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import webob

from heatlite.api.console import files, identity
from heatlite.common import exception
from tests.api import in_process


@pytest.fixture(scope='module')
def console(database):
    """The API with the console, where nobody logs in."""
    return in_process.build(in_process.options(console__enabled=True, paste_deploy__flavor='noauth'), database,
                            in_process.NoEngine())


def get(app, path, method='GET', **headers):
    return in_process.ask(app, method, path, project=None, headers=headers)


def test_the_page_and_everything_it_loads(console):
    page = get(console, '/console/')
    assert (page.status_code, page.content_type) == (200, 'text/html')
    loaded = [each.removeprefix('./') for each in re.findall(r'(?:src|href)="([^"]+)"', page.text)]
    assert any(each.endswith('.js') for each in loaded)
    for each in loaded:
        assert not re.match(r'[a-z]+:|/', each), 'another host, or a path that a proxy may not know'
        answer = get(console, f'/console/{each}')
        assert answer.status_code == 200, each
        assert answer.headers['Cache-Control'] == (files.EACH_TIME if each.endswith('icon.svg') else files.FOR_EVER)


def test_nothing_in_the_page_is_inline(console):
    page = get(console, '/console/').text
    assert not re.search(r'<style|\sstyle=|\son[a-z]+=|javascript:', page)
    assert not re.search(r'<script(?![^>]*\bsrc=)', page)


@pytest.mark.parametrize('path', ['/console/', '/console/options.json', '/console/icon.svg'])
def test_headers(console, path):
    answer = get(console, path)
    assert answer.status_code == 200
    policy = answer.headers['Content-Security-Policy']
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert 'unsafe' not in policy
    assert answer.headers['X-Content-Type-Options'] == 'nosniff'
    assert answer.headers['Content-Type'] == {
        '/': 'text/html; charset=utf-8', 'n': 'application/json', 'g': 'image/svg+xml'}[path[-1]]


def test_caching(console):
    page = get(console, '/console/')
    assert page.headers['Cache-Control'] == files.EACH_TIME
    assert get(console, '/console/', **{'If-None-Match': page.headers['ETag']}).status_code == 304
    packed = get(console, '/console/', **{'Accept-Encoding': 'gzip'})
    assert (packed.headers['Content-Encoding'], gzip.decompress(packed.body)) == ('gzip', page.body)
    assert get(console, '/console/', 'HEAD').body == b''


def test_all_files_together_are_small():
    assert sum(len(each.compressed) for each in files.built().values()) < 500 * 1024


@pytest.mark.parametrize('path, method, status', [
    ('/console', 'GET', 301), ('/console', 'POST', 405), ('/console/', 'POST', 405), ('/console/none', 'GET', 404),
    ('/console/../options.json', 'GET', 404), ('/console/%2e%2e/files.py', 'GET', 404),
    ('/console/..%2ffiles.py', 'GET', 404), ('/console/__init__.py', 'GET', 404), ('/console//etc/passwd', 'GET', 404),
    ('/consoles', 'GET', 404), ('/console/identity/token', 'POST', 404), ('/console/identity/', 'GET', 404)])
def test_other_paths(console, path, method, status):
    answer = get(console, path, method)
    assert answer.status_code == status
    assert status != 301 or answer.headers['Location'] == 'http://localhost/console/'


def test_it_is_off_by_default(api):
    assert get(api, '/console/').status_code == 404


def test_what_the_page_learns(console, database):
    assert get(console, '/console/options.json').json == {'auth': 'none', 'project': 'admin'}
    cloud = in_process.build(in_process.options(console__enabled=True, clients_keystone__auth_uri='http://127.0.0.1:9'),
                             database)
    assert get(cloud, '/console/options.json').json == {'auth': 'keystone', 'project': None}


@pytest.mark.parametrize('options', [{'paste_deploy__flavor': 'standalone', 'clients_keystone__auth_uri': 'http://k'}])
def test_where_nobody_could_log_in_it_does_not_start(database, options):
    with pytest.raises(exception.Error, match='console'):
        in_process.build(in_process.options(console__enabled=True, **options), database)


# --- the way to Keystone ---------------------------------------------------------------------------------

class Keystone(BaseHTTPRequestHandler):
    """Answers what the test has put into `answers`, and keeps what it was asked."""

    def do_POST(self):
        length = int(self.headers.get('Content-Length') or 0)
        self.server.asked.append((self.command, self.path, self.headers, self.rfile.read(length)))
        status, headers, body = self.server.answers[self.command]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_DELETE = do_POST

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def keystone():
    server = ThreadingHTTPServer(('127.0.0.1', 0), Keystone)
    server.asked, server.answers = [], {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def behind(keystone, database):
    """The API with the console in front of that Keystone."""
    return in_process.build(in_process.options(
        console__enabled=True, clients_keystone__auth_uri=f'http://127.0.0.1:{keystone.server_port}/identity'),
        database)


def password(**more):
    user = {'name': 'a', 'password': 'b'}
    return {'auth': {'identity': {'methods': ['password'], 'password': {'user': user}}, **more}}


def post(app, body):
    return in_process.ask(app, 'POST', '/console/identity/token', body, project=None)


def test_a_token(behind, keystone):
    keystone.answers['POST'] = (201, {'X-Subject-Token': 'secret'}, json.dumps({'token': {
        'issued_at': '2026-11-24T11:00:00Z', 'expires_at': '2026-11-24T12:00:00Z', 'methods': ['password'],
        'user': {'id': 'u'}, 'project': None, 'roles': [], 'catalog': [1],
        'audit_ids': ['x']}}).encode())
    answer = post(behind, password(scope={'project': {'id': 'p'}}))
    assert answer.status_code == 201
    assert answer.headers['Cache-Control'] == 'no-store'
    assert answer.json == {'token': 'secret', 'issued_at': '2026-11-24T11:00:00Z',
                           'expires_at': '2026-11-24T12:00:00Z', 'methods': ['password'], 'user': {'id': 'u'},
                           'project': None, 'roles': []}
    [(_method, path, headers, body)] = keystone.asked
    assert path == '/identity/v3/auth/tokens?nocatalog'
    assert json.loads(body) == password(scope={'project': {'id': 'p'}})
    assert 'Cookie' not in headers


def test_projects_and_the_end_of_a_session(behind, keystone):
    keystone.answers['GET'] = (200, {}, json.dumps({'projects': [
        {'id': 'p', 'name': 'demo', 'domain_id': 'default', 'enabled': True, 'tags': []},
        {'id': 'q', 'name': 'off', 'domain_id': 'default', 'enabled': False}]}).encode())
    keystone.answers['DELETE'] = (204, {}, b'')
    asked = in_process.ask(behind, 'GET', '/console/identity/projects', project=None, headers={'X-Auth-Token': 't'})
    assert asked.json == {'projects': [{'id': 'p', 'name': 'demo', 'domain_id': 'default'}]}
    ended = in_process.ask(behind, 'DELETE', '/console/identity/token', project=None, headers={'X-Auth-Token': 't'})
    assert ended.status_code == 200
    assert [(method, path) for method, path, _headers, _body in keystone.asked] == [
        ('GET', '/identity/v3/auth/projects'), ('DELETE', '/identity/v3/auth/tokens')]
    assert keystone.asked[1][2]['X-Subject-Token'] == 't'


def test_a_body_of_unknown_length(behind, keystone):
    """In chunks, as a proxy may send it."""
    keystone.answers['POST'] = (201, {'X-Subject-Token': 'secret'}, b'{"token": {}}')
    request = webob.Request.blank('/console/identity/token', method='POST', environ={
        'wsgi.input': io.BytesIO(json.dumps(password()).encode()), 'HTTP_TRANSFER_ENCODING': 'chunked'})
    assert request.get_response(behind).status_code == 201


def test_a_refusal_is_what_keystone_says(behind, keystone):
    keystone.answers['POST'] = (401, {}, b'{"error": {"message": "The password is wrong.", "code": 401}}')
    answer = post(behind, password())
    assert (answer.status_code, answer.json) == (401, {'message': 'The password is wrong.'})


@pytest.mark.parametrize('status, headers, body', [
    (500, {}, b'{"error": {"message": "host db1 is down"}}'), (201, {}, b'<html>'),
    (302, {'Location': 'http://elsewhere/'}, b'{}')])
def test_faults_of_keystone_are_hidden(behind, keystone, status, headers, body):
    keystone.answers['POST'] = (status, headers, body)
    answer = post(behind, password())
    assert answer.status_code == 503
    assert 'db1' not in answer.text


@pytest.mark.parametrize('body', [
    b'', b'[]', b'{"auth": 1}', b'{', {'auth': {'identity': {'methods': ['totp'], 'totp': {}}}},
    {'auth': {'identity': {'methods': ['password', 'token'], 'password': {}, 'token': {}}}},
    {'auth': {'identity': {'methods': ['password'], 'password': {}, 'saml2': {}}}},
    {'auth': {'identity': {'methods': ['password'], 'password': {}}, 'other': 1}},
    {'auth': {'identity': {'methods': ['password'], 'password': {'user': {'password': 'x' * identity.BODY}}}}}])
def test_nothing_but_logins_reaches_keystone(behind, keystone, body):
    assert post(behind, body).status_code == 400
    assert keystone.asked == []


@pytest.mark.parametrize('path, method', [
    ('projects', 'POST'), ('token', 'GET'), ('token', 'PUT'), ('users', 'GET'), ('../v3/users', 'GET'),
    ('projects/p', 'GET')])
def test_nothing_else_of_keystone_can_be_asked(behind, keystone, path, method):
    answer = in_process.ask(behind, method, f'/console/identity/{path}', project=None, headers={'X-Auth-Token': 't'})
    assert answer.status_code in (404, 405)
    assert keystone.asked == []


def test_a_keystone_that_is_away(database):
    app = in_process.build(in_process.options(console__enabled=True, clients_keystone__auth_uri='http://127.0.0.1:9'),
                           database)
    assert post(app, password()).status_code == 503


class Waiting(Keystone):
    """Answers no login before the test lets it."""

    def do_POST(self):
        self.server.waiting.release()
        self.server.goes_on.wait()
        super().do_POST()


@pytest.mark.parametrize('clients, refused, accepted', [
    (['192.0.2.1'] * identity.AT_ONCE_OF_CLIENT, '192.0.2.1', '192.0.2.2'),
    ([f'2001:db8::{number}' for number in range(identity.AT_ONCE_OF_CLIENT)], '2001:db8::ffff:1', '2001:db8:0:1::1'),
    ([f'192.0.2.{number}' for number in range(identity.AT_ONCE)], '192.0.2.99', None)])
def test_logins_at_once_are_bounded_for_each_client(behind, keystone, monkeypatch, clients, refused, accepted):
    keystone.RequestHandlerClass = Waiting
    keystone.waiting, keystone.goes_on = threading.Semaphore(0), threading.Event()
    keystone.answers['POST'] = (401, {}, b'{"error": {"message": "The password is wrong."}}')

    def log_in(address):
        asked = webob.Request.blank('/console/identity/token', method='POST', body=json.dumps(password()).encode(),
                                    environ={'REMOTE_ADDR': address})
        return asked.get_response(behind).status_code

    with ThreadPoolExecutor(identity.AT_ONCE + 1) as threads:
        answers = [threads.submit(log_in, address) for address in clients]
        for _answer in answers:
            keystone.waiting.acquire()
        assert log_in(refused) == 503
        if accepted is not None:
            answers.append(threads.submit(log_in, accepted))
            keystone.waiting.acquire()
            clients = [*clients, accepted]
        keystone.goes_on.set()
        assert {each.result() for each in answers} == {401}
    assert sorted(headers['X-Forwarded-For'] for _method, _path, headers, _body in keystone.asked) == sorted(clients)
    assert log_in(refused) == 401, 'what has ended is not counted'
