"""Configs, deployments, and what servers are told and tell."""

from __future__ import annotations

import email

import pytest
import sqlalchemy as sa

from heatlite.common import exception, limits
from heatlite.common.context import RequestContext
from heatlite.db import resource_lists, software_configs, software_deployments
from heatlite.db.errors import Contention
from heatlite.engine.requests import software_lengths
from heatlite.engine.resources.openstack.heat import resource_group
from heatlite.rpc import messages
from tests.simulation import statements, stores
from tests.simulation.cluster import (
    PROJECT,
    Cluster,
    done,
    kill_engines_in,
    kill_the_owner,
    lose_database_in,
    outputs,
    wait,
)

pytestmark = pytest.mark.usefixtures('guest_urls')

SERVERS = [each for each in stores.AVAILABLE if each != stores.SQLITE]      # SQLite has one writer at a time


def deployed(**given):
    server = {'type': 'OS::Heat::DeployedServer', 'metadata': {'own': 1}}
    source = {'type': 'OS::Heat::SoftwareConfig', 'properties': {
        'group': 'script', 'config': '#!/bin/sh', 'inputs': [
            {'name': 'size', 'type': 'Number', 'default': 3}, {'name': 'place', 'replace_on_change': True}],
        'outputs': [{'name': 'result'}, {'name': 'problem', 'error_output': True}]}}
    deployment = {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
        'config': {'get_resource': 'config'}, 'server': {'get_resource': 'server'},
        'input_values': {'place': 'here', 'more': 'x'}, 'name': 'first', **given}}
    return {'heat_template_version': '2018-08-31',
            'resources': {'server': server, 'config': source, 'deployment': deployment},
            'outputs': {'result': {'value': {'get_attr': ['deployment', 'result']}},
                        'code': {'value': {'get_attr': ['deployment', 'deploy_status_code']}}}}


def signal(cluster, stack_id, name, **details):
    return cluster.ask(messages.SignalResource(stack_id, name, details, False))


def waits(cluster, stack_id, name, action):
    """Until the deployment of the resource waits for its server."""
    def is_waiting():
        if cluster.states(stack_id).get(name, [((), ())])[-1][:2] != (action, 'IN_PROGRESS'):
            return False
        found = [each for each in deployments(cluster) if each.id == cluster.states(stack_id)[name][-1][2]]
        return bool(found) and (found[0].action, found[0].status) == (action, 'IN_PROGRESS')
    assert cluster.universe.run(is_waiting, limit=100)


def deployments(cluster):
    with cluster.database.reader() as tx:
        return software_deployments.page(tx, PROJECT)[0]


def configs(cluster):
    with cluster.database.reader() as tx:
        return software_configs.page(tx, PROJECT)


def of_server(cluster, server_id):
    with cluster.database.reader() as tx:
        return software_deployments.configs_of_server(tx, PROJECT, server_id)


def metadata(cluster, stack_id, name):
    with cluster.database.reader() as tx:
        return resource_lists.by_name(tx, stack_id, name)[-1].metadata


def told(cluster, stack_id):
    return [event[1:] for event in cluster.events(stack_id) if event[1] == 'SIGNAL']


def test_a_deployment_waits_for_its_server():
    with Cluster() as cluster:
        stack_id = cluster.create('s', deployed())
        waits(cluster, stack_id, 'deployment', 'CREATE')
        server_id = cluster.states(stack_id)['server'][0][2]
        found = metadata(cluster, stack_id, 'server')
        assert found['own'] == 1
        assert found['os-collect-config']['collectors'] == ['cfn', 'local']
        assert found['os-collect-config']['cfn']['path'] == 'server.Metadata'
        told_to_server, = found['deployments']
        assert told_to_server['id'] == of_server(cluster, server_id)[0].id
        assert (told_to_server['name'], told_to_server['group'], told_to_server['config']) == (
            'first', 'script', '#!/bin/sh')
        inputs = {entry['name']: entry['value'] for entry in told_to_server['inputs']}
        assert list(inputs)[:8] == ['size', 'place', 'more', 'deploy_server_id', 'deploy_action', 'deploy_stack_id',
                                    'deploy_resource_name', 'deploy_signal_transport']
        assert (inputs['size'], inputs['place'], inputs['more'], inputs['deploy_server_id'], inputs['deploy_action'],
                inputs['deploy_stack_id']) == (3, 'here', 'x', server_id, 'CREATE', f's/{stack_id}')

        signal(cluster, stack_id, 'deployment', result='r', deploy_stdout='out', deploy_status_code=0, other='dropped')
        row = done(cluster, stack_id, 'CREATE')
        assert outputs(row) == {'result': 'r', 'code': 0}
        record, = deployments(cluster)
        assert (record.status, record.status_reason) == ('COMPLETE', 'Outputs received')
        assert record.output_values == {'result': 'r', 'deploy_stdout': 'out', 'deploy_stderr': None,
                                        'deploy_status_code': 0}
        assert told(cluster, stack_id) == [('SIGNAL', 'IN_PROGRESS', f'Signal: deployment {record.id} succeeded')]

        signal(cluster, stack_id, 'deployment', result='late')
        cluster.universe.run(lambda: len(told(cluster, stack_id)) == 2, limit=20)
        assert told(cluster, stack_id)[1] == ('SIGNAL', 'COMPLETE', 'Unknown')
        assert deployments(cluster)[0].output_values['result'] == 'r'


