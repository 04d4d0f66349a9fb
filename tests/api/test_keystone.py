"""The API behind a real Keystone: tokens, and passwords in headers. Run `eval "$(tools/keystone up)"` first."""

import os
import pathlib

import pytest
from keystoneauth1 import session
from keystoneauth1.identity import v3

from heatlite.api import deploy
from heatlite.api.middleware.known_callers import KnownCallers
from tests.api import in_process

URL = os.environ.get('HEATLITE_TEST_KEYSTONE_URL')
FOLDER = pathlib.Path(os.environ.get('HEATLITE_TEST_KEYSTONE_DIR', '/nonexistent'))

pytestmark = pytest.mark.skipif(not URL, reason='needs HEATLITE_TEST_KEYSTONE_URL')


def options(**overrides):
    return in_process.options(files=[str(FOLDER / 'heatlite.conf')], **overrides)


@pytest.fixture(scope='module')
def demo():
    """(project id, token) of user demo."""
    made = session.Session(auth=v3.Password(
        auth_url=URL, username='demo', password='secret', project_name='demo', user_domain_id='default',
        project_domain_id='default'))
    return made.get_project_id(), made.get_token()


@pytest.fixture(scope='module')
def app(database):
    return in_process.build(options(), database, in_process.NoEngine(), identity=None)


def test_without_a_token(app):
    answer = in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks', project=None)
    assert answer.status_code == 401
    assert answer.json == {'error': {'code': 401, 'title': 'Unauthorized',
                                     'message': 'The request you have made requires authentication.'}}
    assert answer.headers['WWW-Authenticate'].startswith('Keystone uri=')
    assert answer.headers['x-openstack-request-id']


def test_with_a_wrong_one(app):
    answer = in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks', project=None,
                            headers={'X-Auth-Token': 'nope'})
    assert answer.status_code == 401


def test_with_a_token(app, demo):
    project, token = demo
    headers = {'X-Auth-Token': token}
    assert in_process.ask(app, 'GET', f'/v1/{project}/stacks', project=None, headers=headers).json == {'stacks': []}
    foreign = in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks', project=None, headers=headers)
    assert foreign.json['error']['type'] == 'HTTPForbidden'


def test_engines_get_the_catalog_and_no_layer_writes_it_anew(database, demo):
    seen = []

    def inner(environ, start_response):
        seen.append(environ)
        start_response('204 No Content', [])
        return []

    project, token = demo
    layer = deploy.authentication(options())(inner)
    assert in_process.ask(layer, 'GET', '/', project=None, headers={'X-Auth-Token': token}).status_code == 204
    environ, = seen
    assert environ['HTTP_X_PROJECT_ID'] == project and 'HTTP_X_SERVICE_CATALOG' not in environ
    assert {each['type'] for each in environ['keystone.token_info']['token']['catalog']} >= {'identity'}


def test_the_second_request_of_a_caller_has_the_headers_of_the_first(database, demo):
    seen = []

    def inner(environ, start_response):
        seen.append({name: value for name, value in environ.items() if name.startswith(('HTTP_', 'keystone'))})
        start_response('204 No Content', [])
        return []

    _project, token = demo
    layer = deploy.authentication(options())(inner)
    for _ in range(2):
        for claimed in ({}, {'X-Roles': 'admin', 'X-Service-Roles': 'admin', 'OpenStack-System-Scope': 'all'}):
            in_process.ask(layer, 'GET', '/', project=None, headers={'X-Auth-Token': token, **claimed})
    first, *others = seen
    assert len(others) == 3 and first['HTTP_X_IDENTITY_STATUS'] == 'Confirmed'
    assert seen[2] == seen[0] and seen[3] == seen[1]        # the same objects: made by one request
    for environ in others:
        assert {**environ, 'keystone.token_auth': None} == {**first, 'keystone.token_auth': None}


def test_where_each_token_is_validated_no_caller_is_known(database, demo):
    def inner(environ, start_response):
        return []

    conf = options()
    assert type(deploy.authentication(conf)(inner)) is KnownCallers
    conf.set_override('token_cache_time', -1, 'keystone_authtoken')
    assert type(deploy.authentication(conf)(inner)) is not KnownCallers


def test_claimed_headers_are_worth_nothing(app, demo):
    project, token = demo
    claimed = {'X-Auth-Token': token, 'X-Roles': 'admin', 'X-Project-Id': in_process.PROJECT, 'X-User-Id': 'root'}
    assert in_process.ask(app, 'GET', f'/v1/{project}/services', project=None, headers=claimed).status_code == 403
    answer = in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks', project=None, headers=claimed)
    assert answer.status_code == 403


@pytest.mark.parametrize('password, domain, status', [
    ('secret', {'X-User-Domain-Id': 'default'}, 200), ('secret', {}, 200), ('wrong', {}, 401),
    ('secret', {'X-User-Domain-Id': 'nowhere'}, 401)])
def test_passwords_in_headers(database, demo, password, domain, status):
    app = in_process.build(options(paste_deploy__flavor='standalone'), database, in_process.NoEngine(), identity=None)
    headers = {'X-Auth-User': 'demo', 'X-Auth-Key': password, **domain}
    answer = in_process.ask(app, 'GET', f'/v1/{demo[0]}/stacks', project=None, headers=headers)
    assert answer.status_code == status
    if status == 401:
        assert answer.headers['WWW-Authenticate'] == f"Keystone uri='{URL}'"


def test_multi_cloud(database, demo):
    conf = options(paste_deploy__flavor='standalone', auth_password__multi_cloud=True,
                   auth_password__allowed_auth_uris=[URL])
    app = in_process.build(conf, database, in_process.NoEngine(), identity=None)

    def ask(**more):
        headers = {'X-Auth-User': 'demo', 'X-Auth-Key': 'secret', **more}
        return in_process.ask(app, 'GET', f'/v1/{demo[0]}/stacks', project=None, headers=headers).status_code

    assert ask(**{'X-Auth-Url': URL}) == 200
    assert ask(**{'X-Auth-Url': 'http://198.51.100.1/v3'}) == 401
    assert ask() == 400
