"""Traces arrive at a real receiver: one tree for each request, without hidden values, through failures too."""

import json
import os
import re
import signal
import urllib.request
import uuid

import pytest

from tests.system import alone
from tests.system.cluster import Cluster
from tests.system.otlp import receiving, tree
from tests.system.processes import OPENER, Program, eventually, finished, free_port

RABBIT, MARIADB = os.environ.get('HEATLITE_TEST_RABBIT_URL'), os.environ.get('HEATLITE_TEST_MYSQL_URL')
PLUGINS = alone.__file__.replace('alone.py', 'plugins')
CANARY, HEADER = 'canary-91c4d2be07aa4f6db3e8', 'key-3fb86c1d5e7a49028d4b'
TEMPLATE = {
    'heat_template_version': '2018-08-31',
    'parameters': {'secret': {'type': 'string', 'hidden': True}},
    'resources': {
        'network': {'type': 'OS::Neutron::Net', 'properties': {'name': {'get_param': 'secret'}}},
        'subnet': {'type': 'OS::Neutron::Subnet', 'properties': {
            'network': {'get_resource': 'network'}, 'cidr': '10.0.0.0/24'}},
        'key': {'type': 'OS::Nova::KeyPair', 'properties': {'name': {'get_param': 'secret'}}},
        'server': {'type': 'OS::Nova::Server', 'depends_on': 'subnet', 'properties': {
            'flavor': 'm1.tiny', 'image': 'cirros', 'key_name': {'get_resource': 'key'},
            'networks': [{'network': {'get_resource': 'network'}}],
            'user_data': {'get_param': 'secret'}}}}}


@pytest.fixture(scope='module')
def receiver():
    with receiving() as found:
        yield found


@pytest.fixture(scope='module')
def service(tmp_path_factory, receiver):
    """(URL of the project, the program) of a heatlite-all with the simulated cloud."""
    folder = tmp_path_factory.mktemp('traces')
    program = Program(folder / 'log', '--state-dir', folder / 'state', '--port', '0', '--cloud', 'simulated',
                      '--set', f'traces.endpoint={receiver.url}', '--set', f'traces.headers=X-Key={HEADER}',
                      '--set', 'plans.check_timeout=0', '--set', 'engine.poll_interval=0.1',
                      module='heatlite.cmd.all_in_one')
    said = program.process.stdout.readline().split()
    assert said, program.log.read_text()
    yield f'{said[-1]}/v1/admin', program
    program.kill()


def send(method, url, body=None, **headers):
    """(id of the request, JSON of the answer or None)."""
    request = urllib.request.Request(
        url, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={'Content-Type': 'application/json', 'Accept': 'application/json', **headers})
    with OPENER.open(request, timeout=60) as answer:
        text = answer.read()
        return answer.headers['x-openstack-request-id'], json.loads(text) if text and text[:1] == b'{' else None


def test_a_create_is_one_tree(service, receiver):
    given = f'4bf92f3577b34da6a3ce929d0e0e{uuid.uuid4().hex[:4]}'
    name = f's{uuid.uuid4().hex[:6]}'
    request_id, made = send('POST', f'{service[0]}/stacks?why={CANARY}', {
        'stack_name': name, 'template': TEMPLATE, 'parameters': {'secret': CANARY}},
        traceparent=f'00-{given}-00f067aa0ba902b7-01', tracestate='vendor=1')
    assert finished(f"{service[0]}/stacks/{name}/{made['stack']['id']}") == 'CREATE_COMPLETE'
    spans = eventually('the whole trace', lambda: whole(receiver.of(given), '00f067aa0ba902b7'))
    below = tree(spans)
    [api] = below['00f067aa0ba902b7']
    assert (api.name, api['http.response.status_code']) == ('POST /{tenant_id}/stacks', 201)
    assert (api['openstack.request_id'], api['openstack.project_id'], api.state) == (request_id, 'admin', 'vendor=1')
    [message] = below[api.id]
    assert message.name == 'create_stack'
    [action] = [span for span in below[message.id] if span.name == 'CREATE stack']
    assert action['heatlite.stack.id'] == made['stack']['id']
    assert action['heatlite.outcome'] == 'COMPLETE'
    steps = {span['heatlite.resource.name']: span for span in below[action.id] if span['heatlite.resource.name']}
    assert set(steps) == set(TEMPLATE['resources'])
    server = steps['server']
    assert (server.name, server['heatlite.outcome'], server['heatlite.resource.path']) == (
        'CREATE OS::Nova::Server', 'COMPLETE', f'{name}/server')
    calls = below[server.id]
    posted = [span for span in calls if span.name == 'POST compute']
    assert posted and all(span['http.response.status_code'] < 300 for span in posted)
    assert any(span.name == 'GET compute' and '{id}' in span['url.template'] for span in calls)
    assert all(span['openstack.request_id'] for span in posted)
    for step in steps.values():
        assert action.began <= step.began <= step.ended <= action.ended, (action, step)
        assert below[step.id], f'no call of {step}'

    request_id, _none = send('DELETE', f"{service[0]}/stacks/{name}/{made['stack']['id']}")
    spans = receiver.trace_of(request_id)
    assert {span['heatlite.resource.name'] for span in spans if span.name.startswith('DELETE OS')} == set(
        TEMPLATE['resources'])
    roots = [span for span in spans if not span.parent]
    assert [span.name for span in roots] == ['DELETE /{tenant_id}/stacks/{stack_name}/{stack_id}']