@pytest.mark.parametrize('details, reason, event', [
    ({'deploy_status_code': 5}, 'deploy_status_code : Deployment exited with non-zero status code: 5', 'failed (5)'),
    ({'problem': 'p'}, 'problem : p', 'failed'),
    ({'problem': 'p', 'deploy_status_code': '1'},
     'problem : p, deploy_status_code : Deployment exited with non-zero status code: 1', 'failed (1)')])
def test_a_server_says_that_it_failed(details, reason, event):
    with Cluster() as cluster:
        stack_id = cluster.create('s', deployed())
        waits(cluster, stack_id, 'deployment', 'CREATE')
        signal(cluster, stack_id, 'deployment', **details)
        row = cluster.settle(stack_id)
        assert row.reason == ('Resource CREATE failed: Error: resources.deployment: '
                              f'Deployment to server failed: {reason}')
        assert told(cluster, stack_id)[0][2].endswith(f' {event}')


def test_nobody_waits():
    with Cluster() as cluster:
        stack_id = cluster.create('s', deployed(signal_transport='NO_SIGNAL'))
        done(cluster, stack_id, 'CREATE')
        record, = deployments(cluster)
        assert (record.status, record.status_reason) == ('COMPLETE', 'Not waiting for outputs signal')


def test_an_update_deploys_again():
    with Cluster() as cluster:
        stack_id = cluster.create('s', deployed(signal_transport='NO_SIGNAL'))
        done(cluster, stack_id, 'CREATE')
        record, = deployments(cluster)
        cluster.update(stack_id, deployed(signal_transport='NO_SIGNAL', input_values={'place': 'here', 'size': 4}))
        done(cluster, stack_id, 'UPDATE')
        again, = deployments(cluster)
        assert again.id == record.id and again.config_id != record.config_id and again.action == 'UPDATE'
        assert len(configs(cluster)) == 2, 'the old derived config is gone'
        found, = metadata(cluster, stack_id, 'server')['deployments']
        assert found['id'] == again.config_id

        cluster.update(stack_id, deployed(signal_transport='NO_SIGNAL', input_values={'place': 'there'}))
        done(cluster, stack_id, 'UPDATE')
        assert [each.id for each in deployments(cluster)] != [record.id], 'this input replaces'
        assert len(deployments(cluster)) == 1

        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert deployments(cluster) == [] and configs(cluster) == []


def test_it_is_deployed_when_it_is_deleted():
    with Cluster() as cluster:
        stack_id = cluster.create('s', deployed(actions=['DELETE']))
        done(cluster, stack_id, 'CREATE')
        assert deployments(cluster) == []
        cluster.update(stack_id, deployed(actions=['CREATE', 'UPDATE', 'DELETE']))
        waits(cluster, stack_id, 'deployment', 'UPDATE')
        signal(cluster, stack_id, 'deployment')
        done(cluster, stack_id, 'UPDATE')
        cluster.delete(stack_id)
        waits(cluster, stack_id, 'deployment', 'DELETE')
        assert not cluster.universe.run(lambda: cluster.row(stack_id).status == 'COMPLETE', limit=30), 'it waits'
        signal(cluster, stack_id, 'deployment')
        done(cluster, stack_id, 'DELETE')
        assert deployments(cluster) == [] and configs(cluster) == []


@pytest.mark.parametrize('transport', ['HEAT_SIGNAL', 'CFN_SIGNAL'])
def test_it_is_deployed_only_when_it_is_deleted(transport):
    with Cluster() as cluster:
        stack_id = cluster.create('s', deployed(actions=['DELETE'], signal_transport=transport))
        done(cluster, stack_id, 'CREATE')
        assert deployments(cluster) == []
        cluster.delete(stack_id)
        waits(cluster, stack_id, 'deployment', 'DELETE')
        signal(cluster, stack_id, 'deployment')
        done(cluster, stack_id, 'DELETE')
        assert deployments(cluster) == [] and configs(cluster) == []


def again(cluster, stack_id):
    cluster.delete(stack_id)


