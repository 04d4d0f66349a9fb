"""Signals from inside servers: real processes, RabbitMQ, Keystone; URLs that the engine signed."""

import json
import os
import re
import urllib.error
import urllib.request

import pytest
from keystoneauth1 import adapter, session
from keystoneauth1.identity import v3

from tests.system import service
from tests.system.processes import OPENER, Program, answers, eventually, free_port

RABBIT = os.environ.get('HEATLITE_TEST_RABBIT_URL')
pytestmark = pytest.mark.skipif(not (RABBIT and service.KEYSTONE),
                                reason='needs HEATLITE_TEST_RABBIT_URL and HEATLITE_TEST_KEYSTONE_URL')

TEMPLATE = """
heat_template_version: 2018-08-31
resources:
  handle: {type: AWS::CloudFormation::WaitConditionHandle}
  condition:
    type: AWS::CloudFormation::WaitCondition
    properties: {Handle: {get_resource: handle}, Timeout: 100, Count: 1}
  bell: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: CFN_SIGNAL}}
  group:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 0, max_size: 3, desired_capacity: 1, resource: {type: OS::Heat::RandomString}}
  up:
    type: OS::Heat::ScalingPolicy
    properties:
      auto_scaling_group_id: {get_resource: group}
      adjustment_type: change_in_capacity
      scaling_adjustment: 1
outputs:
  alarm: {value: {get_attr: [up, alarm_url]}}
  size: {value: {get_attr: [group, current_size]}}
  url: {value: {get_resource: handle}}
  bell: {value: {get_attr: [bell, signal]}}
  said: {value: {get_attr: [condition, Data]}}
"""


@pytest.fixture(scope='module')
def heat(tmp_path_factory):
    """The REST API as user demo."""
    folder = tmp_path_factory.mktemp('cfn')
    port, cfn_port = free_port(), free_port()
    options = folder / 'own.conf'
    options.write_text(f"""[DEFAULT]
transport_url = {RABBIT}
auth_encryption_key = 0123456789abcdef0123456789abcdef
heat_waitcondition_server_url = http://127.0.0.1:{cfn_port}/v1/waitcondition
heat_metadata_server_url = http://127.0.0.1:{cfn_port}
[engine]
topic = cfn-{port}
[database]
connection = sqlite:///{folder}/db.sqlite
[heat_api]
bind_host = 127.0.0.1
bind_port = {port}
workers = 1
[heat_api_cfn]
bind_host = 127.0.0.1
bind_port = {cfn_port}
workers = 1
""")
    files = ['--config-file', service.FOLDER / 'heatlite.conf', '--config-file', options]
    Program(folder / 'sync.log', *files, 'db_sync', module='heatlite.cmd.manage').process.wait(60)
    started = [Program(folder / 'engine.log', *files, '--workers', '1', module='heatlite.cmd.engine'),
               Program(folder / 'api.log', *files, module='heatlite.cmd.api'),
               Program(folder / 'cfn.log', *files, module='heatlite.cmd.api_cfn')]
    for each in (port, cfn_port):
        answers(f'http://127.0.0.1:{each}/')
    started[0].said('takes requests')
    login = session.Session(auth=v3.Password(
        auth_url=service.KEYSTONE, username='demo', password='secret', project_name='demo', user_domain_id='default',
        project_domain_id='default'))
    yield adapter.Adapter(login, endpoint_override=f'http://127.0.0.1:{port}/v1/{login.get_project_id()}')
    for program in started:
        program.kill()


@pytest.fixture(scope='module')
def stack(heat):
    """Its path; the URLs are known, the condition still waits."""
    made = heat.post('/stacks', json={'stack_name': 'waits', 'template': TEMPLATE}).json()['stack']
    path = f'/stacks/waits/{made["id"]}'
    eventually('the bell', lambda: heat.get(f'{path}/resources/bell').json()['resource']['resource_status']
               == 'CREATE_COMPLETE')
    for key in ('url', 'alarm'):
        eventually(key, lambda key=key: output(heat, path, key))
    yield path
    heat.delete(path)


def output(heat, path, key):
    return heat.get(f'{path}/outputs/{key}').json()['output']['output_value']


def send(url, method='PUT', body=b'', **headers):
    """(status, text)."""
    request = urllib.request.Request(url, body, {name.replace('_', '-'): value for name, value in headers.items()},
                                     method=method)
    try:
        with OPENER.open(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


GOOD = b'{"Status": "SUCCESS", "Reason": "done", "UniqueId": "1", "Data": "words"}'


def test_wait_condition(heat, stack):
    url = output(heat, stack, 'url')
    assert re.match(r'http://127\.0\.0\.1:\d+/v1/waitcondition/arn%3Aopenstack%3Aheat%3A%3A', url)
    as_json = {'Content_Type': 'application/json'}
    assert send(url, 'GET', None)[0] in (403, 404)
    assert send(url.replace('handle', 'bell'), body=GOOD, **as_json)[0] == 403
    assert send(url + '&more=1', body=GOOD, **as_json)[0] == 403
    assert send(url.split('?')[0], body=GOOD, **as_json)[0] == 400
    status, text = send(url, body=b'{"Status": "PERHAPS"}', **as_json)
    assert (status, '<Code>InvalidParameterValue</Code>' in text) == (400, True), text
    status, text = send(url, body=GOOD, **as_json)
    assert (status, text) == (200, '<resource>handle</resource>')
    assert heat.get(f'{stack}/resources/handle/metadata').json() == {
        'metadata': {'1': {'Status': 'SUCCESS', 'Reason': 'done', 'Data': 'words'}}}
    eventually('the end', lambda: heat.get(stack).json()['stack']['stack_status'] == 'CREATE_COMPLETE')
    assert '"words"' in output(heat, stack, 'said')


def test_wait_condition_of_a_hot_handle(heat, stack):
    told = output(heat, stack, 'bell')
    url = (json.loads(told) if isinstance(told, str) else told)['alarm_url']
    assert send(url, body=b'{"data": "ring", "id": "a"}', Content_Type='application/json')[0] == 200
    assert heat.get(f'{stack}/resources/bell/metadata').json()['metadata']['a']['data'] == 'ring'


def test_signal(heat, stack):
    """What an alarm does: POST without a body, answered at once; the group grows."""
    url = output(heat, stack, 'alarm')
    assert '/v1/signal/' in url
    assert send(url, 'PUT', b'{}', Content_Type='application/json')[0] in (403, 404)
    assert send(url, 'POST') == (200, '')
    eventually('growth', lambda: output(heat, stack, 'size') == 2)
    events = heat.get(f'{stack}/resources/up/events?resource_action=SIGNAL').json()['events']
    assert (events[0]['resource_status'], events[0]['resource_status_reason']) == (
        'SIGNAL_COMPLETE', 'No signal details provided')