def test_nested_stacks_and_updates_belong_to_the_trace_of_their_request(service, receiver):
    name = f'n{uuid.uuid4().hex[:6]}'

    def body(value):
        child = {'heat_template_version': '2018-08-31', 'parameters': {'value': {'type': 'string'}},
                 'resources': {'inner': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'value'}}}}}
        return {'stack_name': name, 'files': {'child.yaml': json.dumps(child)}, 'template': {
            'heat_template_version': '2018-08-31', 'resources': {
                'outer': {'type': 'child.yaml', 'properties': {'value': value}}}}}

    request_id, made = send('POST', f'{service[0]}/stacks', body('one'))
    stack = f"{service[0]}/stacks/{name}/{made['stack']['id']}"
    assert finished(stack) == 'CREATE_COMPLETE'
    check_nesting(receiver.trace_of(request_id), 'CREATE')
    request_id, _none = send('PUT', stack, body('two'))
    assert finished(stack) == 'UPDATE_COMPLETE'
    check_nesting(receiver.trace_of(request_id), 'UPDATE')


def check_nesting(spans, action):
    [root] = tree(spans)['']
    actions = [span for span in spans if span.name == f'{action} stack']
    steps = {span['heatlite.resource.name']: span for span in spans if span['heatlite.resource.name']}
    [inner] = [span for span in actions if span.parent == steps['outer'].id]
    [outer] = [span for span in actions if span is not inner]
    assert (steps['inner'].parent, steps['outer'].parent) == (inner.id, outer.id)
    assert root['openstack.request_id'] == inner['openstack.request_id']


def whole(spans, caller):
    """The spans, if every parent but the caller's is among them and the action of a stack has ended; else None."""
    ids = {span.id for span in spans}
    is_whole = any(span.name.endswith(' stack') for span in spans) and all(
        span.parent in ids or span.parent == caller for span in spans)
    return spans if is_whole else None


def fail(service, receiver):
    """The spans of a create that fails, or is refused, as it asks a service for the network of a hidden name."""
    name = f's{uuid.uuid4().hex[:6]}'
    wrong = json.loads(json.dumps(TEMPLATE))
    wrong['resources'] = {'network': {'type': 'OS::Neutron::Port', 'properties': {
        'network': {'get_param': 'secret'}}}}
    request = urllib.request.Request(f'{service[0]}/stacks', json.dumps({
        'stack_name': name, 'template': wrong, 'parameters': {'secret': CANARY}}).encode(),
        {'Content-Type': 'application/json'})
    try:
        with OPENER.open(request, timeout=60) as answer:
            request_id = answer.headers['x-openstack-request-id']
            made = json.load(answer)['stack']
            assert finished(f"{service[0]}/stacks/{name}/{made['id']}") == 'CREATE_FAILED'
    except urllib.error.HTTPError as error:
        request_id = error.headers['x-openstack-request-id']
    return eventually('the spans of the failure', lambda: [
        span for span in list(receiver.spans) if span['openstack.request_id'] == request_id and (
            span.error or span['http.response.status_code'] == 400)])


def test_a_failure_has_its_reason_without_hidden_values(service, receiver):
    assert all(CANARY not in repr(span) for span in fail(service, receiver))


def test_nothing_hidden_is_sent(service, receiver):
    fail(service, receiver)
    body = {'stack_name': f'c{uuid.uuid4().hex[:6]}', 'template': TEMPLATE, 'parameters': {'secret': CANARY}}
    send('POST', f'{service[0]}/stacks/preview', body)
    _request_id, made = send('POST', f'{service[0]}/stacks', body)
    stack = f"{service[0]}/stacks/{body['stack_name']}/{made['stack']['id']}"
    assert finished(stack) == 'CREATE_COMPLETE'
    deleted, _none = send('DELETE', stack)                  # of the key, whose path has its hidden name
    receiver.trace_of(deleted)
    request_id, _answer = send('POST', f'{service[0]}/validate', {'template': TEMPLATE})
    eventually('the last span', lambda: any(span['openstack.request_id'] == request_id for span in receiver.spans))
    sent = b''.join(receiver.bodies)
    assert any('******' in (span['url.path'] or '') for span in receiver.spans), 'no path had a hidden value to mask'
    assert len(sent) > 1000
    for secret in (CANARY, HEADER):
        assert secret.encode() not in sent
    assert all(headers.get('X-Key') == HEADER for headers in receiver.headers)
    assert HEADER not in service[1].log.read_text()
    assert CANARY not in service[1].log.read_text()