@pytest.mark.parametrize('meanwhile', [again, kill_the_owner])
def test_a_signal_to_what_is_being_deleted_arrives(meanwhile):
    with Cluster() as cluster:
        stack_id = cluster.create('s', deployed(actions=['DELETE']))
        done(cluster, stack_id, 'CREATE')
        cluster.delete(stack_id)
        waits(cluster, stack_id, 'deployment', 'DELETE')
        meanwhile(cluster, stack_id)
        wait(cluster, 60)
        signal(cluster, stack_id, 'deployment')
        done(cluster, stack_id, 'DELETE')
        assert deployments(cluster) == [] and configs(cluster) == []


def test_a_deletion_ends_the_waiting():
    with Cluster() as cluster:
        stack_id = cluster.create('s', deployed())
        waits(cluster, stack_id, 'deployment', 'CREATE')
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert deployments(cluster) == []


def test_a_deployment_is_cancelled_also_before_its_id_is_noted():
    """It has the id of the resource, and a server may see it before the resource has noted that it was made."""
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', deployed())
        waits(cluster, stack_id, 'deployment', 'CREATE')
        errors = []

        def cancel(service):
            stack = service.reader.read(stack_id)
            resource = stack['deployment']
            resource.resource_id = None
            try:
                resource.handle_create_cancel(None)
            except exception.NotFound as error:
                errors.append(error)

        runtime, service = cluster.engines[0]
        runtime.spawn(cancel, service)
        assert cluster.universe.run(lambda: errors or deployments(cluster)[0].status == 'FAILED', limit=10)
        assert not errors
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')


def test_structured_and_component_configs():
    wanted = {'heat_template_version': '2018-08-31', 'resources': {
        'map': {'type': 'OS::Heat::StructuredConfig', 'properties': {
            'config': {'a': {'get_input': 'x'}, 'b': [{'get_input': 'none'}, 'kept']}, 'inputs': [{'name': 'x'}]}},
        'parts': {'type': 'OS::Heat::SoftwareComponent', 'properties': {'configs': [
            {'actions': ['CREATE'], 'config': 'c', 'tool': 'script'},
            {'actions': ['UPDATE'], 'config': 'u', 'tool': 'script'}]}},
        'cloud': {'type': 'OS::Heat::CloudConfig', 'properties': {'cloud_config': {'runcmd': ['ls']}}},
        'mime': {'type': 'OS::Heat::MultipartMime', 'properties': {'parts': [
            {'config': {'get_resource': 'cloud'}, 'filename': 'cloud-config.txt'}]}},
        'one': {'type': 'OS::Heat::StructuredDeployment', 'properties': {
            'config': {'get_resource': 'map'}, 'server': 'machine', 'input_values': {'x': 1},
            'signal_transport': 'NO_SIGNAL'}},
        'two': {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
            'config': {'get_resource': 'parts'}, 'server': 'machine', 'signal_transport': 'NO_SIGNAL'}}},
        'outputs': {name: {'value': {'get_attr': path}} for name, path in {
            'cloud': ['cloud', 'config'], 'mime': ['mime', 'config'], 'parts': ['parts', 'config']}.items()}}
    with Cluster() as cluster:
        row = done(cluster, cluster.create('s', wanted), 'CREATE')
        found = outputs(row)
        assert found['cloud'] == '#cloud-config\nruncmd:\n- ls\n'
        assert 'Content-Type: text/cloud-config' in found['mime'] and '#cloud-config' in found['mime']
        assert [entry['config'] for entry in found['parts']] == ['c', 'u']
        by_group = {each.group: each.config for each in of_server(cluster, 'machine')}
        assert by_group['Heat::Ungrouped']['config'] == {'a': 1, 'b': [None, 'kept']}
        assert by_group['component']['config']['configs'][0]['actions'] == ['CREATE']


@pytest.mark.parametrize('places, error', [
    (200, 'max_template_expansion'), (40, 'max_evaluation_result'), (20, f'{limits.MOST_METADATA} that one')])
def test_the_inputs_of_a_map_count_in_each_of_their_places(monkeypatch, places, error):
    """300 kB in 200 places would be 60 MB, which no packet of a database takes. What the budget allows is refused
    before it is stored, if it is more than a server may have."""
    stored = []
    insert = software_configs.insert
    monkeypatch.setattr(software_configs, 'insert', lambda tx, new: (stored.append(new), insert(tx, new)))
    with Cluster() as cluster:
        row = cluster.settle(cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            'map': {'type': 'OS::Heat::StructuredConfig', 'properties': {
                'config': {'k': [{'get_input': 'a'}] * places}}},
            'one': {'type': 'OS::Heat::StructuredDeployment', 'properties': {
                'config': {'get_resource': 'map'}, 'server': 'machine', 'input_values': {'a': 'x' * 300_000},
                'signal_transport': 'NO_SIGNAL'}}}}))
        assert row.status == 'FAILED' and error in row.reason
        assert [len(str(each.config)) < 100_000 for each in stored] == [True]


