"""The audit trail: who did what, with which outcome, refusals too, and no secret in it. Over sockets."""

import json
import stat
import uuid

import pytest

from tests.system.processes import Program, eventually
from tests.system.test_simulated import DECLARED, ended, send, signed_get

CANARY = 'canary-5d0f1f6c2b9c4a0f8f21'
TEMPLATE = {'heat_template_version': '2018-08-31', 'parameters': {'secret': {'type': 'string', 'hidden': True}},
            'resources': {'value': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'secret'}}}}}


class Service:
    """A heatlite-all with the simulated cloud and its Keystone. `demo`: URL of the project of user demo."""

    def __init__(self, folder):
        self.file = folder / 'audit.log'
        self.program = Program(folder / 'log', '--state-dir', folder / 'state', '--port', '0', '--cloud', 'simulated',
                               '--auth', 'keystone', '--set', f'audit.log_file={self.file}',
                               module='heatlite.cmd.all_in_one')
        said = [self.program.process.stdout.readline().split() for _ in range(2)]
        assert said[1], self.program.log.read_text()
        status, headers, body = send('POST', f'{said[1][5].rstrip(";")}/v3/auth/tokens', {'auth': {
            'identity': {'methods': ['password'], 'password': {
                'user': {'name': 'demo', 'domain': {'id': 'default'}, 'password': 'secret'}}},
            'scope': {'project': {'name': 'demo', 'domain': {'id': 'default'}}}}})
        assert status == 201
        self.token = headers['X-Subject-Token']
        self.user, self.project = body['token']['user']['id'], body['token']['project']['id']
        catalogue = {each['type']: each['endpoints'][0]['url'] for each in body['token']['catalog']}
        self.demo, self.signed = catalogue['orchestration'], catalogue['cloudformation']

    def ask(self, method, path, body=None, token=None):
        """(status, id of the request, JSON)."""
        status, headers, found = send(method, self.demo + path, body, token or self.token)
        return status, headers['x-openstack-request-id'], found

    def events(self):
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []

    def of(self, request_id, observer='api'):
        """The event of a request, once it is there; `observer` engine: that of what it led to."""
        return eventually('the event', lambda: next((
            each for each in self.events() if observer in each['observer']['id'].split('.')
            and f'request_id?value={request_id}' in each.get('tags', ())), None))


@pytest.fixture(scope='module')
def service(tmp_path_factory):
    made = Service(tmp_path_factory.mktemp('audit'))
    yield made
    made.program.kill()


def test_a_create_and_its_end(service):
    status, request_id, made = service.ask('POST', f'/stacks?why={CANARY}', {
        'stack_name': 'one', 'template': TEMPLATE, 'parameters': {'secret': CANARY}})
    assert status == 201
    asked = service.of(request_id)
    assert (asked['action'], asked['outcome'], asked['reason']['reasonCode']) == ('create', 'success', '201')
    assert asked['target'] == {'id': made['stack']['id'], 'name': 'one', 'typeURI': 'service/orchestration/stacks'}
    who = asked['initiator']
    assert (who['id'], who['name'], who['project_id']) == (service.user, 'demo', service.project)
    assert who['host']['address'] == '127.0.0.1' and who['roles']
    assert who['credential']['type'] == 'token' and service.token not in json.dumps(asked)
    ended = service.of(request_id, 'engine')
    assert (ended['action'], ended['outcome'], ended['initiator']['name']) == ('create', 'success', 'heatlite-engine')
    assert ended['target']['id'] == made['stack']['id']

    _status, request_id, _none = service.ask('POST', f"/stacks/one/{made['stack']['id']}/actions", {'suspend': None})
    assert service.of(request_id)['action'] == 'update/suspend'
    assert service.of(request_id, 'engine')['action'] == 'update/suspend'
    status, request_id, _none = service.ask('DELETE', f"/stacks/one/{made['stack']['id']}")
    assert (status, service.of(request_id)['action']) == (204, 'delete')
    assert service.of(request_id, 'engine')['outcome'] == 'success'


def test_an_applied_plan_is_named(service):
    status, request_id, made = service.ask('POST', '/plans', {
        'stack_name': 'planned', 'template': TEMPLATE, 'parameters': {'secret': CANARY}})
    assert status == 201, made
    plan_id = made['plan']['id']
    assert service.of(request_id)['target']['id'] == plan_id
    _status, request_id, _made = service.ask('POST', f'/plans/{plan_id}/apply', {})
    asked = service.of(request_id)
    assert (asked['action'], asked['target']['id']) == ('update/apply', plan_id)
    for found in (asked, service.of(request_id, 'engine')):
        assert f'plan_id?value={plan_id}' in found['tags']


