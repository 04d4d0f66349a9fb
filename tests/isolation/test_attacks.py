"""Attacks of one project on another by what a template, a body or an adopted document may name: ids of foreign things.

A victim's stack lives in project VICTIM. The attacker knows all of its ids, owns another project, and writes whatever
the API accepts. Afterwards the victim's rows are what they were, and nothing the attacker can read holds the canary.
"""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.db import software_deployments, stacks, tables
from heatlite.rpc import messages, server
from tests.simulation.cluster import Cluster, outputs

pytestmark = pytest.mark.usefixtures('guest_urls')

VICTIM, ATTACKER = 'v' * 32, 'a' * 32
CANARY = 'canary-7f3a'
SERVER = 'server-of-the-victim'
HOT = {'heat_template_version': '2018-08-31'}

INNER = {**HOT, 'resources': {'word': {'type': 'OS::Heat::Value', 'properties': {'value': CANARY}}},
         'outputs': {'word': {'value': {'get_attr': ['word', 'value']}}}}
VICTIMS = {**HOT, 'resources': {
    'group': {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': 1, 'resource_def': {'type': 'OS::Heat::Value', 'properties': {'value': CANARY}}}},
    'inner': {'type': 'inner.yaml'},
    'server': {'type': 'OS::Heat::DeployedServer', 'metadata': {'own': CANARY}},
    'config': {'type': 'OS::Heat::SoftwareConfig', 'properties': {'group': 'script', 'config': CANARY}},
    'deployment': {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
        'config': {'get_resource': 'config'}, 'server': {'get_resource': 'server'},
        'signal_transport': 'NO_SIGNAL', 'input_values': {'word': CANARY}}},
    'handle': {'type': 'OS::Heat::WaitConditionHandle'}},
    'outputs': {'word': {'value': {'get_attr': ['inner', 'word']}}}}


@pytest.fixture
def place():
    with Cluster(enable_stack_adopt=True, enable_stack_abandon=True) as cluster:
        caller(cluster, VICTIM)
        cluster.victim = cluster.create('victim', VICTIMS, files={'inner.yaml': json.dumps(INNER)})
        row = cluster.settle(cluster.victim)
        assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
        cluster.ids = {name: states[-1][2] for name, states in cluster.states(cluster.victim).items()}
        with cluster.database.writer() as tx:
            tx.execute(tables.stack.update().where(tables.stack.c.root_id == cluster.victim).values(
                user_project_id='users-of-the-victim'))
        caller(cluster, ATTACKER)
        yield cluster


def caller(cluster, project):
    cluster.context = RequestContext(project_id=project, roles=['member', 'reader'], overwrite=False)


def rows_of_victim(cluster):
    """Every row that belongs to the victim's project, as text."""
    found = {}
    with cluster.database.reader() as tx:
        ours = sa.select(tables.stack.c.id).where(tables.stack.c.project_id == VICTIM)
        for table in (tables.stack, tables.snapshot, tables.plan, tables.software_config, tables.software_deployment):
            found[table.name] = tx.execute(table.select().where(table.c.project_id == VICTIM)).all()
        for table in (tables.resource, tables.resource_data, tables.event, tables.signal, tables.template,
                      tables.revision, tables.guard):
            found[table.name] = tx.execute(table.select().where(table.c.stack_id.in_(ours))).all()
    return found


def seen_by_attacker(cluster):
    """Every row of the attacker's own stacks, as text: what the API shows is made from these."""
    said = []
    with cluster.database.reader() as tx:
        own = sa.select(tables.stack.c.id).where(tables.stack.c.project_id == ATTACKER)
        said += tx.execute(tables.stack.select().where(tables.stack.c.project_id == ATTACKER)).all()
        for table in (tables.resource, tables.resource_data, tables.event):
            said += tx.execute(table.select().where(table.c.stack_id.in_(own))).all()
        for table in (tables.software_config, tables.software_deployment):
            said += tx.execute(table.select().where(table.c.project_id == ATTACKER)).all()
    return repr(said)


