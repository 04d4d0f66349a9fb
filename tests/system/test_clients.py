"""What people use: python-heatclient, openstacksdk and the `openstack` command, against a listening process.

None of them knows that it does not talk to Heat.
"""

import json
import os
import pathlib
import subprocess
import sys

import openstack
import pytest
from heatclient import client as heatclient
from heatclient import exc
from openstack import exceptions as sdk_errors

from heatlite.common import build
from tests.system.processes import Program, eventually

COMMAND = pathlib.Path(sys.executable).with_name('openstack')
TEMPLATE = """
heat_template_version: 2018-08-31
description: A lamp
parameters:
  length: {type: number, default: 8, constraints: [{range: {min: 1, max: 100}}]}
  code: {type: string, hidden: true, default: abc}
resources:
  number: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
  lamp: {type: OS::Heat::TestResource, properties: {value: {get_attr: [number, value]}}}
outputs:
  number: {value: {get_attr: [number, value]}}
"""


@pytest.fixture(scope='module')
def url(tmp_path_factory):
    """Where a heatlite-all of our own listens, as the catalogue would name it."""
    folder = tmp_path_factory.mktemp('clients')
    program = Program(folder / 'log', '--state-dir', folder / 'state', '--port', '0', module='heatlite.cmd.all_in_one')
    said = program.process.stdout.readline().split()
    assert said, program.log.read_text()
    yield f'{said[-1]}/v1/admin'
    program.kill()


# --- python-heatclient -------------------------------------------------------------------------------------

@pytest.fixture
def heat(url):
    return heatclient.Client('1', endpoint=url, token='anything', username='admin', password='x')


def settled(heat, stack_id):
    def status():
        found = heat.stacks.get(stack_id)
        return None if found.status == 'IN_PROGRESS' else found
    return eventually('the end of the action', status)


def test_heatclient_from_birth_to_death(heat):
    made = heat.stacks.create(stack_name='one', template=TEMPLATE, parameters={'length': 5}, tags='a,b',
                              disable_rollback=False, timeout_mins=10)
    stack_id = made['stack']['id']
    stack = settled(heat, stack_id)
    assert (stack.stack_status, stack.tags, stack.timeout_mins) == ('CREATE_COMPLETE', ['a', 'b'], 10)
    assert stack.parameters['code'] == '******'
    assert len(stack.outputs[0]['output_value']) == 5
    assert heat.stacks.get('one').id == stack_id

    assert [each.resource_name for each in heat.resources.list('one')] == ['number', 'lamp']
    assert heat.resources.get('one', 'lamp', with_attr=['output']).attributes['output'] == (
        stack.outputs[0]['output_value'])
    assert heat.resources.metadata('one', 'lamp') == {}
    events = list(heat.events.list('one', sort_dir='asc'))
    assert (events[0].resource_name, events[0].resource_status) == ('one', 'CREATE_IN_PROGRESS')
    assert heat.events.get('one', 'number', next(
        each.id for each in events if each.resource_name == 'number')).resource_type == 'OS::Heat::RandomString'
    assert heat.stacks.template(stack_id)['description'] == 'A lamp'
    assert heat.stacks.environment(stack_id)['parameters'] == {'length': 5}
    assert heat.stacks.files(stack_id) == {}
    assert heat.stacks.output_list(stack_id)['outputs'][0]['output_key'] == 'number'

    changes = heat.stacks.preview_update(stack_id, template=TEMPLATE, parameters={'length': 6})['resource_changes']
    assert [each['resource_name'] for each in changes['replaced']] == ['number']
    heat.stacks.update(stack_id, existing=True, parameters={'length': 6})
    updated = settled(heat, stack_id)
    assert (updated.stack_status, len(updated.outputs[0]['output_value'])) == ('UPDATE_COMPLETE', 6)

    heat.actions.check(stack_id)
    assert settled(heat, stack_id).stack_status == 'CHECK_COMPLETE'
    heat.actions.suspend(stack_id)
    assert settled(heat, stack_id).stack_status == 'SUSPEND_COMPLETE'
    heat.actions.resume(stack_id)
    assert settled(heat, stack_id).stack_status == 'RESUME_COMPLETE'

    heat.stacks.delete('one')
    eventually('the end of the stack', lambda: not [each for each in heat.stacks.list() if each.id == stack_id])
    with pytest.raises(exc.HTTPNotFound):
        heat.stacks.get('one')


