"""Results of software deployments outside stacks, as `openstack software deployment create` makes them."""

from __future__ import annotations

import json

import pytest
from keystoneauth1 import exceptions as services

from heatlite.engine import clients
from heatlite.rpc import messages
from tests.simulation import statements
from tests.simulation.openstack import stack

CONTAINER, OBJECT = 'first-1', 'a b'
QUEUE = 'results'
OUTPUTS = ({'name': 'result'}, {'name': 'problem', 'error_output': True})


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        yield found


def client(it, name):
    return clients.of(it.cluster.context).client(name)


def made(it, transport, **values):
    """The id of a deployment that waits, of a derived config with these values."""
    inputs = tuple({'name': name, 'type': 'String', 'value': value} for name, value in (
        ('deploy_server_id', 'server'), ('deploy_signal_transport', transport), *values.items()))
    config = it.cluster.ask(messages.CreateSoftwareConfig(name='derived', inputs=inputs, outputs=OUTPUTS))
    return it.cluster.ask(messages.CreateSoftwareDeployment(
        config_id=config['id'], server_id='server', action='UPDATE', status='IN_PROGRESS'))['id']


def in_swift(it, **more):
    """With the URL of an object that its client has made."""
    with it._calls.unwatched():
        client(it, 'swift').put_container(CONTAINER)
        client(it, 'swift').put_object(CONTAINER, OBJECT, '')
    return made(it, 'TEMP_URL_SIGNAL', deploy_signal_verb='PUT', deploy_signal_id=(
        f'https://swift.example/v1/AUTH_x/{CONTAINER}/a%20b?temp_url_sig=x&temp_url_expires=1'), **more)


def left(it, content):
    with it._calls.unwatched():
        client(it, 'swift').put_object(CONTAINER, OBJECT, content)


def collected(it, deployment_id):
    it.cluster.ask(messages.CollectDeployment(deployment_id))
    found = it.cluster.ask(messages.UpdateSoftwareDeployment(deployment_id))
    return found['status'], found['status_reason'], found['output_values']


WAITING = ('IN_PROGRESS', 'None', None)
FINISHED = ('COMPLETE', 'Outputs received', {
    'result': 'it', 'deploy_stdout': 'done', 'deploy_stderr': None, 'deploy_status_code': 0})
RESULT = {'result': 'it', 'deploy_stdout': 'done', 'deploy_status_code': 0}


def test_a_result_in_an_object(it):
    deployment_id = in_swift(it)
    assert collected(it, deployment_id) == WAITING
    left(it, 'no {json')
    assert collected(it, deployment_id) == WAITING
    left(it, json.dumps(RESULT))
    assert collected(it, deployment_id) == FINISHED
    with it._calls.unwatched(), pytest.raises(services.NotFound):
        client(it, 'swift').head_container(CONTAINER)


@pytest.mark.parametrize('result, reason', [
    ({'problem': 'it rains'}, 'problem : it rains'),
    ({'deploy_status_code': 3}, 'deploy_status_code : Deployment exited with non-zero status code: 3')])
def test_a_failure_in_an_object(it, result, reason):
    deployment_id = in_swift(it)
    left(it, json.dumps(result))
    assert collected(it, deployment_id)[:2] == ('FAILED', reason)


def test_a_result_in_a_queue(it):
    deployment_id = made(it, 'ZAQAR_SIGNAL', deploy_queue_id=QUEUE)
    with it._calls.unwatched():
        client(it, 'zaqar').queue(QUEUE).ensure_exists()
    assert collected(it, deployment_id) == WAITING
    with it._calls.unwatched():
        client(it, 'zaqar').queue(QUEUE).post({'body': RESULT, 'ttl': 60})
    assert collected(it, deployment_id) == FINISHED


@pytest.mark.parametrize('values', [
    {'deploy_stack_id': 's/1'}, {'deploy_signal_id': 'https://swift.example/v1/x'}, {'deploy_signal_id': 7},
    {'deploy_signal_id': None}])
def test_nothing_is_fetched_for_a_resource_of_a_stack_or_from_another_url(it, values):
    deployment_id = made(it, 'TEMP_URL_SIGNAL', **{'deploy_signal_id': 'https://s/v1/a/container/object', **values})
    before = it.count_requests()
    assert collected(it, deployment_id) == WAITING
    assert it.count_requests() == before


def test_nothing_is_fetched_once_there_is_a_result(it):
    deployment_id = in_swift(it)
    it.cluster.ask(messages.UpdateSoftwareDeployment(deployment_id, status='FAILED', status_reason='by hand'))
    left(it, json.dumps(RESULT))
    assert collected(it, deployment_id)[:2] == ('FAILED', 'by hand')


@pytest.mark.parametrize('number', [1, 2, 3])
def test_a_result_is_not_that_of_a_config_deployed_while_it_is_fetched(it, number):
    """`number`: of the statement after the first read of the deployment, before which the other one is deployed."""
    deployment_id = in_swift(it)
    left(it, json.dumps(RESULT))
    config_id = it.cluster.ask(messages.CreateSoftwareConfig(name='newer'))['id']
    (runtime, service), = it.cluster.engines
    ended = []

    def collect():
        service.endpoint.handle(it.cluster.context, messages.CollectDeployment(deployment_id))
        ended.append('collect')

    def deploy():
        runtime.sleep(0.5)
        service.endpoint.handle(it.cluster.context, messages.UpdateSoftwareDeployment(
            deployment_id, config_id=config_id, action='UPDATE', status='IN_PROGRESS'))
        ended.append('deploy')

    with statements.delayed(runtime, number, 'FROM software_deployment'):
        runtime.spawn(collect)
        runtime.spawn(deploy)
        assert it.cluster.universe.run(lambda: len(ended) == 2, limit=100.0)
    assert ended == ['deploy', 'collect']
    assert collected(it, deployment_id) == WAITING