def test_a_stored_config_counts_in_each_part_of_a_message():
    with Cluster() as cluster:
        config_id = config_of(cluster, 900_000)
        row = cluster.settle(cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            'mime': {'type': 'OS::Heat::MultipartMime', 'properties': {
                'parts': [{'config': config_id}] * 100}}}}))
        assert row.status == 'FAILED' and 'max_evaluation_result' in row.reason


def test_the_copies_of_a_members_definition_are_measured_before_they_are_made(monkeypatch):
    copies = []
    build = resource_group.ResourceGroup.build_resource_definition
    monkeypatch.setattr(resource_group.ResourceGroup, 'build_resource_definition',
                        lambda self, name, given: (copies.append(name), build(self, name, given))[1])
    with Cluster() as cluster:
        row = cluster.settle(cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            'group': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 600, 'resource_def': {
                'type': 'OS::Heat::Value', 'properties': {'value': '%index%' + 'x' * 400_000}}}}}}))
        assert row.status == 'FAILED' and 'max_template_expansion' in row.reason
    assert set(copies) <= {'0'}


def mime(**part):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'random': {'type': 'OS::Heat::RandomString', 'properties': {'length': 300}},
        'mime': {'type': 'OS::Heat::MultipartMime', 'properties': {'parts': [{'config': 'c', **part}]}}}}


@pytest.mark.parametrize('part', [
    {'filename': 'f x' * 14_000}, {'subtype': 'f x' * 14_000}, {'filename': 'a\nb'}, {'subtype': 'a\rb'}])
def test_a_name_of_a_mime_part_is_short_and_one_line(part):
    with Cluster() as cluster, pytest.raises(exception.StackValidationFailed, match=next(iter(part))):
        cluster.create('s', mime(**part))


MULTIPART = '''\
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: text/cloud-config
Content-Disposition: attachment; filename="a.yaml"

users: []
--x
Content-Type: text/x-shellscript

#!/bin/sh
--x--
'''


@pytest.mark.parametrize('part, kinds', [
    ({'config': MULTIPART, 'subtype': 'mixed', 'filename': 'f'}, [('cloud-config', 'a.yaml'), ('x-shellscript', None)]),
    ({'config': MULTIPART}, [('cloud-config', 'a.yaml'), ('x-shellscript', None)]),
    ({'config': 'a text', 'subtype': 'cloud-config', 'filename': 'f'}, [('cloud-config', 'f')])])
def test_the_parts_of_a_message_have_kinds_and_names_of_their_own(part, kinds):
    wanted = {**mime(type='multipart', **part), 'outputs': {'o': {'value': {'get_attr': ['mime', 'config']}}}}
    with Cluster() as cluster:
        found = outputs(done(cluster, cluster.create('s', wanted), 'CREATE'))['o']
        assert [(each.get_content_subtype(), each.get_filename())
                for each in email.message_from_string(found).get_payload()] == kinds


@pytest.mark.parametrize('part, why', [
    ({'filename': {'get_attr': ['random', 'value']}}, 'is out of range'),
    ({'config': 'Content-Type: ' + 'f x' * 14_000, 'type': 'multipart'}, 'The header "Content-Type" of the MIME')])
def test_a_mime_message_that_costs_too_much_fails_its_resource(part, why):
    with Cluster() as cluster:
        row = cluster.settle(cluster.create('s', mime(**part)))
        assert row.status == 'FAILED' and why in row.reason


def group(**given):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'config': {'type': 'OS::Heat::SoftwareConfig', 'properties': {'config': 'c', 'outputs': [{'name': 'result'}]}},
        'group': {'type': 'OS::Heat::SoftwareDeploymentGroup', 'properties': {
            'config': {'get_resource': 'config'}, 'servers': {'a': 'server-a', 'b': 'server-b'}, **given}}},
        'outputs': {name: {'value': {'get_attr': ['group', path]}} for name, path in {
            'result': 'result', 'out': 'deploy_stdouts'}.items()}}


def test_a_group_of_deployments():
    with Cluster() as cluster:
        stack_id = cluster.create('s', group())
        assert cluster.universe.run(lambda: len(deployments(cluster)) == 2, limit=100)
        child_id = cluster.states(stack_id)['group'][0][2]
        for name in 'ab':
            signal(cluster, child_id, name, result=f'r-{name}', deploy_stdout=name)
        row = done(cluster, stack_id, 'CREATE')
        assert outputs(row) == {'result': {'a': 'r-a', 'b': 'r-b'}, 'out': {'a': 'a', 'b': 'b'}}
        cluster.update(stack_id, group(servers={'b': 'server-b'}, signal_transport='NO_SIGNAL'))
        done(cluster, stack_id, 'UPDATE')
        assert [each.server_id for each in deployments(cluster)] == ['server-b']