def ask(cluster, message):
    """The answer, or the refusal."""
    return cluster.ask(message, allowed=[Exception])


GROUP = {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': {'type': 'OS::Heat::None'}}}
AUTOSCALING = {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
    'min_size': 0, 'max_size': 2, 'resource': {'type': 'OS::Heat::None'}}}
FILE = {'type': 'mine.yaml'}
CHAIN = {'type': 'OS::Heat::ResourceChain', 'properties': {'resources': ['OS::Heat::None']}}
OWNERS_OF_STACKS = {'group': GROUP, 'autoscaling': AUTOSCALING, 'file': FILE, 'chain': CHAIN}
FOREIGN_STACKS = {'root': lambda cluster: cluster.victim, 'nested': lambda cluster: cluster.ids['inner'],
                  'group': lambda cluster: cluster.ids['group']}
FILES = {'mine.yaml': json.dumps({**HOT, 'outputs': {'word': {'value': 'mine'}}})}


PATHS = {'a': ['word'], 'b': ['outputs'], 'c': ['outputs_list', 'word'], 'd': ['resource.word.value'],
         'e': ['resource.word'], 'f': ['resource.0.value'], 'g': ['refs'], 'h': ['show'], 'i': ['resource.config'],
         'j': ['resource.handle'], 'k': ['refs_map']}


@pytest.mark.parametrize('foreign', FOREIGN_STACKS)
def test_a_foreign_stack_as_an_external_resource(place, foreign):
    """`external_id` of a type that owns a stack: neither read, nor acted on."""
    before = rows_of_victim(place)
    foreign_id = FOREIGN_STACKS[foreign](place)
    owners = {**HOT, 'resources': OWNERS_OF_STACKS}
    template = {**HOT,
                'resources': {name: {**each, 'external_id': foreign_id} for name, each in OWNERS_OF_STACKS.items()},
                'outputs': {f'{name}-{key}': {'value': {'get_attr': [name, *path]}}
                            for name in OWNERS_OF_STACKS for key, path in PATHS.items()}}
    stack_id = place.create('thief', template, files=FILES)
    place.settle(stack_id)
    read(place, stack_id, OWNERS_OF_STACKS)
    for action in ('check', 'suspend', 'resume'):
        ask(place, messages.StackAction(stack_id, action))
        place.settle(stack_id)
    for wanted in (template, owners):
        ask(place, messages.UpdateStack(stack_id=stack_id, template=wanted, files=FILES, environment={}))
        place.settle(stack_id)
    read(place, stack_id, OWNERS_OF_STACKS)
    place.delete(stack_id)
    place.settle(stack_id)
    assert_unhurt(place, before)


def read(place, stack_id, names=('x',)):
    """Everything an engine would say of it."""
    for message in (messages.ResolveOutputs(stack_id), messages.ExportStack(stack_id),
                    *(messages.ResourceAttributes(stack_id, name, (
                        'word', 'outputs', 'resource.word', 'resource.word.value', 'resource.server.metadata', 'refs'))
                      for name in names)):
        said = ask(place, message)
        assert CANARY not in repr(said), message


def assert_unhurt(place, before):
    after = rows_of_victim(place)
    for name, rows in before.items():
        assert after[name] == rows, name
    assert CANARY not in seen_by_attacker(place)


ADOPTED = {
    'OS::Heat::SoftwareDeployment': 'deployment', 'OS::Heat::SoftwareConfig': 'config',
    'OS::Heat::DeployedServer': 'server',
    'OS::Heat::ResourceGroup': 'group', 'mine.yaml': 'inner', 'OS::Heat::AutoScalingGroup': 'group',
    'OS::Heat::WaitConditionHandle': 'handle', 'OS::Heat::StructuredDeployment': 'deployment'}