def test_heatclient_pages_by_itself(heat):
    for number in range(5):
        heat.stacks.create(stack_name=f'page{number}', template='heat_template_version: 2018-08-31')
    found = [each.stack_name for each in heat.stacks.list(page_size=2, filters={
        'stack_name': [f'page{number}' for number in range(5)]})]
    assert found == [f'page{number}' for number in reversed(range(5))]
    for name in found:
        heat.stacks.delete(name)


def test_heatclient_shows_our_words(heat):
    with pytest.raises(exc.HTTPBadRequest, match=r"Parameter 'length' is invalid: 900 is out of range"):
        heat.stacks.create(stack_name='wrong', template=TEMPLATE, parameters={'length': 900})
    with pytest.raises(exc.HTTPNotFound, match=r'The Stack \(nope\) could not be found'):
        heat.stacks.get('nope')


def test_heatclient_asks_what_there_is(heat):
    assert 'OS::Heat::RandomString' in [each.resource_type for each in heat.resource_types.list()]
    assert heat.resource_types.get('OS::Heat::RandomString')['properties']['length']['default'] == 32
    assert 'heat_template_version.2018-08-31' in [each.version for each in heat.template_versions.list()]
    assert [each.status for each in heat.services.list()] == ['up']
    assert heat.build_info.build_info()['api'] == {'revision': build.revision()}
    assert heat.stacks.validate(template=TEMPLATE)['Parameters']['code']['NoEcho'] == 'true'
    assert heat.stacks.preview(stack_name='p', template=TEMPLATE).resources[0]['resource_name'] == 'number'


# --- openstacksdk ------------------------------------------------------------------------------------------

def test_openstacksdk(url):
    cloud = openstack.connect(auth_type='none', endpoint=url, load_yaml_config=False, load_envvars=False)
    heat = cloud.orchestration
    stack = heat.create_stack(name='sdk', template=TEMPLATE, tags='a')
    stack = heat.wait_for_status(heat.get_stack(stack.id), status='CREATE_COMPLETE', failures=['CREATE_FAILED'],
                                 interval=0.1, wait=30)
    assert heat.find_stack('sdk').id == stack.id
    assert heat.find_stack('nope') is None
    assert [each.name for each in heat.stacks(limit=1)] == ['sdk']
    assert {each.name for each in heat.resources(stack)} == {'number', 'lamp'}
    assert heat.get_stack_template(stack).description == 'A lamp'
    assert heat.validate_template(TEMPLATE)['Description'] == 'A lamp'
    heat.update_stack(stack, template=TEMPLATE, parameters={'length': 3})
    stack = heat.wait_for_status(heat.get_stack(stack.id), status='UPDATE_COMPLETE', failures=['UPDATE_FAILED'],
                                 interval=0.1, wait=30)
    assert stack.parameters['length'] == '3'
    heat.check_stack(stack)
    heat.delete_stack(stack)

    def gone():
        try:
            heat.get_stack(stack.id)
        except sdk_errors.NotFoundException:
            return True
        return False

    eventually('the end of the stack', gone)


def test_openstacksdk_cloud_layer(url, tmp_path):
    """The calls that Ansible and scripts make: by name, waiting."""
    cloud = openstack.connect(auth_type='none', endpoint=url, load_yaml_config=False, load_envvars=False)
    file = tmp_path / 'lamp.yaml'
    file.write_text(TEMPLATE)
    made = cloud.create_stack('cloud', template_file=str(file), wait=True, timeout=60, length=6, tags=['a', 'b'])
    assert (made.status, made.parameters['length']) == ('CREATE_COMPLETE', '6')
    assert len(made.outputs[0]['output_value']) == 6
    assert [each.name for each in cloud.search_stacks('cloud')] == ['cloud']
    assert cloud.get_stack('cloud').id == made.id
    assert cloud.get_stack(made.id).name == 'cloud'
    assert 'cloud' in [each.name for each in cloud.list_stacks()]
    changed = cloud.update_stack('cloud', template_file=str(file), wait=True, timeout=60, length=7)
    assert (changed.status, changed.parameters['length']) == ('UPDATE_COMPLETE', '7')
    assert cloud.delete_stack('cloud', wait=True) is True
    assert cloud.get_stack('cloud') is None
    assert cloud.delete_stack('cloud') is False
    with pytest.raises(sdk_errors.SDKException):
        cloud.create_stack('cloud', template_file=str(file), wait=True, timeout=60, length=0)