def test_what_users_ask():
    with Cluster() as cluster:
        made = cluster.ask(messages.CreateSoftwareConfig(name='n', config='text', inputs=({'name': 'x'},)))
        assert made['config'] == 'text' and made['inputs'] == [{'name': 'x'}]
        deployment = cluster.ask(messages.CreateSoftwareDeployment(config_id=made['id'], server_id='server'))
        assert deployment['status_reason'] == 'None' and 'updated_time' not in deployment
        changed = cluster.ask(messages.UpdateSoftwareDeployment(
            deployment['id'], status='COMPLETE', output_values={'o': 1}))
        assert (changed['status'], changed['output_values'], changed['config_id']) == ('COMPLETE', {'o': 1}, made['id'])
        with pytest.raises(exception.InvalidRestrictedAction):
            cluster.ask(messages.DeleteSoftwareConfig(made['id']))
        cluster.ask(messages.DeleteSoftwareDeployment(deployment['id']))
        cluster.ask(messages.DeleteSoftwareConfig(made['id']))
        with pytest.raises(exception.NotFound):
            cluster.ask(messages.DeleteSoftwareConfig(made['id']))


def server_with(cluster):
    """(id of a stack, physical id of the server in it)"""
    stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
        'server': {'type': 'OS::Heat::DeployedServer', 'metadata': {'own': 'x' * 1000}}}})
    done(cluster, stack_id, 'CREATE')
    return stack_id, cluster.states(stack_id)['server'][0][2]


def config_of(cluster, size):
    return cluster.ask(messages.CreateSoftwareConfig(name='n', config='x' * size))['id']


def deploy(cluster, config_id, server_id):
    return cluster.ask(messages.CreateSoftwareDeployment(config_id=config_id, server_id=server_id))['id']


def test_a_deployment_is_written_to_few_of_the_resources_that_name_its_server():
    """What a deployment costs must not grow with the number of resources to which a template gives the same id."""
    written = {}
    for number in (5, 40):
        with Cluster(engines=1, interleaved=False) as cluster:
            own, server_id = server_with(cluster)
            other = cluster.create('other', {'heat_template_version': '2018-08-31', 'resources': {
                f'r{each}': {'type': 'OS::Heat::Value', 'external_id': server_id} for each in range(number)}})
            done(cluster, other, 'CREATE')
            deployment_id = deploy(cluster, config_of(cluster, 10_000), server_id)
            with cluster.database.reader() as tx:
                written[number] = tx.execute(sa.text('SELECT sum(length(metadata)) FROM resource')).scalar()
            assert len(metadata(cluster, own, 'server')['deployments']) == 1        # it was there first
            cluster.ask(messages.DeleteSoftwareDeployment(deployment_id))
            with cluster.database.reader() as tx:
                assert tx.execute(sa.text('SELECT sum(length(metadata)) FROM resource')).scalar() < 10_000
    assert written[40] < 2 * written[5] < 200_000


@pytest.mark.parametrize('is_known', [True, False], ids=['of a stack', 'unknown'])
def test_one_config_is_not_deployed_on_a_server_any_number_of_times(is_known):
    """Each read of its agent, and each further deployment, would take as many copies."""
    with Cluster() as cluster:
        stack_id, server_id = server_with(cluster)
        server_id = server_id if is_known else 'unknown'
        config_id, small = config_of(cluster, 700_000), config_of(cluster, 10)
        made = [deploy(cluster, config_id, server_id) for _number in range(2)]
        with pytest.raises(exception.RequestLimitExceeded, match=f'{limits.MOST_METADATA} that one server can have'):
            deploy(cluster, config_id, server_id)
        made.append(deploy(cluster, small, server_id))
        with pytest.raises(exception.RequestLimitExceeded):
            cluster.ask(messages.UpdateSoftwareDeployment(made[-1], config_id=config_id))
        assert sorted(each.config_id for each in deployments(cluster)) == sorted([config_id, config_id, small])
        if is_known:
            assert len(metadata(cluster, stack_id, 'server')['deployments']) == 3
        cluster.ask(messages.DeleteSoftwareDeployment(made[0]))
        cluster.ask(messages.UpdateSoftwareDeployment(made[-1], config_id=config_id))


def test_many_small_deployments_fit_on_a_server():
    with Cluster() as cluster:
        stack_id, server_id = server_with(cluster)
        config_id = config_of(cluster, 20_000)
        for _number in range(60):
            deploy(cluster, config_id, server_id)
        assert len(metadata(cluster, stack_id, 'server')['deployments']) == 60


