"""What agents get, and what templates read of deployments: members of groups, results of failed actions, empty configs,
settings of the collectors."""

from __future__ import annotations

import contextlib

import pytest

from heatlite.common import exception
from heatlite.engine.resources.openstack.heat.remote_stack import RemoteStack
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, outputs
from tests.simulation.openstack import stack
from tests.simulation.test_software import deployed, deployments, group, metadata, of_server, signal, waits

pytestmark = pytest.mark.usefixtures('guest_urls')

HOT = {'heat_template_version': '2018-08-31'}
PATHS = {                                   # of attributes of a group of deployments -> what they are
    ('deploy_stdouts',): {'a': 'out-a', 'b': 'out-b'}, ('deploy_stdouts', 'a'): 'out-a', ('deploy_stdouts', 'c'): None,
    ('deploy_status_codes', 'b'): 0, ('result',): {'a': {'k': ['x-a']}, 'b': {'k': ['x-b']}},
    ('result', 'b'): {'k': ['x-b']}, ('result', 'b', 'k'): ['x-b'], ('result', 'b', 'k', 0): 'x-b'}


def test_the_path_of_an_attribute_of_a_group_begins_with_the_member():
    wanted = group()
    wanted['outputs'] = {str(path): {'value': {'get_attr': ['group', *path]}} for path in PATHS}
    with Cluster() as cluster:
        stack_id = cluster.create('s', wanted)
        assert cluster.universe.run(lambda: len(deployments(cluster)) == 2, limit=100)
        child_id = cluster.states(stack_id)['group'][0][2]
        for name in 'ab':
            signal(cluster, child_id, name, result={'k': [f'x-{name}']}, deploy_stdout=f'out-{name}',
                   deploy_status_code=0)
        found = outputs(done(cluster, stack_id, 'CREATE'))
        assert found == {str(path): value for path, value in PATHS.items()}
        live = cluster.ask(messages.ResourceAttributes(stack_id, 'group', ('deploy_stdouts',)))
        assert live['deploy_stdouts'] == PATHS['deploy_stdouts',]


def test_an_output_shows_the_results_of_the_failed_update():
    """Not those of the action before, which a user who looks for the cause would take for them."""
    with Cluster() as cluster:
        stack_id = cluster.create('s', deployed())
        waits(cluster, stack_id, 'deployment', 'CREATE')
        signal(cluster, stack_id, 'deployment', result='good', deploy_status_code=0)
        assert outputs(done(cluster, stack_id, 'CREATE')) == {'result': 'good', 'code': 0}
        changed = deployed(input_values={'place': 'here', 'more': 'y'})
        cluster.update(stack_id, changed)
        waits(cluster, stack_id, 'deployment', 'UPDATE')
        signal(cluster, stack_id, 'deployment', result='bad', deploy_status_code=3)
        row = cluster.settle(stack_id)
        assert row.status == 'FAILED' and outputs(row) == {'result': 'bad', 'code': 3}
        found = cluster.ask(messages.ResolveOutputs(stack_id))
        assert {each['output_key']: each['output_value'] for each in found} == {'result': 'bad', 'code': 3}
        cluster.update(stack_id, changed)
        waits(cluster, stack_id, 'deployment', 'CREATE')        # one that has failed is replaced
        signal(cluster, stack_id, 'deployment', result='good again', deploy_status_code=0)
        assert outputs(done(cluster, stack_id, 'UPDATE')) == {'result': 'good again', 'code': 0}


def test_agents_get_no_null_where_they_expect_a_text_or_a_map():
    def deployment(kind, config):
        return {'type': f'OS::Heat::{kind}Deployment', 'properties': {
            'server': 'machine', 'signal_transport': 'NO_SIGNAL', 'name': f'{kind}-{config}',
            **({'config': {'get_resource': config}} if config else {})}}
    wanted = {**HOT, 'resources': {
        'structured': {'type': 'OS::Heat::StructuredConfig', 'properties': {}},
        'software': {'type': 'OS::Heat::SoftwareConfig', 'properties': {}},
        **{f'{kind}-{config}': deployment(kind, config) for kind, config in (
            ('Structured', 'structured'), ('Structured', None), ('Software', 'software'), ('Software', None))}}}
    with Cluster() as cluster:
        made = cluster.ask(messages.CreateSoftwareConfig(name='n', config=None))
        of_api = deployment('Software', 'api')
        of_api['properties']['config'] = made['id']
        wanted['resources']['api'] = of_api
        done(cluster, cluster.create('s', wanted), 'CREATE')
        found = {each.name: (each.group, each.config['config']) for each in of_server(cluster, 'machine')}
        assert found == {
            'Structured-structured': ('Heat::Ungrouped', {}), 'Structured-None': ('Heat::Ungrouped', {}),
            'Software-software': ('Heat::Ungrouped', ''), 'Software-None': ('Heat::Ungrouped', ''),
            'Software-api': ('Heat::Ungrouped', '')}


