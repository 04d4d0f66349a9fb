"""No secret lies in the database in clear: what users wrote, with `encrypt_parameters_and_properties`; what types made
of it, and what nobody chose, always."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from heatlite.common import config, crypt, exception
from heatlite.common.crypt import Keyring
from heatlite.db import resource_data, resources, sealing, stack_trees, stacks, templates
from heatlite.db.tables import SEALED, WRITTEN_BY_USERS, metadata
from heatlite.monitoring.alarms import AlarmRule, Metric
from heatlite.rpc import messages
from heatlite.testing.cluster import Cluster
from tests.db.rows import HEAVY

KEY, NEW_KEY = 'k' * 32, 'n' * 32
SECRET = 'correct-horse-battery'
SEAL = partial(crypt.seal, encryption_key=KEY)

TEMPLATE = {
    'heat_template_version': '2018-08-31',
    'parameters': {'password': {'type': 'string', 'hidden': True},
                   'other': {'type': 'string', 'hidden': True, 'default': f'{SECRET}-by-default'}},
    'resources': {
        'plain': {'type': 'OS::Heat::Value', 'metadata': {'in': {'get_param': 'password'}},
                  'properties': {'value': {'get_param': 'password'}}},
        'thing': {'type': 'OS::Heat::TestResource', 'properties': {
            'value': {'str_replace': {'template': 'pw=$p', 'params': {'$p': {'get_attr': ['plain', 'value']}}}}}},
        'members': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 2, 'resource_def': {
            'type': 'nested.yaml', 'properties': {'word': {'get_param': 'password'}}}}},
        'config': {'type': 'OS::Heat::SoftwareConfig', 'properties': {'config': {'get_param': 'password'}}},
        'server': {'type': 'OS::Heat::DeployedServer'},
        'deployment': {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
            'config': {'get_resource': 'config'}, 'server': {'get_resource': 'server'}, 'signal_transport': 'NO_SIGNAL',
            'input_values': {'p': {'get_param': 'password'}}}},
        'handle': {'type': 'OS::Heat::WaitConditionHandle', 'properties': {'signal_transport': 'NO_SIGNAL'}}},
    'outputs': {'shown': {'value': {'get_attr': ['plain', 'value']}}}}
NESTED = f"""
heat_template_version: 2018-08-31
parameters: {{word: {{type: string}}}}
resources: {{inner: {{type: OS::Heat::Value, properties: {{value: {{get_param: word}}}}}}}}
outputs: {{word: {{value: {{get_attr: [inner, value]}}}}, said: {{value: {SECRET}-in-a-file}}}}
"""


@pytest.fixture(autouse=True)
def _options():
    config.register(cfg.CONF)
    cfg.CONF.set_override('auth_encryption_key', KEY)
    cfg.CONF.set_override('heat_metadata_server_url', 'http://here:8000')
    yield
    for name in ('auth_encryption_key', 'heat_metadata_server_url'):
        cfg.CONF.clear_override(name)


def source(secret):
    return {'template': TEMPLATE, 'files': {'nested.yaml': NESTED}, 'environment': {
        'parameters': {'password': secret}, 'parameter_defaults': {'unused': f'{SECRET}-unused'},
        'resource_registry': {}, 'event_sinks': []}}


def live(cluster):
    """Every table gets its rows: created, kept, signalled, updated. The stack's id."""
    made = cluster.ask(messages.CreateStack(stack_name='s', **source(SECRET)))
    stack_id = made['stack_id']
    assert cluster.settle(stack_id).status == 'COMPLETE', cluster.row(stack_id).reason
    cluster.ask(messages.SnapshotStack(stack_id, 'kept'))
    cluster.settle(stack_id)
    cluster.ask(messages.SignalResource(stack_id, 'handle', {
        'id': '1', 'data': f'{SECRET}-signalled', 'reason': 'r', 'status': 'SUCCESS'}, True))
    cluster.settle(stack_id)
    cluster.ask(messages.UpdateStack(stack_id=stack_id, **source(f'{SECRET}-2')))
    assert cluster.settle(stack_id).status == 'COMPLETE', cluster.row(stack_id).reason
    cluster.ask(messages.CreatePlan(action='update', stack_id=stack_id, **source(f'{SECRET}-2')))
    # The address cannot be reached: it waits for another attempt.
    cluster.ask(messages.PutAlarm('a', AlarmRule(
        Metric('n', 'm'), 'Sum', 60, 1, 'GreaterThanThreshold', 1.0, description=f'{SECRET}-alarm',
        alarm_actions=(f'https://127.0.0.1/?{SECRET}-alarm',)).to_json()))
    cluster.ask(messages.SetAlarmState('a', 'ALARM', 'by hand', f'{SECRET}-alarm'))
    return stack_id