def test_metadata_that_are_too_large_can_get_smaller(monkeypatch):
    """Those that an earlier release has written, before there was a limit."""
    with Cluster() as cluster:
        stack_id, server_id = server_with(cluster)
        config_id = config_of(cluster, 1000)
        made = [deploy(cluster, config_id, server_id) for _number in range(5)]
        monkeypatch.setattr(limits, 'MOST_METADATA', 2000)
        with pytest.raises(exception.RequestLimitExceeded):
            deploy(cluster, config_id, server_id)
        cluster.ask(messages.DeleteSoftwareDeployment(made[0]))
        assert len(metadata(cluster, stack_id, 'server')['deployments']) == 4


def test_own_metadata_count_beside_those_of_deployments(monkeypatch):
    with Cluster() as cluster:
        _stack_id, server_id = server_with(cluster)
        config_id = config_of(cluster, 10)
        monkeypatch.setattr(limits, 'MOST_METADATA', 1000)
        with pytest.raises(exception.RequestLimitExceeded, match='The metadata of server would have'):
            deploy(cluster, config_id, server_id)
        assert deployments(cluster) == []


def delay(runtime, database, number):
    """The thread that calls this waits before its statement of that number, counted from 1, for two seconds."""
    thread, left = runtime.universe.running, [number]

    @sa.event.listens_for(database.engine, 'before_cursor_execute')
    def _wait(*_statement):
        if runtime.universe.running is thread:
            left[0] -= 1
            if left[0] == 0:
                runtime.sleep(2.0)


def handled(runtime, service, cluster, message):
    """The answer to a request that is sent again while another one holds the lock that it needs, as clients do."""
    while True:
        try:
            return service.endpoint.handle(cluster.context, message)
        except Contention:
            runtime.sleep(1.0)


@pytest.mark.parametrize('number', range(1, 13))
@pytest.mark.parametrize('store', SERVERS)
def test_deployments_made_at_once_all_reach_the_server(store, number):
    with Cluster(storage=stores.storage(store)) as cluster:
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            'server': {'type': 'OS::Heat::DeployedServer'}, 'config': {'type': 'OS::Heat::SoftwareConfig'}}})
        done(cluster, stack_id, 'CREATE')
        physical = {name: rows[0][2] for name, rows in cluster.states(stack_id).items()}
        wanted = messages.CreateSoftwareDeployment(
            server_id=physical['server'], config_id=physical['config'], action='CREATE', status='IN_PROGRESS')
        made = []

        def deploy(runtime, service, database):
            if database is None:
                runtime.sleep(0.5)
            else:
                delay(runtime, database, number)
            made.append(handled(runtime, service, cluster, wanted)['id'])

        for (runtime, service), database in zip(cluster.engines, (cluster._databases[0], None), strict=True):
            runtime.spawn(deploy, runtime, service, database)
        assert cluster.universe.run(lambda: len(made) == 2, limit=100.0)
        assert len(metadata(cluster, stack_id, 'server')['deployments']) == 2


@pytest.mark.parametrize('number', range(1, 11))
@pytest.mark.parametrize('slow', ['deploy', 'delete'])
@pytest.mark.parametrize('store', SERVERS)
def test_a_config_that_is_being_deployed_is_not_deleted(store, slow, number):
    with Cluster(storage=stores.storage(store)) as cluster:
        config_id = cluster.ask(messages.CreateSoftwareConfig(name='n', config='text'))['id']
        wanted = {'deploy': messages.CreateSoftwareDeployment(config_id=config_id, server_id='server'),
                  'delete': messages.DeleteSoftwareConfig(config_id)}
        answers = []

        def ask(runtime, service, database, name):
            if name == slow:
                delay(runtime, database, number)
            else:
                runtime.sleep(0.5)
            try:
                answers.append(handled(runtime, service, cluster, wanted[name]))
            except (exception.NotFound, exception.InvalidRestrictedAction) as refused:
                answers.append(refused)

        for (runtime, service), database, name in zip(cluster.engines, cluster._databases, wanted, strict=True):
            runtime.spawn(ask, runtime, service, database, name)
        assert cluster.universe.run(lambda: len(answers) == 2, limit=100.0)
        assert [each.id for each in configs(cluster)] == [each.config_id for each in deployments(cluster)]


def life(cluster):
    stack_id = cluster.create('s', deployed(signal_transport='NO_SIGNAL'))
    done(cluster, stack_id, 'CREATE')
    cluster.update(stack_id, deployed(signal_transport='NO_SIGNAL', input_values={'place': 'there'}))
    done(cluster, stack_id, 'UPDATE')
    record, = deployments(cluster)
    assert record.id == cluster.states(stack_id)['deployment'][0][2]
    assert {each.id for each in configs(cluster)} == {record.config_id, cluster.states(stack_id)['config'][0][2]}
    assert [each['id'] for each in metadata(cluster, stack_id, 'server')['deployments']] == [record.config_id]
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert deployments(cluster) == [] and configs(cluster) == []


def test_killed_at_any_point():
    kill_engines_in(life, 9)


