"""What listeners on the message bus hear of a stack's life, from real processes through a real RabbitMQ."""

import os
import re
import threading
import uuid

import oslo_messaging
import pytest
from oslo_config import cfg

from tests.system.processes import Program, answers, ask, eventually, finished, free_port

RABBIT = os.environ.get('HEATLITE_TEST_RABBIT_URL')
pytestmark = pytest.mark.skipif(not RABBIT, reason='needs HEATLITE_TEST_RABBIT_URL')


def template(**properties):
    return {'heat_template_version': '2018-08-31', 'description': 'A lamp',
            'resources': {'lamp': {'type': 'OS::Heat::TestResource', 'properties': properties}}}


class Listener:
    """Gathers (priority, publisher, event type, payload) of one topic."""

    def __init__(self, topic):
        self.heard = []
        self.requests = {}          # stack -> ids of the requests that told of it
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[])
        transport = oslo_messaging.get_notification_transport(conf, url=RABBIT)
        self._server = oslo_messaging.get_notification_listener(
            transport, [oslo_messaging.Target(topic=topic)], [self], executor='threading')
        self._server.start()
        self._lock = threading.Lock()

    def _hear(self, priority, publisher_id, event_type, payload):
        with self._lock:
            self.heard.append((priority, publisher_id, event_type, payload))

    def info(self, context, publisher_id, event_type, payload, metadata):
        assert not context.get('auth_token') and not context.get('password')
        assert re.fullmatch('req-[0-9a-f-]{36}', context['request_id'])
        self.requests.setdefault(payload['stack_identity'], set()).add(context['request_id'])
        self._hear('INFO', publisher_id, event_type, payload)

    def error(self, context, publisher_id, event_type, payload, metadata):
        self._hear('ERROR', publisher_id, event_type, payload)

    def stop(self):
        self._server.stop()
        self._server.wait()

    def of(self, stack_id):
        return [each for each in self.heard if each[3]['stack_identity'] == stack_id]


@pytest.fixture(scope='module', params=['services', 'heatlite-all'])
def bus(request, tmp_path_factory):
    """(URL of the API, listener): of services of their own, and of all in one process."""
    folder = tmp_path_factory.mktemp('bus')
    topic, port = f'notifications-{uuid.uuid4().hex[:8]}', free_port()
    options = folder / 'heatlite.conf'
    options.write_text(f"""[DEFAULT]
transport_url = {RABBIT}
auth_encryption_key = 0123456789abcdef0123456789abcdef
host = somewhere
[engine]
topic = {topic}-engine
[database]
connection = sqlite:///{folder}/db.sqlite
[paste_deploy]
flavor = noauth
[heat_api]
bind_host = 127.0.0.1
bind_port = {port}
workers = 1
[oslo_messaging_notifications]
driver = messagingv2
topics = {topic}
""")
    listener = Listener(topic)
    started = services(folder, options) if request.param == 'services' else [
        Program(folder / 'all.log', '--config-file', options, '--state-dir', folder / 'state', '--port', port,
                module='heatlite.cmd.all_in_one')]
    answers(f'http://127.0.0.1:{port}/')
    yield f'http://127.0.0.1:{port}/v1/admin', listener
    for program in started:
        program.kill()
    listener.stop()


def services(folder, options):
    Program(folder / 'sync.log', '--config-file', options, 'db_sync', module='heatlite.cmd.manage').process.wait(60)
    started = [Program(folder / 'engine.log', '--config-file', options, '--workers', '1', module='heatlite.cmd.engine'),
               Program(folder / 'api.log', '--config-file', options, module='heatlite.cmd.api')]
    started[0].said('takes requests')
    return started


def wanted(listener, stack_id, types):
    names = [f'orchestration.stack.{each}' for each in types]
    eventually('all notifications', lambda: len(listener.of(stack_id)) >= len(names))
    heard = listener.of(stack_id)
    assert [each[2] for each in heard] == names
    return heard


def create(url, name, **body):
    status, made = ask('POST', f'{url}/stacks', {'stack_name': name, **body})
    assert status == 201, made
    return made['stack']['id'], made['stack']['links'][0]['href']


def test_a_life(bus):
    url, listener = bus
    stack_id, stack = create(url, 'told', template=template(), tags='a,b')
    finished(stack)
    for action, body in (('PATCH', {'template': template(value='dark')}), ):
        assert ask(action, stack, body)[0] == 202
    finished(stack)
    for action in ('check', 'suspend', 'resume'):
        assert ask('POST', f'{stack}/actions', {action: None})[0] == 200
        finished(stack)
    assert ask('POST', f'{stack}/snapshots', {})[0] == 200
    finished(stack)
    assert ask('DELETE', stack)[0] == 204
    heard = wanted(listener, stack_id, [f'{action}.{half}' for action in (
        'create', 'update', 'check', 'suspend', 'resume', 'snapshot', 'delete') for half in ('start', 'end')])
    assert {(priority, publisher) for priority, publisher, _type, _payload in heard} == {
        ('INFO', 'orchestration.somewhere')}
    shown = ask('GET', stack)[1]['stack']
    payload = heard[1][3]
    assert payload == {
        'tenant_id': 'admin', 'user_id': 'admin', 'user_identity': payload['user_identity'], 'username': 'admin',
        'stack_identity': stack_id, 'stack_name': 'told', 'state': 'CREATE_COMPLETE',
        'state_reason': 'Stack CREATE completed successfully', 'create_at': shown['creation_time'], 'updated_at': None,
        'description': 'A lamp', 'tags': ['a', 'b']}
    assert heard[2][3]['updated_at'] is not None
    assert (heard[-1][3]['state'], heard[-1][3]['state_reason']) == (
        'DELETE_COMPLETE', 'Stack DELETE completed successfully')
    assert len(listener.requests[stack_id]) == 7                    # one for each action


def test_a_failure_and_its_rollback(bus):
    url, listener = bus
    stack_id, stack = create(url, 'failing', template=template(fail=True), disable_rollback=False)
    eventually('the rollback', lambda: ask('GET', stack)[1]['stack']['stack_status'] == 'ROLLBACK_COMPLETE')
    heard = wanted(listener, stack_id, ['create.start', 'create.error', 'rollback.start', 'rollback.end'])
    assert [each[0] for each in heard] == ['INFO', 'ERROR', 'INFO', 'INFO']
    assert heard[1][3]['state_reason'] == (
        'Resource CREATE failed: ValueError: resources.lamp: Test Resource failed lamp')


def test_a_stop(bus):
    url, listener = bus
    stack_id, stack = create(url, 'stopped', template=template(wait_secs=60))
    assert ask('POST', f'{stack}/actions', {'cancel_without_rollback': None})[0] == 200
    heard = wanted(listener, stack_id, ['create.start', 'create.error'])
    assert heard[1][3]['state_reason'] == 'Stack CREATE cancelled'