def where_in_clear(cluster, secret=SECRET):
    """(table, column) of every value that shows the secret; all tables, all columns."""
    with cluster.database.reader() as tx:
        return {(table.name, column) for table in metadata.tables.values()
                for row in tx.execute(sa.select(table)) for column, value in row._mapping.items()
                if secret in str(value)}


def is_in_the_file(cluster, secret=SECRET):
    """The whole file, with what SQLite has not overwritten yet."""
    folder = Path(cluster.database.url.database).parent
    return any(secret.encode() in path.read_bytes() for path in folder.iterdir())


def test_no_secret_lies_in_clear():
    with Cluster(engines=1, seal=SEAL) as cluster:
        stack_id = live(cluster)
        assert where_in_clear(cluster) == set()
        assert not is_in_the_file(cluster)
        row = cluster.row(stack_id)
        assert row.outputs[0]['output_value'] == f'{SECRET}-2'
        assert (row.parameters['password'], row.parameters['other']) == ('******', '******')
        with cluster.database.reader() as tx:
            assert templates.get(tx, row.template_id).environment['parameters'] == {'password': f'{SECRET}-2'}
        cluster.delete(stack_id)
        assert cluster.settle(stack_id).status == 'COMPLETE'
        assert not is_in_the_file(cluster)


def test_a_definition_that_is_a_type_alone_is_stored_in_clear():
    """It tells no more than the column `type`, and is a tenth of the row. Also after a change of the key."""
    value = {'type': 'OS::Heat::Value', 'properties': {'value': SECRET}}
    template = {'heat_template_version': '2018-08-31', 'resources': {
        'type alone': value, 'more': {**value, 'metadata': {'type': 'OS::Heat::Value'}}}}
    with Cluster(engines=1, seal=SEAL) as cluster:
        stack_id = cluster.create('s', template)
        assert cluster.settle(stack_id).status == 'COMPLETE'

        def stored():
            with cluster.database.reader() as tx:
                return dict(tx.exec_driver_sql('SELECT name, definition FROM resource').all())

        assert stored()['type alone'] == '{"type":"OS::Heat::Value","deletion_policy":"Delete"}'
        assert crypt.is_sealed(stored()['more'])
        assert sealing.Rewriting(True, Keyring(KEY)).run(cluster.database) == 0
        assert where_in_clear(cluster) == set()


def test_every_sealed_column_would_show_it():
    """So that the test above looks at something: without the option nearly all of them do."""
    with Cluster(engines=1) as cluster:
        live(cluster)
        found = where_in_clear(cluster)
        assert is_in_the_file(cluster)
    masked = {('event', 'properties'), ('plan', 'document'), ('stack', 'parameters'),
              ('revision', 'parameters')}                       # before they are written
    unseen = {*masked, ('signal_error', 'error'), ('signal', 'details'), ('resource', 'handle'),
              ('resource', 'cause'), ('resource', 'waits'), ('stack', 'request'),
              ('drift', 'report'), ('forced_delete', 'left_behind'),
              ('software_deployment', 'input_values'), ('software_deployment', 'output_values')}
    columns = {(table.name, name) for table, names in {**SEALED, **WRITTEN_BY_USERS}.items() for name in names}
    assert found >= columns - unseen


def without_the_option(**options):
    return Cluster(engines=1, seal=SEAL, seal_sources=False, **options)


def test_without_the_option_only_what_users_wrote_is_in_clear():
    with without_the_option() as cluster:
        live(cluster)
        written = {(table.name, name) for table, names in WRITTEN_BY_USERS.items() for name in names}
        assert where_in_clear(cluster) == written
        with cluster.database.reader() as tx:
            nested = [row for row in stack_trees.tree(tx, cluster.user_stack('s')) if row.depth]
            assert len(nested) == 3
            assert all(templates.show(tx, row.template_id).is_sealed for row in nested)