def test_openstacksdk_more(url):
    """The rest of the proxy."""
    cloud = openstack.connect(auth_type='none', endpoint=url, load_yaml_config=False, load_envvars=False)
    heat = cloud.orchestration
    stack = heat.create_stack(name='more', template=TEMPLATE, files={'a.txt': 'words'}, environment={'parameters': {}})
    heat.wait_for_status(heat.get_stack(stack.id), status='CREATE_COMPLETE', failures=['CREATE_FAILED'], interval=0.1,
                         wait=30)
    assert heat.get_stack_files(stack) == {'a.txt': 'words'}
    assert heat.get_stack_environment(stack).parameters == {}
    assert [each.resource_name for each in heat.stack_events(stack)][-1] == 'more'
    assert heat.stack_events(stack, resource_name='number')
    heat.suspend_stack(stack)
    eventually('suspended', lambda: heat.get_stack(stack.id).status == 'SUSPEND_COMPLETE')
    heat.resume_stack(stack)
    eventually('resumed', lambda: heat.get_stack(stack.id).status == 'RESUME_COMPLETE')
    config = heat.create_software_config(name='say', group='script', config='echo', inputs=[], outputs=[], options={})
    assert heat.get_software_config(config.id).config == 'echo'
    assert config.id in [each.id for each in heat.software_configs()]
    deployment = heat.create_software_deployment(
        config_id=config.id, server_id='11111111-1111-4111-8111-111111111111', action='CREATE', status='IN_PROGRESS')
    changed = heat.update_software_deployment(deployment, status='COMPLETE', output_values={'a': 1})
    assert (changed.status, changed.output_values) == ('COMPLETE', {'a': 1})
    assert deployment.id in [each.id for each in heat.software_deployments()]
    heat.delete_software_deployment(deployment)
    heat.delete_software_config(config)
    heat.delete_stack(stack)


# --- the command line --------------------------------------------------------------------------------------

def run(url, *arguments):
    """What `openstack ...` prints."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=120,
                          env={**os.environ, 'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': url})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_openstack_command(url, tmp_path):
    file = tmp_path / 'lamp.yaml'
    # The command asks for events right after the delete, and prints none if the stack is gone by then.
    file.write_text(TEMPLATE.replace('{value:', '{action_wait_secs: {delete: 2}, value:', 1))
    made = run(url, 'stack', 'create', '-f', 'json', '--wait', '-t', str(file), '--parameter', 'length=4', 'line')
    assert json.loads(made[made.index('\n{'):])['stack_status'] == 'CREATE_COMPLETE'
    assert 'CREATE_COMPLETE' in run(url, 'stack', 'event', 'list', 'line', '--nested-depth', '2')
    assert len(json.loads(run(url, 'stack', 'output', 'show', '-f', 'json', 'line', 'number'))['output_value']) == 4
    assert 'Stack DELETE started' in run(url, 'stack', 'delete', '--yes', '--wait', 'line')


def test_the_openstack_command_shows_what_properties_do(url):
    shown = json.loads(run(url, 'orchestration', 'resource', 'type', 'show', '-f', 'json', 'OS::Heat::ResourceGroup'))
    assert shown['properties']['count']['description'] == 'Number of members.'
    assert shown['properties']['resource_def']['schema']['type']['description'] == 'Resource type of the members.'
    assert shown['attributes']['refs']['description'] == 'References of the members, such as their physical ids.'
    template = run(url, 'orchestration', 'resource', 'type', 'show', '--template-type', 'hot', 'OS::Heat::RandomString')
    assert 'description: Number of characters.' in template
