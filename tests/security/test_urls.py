"""Every URL in a request: nothing inside the network of the service is asked, and no answer says anything about it."""

import json
import logging
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlencode

import pytest
from keystoneauth1 import loading
from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from heatlite.api import openapi
from heatlite.common import config, exception
from heatlite.common.context import RequestContext
from heatlite.engine.clients import remote_cloud
from tests.answering import answering
from tests.isolation import here
from tests.security import table
from tests.security.doors import DOORS, FORM, Api, Asked, asked, ids, usual

SHAPES = openapi.shapes()


def keys(schema):
    if isinstance(schema, dict):
        for name, each in (schema.get('properties') or {}).items():
            if isinstance(each, dict) and (each.get('format') == 'uri' or 'url' in name.lower()):
                yield name
        for each in schema.values():
            yield from keys(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from keys(each)


def test_every_url_of_a_body_is_known():
    """A key of a new body with a URL must get into the table, and by it into the test below."""
    bodies = {about.body for about in openapi.OPERATIONS.values() if about.body}
    found = set()
    for name in bodies:
        found |= set(keys(SHAPES[name]))
    assert found == table.URLS[Api.REST]


@pytest.fixture
def inside():
    """A port of this host that nothing may connect to."""
    with socket.create_server(('127.0.0.1', 0)) as listening:
        listening.setblocking(False)
        yield listening.getsockname()[1], listening
        with pytest.raises(BlockingIOError):
            listening.accept()


def request(door, url):
    if door.api is Api.REST:
        body = usual(door, here.VICTIMS)
        target = body['stacks'][0] if 'stacks' in body else body
        target.pop('template', None)
        target['template_url'] = url
        return asked(door, here.VICTIMS, body)
    parameters = {'Action': door.name, 'StackName': here.VICTIMS.stack_name, 'TemplateURL': url}
    return Asked('POST', '/v1/', urlencode(parameters).encode(), FORM)


WITH_TEMPLATES = [door for door in DOORS if table.has_url(door) and door.api is not Api.CLOUDWATCH]


@pytest.mark.parametrize('door', WITH_TEMPLATES, ids=ids)
def test_a_url_inside_is_not_asked(place, inside, door):
    port, _listening = inside
    for url in (f'http://127.0.0.1:{port}/', f'http://localhost:{port}/', f'http://[::ffff:127.0.0.1]:{port}/',
                f'http://0:{port}/', f'http://user@127.0.0.1:{port}/', 'http://169.254.169.254/latest/meta-data',
                'file:///etc/passwd', 'gopher://127.0.0.1/', f'ftp://127.0.0.1:{port}/', '/etc/passwd', 'http:///x'):
        answer = place.request(door, request(door, url))
        assert answer.status_code == 400, (url, answer.text)
        assert 'root:' not in answer.text
        assert not place.engine.sent, url


def test_they_are_many():
    assert len(WITH_TEMPLATES) > 10


# --- the login of a remote stack: its Keystone, and whatever that one says ------------------------------------

def login(url):
    return json.dumps({'auth_type': 'v3password', 'auth': {
        'auth_url': url, 'username': 'u', 'password': 'p', 'user_domain_id': 'default', 'project_name': 'p',
        'project_domain_id': 'default'}})


@pytest.fixture
def caller():
    config.register(cfg.CONF)
    cfg.CONF.set_override('timeout', 5, group='clients')
    yield RequestContext(project_id='p', overwrite=False)
    cfg.CONF.clear_override('timeout', group='clients')
    cfg.CONF.clear_override('template_fetch_allow')


@pytest.mark.parametrize('host', ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0'])
def test_a_keystone_inside_is_not_asked(inside, caller, host, caplog):
    """The answer is that for a host that does not exist."""
    caplog.set_level(logging.INFO)
    logging.disable(logging.NOTSET)
    said = []
    for each in (host, 'nowhere.invalid'):
        with pytest.raises(ClientException) as refused:
            remote_cloud.context(caller, 'r', login=login(f'http://{each}:{inside[0]}/v3'))
        bare = each.strip('[]')
        said.append(re.sub(rf"//\[?{re.escape(bare)}]?:|host='\[?{re.escape(bare)}]?'", 'HOST', str(refused.value)))
    assert 'template_fetch_deny' in caplog.text
    assert 'the host cannot be reached' in said[0]
    assert said[0] == said[1]


@pytest.mark.parametrize('kind', ['v3websso', 'v3oidcdeviceauthz', 'v3kerberos', 'nothing', 5, None, ['v3password']])
def test_a_login_that_waits_for_a_person_or_uses_this_host(inside, caller, kind):
    url = f'http://127.0.0.1:{inside[0]}/v3'
    with pytest.raises(exception.Error, match='The secret with the credential'):
        remote_cloud.context(caller, 'r', login=json.dumps({'auth_type': kind, 'auth': {'auth_url': url}}))


def test_every_possible_login_exists():
    assert set(loading.get_available_plugin_names()) >= remote_cloud.LOGINS


@dataclass
class Elsewhere:
    """A Keystone of the attacker, whose catalogue, or whose redirects, lead into the network of the service."""

    target: int                 # the port that it leads to
    moves: bool = False
    url: str = ''

    def answer(self, _asked):
        if self.moves:
            return 307, {'Location': f'http://127.0.0.9:{self.target}/v3/auth/tokens'}, None
        return 201, {'X-Subject-Token': 't'}, {'token': {
            'methods': ['password'], 'expires_at': '2099-01-01T00:00:00.000000Z',
            'issued_at': '2020-01-01T00:00:00.000000Z',
            'user': {'id': 'u', 'name': 'u', 'domain': {'id': 'default', 'name': 'Default'}},
            'project': {'id': 'p', 'name': 'p', 'domain': {'id': 'default', 'name': 'Default'}}, 'roles': [],
            'catalog': [{'type': 'orchestration', 'name': 'heat', 'id': 'i', 'endpoints': [{
                'interface': 'public', 'region': 'r', 'region_id': 'r', 'id': 'e',
                'url': f'http://127.0.0.9:{self.target}/v1'}]}]}}


@pytest.fixture
def elsewhere():
    """The address of it may be asked, that of the target not."""
    with socket.create_server(('127.0.0.9', 0)) as listening:
        listening.setblocking(False)
        keystone = Elsewhere(listening.getsockname()[1])
        with answering(keystone.answer) as url:
            keystone.url = f'{url}/v3'
            yield keystone
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_a_catalogue_that_leads_inside(elsewhere, caller):
    cfg.CONF.set_override('template_fetch_allow', ['127.0.0.1'])
    made = remote_cloud.context(caller, 'r', login=login(elsewhere.url))
    assert made.project_id == 'p'                       # the address that is allowed is asked
    with pytest.raises(ClientException, match='the host cannot be reached'):
        made.keystone_session.get('/stacks', endpoint_filter={'service_type': 'orchestration', 'region_name': 'r'})


def test_a_redirect_that_leads_inside(elsewhere, caller):
    cfg.CONF.set_override('template_fetch_allow', ['127.0.0.1'])
    elsewhere.moves = True
    with pytest.raises(ClientException, match='the host cannot be reached'):
        remote_cloud.context(caller, 'r', login=login(elsewhere.url))


def test_a_proxy_is_not_used(elsewhere, caller, monkeypatch):
    """It would look up names by itself."""
    monkeypatch.setenv('http_proxy', 'http://127.0.0.1:1')
    cfg.CONF.set_override('template_fetch_allow', ['127.0.0.1'])
    assert remote_cloud.context(caller, 'r', login=login(elsewhere.url)).project_id == 'p'
