"""The template of this folder in a heatlite of its own, which is killed at the worst moments."""

import copy

import pytest
from qingcloud_stand_in import KEY_ID, SECRET, running

from tests.system import alone
from tests.system.processes import ask, eventually, finished

PASSWORD = 'Correct-horse-1'
ONE = {'heat_template_version': '2018-08-31', 'resources': {'server': {
    'type': 'COM::TwoFellows::Server', 'properties': {
        'image_id': 'img-1', 'cpu': 1, 'memory': 1024, 'login_mode': 'passwd', 'login_passwd': PASSWORD}}}}


@pytest.fixture
def template(request):
    return (request.path.parent / 'template.yaml').read_text()


@pytest.fixture
def cloud():
    with running() as cloud:
        yield cloud


@pytest.fixture
def heatlite(cloud, request, tmp_path):
    (tmp_path / 'plugins').mkdir()
    (tmp_path / 'plugins' / 'twofellows').symlink_to(request.path.parent / 'twofellows')
    options = (f'[twofellows]\nendpoint = {cloud.url}\naccess_key_id = {KEY_ID}\nsecret_access_key = {SECRET}\n'
               'zone = pek3\n')
    with alone.running(tmp_path, tmp_path / 'plugins', options) as heatlite:
        yield heatlite


def test_a_whole_life(heatlite, cloud, template):
    given = {'password': PASSWORD, 'address': 'eip-1'}
    stack = heatlite.create('shop', template, **given)
    assert finished(stack) == 'CREATE_COMPLETE'
    (server,), (key,) = cloud.alive(), cloud.keypairs
    assert server['instance_name'] == 'shop' and server['keypair_ids'] == [key]
    assert heatlite.outputs(stack) == {'url': 'http://203.0.113.7/', 'inner_address': server['vxnets'][0]['private_ip'],
                                       'private_key': f'-----BEGIN {key}-----'}
    assert heatlite.update(stack, template, **given, size='s1.large.r1') == 'UPDATE_COMPLETE'
    assert [each['instance_type'] for each in cloud.alive()] == ['s1.large.r1']
    assert heatlite.act(stack, 'suspend') == 'SUSPEND_COMPLETE' and server['status'] == 'stopped'
    assert heatlite.act(stack, 'resume') == 'RESUME_COMPLETE' and server['status'] == 'running'
    assert heatlite.act(stack, 'check') == 'CHECK_COMPLETE'
    heatlite.delete(stack)
    assert (cloud.alive(), cloud.keypairs, cloud.eips['eip-1']['status']) == ([], {}, 'available')
    assert cloud.said('RunInstances') == ['RunInstances']
    assert PASSWORD not in heatlite.log and SECRET not in heatlite.log


def test_killed_while_the_server_is_being_ordered(heatlite, cloud):
    cloud.fault('RunInstances', 'hold')             # the server is made, and nobody was told so far
    stack = heatlite.create('one', ONE)
    assert cloud.held.wait(60)
    heatlite.kill()
    cloud.go_on.set()
    heatlite.start()
    assert finished(stack) == 'CREATE_COMPLETE'
    (server,) = cloud.instances
    assert heatlite.resource(stack, 'server')['physical_resource_id'] == server
    assert cloud.said('RunInstances') == ['RunInstances']
    heatlite.delete(stack)
    assert not cloud.alive()


def test_killed_while_the_server_boots(heatlite, cloud):
    cloud.turns = 10
    stack = heatlite.create('one', ONE)
    eventually('the server', lambda: cloud.said('DescribeInstances'))
    heatlite.kill()
    heatlite.start()
    assert finished(stack) == 'CREATE_COMPLETE'
    assert cloud.said('RunInstances') == ['RunInstances'] and len(cloud.alive()) == 1


def test_killed_while_the_size_changes(heatlite, cloud):
    stack = heatlite.create('one', ONE)
    assert finished(stack) == 'CREATE_COMPLETE'
    cloud.turns = 10
    bigger = copy.deepcopy(ONE)
    bigger['resources']['server']['properties']['cpu'] = 4
    assert ask('PUT', stack, {'template': bigger})[0] == 202
    eventually('the resize', lambda: cloud.said('ResizeInstances'))
    heatlite.kill()
    heatlite.start()
    assert finished(stack) == 'UPDATE_COMPLETE'
    (server,) = cloud.alive()
    assert (server['vcpus_current'], server['status']) == (4, 'running')
    assert cloud.said('RunInstances', 'ResizeInstances') == ['RunInstances', 'ResizeInstances']


def test_killed_while_the_server_goes(heatlite, cloud):
    stack = heatlite.create('one', ONE)
    assert finished(stack) == 'CREATE_COMPLETE'
    cloud.turns = 10
    ask('DELETE', stack)
    eventually('the termination', lambda: cloud.said('TerminateInstances'))
    heatlite.kill()
    heatlite.start()
    assert finished(stack) == 'DELETE_COMPLETE'
    assert not cloud.alive() and cloud.said('TerminateInstances') == ['TerminateInstances']


def test_a_quota_fails_the_stack_and_leaves_nothing(heatlite, cloud):
    cloud.quota = 0
    stack = heatlite.create('one', ONE)
    assert finished(stack) == 'CREATE_FAILED'
    assert 'quota exceeded' in ask('GET', stack)[1]['stack']['stack_status_reason']
    heatlite.delete(stack)
    assert not cloud.instances