@pytest.mark.parametrize('kind, default, value', [
    ('CommaDelimitedList', 'a,b', ['a', 'b']), ('Number', '3', 3), ('Boolean', 'false', False),
    ('Json', {'a': 1}, {'a': 1}), ('String', 'x', 'x'), ('Number', '', ''), ('Number', None, 0)])
def test_the_default_of_an_input_has_its_type(kind, default, value):
    entry = {'name': 'i', 'type': kind, **({} if default is None else {'default': default})}
    with Cluster() as cluster:
        made = cluster.ask(messages.CreateSoftwareConfig(name='n', config='c', inputs=(entry,)))
        assert made['inputs'][0].get('default') == (None if default is None else value)
        done(cluster, cluster.create('s', {**HOT, 'resources': {
            'c': {'type': 'OS::Heat::SoftwareConfig', 'properties': {'inputs': [entry]}},
            'd': {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
                'config': {'get_resource': 'c'}, 'server': 'machine', 'signal_transport': 'NO_SIGNAL'}}}}), 'CREATE')
        derived, = of_server(cluster, 'machine')
        found = derived.config['inputs'][0]['value']
        assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize('kind, default', [('Boolean', 'yes'), ('Number', 'x'), ('String', {'a': 1})])
def test_a_default_of_another_type_is_refused(kind, default):
    entry = {'name': 'size', 'type': kind, 'default': default}
    with Cluster() as cluster:
        with pytest.raises(exception.HTTPBadRequest, match='The input size: '):
            cluster.ask(messages.CreateSoftwareConfig(name='n', config='c', inputs=(entry,)))
        row = cluster.settle(cluster.create('s', {**HOT, 'resources': {
            'c': {'type': 'OS::Heat::SoftwareConfig', 'properties': {'inputs': [entry]}}}}))
        assert row.status == 'FAILED' and 'The input size: ' in row.reason


def test_settings_of_the_collectors_reach_a_deployed_server():
    def server(**settings):
        return {**HOT, 'resources': {'server': {'type': 'OS::Heat::DeployedServer', 'metadata': {
            'os-collect-config': settings}}}}
    with Cluster() as cluster:
        stack_id = cluster.create('s', server(polling_interval=30, command='c30'))
        done(cluster, stack_id, 'CREATE')
        before = metadata(cluster, stack_id, 'server')
        cluster.update(stack_id, server(polling_interval=60, splay=5))
        done(cluster, stack_id, 'UPDATE')
        found = metadata(cluster, stack_id, 'server')
        assert found == {**before, 'os-collect-config': {
            **before['os-collect-config'], 'polling_interval': 60, 'splay': 5}}
        assert found['os-collect-config']['collectors'] == ['cfn', 'local']


@pytest.mark.parametrize('default, given, is_right', [
    ('HEAT_CFNTOOLS', None, False), ('SOFTWARE_CONFIG', None, True), ('SOFTWARE_CONFIG', 'RAW', False),
    ('HEAT_CFNTOOLS', 'SOFTWARE_CONFIG', True)])
def test_the_operators_default_format_is_the_format_of_a_server(cloud, default, given, is_right):
    wanted = {**HOT, 'resources': {
        's': {'type': 'OS::Nova::Server', 'properties': {
            'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'network': 'private'}],
            **({'user_data_format': given} if given else {})}},
        'd': {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
            'server': {'get_resource': 's'}, 'signal_transport': 'NO_SIGNAL'}}}}
    refused = contextlib.nullcontext() if is_right else pytest.raises(
        exception.StackValidationFailed, match='should be set to SOFTWARE_CONFIG')
    with stack(cloud, engines=1, default_user_data_format=default) as it, refused:
        it.cluster.ask(messages.PreviewStack(template=wanted, stack_name='s'))


class Elsewhere(RemoteStack):
    """Notes the environments that are sent to the other region."""

    sent: list = []

    is_service_available = classmethod(lambda cls, context: (True, None))

    def validate(self):
        return None

    def handle_create(self):
        self.sent.append(self._request()['environment'])
        self.resource_id_set('there')

    def check_create_complete(self, _handle=None):
        return True


@pytest.mark.parametrize('kind, properties', [
    ('OS::Heat::Stack', {'parameters': {'a': 1}}),
    ('OS::Heatlite::StackSet', {'parameters': {'a': 1}, 'members': [{'name': 'm'}]})])
def test_a_remote_stack_gets_the_environment_with_parameters_of_its_own(kind, properties):
    wanted = {**HOT, 'resources': {'r': {'type': kind, 'properties': {
        'template': 'heat_template_version: 2018-08-31', **properties}}}}
    Elsewhere.sent = []
    with Cluster() as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('OS::Heat::Stack', Elsewhere)
        done(cluster, cluster.create('s', wanted, {
            'parameter_defaults': {'size': 7}, 'resource_registry': {'My::T': 'OS::Heat::Value'}}), 'CREATE')
    sent, = Elsewhere.sent
    assert (sent['parameter_defaults'], sent['parameters'], sent['resource_registry']['My::T']) == (
        {'size': 7}, {'a': 1}, 'OS::Heat::Value')