@pytest.mark.parametrize('kind', ADOPTED)
def test_adopting_what_belongs_to_others(place, kind):
    """An adopted document names foreign ids as its own; then the stack is read, checked, updated and deleted."""
    before = rows_of_victim(place)
    foreign = place.ids[ADOPTED[kind]]
    properties = {
        'OS::Heat::SoftwareDeployment': {'config': foreign, 'server': 's', 'signal_transport': 'NO_SIGNAL'},
        'OS::Heat::StructuredDeployment': {'server': 's', 'signal_transport': 'NO_SIGNAL'},
        'OS::Heat::ResourceGroup': GROUP['properties'], 'OS::Heat::AutoScalingGroup': AUTOSCALING['properties'],
    }.get(kind, {})
    template = {**HOT, 'resources': {'x': {'type': kind, 'properties': properties}}, 'outputs': {
        'a': {'value': {'get_attr': ['x', 'show']}}, 'b': {'value': {'get_resource': 'x'}}}}
    if kind in ('OS::Heat::SoftwareConfig',):
        template['outputs']['c'] = {'value': {'get_attr': ['x', 'config']}}
    adopt = {'name': 'thief', 'action': 'CREATE', 'status': 'COMPLETE', 'id': place.victim, 'project_id': VICTIM,
             'stack_user_project_id': 'users-of-the-victim', 'template': template, 'environment': {},
             'resources': {'x': {
                 'name': 'x', 'type': kind, 'resource_id': foreign, 'action': 'CREATE', 'status': 'COMPLETE',
                 'id': foreign, 'project_id': VICTIM, 'metadata': {},
                 'resources': {'0': {'resource_id': foreign, 'type': 'OS::Heat::Value', 'action': 'CREATE',
                                     'status': 'COMPLETE'}},
                 'resource_data': {'user_id': 'somebody', 'nested': foreign}}}}
    try:
        stack_id = place.create('thief', template, files=FILES, adopt=adopt)
    except exception.HeatException as refused:
        assert CANARY not in str(refused)
        assert_unhurt(place, before)
        return
    row = place.settle(stack_id)
    assert row.project_id == ATTACKER
    read(place, stack_id)
    for action in ('check', 'suspend', 'resume'):
        ask(place, messages.StackAction(stack_id, action))
        place.settle(stack_id)
    ask(place, messages.SignalResource(stack_id, 'x', {'deploy_status_code': 1}))
    place.settle(stack_id)
    ask(place, messages.UpdateStack(stack_id=stack_id, template=template, files=FILES, environment={}))
    place.settle(stack_id)
    place.delete(stack_id)
    place.settle(stack_id)
    assert_unhurt(place, before)


@pytest.mark.parametrize('kind', ['OS::Heat::SoftwareDeployment', 'OS::Heat::StructuredDeployment'])
def test_a_foreign_deployment_as_an_external_resource(place, kind):
    """Suspending it would put the attacker's config in the place of the victim's, for the victim's server to run."""
    before = rows_of_victim(place)
    mine = ask(place, messages.CreateSoftwareConfig(name='mine', group='script', config='rm -rf /'))
    stack_id = place.create('thief', {**HOT, 'resources': {'x': {
        'type': kind, 'external_id': place.ids['deployment'], 'properties': {
            'config': mine['id'], 'server': SERVER, 'signal_transport': 'NO_SIGNAL',
            'actions': ['CREATE', 'UPDATE', 'SUSPEND', 'RESUME', 'DELETE']}}},
        'outputs': {'a': {'value': {'get_attr': ['x', 'deploy_stdout']}}}})
    place.settle(stack_id)
    for action in ('suspend', 'resume', 'check'):
        ask(place, messages.StackAction(stack_id, action))
        place.settle(stack_id)
    ask(place, messages.SignalResource(stack_id, 'x', {'deploy_stdout': 'x', 'deploy_status_code': 0}))
    place.settle(stack_id)
    read(place, stack_id)
    place.delete(stack_id)
    place.settle(stack_id)
    assert_unhurt(place, before)