def test_what_is_secret_by_nature_is_sealed_without_the_option():
    template = {
        'heat_template_version': '2018-08-31',
        'resources': {
            'word': {'type': 'OS::Heat::RandomString'},
            'copy': {'type': 'OS::Heat::TestResource', 'properties': {'value': {'get_attr': ['word', 'value']}}},
            'below': {'type': 'nested.yaml', 'properties': {'word': {'get_attr': ['word', 'value']}}},
            'members': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': {
                'type': 'OS::Heat::Value', 'properties': {'value': {'get_attr': ['word', 'value']}}}}}},
        'outputs': {'word': {'value': {'get_attr': ['word', 'value']}}}}
    with without_the_option() as cluster:
        stack_id = cluster.ask(messages.CreateStack(
            stack_name='s', template=template, files={'nested.yaml': NESTED}, environment={}))['stack_id']
        assert cluster.settle(stack_id).status == 'COMPLETE', cluster.row(stack_id).reason
        cluster.ask(messages.SnapshotStack(stack_id, 'kept'))
        word = cluster.settle(stack_id).outputs[0]['output_value']
        assert len(word) == 32
        assert where_in_clear(cluster, word) == set()
        assert not is_in_the_file(cluster, word)


def test_a_breakpoint_is_found_again_though_it_is_sealed():
    with Cluster(engines=1, seal=SEAL) as cluster:
        stack_id = cluster.ask(messages.CreateStack(
            stack_name='s', template={'heat_template_version': '2018-08-31', 'resources': {
                'a': {'type': 'OS::Heat::TestResource'}}},
            environment={'resource_registry': {'resources': {'a': {'hooks': 'pre-create'}}}}))['stack_id']
        assert cluster.universe.run(lambda: any('paused' in each[3] for each in cluster.events(stack_id)))
        with cluster.database.reader() as tx:
            assert resource_data.held(tx, stack_id, ['pre-create']) == {1: 'pre-create'}
        cluster.ask(messages.SignalResource(stack_id, 'a', {'unset_hook': 'pre-create'}))
        assert cluster.settle(stack_id).status == 'COMPLETE'


@pytest.mark.parametrize('before, after', [(None, SEAL), (SEAL, None)])
def test_what_was_stored_before_stays_readable(before, after):
    with Cluster(engines=1, seal=before) as cluster:
        stack_id = live(cluster)
        for database in (cluster.database, *cluster._databases):
            database._writing.update_execution_options(seal=after)
        cluster.ask(messages.UpdateStack(stack_id=stack_id, **source('a-new-word')))
        assert cluster.settle(stack_id).status == 'COMPLETE'
        assert cluster.row(stack_id).outputs[0]['output_value'] == 'a-new-word'
        cluster.delete(stack_id)
        assert cluster.settle(stack_id).status == 'COMPLETE'


def test_an_operator_seals_opens_and_changes_the_key():
    with Cluster(engines=1) as cluster:
        stack_id = live(cluster)
        with cluster.database.reader() as tx:
            shown = stacks.get(tx, stack_id), resources.columns(tx, stack_id, None, HEAVY)
        assert sealing.Rewriting(True, Keyring(KEY)).run(cluster.database) > 0
        assert where_in_clear(cluster) == set()
        assert sealing.Rewriting(True, Keyring(KEY)).run(cluster.database) == 0
        assert sealing.Rewriting(True, Keyring(NEW_KEY, lambda: [KEY])).run(cluster.database) > 0
        with pytest.raises(exception.InvalidEncryptionKey):
            cluster.row(stack_id)
        cfg.CONF.set_override('auth_encryption_key', NEW_KEY)
        with cluster.database.reader() as tx:
            assert shown == (stacks.get(tx, stack_id), resources.columns(tx, stack_id, None, HEAVY))
        assert sealing.Rewriting(False, Keyring(NEW_KEY)).run(cluster.database) > 0
        assert sealing.Rewriting(False, Keyring(NEW_KEY)).run(cluster.database) == 0
        assert {table for table, _column in where_in_clear(cluster)} == {'template', 'files'}
        with pytest.raises(exception.InvalidEncryptionKey):
            sealing.Rewriting(True, Keyring(KEY)).run(cluster.database)
        cluster.delete(stack_id)
        assert cluster.settle(stack_id).status == 'COMPLETE'