def signalled(cluster):
    """Its server tells each result once."""
    for action, more, result in (('CREATE', 'x', 'first'), ('UPDATE', 'y', 'second')):
        wanted = deployed(input_values={'place': 'here', 'more': more})
        if action == 'CREATE':
            stack_id = cluster.create('s', wanted)
        else:
            cluster.update(stack_id, wanted)
        waits(cluster, stack_id, 'deployment', action)
        signal(cluster, stack_id, 'deployment', result=result, deploy_status_code=0)
        assert outputs(done(cluster, stack_id, action)) == {'result': result, 'code': 0}
        assert len(deployments(cluster)) == 1


def test_killed_while_a_server_tells():
    kill_engines_in(signalled, 7)


@pytest.mark.parametrize('each', [life, signalled])
def test_the_database_away_at_any_time(each):
    lose_database_in(each, 19)


@pytest.mark.parametrize('kind', ['SoftwareDeployment', 'SoftwareDeploymentGroup', 'StructuredDeployment'])
def test_a_record_says_all_that_was_deployed(kind):
    """Each field of the record is what the resource asked for, after a create and after an update."""
    def template(values):
        found = deployed(signal_transport='NO_SIGNAL', input_values=values)
        if kind == 'StructuredDeployment':
            found['resources']['config'] = {'type': 'OS::Heat::StructuredConfig', 'properties': {
                'config': {'a': 1}, 'inputs': [{'name': 'place'}]}}
        deployment = found['resources']['deployment']
        deployment['type'] = f'OS::Heat::{kind}'
        if kind.endswith('Group'):
            deployment['properties']['servers'] = {'one': deployment['properties'].pop('server')}
        return {**found, 'outputs': {}}

    with Cluster() as cluster:
        stack_id = cluster.create('s', template({'place': 'here', 'list': [1, {'a': 'b'}]}))
        done(cluster, stack_id, 'CREATE')
        server_id = cluster.states(stack_id)['server'][0][2]
        record, = deployments(cluster)
        assert (record.input_values, record.server_id, record.action, record.status) == (
            {'place': 'here', 'list': [1, {'a': 'b'}]}, server_id, 'CREATE', 'COMPLETE')
        assert [each.id for each in of_server(cluster, server_id)] == [record.config_id]

        cluster.update(stack_id, template({'place': 'here', 'more': 'y'}))
        done(cluster, stack_id, 'UPDATE')
        record, = deployments(cluster)
        assert (record.input_values, record.server_id, record.action, record.status) == (
            {'place': 'here', 'more': 'y'}, server_id, 'UPDATE', 'COMPLETE')
        cluster.update(stack_id, template(None))
        done(cluster, stack_id, 'UPDATE')
        assert deployments(cluster)[0].input_values == {}


@pytest.mark.parametrize('place, resource', [
    ('"group": expected at most 255 characters',
     {'type': 'OS::Heat::SoftwareConfig', 'properties': {'group': 'g' * 256, 'config': 'x'}}),
    ('"name": expected at most 255 characters',
     {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
         'config': {'get_resource': 'config'}, 'server': {'get_resource': 'server'}, 'name': 'n' * 256}}),
    ('"server_id": expected at most 36 characters',
     {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
         'config': {'get_resource': 'config'}, 'server': 's' * 37}})])
def test_a_text_longer_than_its_column_fails_with_the_name_of_the_field(place, resource):
    template = deployed()
    template['resources']['long'] = resource
    with Cluster(engines=1) as cluster:
        row = cluster.settle(cluster.create('s', template))
    assert (row.action, row.status) == ('CREATE', 'FAILED')
    assert f'Invalid value for {place}' in row.reason


@pytest.mark.parametrize('store', stores.AVAILABLE)
def test_the_reason_of_a_failure_has_no_statement_of_the_database(store, monkeypatch):
    monkeypatch.setattr(software_lengths, 'LONGEST', {})        # so that the database refuses the text
    template = deployed()
    template['resources']['config']['properties']['group'] = 'g' * 256
    with Cluster(engines=1, storage=stores.storage(store)) as cluster:
        row = cluster.settle(cluster.create('s', template))
    assert (row.action, row.status) == ('CREATE', 'FAILED')
    assert 'Internal error: DB' in row.reason
    assert not any(word in row.reason for word in ('INSERT', 'ggg', 'software_config'))


