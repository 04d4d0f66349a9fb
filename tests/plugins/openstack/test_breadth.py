"""Database servers, containers and workflows in the simulated cloud."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

import pytest
import yaml
from oslo_config import cfg

from heatlite.common import exception
from tests.plugins.openstack.cloud import Cloud, Life

# --- OS::Trove::Instance ---------------------------------------------------------------------------------------

SERVER = {'flavor': 'm1.tiny', 'size': 1, 'databases': [{'name': 'shop'}, {'name': 'stock'}],
          'users': [{'name': 'clerk', 'password': 'secret', 'databases': ['shop']}]}


def test_database_server(cloud: Cloud):
    life = Life(cloud, 'OS::Trove::Instance', SERVER)
    life.validate()
    made = life.create()
    instances = cloud.client('trove').instances
    assert instances.get(made.resource_id).status == 'ACTIVE'
    assert instances.get(made.resource_id).name == made.physical_resource_name()
    assert life.writes_of(life.update, dict(SERVER)) == []
    life.update({**SERVER, 'name': 'shop-db', 'flavor': 'm1.small', 'size': 2, 'databases': [
        {'name': 'shop'}, {'name': 'orders'}], 'users': [{'name': 'clerk', 'password': 'other', 'databases': [
            'shop', 'orders']}, {'name': 'boss', 'password': 'secret', 'databases': ['orders']}]})
    found = instances.get(made.resource_id)
    assert (found.name, found.volume['size']) == ('shop-db', 2)
    assert found.flavor['id'] == cloud.plugin('trove').find_flavor_by_name_or_id('m1.small')
    http = cloud.client('trove').http
    inside = {what: {each['name'] for each in http.get(f'/instances/{made.resource_id}/{what}').json()[what]}
              for what in ('databases', 'users')}
    assert inside == {'databases': {'shop', 'orders'}, 'users': {'clerk', 'boss'}}
    granted = http.get(f'/instances/{made.resource_id}/users/clerk/databases').json()['databases']
    assert {each['name'] for each in granted} == {'shop', 'orders'}
    life.delete()
    life.delete()


def test_a_database_server_is_deleted_when_it_is_ready_for_it(cloud: Cloud):
    life = Life(cloud, 'OS::Trove::Instance', SERVER)
    made = life.create()
    resize = {'resize': {'volume': {'size': 2}}}
    cloud.client('trove').http.post(f'/instances/{made.resource_id}/action', json=resize)
    cloud.forget_requests()
    life.delete()
    assert [status for _service, method, _path, status in cloud.requests() if method == 'DELETE'][-2:] == [422, 202]


def test_names_of_databases_and_users_may_have_signs_of_urls(cloud: Cloud):
    """Else a request would mean the database or the user with the beginning of the name."""
    names, user = ['app', 'app#old', 'app?x', 'a b'], {'password': 'secret', 'databases': ['app']}
    life = Life(cloud, 'OS::Trove::Instance', {**SERVER, 'databases': [{'name': name} for name in names], 'users': [
        {'name': 'a', **user}, {'name': 'a?b', **user}, {'name': 'a#c', **user}]})
    made = life.create()
    life.update({**SERVER, 'databases': [{'name': 'app'}, {'name': 'a b'}], 'users': [
        {'name': 'a', **user}, {'name': 'a#c', **user, 'password': 'other', 'databases': ['a b']}]})
    http = cloud.client('trove').http
    inside = {what: {each['name'] for each in http.get(f'/instances/{made.resource_id}/{what}').json()[what]}
              for what in ('databases', 'users')}
    assert inside == {'databases': {'app', 'a b'}, 'users': {'a', 'a#c'}}
    life.delete()


def test_only_what_changes_of_a_user_is_sent(cloud: Cloud):
    """The service refuses the name and the host that a user has; its host is a part of its path."""
    user = {'name': 'clerk', 'password': 'secret', 'host': '10.0.0.%', 'databases': ['shop']}
    life = Life(cloud, 'OS::Trove::Instance', {**SERVER, 'users': [user]})
    made = life.create()
    users = f'/instances/{made.resource_id}/users'
    for change, there in (({'databases': ['shop', 'stock']}, '10.0.0.%'), ({'password': 'other'}, '10.0.0.%'),
                          ({'host': '10.0.1.%'}, '10.0.1.%')):
        user = {**user, **change}
        life.update({**SERVER, 'users': [user]})
        found, = cloud.client('trove').http.get(users).json()['users']
        assert found['host'] == there and {each['name'] for each in found['databases']} == set(user['databases'])
    life.delete()


@pytest.mark.parametrize('name', ['make#gpu', 'make?gpu', 'make/tasks', 'make '])
def test_a_name_is_not_taken_for_another_that_is_its_beginning(cloud: Cloud, name):
    client = cloud.client('mistral')
    client.workflows.create(yaml.safe_dump({'version': '2.0', 'make': {'tasks': {'a': {'action': 'std.noop'}}}}))
    with pytest.raises(exception.EntityNotFound):
        cloud.plugin('mistral').get_workflow_by_identifier(name)
    with pytest.raises(exception.EntityNotFound):
        cloud.plugin('nova').find_flavor_by_name_or_id(cloud.plugin('nova').find_flavor_by_name_or_id('m1.tiny') + '#x')
    clear(client)


def test_a_change_of_a_subscription_keeps_its_trust(cloud: Cloud):
    queue = Life(cloud, 'OS::Zaqar::Queue', {'name': 'q'}, name='q')
    queue.create()
    wanted = {'queue_name': 'q', 'subscriber': 'trust+http://one.example.org', 'ttl': 3600}
    life = Life(cloud, 'OS::Zaqar::Subscription', wanted)
    made = life.create()

    def options():
        answer = cloud.client('zaqar').http.get(f'/queues/q/subscriptions/{made.resource_id}').json()
        return answer['options']
    trust = options()['trust_id']
    life.update({**wanted, 'ttl': 7200, 'options': {'a': 'b'}})
    assert options() == {'a': 'b', 'trust_id': trust}
    life.update({**wanted, 'ttl': 7300, 'options': {'a': 'b'}})
    assert options() == {'a': 'b', 'trust_id': trust}
    with pytest.raises(exception.UpdateReplace):            # only a create makes a trust
        life.update({**wanted, 'subscriber': 'trust+http://two.example.org'})
    life.delete()
    queue.delete()


@pytest.mark.parametrize('change, text', [
    ({'databases': []}, 'Databases property is required'), ({'databases': [{'name': 'stock'}]}, 'does not exist'),
    ({'networks': [{}]}, 'Either network or port'), ({'datastore_version': '8'}, 'Not allowed'),
    ({'datastore_type': 'no-such'}, 'not known'), ({'datastore_type': 'mysql', 'datastore_version': '0'}, 'not valid')])
def test_wrong_database_servers(cloud: Cloud, change, text):
    with pytest.raises(exception.StackValidationFailed, match=text):
        Life(cloud, 'OS::Trove::Instance', {**SERVER, **change}).validate()


# --- OS::Zun::Container ----------------------------------------------------------------------------------------


def test_container(cloud: Cloud):
    wanted = {'image': 'cirros', 'command': 'sleep 1', 'cpu': 0.1, 'memory': 128, 'restart_policy': 'on-failure:2',
              'networks': [{'network': 'private'}], 'labels': {'a': 'b'}}
    life = Life(cloud, 'OS::Zun::Container', wanted)
    life.validate()
    made = life.create()
    containers = cloud.client('zun').containers
    found = containers.get(made.resource_id)
    assert (found.status, found.name, found.memory) == ('Running', made.physical_resource_name(), '128')
    assert found.restart_policy == {'Name': 'on-failure', 'MaximumRetryCount': '2'}
    assert life.attribute('addresses')
    assert life.writes_of(life.update, dict(wanted)) == []
    port = cloud.client('neutron').create_port({'port': {'network_id': cloud.network()}})['port']['id']
    life.update({**wanted, 'name': 'box', 'cpu': 0.2, 'networks': [{'port': port}]})
    assert containers.get(made.resource_id).name == 'box'
    assert [each.port_id for each in containers.network_list(made.resource_id)] == [port]
    life.delete()
    cloud.client('neutron').delete_port(port)
    life.delete()


def test_networks_of_a_container_are_detached_and_found_by_name(cloud: Cloud):
    wanted = {'image': 'cirros', 'command': 'sleep "1 m"', 'tty': True, 'networks': [{'network': 'private'}]}
    life = Life(cloud, 'OS::Zun::Container', wanted)
    made = life.create()
    containers = cloud.client('zun').containers
    found = containers.get(made.resource_id)
    assert (found.tty, found.command) == (True, ['sleep', '1 m'])
    addresses = life.attribute('addresses')
    assert set(addresses) == {'private', cloud.network()}
    assert addresses['private'] == addresses[cloud.network()] == found.addresses[cloud.network()]
    life.update({**wanted, 'networks': []})
    assert containers.network_list(made.resource_id) == []
    life.delete()


@pytest.mark.parametrize('change', [
    {'networks': [{}]}, {'mounts': [{'mount_path': '/a'}]}, {'restart_policy': 'always:3'},
    {'mounts': [{'mount_path': '/a', 'volume_size': 1, 'volume_id': 'x'}]}])
def test_wrong_containers(cloud: Cloud, change):
    with pytest.raises(exception.HeatException):
        Life(cloud, 'OS::Zun::Container', {'image': 'cirros', **change}).validate()


# --- networks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('kind, given', [
    ('OS::Neutron::Net', {}), ('OS::Neutron::ProviderNet', {'network_type': 'vxlan'})])
def test_segments_without_a_name_come_first(cloud: Cloud, simulator, kind, given):
    admin = Cloud(simulator, 'admin')
    life, http = Life(admin, kind, given), admin.client('neutron').http
    made = life.create()
    [first] = life.attribute('segments')
    http.put(f'/segments/{first["id"]}', json={'segment': {'name': 'first'}})
    http.post('/segments', json={'segment': {'network_id': made.resource_id, 'network_type': 'vxlan'}})
    assert [each['name'] for each in life.attribute('segments')] == [None, 'first']
    life.delete()


# --- OS::Mistral -----------------------------------------------------------------------------------------------

FLOW = {'type': 'direct', 'input': {'who': 'world'}, 'tasks': [
    {'name': 'hello', 'action': 'std.echo', 'input': {'output': '<% $.who %>'}, 'on_success': ['bye'],
     'policies': {'wait_before': 1}}, {'name': 'bye', 'action': 'std.noop'}]}


@pytest.fixture
def stack_domain(cloud: Cloud):
    """Users inside stacks live in a domain of their own."""
    for name, value in (('stack_user_domain_name', 'heat'), ('stack_domain_admin', 'heat_domain_admin'),
                        ('stack_domain_admin_password', 'secret')):
        cfg.CONF.set_override(name, value)
    yield
    for name in ('stack_user_domain_name', 'stack_domain_admin', 'stack_domain_admin_password'):
        cfg.CONF.clear_override(name)


def test_workflow_text(cloud: Cloud):
    life = Life(cloud, 'OS::Mistral::Workflow', {**FLOW, 'name': 'greet'})
    life.validate()
    flow = life.fresh('CREATE')
    flow.reparse()
    text = yaml.safe_load(flow.definition_of(flow.properties))
    assert text['version'] == '2.0' and text['greet']['type'] == 'direct' and text['greet']['input'] == ['who']
    assert text['greet']['tasks']['hello'] == {
        'action': 'std.echo', 'input': {'output': '<% $.who %>'}, 'on-success': ['bye'], 'wait-before': 1}


def test_workflow(cloud: Cloud, stack_domain):
    life = Life(cloud, 'OS::Mistral::Workflow', FLOW)
    made = life.create()
    workflows = cloud.client('mistral').workflows
    assert workflows.get(made.resource_id).name == made.resource_id == made.get_reference_id()
    assert life.writes_of(life.update, dict(FLOW)) == []
    life.update({**FLOW, 'tasks': FLOW['tasks'][1:]})
    assert 'hello' not in workflows.get(made.resource_id).definition
    life.fresh('UPDATE', 'COMPLETE').handle_signal({'input': {'who': 'you'}})
    cloud.advance(1)
    assert [each['input']['who'] for each in life.attribute('executions')] == ['you']
    with pytest.raises(exception.Error, match='unknown'):
        life.fresh('UPDATE', 'COMPLETE').handle_signal({'input': {'unknown': 1}})
    life.delete()
    with pytest.raises(Exception, match='404'):
        workflows.get(made.resource_id)


@pytest.mark.parametrize('kept', [','.join, lambda ids: json.dumps(list(reversed(ids)))])
def test_executions_that_heat_or_an_earlier_release_has_noted(cloud: Cloud, stack_domain, kept):
    """Heat notes their ids joined by commas, the newest first."""
    life = Life(cloud, 'OS::Mistral::Workflow', FLOW)
    made = life.create()
    executions = cloud.client('mistral').executions
    ids = [executions.create(workflow_name=made.resource_id, input=json.dumps({'who': who}), params='{}').id
           for who in ('newer', 'older')]
    cloud.advance(1)
    life.fresh('CREATE', 'COMPLETE').data_set('executions', kept(ids))
    life.fresh('UPDATE', 'COMPLETE').handle_signal({'input': {'who': 'you'}})
    assert [each['input']['who'] for each in life.attribute('executions')] == ['you', 'newer', 'older']
    cloud.advance(1)
    life.delete()
    assert not {each.id for each in executions.list()} & set(ids)


@pytest.mark.parametrize('change', [
    {'type': 'reverse'}, {'tasks': [{'name': 'a', 'action': 'b', 'workflow': 'c'}]},
    {'tasks': [{'name': 'a', 'requires': ['b']}]}])
def test_wrong_workflows(cloud: Cloud, change):
    with pytest.raises(exception.HeatException):
        Life(cloud, 'OS::Mistral::Workflow', {**FLOW, **change}).validate()


def clear(client) -> None:
    """Delete the workflows and their executions."""
    for collection in (client.executions, client.workflows):
        for each in collection.list():
            collection.delete(each)


def test_what_a_workflow_makes(cloud: Cloud):
    client = cloud.client('mistral')
    client.workflows.create(yaml.safe_dump({'version': '2.0', 'make': {'input': ['size'], 'tasks': {
        'a': {'action': 'std.noop'}}}}))
    wanted = {'actions': {'CREATE': {'workflow': 'make'}, 'UPDATE': {'workflow': 'make'}}, 'input': {'size': 1},
              'replace_on_change_inputs': ['kind']}
    life = Life(cloud, 'OS::Mistral::ExternalResource', wanted)
    life.create()
    assert len(client.executions.list()) == 1 and life.attribute('output') == {'size': 1}
    assert life.writes_of(life.update, dict(wanted)) == []
    life.update({**wanted, 'input': {'size': 2}})
    assert json.loads(client.executions.list()[-1].input)['size'] == 2
    with pytest.raises(exception.UpdateReplace):
        life.update({**wanted, 'input': {'size': 2, 'kind': 'other'}})
    with pytest.raises(exception.UpdateReplace):        # the list of the new template counts
        life.update({**wanted, 'input': {'size': 3}, 'replace_on_change_inputs': ['size']})
    life.delete()
    clear(client)


def test_later_workflows_get_what_the_former_ones_returned(cloud: Cloud):
    """In the environment, as the service refuses inputs that a workflow does not declare."""
    client, noop = cloud.client('mistral'), {'a': {'action': 'std.noop'}}
    client.workflows.create(yaml.safe_dump({'version': '2.0', 'make': {
        'input': ['size', {'more': ''}], 'tasks': noop}}))
    client.workflows.create(yaml.safe_dump({'version': '2.0', 'other': {
        'input': [{'more': ''}, {'size': 0}], 'tasks': noop}}))
    actions = {'CREATE': {'workflow': 'make'}, 'UPDATE': {'workflow': 'other', 'params': {'env': {'x': 1}}},
               'SUSPEND': {'workflow': 'other'}, 'DELETE': {'workflow': 'other'}}
    life = Life(cloud, 'OS::Mistral::ExternalResource', {'actions': actions, 'input': {'size': 1, 'more': 'm'}})
    life.create()
    life.update({'actions': actions, 'input': {'more': 'n'}})
    assert life.attribute('output') == {'size': 1, 'more': 'n'}
    life.run('SUSPEND')
    life.run('DELETE')
    sent = [(json.loads(each.input), json.loads(each.params)) for each in client.executions.list()]
    former = {'heat_extresource_data': {'size': 1, 'more': 'm'}}
    latter = {'heat_extresource_data': {'size': 1, 'more': 'n'}}
    assert sent == [({'size': 1, 'more': 'm'}, {}), ({'more': 'n'}, {'env': {'x': 1, **former}}),
                    ({'more': 'n'}, {'env': latter}), ({'more': 'n'}, {'env': latter})]
    clear(client)


def test_a_workflow_that_declares_the_id_as_input_gets_it(cloud: Cloud):
    client = cloud.client('mistral')
    for name, declared in (('make', ['size']), ('end', [{'size': 0}, 'resource_id'])):
        client.workflows.create(yaml.safe_dump({'version': '2.0', name: {
            'input': declared, 'tasks': {'a': {'action': 'std.noop'}}}}))
    life = Life(cloud, 'OS::Mistral::ExternalResource', {
        'actions': {'CREATE': {'workflow': 'make'}, 'DELETE': {'workflow': 'end'}}, 'input': {'size': 1}})
    made = life.create()
    life.delete()
    assert [json.loads(each.input) for each in client.executions.list()] == [
        {'size': 1}, {'size': 1, 'resource_id': made.resource_id}]
    clear(client)


@pytest.mark.parametrize('name, properties', [
    ('AWS::EC2::Instance', {'ImageId': 'cirros', 'InstanceType': 'm1.tiny'}), ('AWS::S3::Bucket', {})])
def test_types_of_amazon_show_their_own_attributes(cloud: Cloud, name, properties):
    """Not what the service says; whether the object is there is found all the same."""
    life = Life(cloud, name, properties)
    life.create()
    made = life.fresh('CREATE', 'COMPLETE')
    assert life.attribute('show') is None
    assert made.get_live_resource_data()
    made.handle_delete()
    for _try in range(20):
        cloud.runtime.sleep(1)
    with pytest.raises(exception.EntityNotFound):
        made.get_live_resource_data()
    life.delete()


def test_headers_of_a_container_have_names_in_small_letters(cloud: Cloud):
    life = Life(cloud, 'OS::Swift::Container', {'X-Container-Meta': {'Colour': 'red'}})
    life.create()
    shown = life.attribute('show')
    assert shown['x-container-meta-colour'] == 'red'
    assert [name for name in shown if name != name.lower()] == []
    assert shown.keys() == life.attribute('HeadContainer').keys()
    life.delete()


def test_metadata_of_a_container_are_utf_8(cloud: Cloud):
    life = Life(cloud, 'OS::Swift::Container', {'X-Container-Meta': {'Owner': 'Jürgen', 'Price': '5 €'}})
    made = life.create()
    shown, listed = life.attribute('show'), cloud.client('swift').head_container(made.resource_id)
    assert [(each['x-container-meta-owner'], each['x-container-meta-price']) for each in (shown, listed)] == [
        ('Jürgen', '5 €')] * 2
    cloud.client('swift').post_container(made.resource_id, {'X-Container-Meta-Owner': 'Zoë'})
    assert cloud.client('swift').head_container(made.resource_id)['x-container-meta-owner'] == 'Zoë'
    life.delete()


@pytest.mark.parametrize('kind, wrong', [
    ('OS::Swift::Container', {'X-Container-Meta': {'Größe': '5'}}),
    ('OS::Swift::Container', {'X-Account-Meta': {'Größe': '5'}}),
    ('AWS::S3::Bucket', {'Tags': [{'Key': 'Größe', 'Value': '5'}]})])
def test_names_of_metadata_that_no_header_can_have_are_refused(cloud: Cloud, kind, wrong):
    with pytest.raises(exception.StackValidationFailed, match='Größe.*ASCII'):
        Life(cloud, kind, wrong).validate()


def test_the_address_of_a_queue_is_whole(cloud: Cloud):
    life = Life(cloud, 'OS::Zaqar::Queue', {'name': 'a b'})
    life.create()
    address = life.attribute('href')
    assert address == f'{cloud.client("zaqar").api_url.rstrip("/")}/queues/a%20b' and '/v2/queues/' in address
    assert address.startswith('http')
    life.delete()


def test_a_signed_url_of_a_queue_names_the_queue(cloud: Cloud):
    queue = Life(cloud, 'OS::Zaqar::Queue', {'name': 'post'}, name='queue')
    queue.create()
    life = Life(cloud, 'OS::Zaqar::SignedQueueURL', {'queue': 'post', 'methods': ['GET', 'POST']})
    life.create()
    said = dict(parse_qsl(life.attribute('query_str')))
    assert said['queue_name'] == 'post'
    assert said['methods'] == 'GET,POST'
    assert life.attribute('methods') == ['GET', 'POST']
    assert life.attribute('paths') == ['/v2/queues/post/messages']
    life.delete()
    queue.delete()


@pytest.mark.parametrize('given', [{}, {'AccessControl': 'Private'}])
def test_a_bucket_is_for_the_user_of_the_stack(cloud: Cloud, given):
    life = Life(cloud, 'AWS::S3::Bucket', given)
    made = life.create()
    owner = f'{made.context.tenant or made.context.project_id}:{made.context.username}'
    headers = cloud.client('swift').head_container(made.resource_id)
    assert (headers['x-container-read'], headers['x-container-write']) == (owner, owner)
    life.delete()
