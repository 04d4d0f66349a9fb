"""Taking over, again and again: what is stored, what is passed over, what is refused."""

import json
import socket
from datetime import timedelta

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from heatlite.common import crypt, exception
from heatlite.common.green_threads import GreenRuntime
from heatlite.db import (
    credentials,
    events,
    leases,
    presence,
    resource_data,
    resources,
    snapshots,
    software_deployments,
    stacks,
    templates,
    upkeep,
)
from heatlite.db.tables import metadata, software_config, taken_over
from heatlite.planning.marks import DIRTY
from heatlite.takeover import schema, source
from heatlite.takeover.source import HeatDatabase
from tests.db.rows import HEAVY
from tests.takeover.heats import KEY, NOW, OTHER, PROJECT, Heat, encrypted, later


def counts(database):
    """Table -> number of rows, of those that have any."""
    with database.reader() as tx:
        found = {table.name: tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
                 for table in metadata.sorted_tables}
    return {name: number for name, number in found.items() if number}


def outcome(report):
    return {word: number for word, number in report.trees.items() if number}


def show(database, stack_id):
    with database.reader() as tx:
        return stacks.show(tx, stack_id)


def wanted(database, stack_id):
    with database.reader() as tx:
        return tx.execute(sa.text('SELECT wanted FROM lease WHERE stack_id = :id'), {'id': stack_id}).scalar()


# --- what is stored ----------------------------------------------------------------------------------------

def test_a_stack_with_everything(heat, ours, take):
    template = heat.template(
        {'heat_template_version': '2018-08-31', 'description': 'Words',
         'parameters': {'size': {'type': 'number', 'default': 8}, 'secret': {'type': 'string', 'hidden': True}},
         'resources': {
             'word': {'type': 'OS::Heat::RandomString', 'properties': {'length': {'get_param': 'size'}}},
             'value': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_resource': 'word'}},
                       'metadata': {'of': {'str_replace': {'template': '<$w>', 'params': {
                           '$w': {'get_attr': ['word', 'value']}}}}}}},
         'outputs': {'text': {'description': 'It', 'value': {'get_attr': ['word', 'value']}}}},
        {'parameters': {'secret': ['cryptography_decrypt_v1', encrypted('hush')]},
         'encrypted_param_names': ['secret']}, {'file': 'content'})
    heat.stack('s1', template=template, user_creds_id=heat.credentials(), timeout=7, stack_user_project_id='users',
               updated_at=later(60))
    for tag in ('b', 'a'):
        heat.add(schema.stack_tag, id=heat.number(), tag=tag, stack_id='s1')
    word = heat.resource('s1', current_template_id=template)
    heat.datum(word, 'value', 'abcdefgh', redact=True)
    heat.datum(word, 'plain', 'seen')
    value = heat.resource('s1', 'value', {'value': 'abcdefgh'}, requires=json.dumps([word, 999]),
                          current_template_id=template, updated_at=later(30), rsrc_metadata='{"of": "abcdefgh"}')
    used = heat.properties({'length': 8}, is_encrypted=True)
    heat.event('s1', 'name-s1', resource_type='OS::Heat::Stack', physical_resource_id='s1')
    heat.event('s1', 'word', used, physical_resource_id=f'physical-{word}')
    heat.event('s1', 'word', used, physical_resource_id=f'physical-{word}', created_at=later(1))
    heat.add(schema.snapshot, id='snap', stack_id='s1', name='first', tenant=PROJECT, status='COMPLETE', created_at=NOW,
             data=json.dumps({'name': 'name-s1', 'resources': {'word': {'name': 'word'}}}))
    heat.add(schema.resource_snapshot, id='rs', snapshot_id='snap', resource_name='word',
             data=json.dumps({'resource_data': {'backup': '1'}}))

    report = take()

    assert outcome(report) == {'taken over': 1}
    assert report.problems == []
    row = show(ours, 's1')
    assert (row.name, row.project_id, row.username, row.action, row.status, row.timeout_mins, row.user_project_id) == (
        'name-s1', PROJECT, 'ann', 'CREATE', 'COMPLETE', 7, 'users')
    assert (row.description, row.created_at, row.updated_at, row.tags) == ('Words', NOW, later(60), ['b', 'a'])
    assert {name: row.parameters[name] for name in ('size', 'secret')} == {'size': '8', 'secret': '******'}
    assert row.outputs == [{'output_key': 'text', 'description': 'It', 'output_value': 'abcdefgh'}]
    assert row.next_resource == 3
    with ours.reader() as tx:
        first, second = resources.light(tx, 's1')
        assert (first.id, first.name, first.uuid, first.physical_id, first.type, first.template_id) == (
            1, 'word', f'uuid-{word}', f'physical-{word}', 'OS::Heat::RandomString', row.template_id)
        assert second.requires == {'word': 1}                   # 999 is gone
        assert (second.created_at, second.updated_at) == (NOW, later(30))
        columns = resources.columns(tx, 's1', None, HEAVY)
        assert columns[2]['properties'] == {'value': 'abcdefgh'}
        assert columns[2]['metadata'] == {'of': 'abcdefgh'}
        assert columns[2]['definition']['metadata'] == {'of': '<abcdefgh>'}
        assert columns[1]['attributes'] == {'': 'abcdefgh', 'value': 'abcdefgh'}
        assert [(each.key, each.clear(), each.redact) for each in resource_data.data(tx, 's1', 1)] == [
            ('plain', 'seen', False), ('value', 'abcdefgh', True)]
        stored = templates.get(tx, row.template_id)
        assert stored.environment['parameters'] == {'secret': 'hush'}
        assert stored.files == {'file': 'content'}
        authority = credentials.get(tx, row.credentials_id)
        assert crypt.decrypt(authority.method, authority.trust_id) == 'the trust'
        assert (authority.trustor_user_id, authority.project_id, authority.auth_url) == (
            'u1', PROJECT, 'http://identity/v3')
        history = list(reversed(events.page(tx, ['s1'], AllEvents())))
        assert [(each.resource_name, each.resource_id, each.created_at) for each in history] == [
            ('name-s1', None, NOW), ('word', 1, NOW), ('word', 1, later(1))]
        assert events.show(tx, 's1', history[2].uuid).properties == {'length': 8}
        saved = snapshots.show(tx, 'snap')
        assert saved.data['resources'] == {'word': {'resource_data': {'backup': '1'}}}
    assert not wanted(ours, 's1')
    assert value