@pytest.mark.parametrize('number', range(1, 7))
@pytest.mark.parametrize('store', stores.AVAILABLE)
def test_a_result_does_not_complete_a_newer_deployment(store, number):
    """It is of the config that was deployed when it arrived."""
    with Cluster(storage=stores.storage(store)) as cluster:
        first, second = config_of(cluster, 1), config_of(cluster, 2)
        deployment_id = cluster.ask(messages.CreateSoftwareDeployment(
            server_id='server', config_id=first, action='CREATE', status='IN_PROGRESS'))['id']
        ended = []

        def signal_it(runtime, service):
            ended.append(service.use_cases.software.signal_software_deployment(
                cluster.context, deployment_id, {'deploy_stdout': 'of the first', 'deploy_status_code': 0}))

        def deploy_again(runtime, service):
            runtime.sleep(0.5)
            ended.append(service.endpoint.handle(cluster.context, messages.UpdateSoftwareDeployment(
                deployment_id, config_id=second, action='UPDATE', status='IN_PROGRESS')))

        with statements.delayed(cluster.engines[0][0], number, 'FROM software_deployment'):
            for (runtime, service), work in zip(cluster.engines, (signal_it, deploy_again), strict=True):
                runtime.spawn(work, runtime, service)
            assert cluster.universe.run(lambda: len(ended) == 2, limit=100.0)
        found, = deployments(cluster)
        assert (found.config_id, found.action, found.status) == (second, 'UPDATE', 'IN_PROGRESS')


def delete(software, context, deployment_id, _server_id, _config_id):
    software.delete_software_deployment(context, deployment_id)


def withdraw(software, context, deployment_id, _server_id, _config_id):
    software.withdraw(context, deployment_id)


def point_elsewhere(software, context, deployment_id, _server_id, config_id):
    software.update_software_deployment(context, deployment_id, config_id=config_id)


def deploy_again(software, context, deployment_id, server_id, config_id):
    software.deploy(context, deployment_id, server_id, software.show_software_config(context, config_id),
                    action='UPDATE', status='IN_PROGRESS')


def inside(cluster, work):
    """Do `work` in a request of an engine, and raise its error."""
    (runtime, service), ended = cluster.engines[0], []

    def do():
        try:
            ended.append(work(service.use_cases.software))
        except exception.HeatException as error:
            ended.append(error)

    runtime.spawn(do)
    assert cluster.universe.run(lambda: ended, limit=100)
    if isinstance(ended[0], Exception):
        raise ended[0]


def deployed_with_others(cluster, user_project_id=None):
    """(id of a stack, id of its server, id of a deployment of PROJECT on it), and one of another project on it."""
    stack_id, server_id = server_with(cluster)
    config_id = config_of(cluster, 10)
    deployment_id = cluster.ask(messages.CreateSoftwareDeployment(
        config_id=config_id, server_id=server_id, action='CREATE', status='IN_PROGRESS'))['id']
    inside(cluster, lambda software: software.create_software_deployment(
        RequestContext(project_id='administration', is_admin=True, overwrite=False), server_id=server_id,
        config_id=config_id))
    if user_project_id is not None:
        with cluster.database.writer() as tx:
            tx.execute(sa.text('UPDATE software_deployment SET stack_user_project_id = :id WHERE project_id = :own'),
                       {'id': user_project_id, 'own': PROJECT})
    assert len(metadata(cluster, stack_id, 'server')['deployments']) == 1
    return stack_id, server_id, deployment_id


CALLERS = {'of another project': {'project_id': 'administration', 'is_admin': True},
           'of no project': {'project_id': None, 'is_admin': True}, 'inside a stack': {'project_id': 'users'}}


@pytest.mark.parametrize('change, caller', [
    (delete, 'of another project'), (delete, 'of no project'), (delete, 'inside a stack'),
    (withdraw, 'of another project'), (withdraw, 'of no project'),
    (point_elsewhere, 'of another project'), (point_elsewhere, 'of no project'),
    (deploy_again, 'of another project')])
def test_a_server_gets_the_deployments_of_their_project_whoever_changes_one(change, caller):
    with Cluster(engines=1) as cluster:
        stack_id, server_id, deployment_id = deployed_with_others(cluster, 'users')
        context = RequestContext(**CALLERS[caller], overwrite=False)
        other_id = config_of(cluster, 20)
        inside(cluster, lambda software: change(software, context, deployment_id, server_id, other_id))
        stored = [each.config_id for each in deployments(cluster)]
        assert [each['id'] for each in metadata(cluster, stack_id, 'server')['deployments']] == stored


@pytest.mark.parametrize('change', [point_elsewhere, deploy_again])
def test_an_administrators_change_counts_in_the_project_of_the_deployment(change, monkeypatch):
    with Cluster(engines=1) as cluster:
        _stack_id, server_id, deployment_id = deployed_with_others(cluster)
        large = config_of(cluster, 3000)
        deploy(cluster, config_of(cluster, 3000), server_id)
        monkeypatch.setattr(limits, 'MOST_METADATA', 6000)
        context = RequestContext(**CALLERS['of another project'], overwrite=False)
        with pytest.raises(exception.RequestLimitExceeded, match='that one server can have'):
            inside(cluster, lambda software: change(software, context, deployment_id, server_id, large))