def test_a_deployment_for_the_servers_of_others(place):
    """Servers run what is deployed for the project that their user is in: it cannot be named by anybody else."""
    before = rows_of_victim(place)
    config = ask(place, messages.CreateSoftwareConfig(name='mine', group='script', config='rm -rf /'))
    said = [ask(place, messages.CreateSoftwareDeployment(
        config_id=config['id'], server_id=place.ids['server'], stack_user_project_id=project))
        for project in ('users-of-the-victim', 'nobody', VICTIM)]
    assert [type(each).__name__ for each in said] == 3 * ['NotFound']
    assert str(said[0]).replace('users-of-the-victim', 'nobody') == str(said[1])
    for project in ('users-of-the-victim', VICTIM):
        with place.database.reader() as tx:
            found = software_deployments.configs_of_server(tx, project, place.ids['server'])
        assert config['id'] not in {each.id for each in found}
    assert_unhurt(place, before)


def test_a_deployment_for_the_users_of_an_own_stack(place):
    stack_id = place.create('own', HOT)
    place.settle(stack_id)
    with place.database.writer() as tx:
        stacks.set_user_project(tx, stack_id, 'own-users')
    config = ask(place, messages.CreateSoftwareConfig(name='mine', group='script', config='ls'))
    made = ask(place, messages.CreateSoftwareDeployment(
        config_id=config['id'], server_id='s', stack_user_project_id='own-users'))
    assert made['config_id'] == config['id']


def test_an_own_stack_as_an_external_resource(place):
    """What Heat allows and templates use: a stack of the same project."""
    first = place.create('first', {**HOT, 'outputs': {'word': {'value': 'shown'}}})
    place.settle(first)
    second = place.create('second', {**HOT, 'resources': {'x': {**GROUP, 'external_id': first}}, 'outputs': {
        'word': {'value': {'get_attr': ['x', 'word']}}}})
    assert outputs(place.settle(second)) == {'word': 'shown'}


# --- messages: an engine does not rely on the API alone -----------------------------------------------------

GIVEN = {
    'stack_id': lambda cluster: cluster.victim, 'snapshot_id': lambda cluster: cluster.snapshot,
    'resource_name': lambda cluster: 'config', 'resource': lambda cluster: 'config',
    'unhealthy': lambda cluster: True, 'rollback': lambda cluster: True,
    'reason': lambda cluster: 'x', 'action': lambda cluster: 'suspend',
    'config_id': lambda cluster: cluster.ids['config'], 'deployment_id': lambda cluster: cluster.ids['deployment'],
    'server_id': lambda cluster: cluster.ids['server'], 'template': lambda cluster: HOT,
    'names': lambda cluster: ('config',),
    'input_values': lambda cluster: {'a': CANARY}}
OTHERWISE = {messages.CreatePlan: {'action': messages.UPDATE}}
NAMING = [kind for kind in server.MESSAGES.values()
          if {field.name for field in fields(kind)} & {'stack_id', 'config_id', 'deployment_id'}
          and kind is not messages.Wake]


@pytest.mark.parametrize('kind', NAMING, ids=lambda kind: kind.__name__)
def test_an_engine_refuses_what_an_api_should_have(place, kind):
    caller(place, VICTIM)
    place.snapshot = place.ask(messages.SnapshotStack(place.victim, 'kept'))['id']
    place.settle(place.victim)
    place.context = RequestContext(project_id=ATTACKER, roles=['member', 'reader'], overwrite=False)
    before = rows_of_victim(place)
    given = {field.name: GIVEN[field.name](place) for field in fields(kind) if field.name in GIVEN}
    message = kind(**given | OTHERWISE.get(kind, {}))
    said = ask(place, message)
    assert isinstance(said, exception.EntityNotFound | exception.NotFound), said
    assert rows_of_victim(place) == before
    place.context = RequestContext(roles=['reader'], overwrite=False)      # a caller without any project
    assert isinstance(ask(place, message), exception.EntityNotFound | exception.NotFound)
    assert rows_of_victim(place) == before