HIDDEN = {'heat_template_version': '2018-08-31', 'parameters': {'secret': {'type': 'string', 'hidden': True}}}


@pytest.mark.parametrize('text', ['hunter2', '0123', '12345', 'true', 'null', '1e5', '"quoted"', '', 'ä'])
def test_an_encrypted_parameter_is_the_text_that_heat_encrypted(heat, ours, take, text):
    heat.stack('s1', template=heat.template(HIDDEN, {
        'parameters': {'secret': ['cryptography_decrypt_v1', encrypted(text)]}, 'encrypted_param_names': ['secret']}))
    assert outcome(take()) == {'taken over': 1}
    with ours.reader() as tx:
        assert templates.get(tx, show(ours, 's1').template_id).environment['parameters'] == {'secret': text}


def test_what_heat_does_not_encrypt_is_taken_as_it_is(heat, ours, take):
    """Defaults never are; of parameters, only pairs."""
    given = {'parameters': {'secret': ['a', 'b', 'c']}, 'parameter_defaults': {'secret': ['a', 'b']},
             'encrypted_param_names': ['secret']}
    heat.stack('s1', template=heat.template({**HIDDEN, 'parameters': {'secret': {
        'type': 'comma_delimited_list', 'hidden': True}}}, given))
    assert outcome(take()) == {'taken over': 1}
    with ours.reader() as tx:
        stored = templates.get(tx, show(ours, 's1').template_id).environment
    assert {name: stored[name] for name in ('parameters', 'parameter_defaults')} == {
        name: given[name] for name in ('parameters', 'parameter_defaults')}


class AllEvents:
    filters, sort_keys, sort_dir, limit, marker = {}, (), None, None, None


def nested(heat, **changed):
    """A root with a template resource, and the stack in it."""
    inner = {'heat_template_version': '2018-08-31', 'parameters': {'p': {'type': 'string'}}, 'resources': {
        'word': {'type': 'OS::Heat::RandomString'}}, 'outputs': {'text': {'value': {'get_attr': ['word', 'value']}}}}
    outer = heat.template({'heat_template_version': '2018-08-31', 'parameters': {
        'p': {'type': 'string', 'hidden': True}}, 'resources': {
        'it': {'type': 'inner.yaml', 'properties': {'p': {'get_param': 'p'}}}},
        'outputs': {'text': {'value': {'get_attr': ['it', 'text']}}}},
        {'parameters': {'p': 'hush hush'}}, {'inner.yaml': json.dumps(inner)})
    creds = heat.credentials()
    heat.stack('root', template=outer, user_creds_id=creds)
    heat.resource('root', 'it', {'p': 'hush hush'}, nova_instance='child')
    heat.stack('child', template=heat.template(inner, {'parameters': {'p': 'hush hush'}}), user_creds_id=creds, **{
        'owner_id': 'root', 'parent_resource_name': 'it', 'nested_depth': 1, **changed})
    word = heat.resource('child', properties={})
    heat.datum(word, 'value', 'abcdefgh', redact=True)


@pytest.mark.parametrize(('resource_type', 'properties', 'attribute'), [
    ('AWS::EC2::Instance', {'ImageId': 'i', 'InstanceType': 'm1.tiny'}, 'PrivateIp'),
    ('OS::Nova::Server', {'image': 'i', 'flavor': 'm1.tiny', 'networks': [{'network': 'n'}]}, 'first_address')])
def test_what_only_a_service_knows_is_read_when_it_is_shown(heat, ours, take, caplog, resource_type, properties,
                                                            attribute):
    """No service is called, and nothing is stored as if one had been."""
    heat.stack('s1', template=heat.template(
        {'heat_template_version': '2018-08-31', 'resources': {'it': {'type': resource_type, 'properties': properties}},
         'outputs': {'address': {'value': {'get_attr': ['it', attribute]}}}}))
    heat.resource('s1', 'it', properties)
    assert outcome(take()) == {'taken over': 1}
    assert show(ours, 's1').outputs == [
        {'output_key': 'address', 'description': 'No description given', 'output_value': None, 'live': True}]
    with ours.reader() as tx:
        assert resources.columns(tx, 's1', None, HEAVY)[1]['attributes'] in (None, {})
    assert [record.getMessage() for record in caplog.records if record.levelname == 'WARNING'] == []