@pytest.mark.parametrize('method, path, body, token, status', [
    ('POST', '/stacks', {'stack_name': '!'}, None, 400),
    ('POST', '/stacks', {'stack_name': 'x'}, CANARY, 401),
    ('DELETE', '/stacks/none/7b0c3f4e-5a55-4b0e-9d3c-0b8f3a1d2c6e', None, None, 404),
    ('PUT', '/nowhere', {}, None, 404)])
def test_refusals_are_events(service, method, path, body, token, status):
    found, request_id, _answer = service.ask(method, path, body, token)
    event = service.of(request_id)
    assert found == status and (event['outcome'], event['reason']['reasonCode']) == ('failure', str(status))


def test_signed_requests_are_events(service):
    _status, _request_id, made = service.ask('POST', '/stacks', {'stack_name': 'declared', 'template': DECLARED})
    stack = f"{service.demo}/stacks/declared/{made['stack']['id']}"
    assert ended(stack, service.token) == 'CREATE_COMPLETE'
    outputs = {each['output_key']: each['output_value']
               for each in send('GET', stack, token=service.token)[2]['stack']['outputs']}
    access, secret = outputs['watcher'], outputs['watcher_secret']
    assert signed_get(service.signed, access, secret, {'Action': 'DeleteStack', 'StackName': 'declared'}) == 403
    assert signed_get(service.signed, access, CANARY, {'Action': 'DeleteStack', 'StackName': 'declared'}) == 403
    known, unknown = eventually('both events', lambda: found if len(found := [
        each for each in service.events() if each['name'] in ('GET DeleteStack', 'GET -')]) == 2 else None)
    assert (known['action'], known['outcome'], known['target']['name']) == ('delete', 'failure', 'declared')
    assert known['initiator']['credential']['type'] == 'ec2' and known['initiator']['project_id']
    assert (unknown['action'], unknown['outcome']) == ('unknown', 'failure')
    assert secret not in service.file.read_text() and access not in service.file.read_text()


def test_reads_are_no_events(service):
    _status, first, _answer = service.ask('GET', '/stacks')
    _status, second, _answer = service.ask('POST', '/validate', {'template': TEMPLATE})
    _status, later, _answer = service.ask('POST', '/stacks', {'stack_name': '!'})
    service.of(later)
    text = service.file.read_text()
    assert first not in text and second not in text


def test_nothing_secret_is_in_it_and_only_its_owner_reads_it(service):
    service.ask('POST', '/stacks', {'stack_name': CANARY, 'template': CANARY, 'parameters': {'x': CANARY}})
    _status, later, _answer = service.ask('POST', '/stacks', {'stack_name': '!'})
    service.of(later)
    text = service.file.read_text()
    assert CANARY not in text and service.token not in text
    assert stat.S_IMODE(service.file.stat().st_mode) == 0o600


def test_events_are_notifications(tmp_path):
    options = tmp_path / 'heatlite.conf'
    options.write_text('[DEFAULT]\ndefault_log_levels = oslo.messaging.notification=INFO\n'
                       '[audit]\nnotifications = true\n[oslo_messaging_notifications]\ndriver = log\n')
    program = Program(tmp_path / 'log', '--state-dir', tmp_path / 'state', '--port', '0', '--config-file', options,
                      module='heatlite.cmd.all_in_one')
    try:
        url = program.process.stdout.readline().split()[-1]
        status, headers, _made = send('POST', f'{url}/v1/admin/stacks', {
            'stack_name': 'sent', 'template': {'heat_template_version': '2018-08-31'}})
        assert status == 201
        for kind in ('audit.http.response', 'audit.stack.action'):
            line = program.said(f'"event_type": "{kind}"')[0]
            assert headers['x-openstack-request-id'] in line and 'service/orchestration/stacks' in line
    finally:
        program.kill()


def test_a_file_that_cannot_be_written_stops_nothing(tmp_path):
    program = Program(tmp_path / 'log', '--state-dir', tmp_path / 'state', '--port', '0',
                      '--set', 'audit.log_file=/nowhere/at/all', module='heatlite.cmd.all_in_one')
    try:
        url = program.process.stdout.readline().split()[-1]
        for _number in range(5):
            assert send('DELETE', f'{url}/v1/admin/stacks/none/{uuid.uuid4()}')[0] == 404
        assert len(program.said('Work waits for the file of the audit trail')) == 1
    finally:
        program.kill()