@pytest.mark.parametrize('sent', [
    'nonsense', '00-' + '0' * 32 + '-00f067aa0ba902b7-01', 'ff-' + '4' * 32 + '-' + '5' * 16 + '-01',
    '00-' + '4' * 32 + '-' + '5' * 16 + '-01-more', 'x' * 9000])
def test_a_wrong_context_begins_a_trace_of_its_own(service, receiver, sent):
    request_id, _answer = send('GET', f'{service[0]}/stacks', traceparent=sent)
    span = eventually('the span', lambda: next((
        span for span in list(receiver.spans) if span['openstack.request_id'] == request_id), None))
    assert span.parent == '' and span.trace not in (4 * '4', '0' * 32, '4' * 32)


def test_what_the_caller_does_not_sample_is_not_sent(service, receiver):
    first, _answer = send('GET', f'{service[0]}/stacks', traceparent=f'00-{"7" * 32}-{"5" * 16}-00')
    later, _answer = send('GET', f'{service[0]}/stacks')
    eventually('the span of the later request', lambda: any(
        span['openstack.request_id'] == later for span in list(receiver.spans)))
    assert receiver.of('7' * 32) == [] and first != later


def test_the_last_spans_are_sent_at_the_end(tmp_path):
    with receiving() as receiver:
        program = Program(tmp_path / 'log', '--state-dir', tmp_path / 'state', '--port', '0',
                          '--set', f'traces.endpoint={receiver.url}', module='heatlite.cmd.all_in_one')
        url = program.process.stdout.readline().split()[-1]
        request_id, _answer = send('GET', f'{url}/v1/admin/stacks')
        assert program.stop() == 0
        assert any(span['openstack.request_id'] == request_id for span in receiver.spans)


def test_a_receiver_that_is_away_costs_one_line(tmp_path):
    program = Program(tmp_path / 'log', '--state-dir', tmp_path / 'state', '--port', '0',
                      '--set', f'traces.endpoint=http://127.0.0.1:{free_port()}/v1/traces',
                      '--set', 'traces.timeout=0.3', '--set', 'traces.queue_size=10', module='heatlite.cmd.all_in_one')
    try:
        url = program.process.stdout.readline().split()[-1]
        for _number in range(100):
            send('GET', f'{url}/v1/admin/stacks')
        program.said('receiver of traces')
        for _number in range(100):
            send('GET', f'{url}/v1/admin/stacks')
        assert program.stop() == 0
    finally:
        program.kill()
    lines = [line for line in program.log.read_text().splitlines()
             if re.search('trace|opentelemetry|span', line) and 'access' not in line]
    assert len(lines) == 1 and 'WARNING' in lines[0] and 'Work waits for the receiver of traces' in lines[0], lines


def test_an_engine_that_takes_over_continues_the_trace(tmp_path):
    if not (RABBIT and MARIADB):
        pytest.skip('needs RabbitMQ and MariaDB: tools/services up')
    with receiving() as receiver:
        cluster = Cluster(tmp_path, MARIADB, RABBIT, engines=2, traces__endpoint=receiver.url)
        try:
            name = f's{uuid.uuid4().hex[:6]}'
            request_id, made = send('POST', f'{cluster.url}/stacks', {'stack_name': name, 'template': {
                'heat_template_version': '2018-08-31', 'resources': {
                    'first': {'type': 'Test::Ledger::Entry', 'properties': {'seconds': 0}},
                    'second': {'type': 'Test::Ledger::Entry', 'depends_on': 'first', 'properties': {'seconds': 6}}}}})
            stack = f"{cluster.url}/stacks/{name}/{made['stack']['id']}"
            eventually('the span of the first step', lambda: any(
                span['heatlite.resource.name'] == 'first' for span in list(receiver.spans)))
            killed = eventually('an owner', lambda: cluster.owner(stack))
            killed.stop(signal.SIGKILL)
            assert finished(stack) == 'CREATE_COMPLETE'
            spans = receiver.trace_of(request_id)
        finally:
            cluster.stop()
    [root] = tree(spans)['']
    assert root.service == 'heatlite-api' and root.name.startswith('POST')
    assert len({span.trace for span in spans}) == 1
    [action] = [span for span in spans if span.name == 'CREATE stack']
    assert action['heatlite.taken_over'] is True
    steps = tree(spans)[action.id]
    assert {span['heatlite.resource.name'] for span in steps} == {'first', 'second'}
    assert all(action.began <= span.began <= span.ended <= action.ended for span in steps)
    assert [span['heatlite.recovers'] for span in steps if span['heatlite.resource.name'] == 'second'] == [True]


@pytest.mark.parametrize('info, mac', [('eyJiYXNlX2lkIjogIjEifQ==', '0' * 40), ('{not base64', CANARY), ('', '')])
def test_headers_of_osprofiler_are_ignored(service, info, mac):
    _request_id, found = send('GET', f'{service[0]}/stacks', **{'X-Trace-Info': info, 'X-Trace-HMAC': mac})
    assert 'stacks' in found            # any other status raises