@pytest.mark.parametrize('is_shown', [False, True])
def test_what_others_were_applied_with_is_compared_and_not_shown(heat, ours, take, is_shown):
    """It may have changed since: outputs are read, and the first update compares what a user sees."""
    server = {'image': 'i', 'flavor': 'f', 'networks': [{'network': 'n'}]}
    number = heat.template({'heat_template_version': '2018-08-31', 'resources': {
        'it': {'type': 'OS::Nova::Server', 'properties': server},
        'of': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_attr': ['it', 'first_address']}}}},
        'outputs': {'address': {'value': {'get_attr': ['it', 'first_address']}}} if is_shown else {}})
    heat.stack('s1', template=number)
    it = heat.resource('s1', 'it', server, current_template_id=number)
    heat.resource('s1', 'of', {'value': '10.0.0.5'}, requires=json.dumps([it]), current_template_id=number)
    assert outcome(take()) == {'taken over': 1}
    assert [output['live'] for output in show(ours, 's1').outputs] == [True] * is_shown
    with ours.reader() as tx:
        stored = resources.columns(tx, 's1', None, HEAVY)[1]['attributes'] or {}
    assert stored.get('first_address') == (None if is_shown else '10.0.0.5')


def test_addresses_for_signals_are_asked_of_nobody(heat, ours, take, caplog):
    caplog.set_level('INFO')
    group = {'min_size': 0, 'max_size': 1, 'resource': {'type': 'OS::Heat::RandomString'}}
    policy = {'auto_scaling_group_id': 'child', 'adjustment_type': 'change_in_capacity', 'scaling_adjustment': 1}
    heat.stack('root', template=heat.template({'heat_template_version': '2018-08-31', 'resources': {
        'group': {'type': 'OS::Heat::AutoScalingGroup', 'properties': group},
        'it': {'type': 'OS::Heat::ScalingPolicy', 'properties': {
            **policy, 'auto_scaling_group_id': {'get_resource': 'group'}}}}}))
    heat.resource('root', 'group', group, nova_instance='child')
    heat.resource('root', 'it', policy)
    heat.stack('child', owner_id='root', parent_resource_name='group', nested_depth=1, template=heat.template(
        {'heat_template_version': '2018-08-31'}))
    assert outcome(take()) == {'taken over': 1}
    with ours.reader() as tx:
        assert 'signal_url' not in (resources.columns(tx, 'root', None, HEAVY)[2]['attributes'] or {})
    assert [record.getMessage() for record in caplog.records if record.name.startswith('heatlite.engine')] == []


def test_addresses_of_a_group_whose_stack_has_no_output_for_them(heat, ours, take):
    """Heat gives the nested stack an output only if a template refers to it."""
    heat.stack('root', template=heat.template(
        {'heat_template_version': '2018-08-31', 'resources': {
            'launch': {'type': 'AWS::AutoScaling::LaunchConfiguration', 'properties': {
                'ImageId': 'i', 'InstanceType': 'm1.tiny'}},
            'it': {'type': 'OS::Heat::InstanceGroup', 'properties': {
                'AvailabilityZones': ['nova'], 'Size': 1, 'LaunchConfigurationName': {'get_resource': 'launch'}}}},
         'outputs': {'addresses': {'value': {'get_attr': ['it', 'InstanceList']}}}}))
    heat.resource('root', 'it', {'AvailabilityZones': ['nova'], 'Size': 1, 'LaunchConfigurationName': 'launch'},
                  nova_instance='child')
    member = {'ImageId': 'i', 'InstanceType': 'm1.tiny'}
    heat.stack('child', owner_id='root', parent_resource_name='it', nested_depth=1, template=heat.template(
        {'heat_template_version': '2013-05-23', 'resources': {
            'member': {'type': 'OS::Heat::ScaledResource', 'properties': member}}},
        {'resource_registry': {'OS::Heat::ScaledResource': 'AWS::EC2::Instance'}}))
    heat.resource('child', 'member', member)
    assert outcome(take()) == {'taken over': 1}
    assert show(ours, 'root').outputs[0].get('live')


def test_a_tree(heat, ours, take):
    nested(heat)
    assert outcome(take()) == {'taken over': 1}
    root, child = show(ours, 'root'), show(ours, 'child')
    assert (child.owner_id, child.root_id, child.parent_resource, child.depth) == ('root', 'root', 'it', 1)
    assert child.credentials_id == root.credentials_id
    assert child.request['facade'] == {'metadata': {}, 'deletion_policy': 'Delete', 'update_policy': {}}
    assert [each['output_value'] for each in (*root.outputs, *child.outputs)] == ['abcdefgh', 'abcdefgh']
    with ours.reader() as tx:                       # hidden in the root, so hidden in what it passes on
        environment = templates.show(tx, child.template_id).environment
        assert resources.light(tx, 'root')[0].physical_id == 'child'
    assert environment['encrypted_param_names'] == ['p']
    assert child.parameters['p'] == '******'


@pytest.fixture
def address():
    """Of a server that nothing may connect to during a test."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        server.setblocking(False)
        cfg.CONF.set_override('template_fetch_allow', ['127.0.0.0/8'])
        yield f'http://127.0.0.1:{server.getsockname()[1]}/inner.yaml'
        cfg.CONF.clear_override('template_fetch_allow')
        with pytest.raises(BlockingIOError):
            server.accept()


def of_a_url(heat, address, **columns):
    heat.stack('s1', template=heat.template({
        'heat_template_version': '2018-08-31', 'resources': {'it': {'type': address}},
        'outputs': {'text': {'value': {'get_attr': ['it', 'text']}}}}))
    heat.resource('s1', 'it', {}, **columns)


def test_templates_are_not_fetched(heat, ours, take, address):
    """The nested stack has the template."""
    of_a_url(heat, address, nova_instance='n1')
    heat.stack('n1', owner_id='s1', parent_resource_name='it', nested_depth=1, template=heat.template({
        'heat_template_version': '2018-08-31', 'resources': {'word': {'type': 'OS::Heat::RandomString'}},
        'outputs': {'text': {'value': 'a'}}}))
    heat.resource('n1')
    assert outcome(take()) == {'taken over': 1}
    assert [each['output_value'] for each in show(ours, 's1').outputs] == ['a']


def test_a_template_that_was_never_fetched_is_no_reason_to_refuse(heat, ours, take, address):
    of_a_url(heat, address, nova_instance=None, status='FAILED')
    report = take()
    assert outcome(report) == {'taken over': 1}, problems(report)
    assert show(ours, 's1').outputs[0]['live']


def test_objects_of_services_that_are_gone_are_named(heat, take):
    """The types make nothing here, so nothing would delete the objects. Newer releases of Heat make nothing, either."""
    kinds = {'a': 'OS::Senlin::Cluster', 'b': 'OS::Senlin::Cluster', 'c': 'OS::Monasca::Notification',
             'd': 'OS::Senlin::Profile', 'e': 'OS::Heat::None', 'f': 'OS::Senlin::Node'}
    heat.stack('s1', template=heat.template({'heat_template_version': '2018-08-31', 'resources': {
        name: {'type': kind} for name, kind in kinds.items()}}))
    for name in 'abce':
        heat.resource('s1', name, {})
    heat.datum(heat.resource('s1', 'd', {}), 'is_placeholder', 'True')
    heat.resource('s1', 'f', {}, nova_instance=None, status='FAILED')
    for report in (take(dry=True), take()):
        assert outcome(report) == {'taken over': 1}
        assert [(each.stack, each.row, each.reason.split()[0]) for each in report.unmanaged] == [
            ('name-s1 s1', 'OS::Monasca::Notification', '1'), ('name-s1 s1', 'OS::Senlin::Cluster', '2')]


DATABASE = {'DBName': 'wp', 'MasterUsername': 'admin', 'MasterUserPassword': 'secret123', 'Engine': 'MySQL',
            'DBInstanceClass': 'm1.small', 'AllocatedStorage': '5'}
BALANCER = {'AvailabilityZones': ['nova'], 'Listeners': [
    {'LoadBalancerPort': '80', 'InstancePort': '80', 'Protocol': 'HTTP'}]}
ALARM = {'EvaluationPeriods': '1', 'MetricName': 'm', 'Period': '60', 'Statistic': 'Average', 'Threshold': '1',
         'Namespace': 'system/linux', 'ComparisonOperator': 'GreaterThanThreshold'}


@pytest.mark.parametrize('resource_type, properties, names, fits', [
    ('AWS::RDS::DBInstance', DATABASE, ('DatabaseInstance',), False),
    ('AWS::RDS::DBInstance', DATABASE, ('server',), True),
    ('AWS::RDS::DBInstance', DATABASE, (), True),
    ('AWS::ElasticLoadBalancing::LoadBalancer', BALANCER, ('CfnLBUser', 'LB_instance'), False),
    ('AWS::ElasticLoadBalancing::LoadBalancer', BALANCER, ('balancer', 'served'), True),
    ('AWS::CloudWatch::Alarm', ALARM, ('__alarm__',), False),
    ('OS::Heat::Stack', {'template': '{}'}, ('word',), False)])
def test_a_nested_stack_that_a_type_would_not_make_is_refused(heat, take, resource_type, properties, names,
                                                                 fits):
    """An update would replace what is in it; a deletion of the outer stack would leave it behind."""
    heat.stack('s1', template=heat.template({'heat_template_version': '2018-08-31', 'resources': {
        'it': {'type': resource_type, 'properties': properties}}}))
    heat.resource('s1', 'it', properties, nova_instance='n1')
    heat.stack('n1', owner_id='s1', parent_resource_name='it', nested_depth=1, template=heat.template({
        'heat_template_version': '2018-08-31', 'resources': {name: {'type': 'OS::Heat::RandomString'}
                                                             for name in names}}))
    report = take(dry=True)
    assert outcome(report) == ({'taken over': 1} if fits else {'refused': 1}), problems(report)
    assert fits or f'made a nested stack of {resource_type}' in report.problems[0].reason


def test_configs_and_deployments(heat, ours, take):
    heat.add(schema.software_config, id='c1', name='n', group='script', tenant=PROJECT, created_at=NOW,
             config=json.dumps({'config': 'date', 'inputs': [], 'outputs': [], 'options': {}}))
    heat.add(schema.software_deployment, id='d1', config_id='c1', server_id='v1', tenant=PROJECT, action='CREATE',
             status='IN_PROGRESS', input_values='{"a": 1}', output_values='null', created_at=NOW)
    heat.add(schema.software_deployment, id='d2', config_id='gone', server_id='v1', tenant=PROJECT, created_at=NOW)
    heat.add(schema.software_config, id='c2', tenant=PROJECT, config='no json', created_at=NOW)
    report = take()
    assert (report.stored['software configs'], report.stored['software deployments']) == (1, 1)
    assert sorted((each.row, each.reason) for each in report.problems) == [
        ('software_config c2', 'its column config is no JSON'),
        ('software_deployment d2', 'its config gone is missing')]
    heat.change(schema.software_deployment, 'd1', status='COMPLETE', output_values='{"b": 2}', updated_at=later(9))
    report = take()
    assert (report.stored['software configs'], report.stored['software deployments']) == (0, 1)
    with ours.reader() as tx:
        found = software_deployments.show(tx, 'd1')
    assert (found.status, found.output_values, found.updated_at) == ('COMPLETE', {'b': 2}, later(9))
    assert take().stored['software deployments'] == 0
    heat.change(schema.software_deployment, 'd1', status='FAILED')      # within the same second
    assert take().stored['software deployments'] == 1
    with ours.reader() as tx:
        assert software_deployments.show(tx, 'd1').status == 'FAILED'
    with ours.writer() as tx:
        software_deployments.update(tx, 'd1', later(10), status='COMPLETE')
    assert take().stored['software deployments'] == 0


@pytest.mark.parametrize('column', ['action', 'status'])
def test_a_deployment_that_is_too_long_does_not_stop_the_run(heat, ours, take, column):
    heat.word('s1')
    heat.add(schema.software_config, id='c1', tenant=PROJECT, config='{}', created_at=NOW)
    heat.add(schema.software_deployment, id='d1', config_id='c1', server_id='v1', tenant=PROJECT, created_at=NOW,
             **{column: 'w' * 33})
    heat.add(schema.software_deployment, id='d2', config_id='c1', server_id='v1', tenant=PROJECT, created_at=NOW)
    for report in (take(dry=True), take()):
        assert [(each.row, each.reason) for each in report.problems] == [
            ('software_deployment d1', f'its {column} has more than 32 characters')]
        assert outcome(report) == {'taken over': 1}
    assert report.stored['software deployments'] == 1


def test_rows_that_the_database_refuses_do_not_stop_the_run(heat, ours, take, kind):
    if kind == 'sqlite':
        pytest.skip('SQLite stores texts of any length')
    heat.word('s1')
    heat.add(schema.software_config, id='c1', tenant=PROJECT, config='{}', created_at=NOW)
    heat.add(schema.software_config, id='c2', tenant='p' * 64, config='{}', created_at=NOW)
    with ours.writer() as tx:
        tx.execute(sa.text('ALTER TABLE software_config ADD CONSTRAINT short CHECK (LENGTH(project_id) < 64)'))
    report = take()
    assert [each.row for each in report.problems] == ['software_config c2']
    assert 'INSERT' not in report.problems[0].reason
    assert (outcome(report), report.stored['software configs']) == ({'taken over': 1}, 1)


# --- again and again ---------------------------------------------------------------------------------------

def test_a_second_run_takes_what_has_changed(heat, ours, take):
    for name in ('s1', 's2', 's3'):
        heat.word(name)
    assert outcome(take()) == {'taken over': 3}
    before = counts(ours)
    assert outcome(take()) == {'unchanged': 3}
    assert counts(ours) == before
    heat.change(schema.stack, 's1', status_reason='another', updated_at=later(5))
    number = heat.resource('s2', nova_instance='new')
    heat.event('s2', 'word', physical_resource_id='new')
    heat.change(schema.stack, 's3', deleted_at=later(5), action='DELETE')
    assert outcome(take()) == {'taken over again': 2, 'removed': 1}
    assert show(ours, 's1').reason == 'another'
    assert show(ours, 's3') is None
    with ours.reader() as tx:
        assert [each.uuid for each in resources.light(tx, 's2')][-1] == f'uuid-{number}'
    assert outcome(take()) == {'unchanged': 2}


def test_metadata_and_data_that_changed_alone(heat, ours, take):
    number = heat.word('s1')
    take()
    heat.change(schema.resource, number, rsrc_metadata='{"a": 1}', atomic_key=3)
    assert outcome(take()) == {'taken over again': 1}
    heat.datum(number, 'more', 'x')
    assert outcome(take()) == {'taken over again': 1}


def test_what_heatlite_has_worked_on_is_left_alone(heat, ours, take):
    heat.word('s1')
    heat.word('s2')
    take()
    with ours.writer() as tx:
        assert leases.claim(tx, 's1', 'an engine') is not None
    heat.change(schema.stack, 's1', status_reason='another')
    heat.change(schema.stack, 's2', deleted_at=later(5))
    report = take()
    assert outcome(report) == {'changed in heatlite': 1, 'removed': 1}
    assert show(ours, 's1').reason == 'Stack CREATE completed'
    heat.change(schema.stack, 's1', deleted_at=later(5))
    assert outcome(take()) == {}
    assert show(ours, 's1') is not None


def test_a_dry_run_stores_nothing(heat, ours, take):
    heat.word('s1')
    heat.stack('s2', action='NONSENSE')
    before = counts(ours)
    assert outcome(take(dry=True)) == {'taken over': 1, 'refused': 1}
    assert counts(ours) == before


def problems(report):
    return [(each.stack, each.row, each.reason) for each in report.problems]


def test_a_dry_run_refuses_the_same_names(heat, ours, take):
    """Heat lets two simultaneous requests make two stacks of one name."""
    for stack_id, more in (('s1', {}), ('s2', {}), ('s3', {'tenant': OTHER}), ('s4', {'deleted_at': later(1)})):
        heat.word(stack_id, name='one', **more)
    heat.word('s5', name='two')
    heat.stack('s6', name='two', owner_id='s5', parent_resource_name='word', nested_depth=1)
    dry, run = take(dry=True, deleted=True), take(deleted=True)
    assert (outcome(dry), problems(dry)) == (outcome(run), problems(run))
    assert {each[0] for each in problems(run)} == {'one s2', 'two s5'}
    heat.change(schema.stack, 's1', status_reason='another')
    heat.word('s0', name='one')                     # the name is that of a copy which is there
    dry, run = take(dry=True), take()
    assert (outcome(dry), problems(dry)) == (outcome(run), problems(run))
    assert outcome(run) == {'refused': 3, 'taken over again': 1, 'unchanged': 1}


def test_a_dry_run_reports_configs_deployments_and_removals(heat, ours, take):
    heat.add(schema.software_config, id='c1', tenant=PROJECT, config='{}', created_at=NOW)
    for name, config_id in (('d1', 'c1'), ('d2', 'gone')):
        heat.add(schema.software_deployment, id=name, config_id=config_id, server_id='v1', tenant=PROJECT,
                 created_at=NOW)
    heat.word('s1')
    dry, run = take(dry=True), take()
    assert (dry.stored, problems(dry)) == (run.stored, problems(run))
    assert len(problems(run)) == 1
    heat.change(schema.stack, 's1', deleted_at=later(5), action='DELETE')
    dry, run = take(dry=True), take()
    assert (outcome(dry), dry.stored) == (outcome(run), run.stored) == ({'removed': 1}, run.stored)


@pytest.fixture
def second_heat(make_database):
    made = Heat(make_database().url.render_as_string(hide_password=False))
    yield made
    made.close()


def gone_in_heat(heat, stack_id):
    heat.change(schema.stack, stack_id, deleted_at=later(5), action='DELETE')


def test_another_heat_removes_nothing_of_the_first_one(heat, second_heat, ours, take):
    heat.word('s1')
    heat.word('s2')
    second_heat.word('s3')
    assert outcome(take()) == {'taken over': 2}
    assert outcome(take(of=second_heat)) == {'taken over': 1}
    gone_in_heat(heat, 's1')
    assert outcome(take(of=second_heat)) == {'unchanged': 1}
    assert outcome(take()) == {'removed': 1, 'unchanged': 1}
    assert [show(ours, each) is not None for each in ('s1', 's2', 's3')] == [False, True, True]


def test_copies_whose_heat_was_not_stored_are_reported(heat, ours, take):
    heat.word('s1')
    heat.word('s2')
    take()
    with ours.writer() as tx:
        tx.execute(taken_over.delete())
    gone_in_heat(heat, 's1')
    assert outcome(take()) == {'of an unknown Heat': 1, 'unchanged': 1}
    assert show(ours, 's1') is not None


@pytest.mark.parametrize('switch', [False, True])
def test_a_database_without_any_of_the_stacks_is_refused(heat, ours, take, switch):
    heat.word('s1')
    heat.word('s2')
    take()
    for stack_id in ('s1', 's2'):
        heat.remove(schema.stack, id=stack_id)
    heat.word('s3')
    with pytest.raises(exception.Error, match='None of the 2 stacks'):
        take(switch=switch)
    assert show(ours, 's3') is None
    assert outcome(take(again=True)) == {'taken over': 1, 'removed': 2}


def test_nothing_is_renewed_or_removed_after_the_switch(heat, ours, take):
    for name in ('s1', 's2', 's3'):
        heat.word(name)
    heat.stack('s4', action='NONSENSE')
    assert outcome(take(switch=True)) == {'taken over': 3, 'refused': 1}
    heat.change(schema.stack, 's1', status_reason='another')
    gone_in_heat(heat, 's2')
    heat.change(schema.stack, 's4', action='CREATE')
    report = take(switch=True)
    assert outcome(report) == {'changed after the switch': 1, 'unchanged': 1, 'taken over': 1}
    assert '--again' in report.problems[0].reason
    assert (show(ours, 's1').reason, show(ours, 's2') is not None) == ('Stack CREATE completed', True)
    assert outcome(take(again=True)) == {'taken over again': 1, 'removed': 1, 'unchanged': 2}


def test_a_dry_switch_is_none(heat, take):
    heat.word('s1')
    take()
    take(switch=True, dry=True)
    heat.change(schema.stack, 's1', status_reason='another')
    assert outcome(take()) == {'taken over again': 1}


def test_the_switch_of_one_project(heat, take):
    heat.word('s1')
    heat.word('s2', tenant=OTHER)
    take()
    take(switch=True, project_id=OTHER)
    for name in ('s1', 's2'):
        heat.change(schema.stack, name, status_reason='another')
    assert outcome(take()) == {'taken over again': 1, 'changed after the switch': 1}


def deploy(heat):
    heat.add(schema.software_config, id='c1', name='n', group='script', tenant=PROJECT, created_at=NOW, config='{}')
    heat.add(schema.software_deployment, id='d1', config_id='c1', server_id='v1', tenant=PROJECT, action='CREATE',
             status='COMPLETE', created_at=NOW)


def test_what_users_deleted_after_the_switch_does_not_come_back(heat, ours, take):
    deploy(heat)
    heat.word('s1')
    take(switch=True)
    with ours.writer() as tx:
        software_deployments.delete(tx, 'd1')
        tx.execute(software_config.delete())
        upkeep.remove_tree(tx, 's1')
    report = take(switch=True)
    assert (outcome(report), +report.stored) == ({'deleted in heatlite': 1}, {})
    assert problems(report) == [('name-s1 s1', 'stack s1', 'heatlite has deleted it since it was taken over')]
    assert outcome(take(again=True)) == {'deleted in heatlite': 1}
    with ours.reader() as tx:
        assert software_deployments.show(tx, 'd1') is not None         # it was asked for


def test_a_project_that_is_in_another_cell(heat, make_database, ours, take):
    deploy(heat)
    heat.word('s1')
    with ours.writer() as tx:
        presence.become_cell(tx, NOW)
        presence.leave(tx, PROJECT, NOW)
    before = counts(ours)
    for report in (take(dry=True), take(switch=True)):
        assert outcome(report) == {'refused': 1}
        assert len(report.problems) == 3
        assert all('in another cell' in each.reason for each in report.problems if 'deployment' not in each.row)
        assert counts(ours) | {'take_over_switch': 0} == before | {'take_over_switch': 0}


def test_one_project(heat, ours, take):
    heat.word('s1')
    heat.word('s2', tenant=OTHER)
    assert outcome(take(project_id=OTHER)) == {'taken over': 1}
    assert show(ours, 's1') is None
    assert outcome(take()) == {'taken over': 1, 'unchanged': 1}


def test_deleted_and_hidden_stacks(heat, ours, take):
    heat.word('s1', deleted_at=later(1), action='DELETE')
    heat.word('s2')
    heat.add(schema.stack_tag, id=heat.number(), tag='internal ', stack_id='s2')
    assert outcome(take(hidden_tags=('internal',))) == {'hidden': 1}
    assert outcome(take(deleted=True)) == {'taken over': 2}
    assert show(ours, 's1').deleted_at == later(1)
    assert show(ours, 's2').tags == ['internal']
    heat.stack('s3', name='name-s1')                # the name of a deleted stack is free
    assert outcome(take(deleted=True)) == {'taken over': 1, 'unchanged': 2}


def test_deleted_stacks_of_a_time_before_convergence(heat, ours, take):
    """Helpers of updates, roots and nested stacks: no engine works on them."""
    heat.word('s1')
    heat.stack('backup', owner_id='s1', backup=True, convergence=False, deleted_at=later(1))
    heat.stack('nested', owner_id='s1', convergence=False, deleted_at=later(1), parent_resource_name=None)
    heat.stack('old', convergence=False, deleted_at=later(1), action='DELETE')
    report = take(deleted=True)
    assert report.problems == []
    assert outcome(report) == {'taken over': 2}
    assert [show(ours, stack_id) is not None for stack_id in ('s1', 'nested', 'old', 'backup')] == [
        True, True, True, False]
    assert outcome(take(deleted=True)) == {'unchanged': 2}


@pytest.mark.parametrize('deleted', [False, True])
def test_a_live_stack_below_a_deleted_helper_is_named(heat, ours, take, deleted):
    heat.word('s1')
    heat.stack('backup', owner_id='s1', backup=True, convergence=False, deleted_at=later(1))
    heat.stack('live', owner_id='backup', parent_resource_name='inner')
    assert [orphan.row for orphan in take(deleted=deleted).orphans] == ['stack live']


# --- work under way ----------------------------------------------------------------------------------------

def test_work_under_way_waits_for_the_switch(heat, ours, take):
    number = heat.word('s1', action='UPDATE', status='IN_PROGRESS')
    heat.change(schema.resource, number, action='UPDATE', status='IN_PROGRESS')
    heat.add(schema.service, id='e1', host='vm', report_interval=60, created_at=later(0), updated_at=later(10 ** 9))
    report = take()
    assert outcome(report) == {'in progress': 1}
    assert report.engines == ['vm']
    assert show(ours, 's1') is None
    assert outcome(take(switch=True, although_engines_live=True)) == {'taken over': 1}
    assert wanted(ours, 's1')
    assert show(ours, 's1').started_at > later(3600)            # it has all its time again
    with ours.reader() as tx:
        assert resources.light(tx, 's1')[0].fingerprint == DIRTY


class Waited(GreenRuntime):
    """A pause calls a function instead, and takes no time."""

    def __init__(self, pause):
        super().__init__()
        self.pause, self.waited = pause, 0.0

    def sleep(self, seconds):
        self.waited += seconds
        self.pause()

    def monotonic(self):
        return self.waited


def report_of_engine(heat, engine_id):
    heat.change(schema.service, engine_id, updated_at=GreenRuntime().now().replace(microsecond=0))


@pytest.mark.parametrize('lives', [False, True])
def test_a_switch_waits_until_engines_are_known_to_be_dead(heat, ours, take, lives):
    heat.word('s1', action='UPDATE', status='IN_PROGRESS')
    seen = GreenRuntime().now().replace(microsecond=0) - timedelta(seconds=30)
    heat.add(schema.service, id='e1', host='vm', report_interval=60, created_at=NOW, updated_at=seen)
    runtime = Waited(lambda: report_of_engine(heat, 'e1') if lives else None)
    if lives:
        with pytest.raises(exception.Error, match='running, on vm'):
            take(switch=True, runtime=runtime)
        assert show(ours, 's1') is None
    else:
        report = take(switch=True, runtime=runtime)
        assert (outcome(report), report.engines) == ({'taken over': 1}, [])
        assert 60 < runtime.waited < 90


@pytest.mark.parametrize('action, status, is_unsure', [
    ('UPDATE', 'FAILED', True), ('UPDATE', 'COMPLETE', False), ('CREATE', 'FAILED', False)])
def test_an_object_is_unsure_after_an_update_that_failed(heat, ours, take, action, status, is_unsure):
    """It may have some of the new properties; Heat stores the old ones."""
    heat.stack('s1', action=action, status=status)
    heat.resource('s1', action=action, status=status)
    assert outcome(take()) == {'taken over': 1}
    with ours.reader() as tx:
        assert (resources.light(tx, 's1')[0].fingerprint == DIRTY) is is_unsure


def snapshot(heat, name, action, status):
    heat.add(schema.snapshot, id=name, stack_id='s1', name=name, tenant=PROJECT, action=action, status=status,
             created_at=NOW, data='{}')


def test_states_of_snapshots(heat, ours, take):
    """One that an engine had begun to make when it was killed can be deleted."""
    heat.stack('s1')
    for name, action, status in (('a', 'DELETE', 'IN_PROGRESS'), ('b', 'DELETE', 'FAILED'), ('c', None, 'COMPLETE'),
                                 ('d', 'CREATE', 'IN_PROGRESS'), ('e', None, None)):
        snapshot(heat, name, action, status)
    assert outcome(take()) == {'taken over': 1}
    with ours.reader() as tx:
        found = {each.id: (each.action, each.status) for each in snapshots.page(tx, 's1')}
    assert found == {'a': ('DELETE', 'IN_PROGRESS'), 'b': ('DELETE', 'FAILED'), 'c': ('CREATE', 'COMPLETE'),
                     'd': ('CREATE', 'FAILED'), 'e': ('CREATE', 'FAILED')}


@pytest.mark.parametrize('traversal, stuck, made', [('m', ['a', 'z'], 'm'), ('t', [], 'm'), ('t', ['a'], '')])
def test_the_snapshot_that_is_being_made(heat, ours, take, traversal, stuck, made):
    """Its id is that of the traversal; other ones in progress are being deleted, or were interrupted."""
    heat.stack('s1', action='SNAPSHOT', status='IN_PROGRESS', current_traversal=traversal)
    snapshot(heat, 'b', 'DELETE', 'IN_PROGRESS')
    for name in ('m', *stuck):
        snapshot(heat, name, 'CREATE', 'IN_PROGRESS')
    assert outcome(take(switch=True)) == {'taken over': 1}
    assert show(ours, 's1').request['snapshot'] == made
    with ours.reader() as tx:
        assert [each.id for each in snapshots.page(tx, 's1') if (each.action, each.status) == (
            'CREATE', 'IN_PROGRESS')] == ([made] if made else [])


def test_a_group_whose_scaling_was_interrupted_scales_again(heat, ours, take):
    heat.stack('s1')
    heat.resource('s1', rsrc_metadata='{"scaling_in_progress": true, "cooldown_end": {"2026-01-01T00:00:00": "why"}}')
    assert outcome(take()) == {'taken over': 1}
    with ours.reader() as tx:
        assert resources.columns(tx, 's1', None, ('metadata',))[1]['metadata'] == {
            'scaling_in_progress': False, 'cooldown_end': {'2026-01-01T00:00:00': 'why'}}


@pytest.mark.parametrize('action', ['RESTORE', 'ADOPT'])
def test_work_that_only_heat_can_end(heat, take, action):
    heat.word('s1', action=action, status='IN_PROGRESS')
    report = take(switch=True)
    assert outcome(report) == {'refused': 1}
    assert f'{action} is under way' in report.problems[0].reason


def test_properties_of_older_releases(heat, ours, take):
    """They are in the row of the resource, encrypted or not."""
    heat.stack('s1')
    for secret in (False, True):
        value = ['cryptography_decrypt_v1', encrypted('9')] if secret else 9
        heat.resource('s1', rsrc_prop_data_id=None, properties_data=json.dumps({'length': value}),
                      properties_data_encrypted=secret)
    assert outcome(take()) == {'taken over': 1}
    with ours.reader() as tx:
        assert [each['properties'] for each in resources.columns(tx, 's1', None, ('properties',)).values()] == [
            {'length': 9}, {'length': 9}]


# --- rows that make no sense -------------------------------------------------------------------------------

def broken(heat):
    """Row -> what is wrong with it: each makes one tree of its own that does not fit."""
    return {
        'no state': lambda: heat.stack('s1', action='NONSENSE'),
        'no name': lambda: heat.stack('s1', name=None) and heat.change(schema.stack, 's1', name=None),
        'no convergence': lambda: heat.stack('s1', convergence=False),
        'convergence unknown': lambda: heat.stack('s1', convergence=None),
        'no dependencies': lambda: (heat.stack('s1'), heat.resource('s1', requires=None)),
        'no template': lambda: heat.stack('s1', template=10 ** 6),
        'no JSON': lambda: (heat.stack('s1', template=7) and heat.add(schema.raw_template, id=7, template='{')),
        'no map': lambda: (heat.stack('s1', template=7) and heat.add(schema.raw_template, id=7, template='[]')),
        'no version': lambda: heat.stack('s1', template=heat.template({'resources': {'a': 1}})),
        'no parent': lambda: (heat.stack('s1'), heat.stack('s2', owner_id='s1', parent_resource_name=None)),
        'another project': lambda: (heat.stack('s1'), heat.stack(
            's2', owner_id='s1', parent_resource_name='a', tenant=OTHER)),
        'no type': lambda: (heat.stack('s1'), heat.resource('s1', 'nobody')),
        'no properties': lambda: (heat.stack('s1'), heat.resource('s1', rsrc_prop_data_id=10 ** 6)),
        'no requirements': lambda: (heat.stack('s1'), heat.resource('s1', requires='{"a": 1}')),
        'no credentials': lambda: heat.stack('s1', user_creds_id=10 ** 6),
        'no files': lambda: (heat.stack('s1', template=7) and heat.add(
            schema.raw_template, id=7, template='{"heat_template_version": "2018-08-31"}', files_id=10 ** 6)),
        'no uuid': lambda: (heat.stack('s1'), heat.resource('s1', uuid=None)),
        'no event': lambda: (heat.stack('s1'), heat.event('s1', 'word', uuid=None)),
        'damaged data': lambda: (heat.stack('s1'), heat.add(
            schema.resource_data, id=1, resource_id=heat.resource('s1'), key='a', value='x', redact=True,
            decrypt_method='rot13')),
        'damaged property': lambda: (heat.stack('s1'), heat.resource('s1', rsrc_prop_data_id=heat.add(
            schema.resource_properties_data, id=10 ** 6, encrypted=True,
            data=json.dumps({'length': ['cryptography_decrypt_v1', 'no token']}))['id'])),
        'damaged parameter': lambda: heat.stack('s1', template=heat.template(None, {
            'parameters': {'secret': ['cryptography_decrypt_v1', 'no token']},
            'encrypted_param_names': ['secret']})),
        'no pair': lambda: (heat.stack('s1'), heat.resource(
            's1', rsrc_prop_data_id=None, properties_data='{"length": 8}', properties_data_encrypted=True)),
    }


CASES = {
    'no state': 'its state NONSENSE, COMPLETE is unknown', 'no name': 'no name or no project',
    'no dependencies': 'dependencies are not stored', 'no convergence': 'migrate_convergence_1',
    'convergence unknown': 'migrate_convergence_1', 'no template': 'gone', 'no JSON': 'template is no JSON',
    'no map': 'template is no map', 'no version': 'version', 'no parent': 'in no resource',
    'another project': 'another project', 'no type': 'the type of nobody', 'no properties': 'properties are gone',
    'no requirements': 'no list of numbers', 'no credentials': 'gone', 'no files': 'files are gone',
    'no uuid': 'no name or no uuid', 'no event': 'no uuid', 'damaged data': '"rot13" is no method',
    'damaged property': 'cannot be decrypted', 'damaged parameter': 'cannot be decrypted',
    'no pair': 'cannot be decrypted'}


@pytest.mark.parametrize('case', CASES)
def test_rows_that_make_no_sense(heat, ours, take, case):
    """The tree is refused as a whole, by name; its neighbours are not."""
    before = counts(ours)
    broken(heat)[case]()
    report = take()
    assert outcome(report) == {'refused': 1}
    assert CASES[case] in report.problems[0].reason
    assert counts(ours) == before
    heat.word('z9')
    assert outcome(take()) == {'refused': 1, 'taken over': 1}


def test_nested_stacks_whose_owner_is_gone_are_named(heat, ours, take):
    """They are in no tree: who deletes them in the cloud has to know of them."""
    heat.word('s1')
    heat.stack('owner', deleted_at=later(1))
    heat.stack('n1', owner_id='owner', parent_resource_name='a')
    heat.stack('n2', owner_id='n1', parent_resource_name='b')
    heat.stack('n3', owner_id='missing', parent_resource_name='a', tenant=OTHER)
    heat.stack('n4', owner_id='missing', parent_resource_name='a', deleted_at=later(1))
    report = take()
    assert outcome(report) == {'orphaned': 2, 'taken over': 1}
    assert report.problems == []
    assert {each.row for each in report.orphans} == {'stack n1', 'stack n3'}
    assert all('nested in is gone' in each.reason for each in report.orphans)
    assert {each.row for each in take(project_id=OTHER).orphans} == {'stack n3'}
    assert {each.row for each in take(deleted=True).orphans} == {'stack n3'}


def test_a_name_that_is_taken(heat, ours, take):
    heat.word('s1', name='one')
    take()
    with ours.writer() as tx:
        leases.claim(tx, 's1', 'an engine')
    heat.change(schema.stack, 's1', deleted_at=later(1))
    heat.word('s2', name='one')
    before = counts(ours)
    report = take()
    assert outcome(report) == {'refused': 1}
    assert 'has its name' in report.problems[0].reason
    assert counts(ours) == before


def test_a_value_that_is_too_long(heat, ours, take, kind):
    if kind == 'sqlite':
        pytest.skip('SQLite stores texts of any length')
    heat.word('s1', tenant='p' * 100)
    heat.word('s2')
    report = take()
    assert outcome(report) == {'refused': 1, 'taken over': 1}
    assert 'too long' in report.problems[0].reason
    assert 'INSERT' not in report.problems[0].reason             # nor the values of the statement
    with ours.reader() as tx:
        assert tx.execute(sa.text('SELECT COUNT(*) FROM lease')).scalar() == 1


def test_a_wrong_key(heat, ours, take):
    heat.word('s1')
    before = counts(ours)
    with pytest.raises(exception.InvalidEncryptionKey):
        take(key='x' * 32)
    assert counts(ours) == before
    with pytest.raises(exception.InvalidEncryptionKey):
        take(key=KEY[:-1] + 'x')


@pytest.mark.parametrize('more', [0, 1])
def test_a_tree_that_is_too_deep_is_refused_as_a_whole(heat, ours, take, monkeypatch, more):
    monkeypatch.setattr(source, 'DEEPEST', 3)
    heat.word('s0')
    heat.word('r0')
    for depth in range(1, 4 + more):
        heat.stack(f's{depth}', owner_id=f's{depth - 1}', parent_resource_name='r', nested_depth=depth)
    report = take()
    too_deep = [each.reason for each in report.problems if each.reason == 'it has nested stacks on more than 3 levels']
    assert len(too_deep) == more
    if more:
        assert outcome(report) == {'taken over': 1, 'refused': 1} and report.problems[0].row == 'stack s0'
        assert show(ours, 's0') is None and show(ours, 'r0') is not None


def test_stacks_that_are_nested_in_each_other(heat, ours, take):
    heat.stack('a', owner_id='b', parent_resource_name='r')
    heat.stack('b', owner_id='a', parent_resource_name='r')
    heat.word('c')
    assert outcome(take()) == {'taken over': 1}     # they have no root, so nobody sees them in Heat either
    assert HeatDatabase(heat.url)
