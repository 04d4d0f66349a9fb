"""A small world in a real database: the rows an engine would have left, for tests that only read.

Project PROJECT has `web` (with a nested stack under its resource `inner`), `batch`, the hidden `cellar`, and the
deleted `old`; project OTHER has `theirs`.
"""

from __future__ import annotations

import contextlib
import json
from datetime import datetime, timedelta

import sqlalchemy as sa

from heatlite.db import tables
from heatlite.db.connection import Database
from tests.api.in_process import OTHER, PROJECT

START = datetime(2026, 11, 20, 10, 0, 0)
USERS = 'd' * 32                            # project of the users inside `web`


def number(kind, n):
    """A readable UUID: `number(1, 2)` is 00000001-0000-4000-8000-000000000002."""
    return f'{kind:08x}-0000-4000-8000-{n:012x}'


WEB, BATCH, OLD, THEIRS, INNER, CELLAR = (number(1, n) for n in range(1, 7))
ENVIRON = {'PROJECT': PROJECT, 'OTHER': OTHER, 'USERS': USERS, 'WEB': WEB, 'BATCH': BATCH, 'OLD': OLD,
           'THEIRS': THEIRS, 'INNER': INNER, 'CELLAR': CELLAR, 'SNAPSHOT': number(3, 1),
           'SNAPSHOT_OF_BATCH': number(3, 2),
           'CONFIG': number(4, 1), 'CONFIG_2': number(4, 2), 'CONFIG_OF_OTHER': number(4, 3),
           'DEPLOYMENT': number(5, 1), 'DEPLOYMENT_OF_OTHER': number(5, 2), 'SERVER': number(6, 1),
           'EVENT': number(2, 3)}

TEMPLATE = {
    'heat_template_version': '2018-08-31', 'description': 'A web shop',
    'parameters': {'flavor': {'type': 'string'}, 'secret': {'type': 'string', 'hidden': True}},
    'resources': {'net': {'type': 'OS::Neutron::Net'}}}


def minutes(n):
    return START + timedelta(minutes=n)


def stack(stack_id, name, at, **values):
    row = {
        'id': stack_id, 'name': name, 'project_id': PROJECT, 'username': 'somebody', 'owner_id': None,
        'root_id': stack_id, 'parent_resource': None, 'depth': 0, 'action': 'CREATE', 'status': 'COMPLETE',
        'reason': 'Stack CREATE completed successfully', 'description': 'A web shop', 'template_id': number(7, 1),
        'disable_rollback': True, 'tags': None, 'parameters': json.dumps({'OS::stack_name': name}),
        'outputs': json.dumps([]), 'live': 1, 'created_at': minutes(at), 'updated_at': None, 'deleted_at': None}
    return row | values


def resource(stack_id, row_number, name, kind, **values):
    row = {
        'stack_id': stack_id, 'id': row_number, 'name': name, 'uuid': number(8, row_number), 'type': kind,
        'action': 'CREATE', 'status': 'COMPLETE', 'reason': 'state changed', 'physical_id': f'physical-{name}',
        'requires': json.dumps({}), 'fingerprint': '', 'created_at': minutes(row_number), 'replaced_by': None,
        'definition': None, 'attributes': None, 'metadata': None}
    return row | {'properties': None} | values


def event(event_number, stack_id, name, kind, action, status, **values):
    row = {
        'id': event_number, 'uuid': number(2, event_number), 'stack_id': stack_id, 'resource_name': name,
        'resource_type': kind, 'physical_id': f'physical-{name}', 'action': action, 'status': status,
        'reason': 'state changed', 'properties': None, 'created_at': minutes(event_number)}
    return row | values


FORMER_TEMPLATE = {
    'heat_template_version': '2018-08-31', 'description': 'A shop',
    'parameters': {'flavor': {'type': 'string'}, 'secret': {'type': 'string', 'hidden': True, 'default': 'us3less'}},
    'resources': {'net': {'type': 'OS::Neutron::Net', 'properties': {'name': 's3same'}},
                  'port': {'type': 'OS::Neutron::Port'}}}
FORMER_ENVIRONMENT = {'parameters': {'flavor': 'tiny', 'secret': 's3same'}}

STACKS = [
    stack(WEB, 'web', 1, revision=2, tags=json.dumps(['blue', 'prod']), user_project_id=USERS, updated_at=minutes(30),
          parameters=json.dumps({'OS::stack_id': WEB, 'OS::stack_name': 'web', 'OS::project_id': PROJECT,
                                 'flavor': 'small', 'secret': '******'}),
          outputs=json.dumps([{'output_key': 'url', 'description': 'Where it is', 'output_value': 'http://web'},
                              {'output_key': 'odd', 'output_value': None, 'output_error': 'no such thing'}])),
    stack(BATCH, 'batch', 2, action='UPDATE', status='FAILED', reason='Resource UPDATE failed: boom',
          tags=json.dumps(['blue']), disable_rollback=False, timeout_mins=15),
    stack(OLD, 'old', 3, action='DELETE', live=None, deleted_at=minutes(40),
          parameters=json.dumps({'OS::stack_name': 'old', 'flavor': 'tiny'})),
    stack(THEIRS, 'theirs', 4, project_id=OTHER),
    stack(INNER, 'web-inner-abcdefghijkl', 5, owner_id=WEB, root_id=WEB, parent_resource='inner', depth=1,
          user_project_id=USERS),
    stack(CELLAR, 'cellar', 6, tags=json.dumps(['hidden'])),
]
TAGS = [(WEB, 'blue'), (WEB, 'prod'), (BATCH, 'blue'), (CELLAR, 'hidden')]
RESOURCES = [
    resource(WEB, 1, 'net', 'OS::Neutron::Net', attributes=json.dumps({'mtu': 1500}),
             definition=json.dumps({'description': 'The wire'})),
    resource(WEB, 2, 'server', 'OS::Nova::Server', requires=json.dumps({'net': 1}), status='FAILED', replaced_by=3,
             physical_id='first-server'),
    resource(WEB, 3, 'server', 'OS::Nova::Server', requires=json.dumps({'net': 1}), updated_at=minutes(50),
             metadata=json.dumps({'deployments': []})),
    resource(WEB, 4, 'inner', 'inner.yaml', physical_id=INNER),
    resource(WEB, 5, 'handle', 'OS::Heat::WaitConditionHandle', metadata=json.dumps({'1': 'done'})),
    resource(WEB, 6, 'operator', 'AWS::IAM::User', physical_id='declared',
             properties=json.dumps({'Policies': ['web-rules-abc']})),
    resource(WEB, 7, 'rules', 'OS::Heat::AccessPolicy', physical_id='web-rules-abc',
             properties=json.dumps({'AllowedResources': ['server']})),
    resource(WEB, 8, 'free', 'AWS::IAM::User', physical_id='unbound'),
    resource(INNER, 1, 'port', 'OS::Neutron::Port', action='INIT', physical_id=None, reason=''),
    resource(THEIRS, 1, 'net', 'OS::Neutron::Net'),
]
EVENTS = [
    event(1, WEB, 'web', 'OS::Heat::Stack', 'CREATE', 'IN_PROGRESS', physical_id=WEB, reason='Stack CREATE started'),
    event(2, WEB, 'net', 'OS::Neutron::Net', 'CREATE', 'IN_PROGRESS', resource_id=1, physical_id=None),
    event(3, WEB, 'net', 'OS::Neutron::Net', 'CREATE', 'COMPLETE', resource_id=1,
          properties=json.dumps({'name': 'wire'})),
    event(4, INNER, 'port', 'OS::Neutron::Port', 'CREATE', 'IN_PROGRESS', resource_id=1),
    event(5, WEB, 'web', 'OS::Heat::Stack', 'CREATE', 'COMPLETE', physical_id=WEB,
          reason='Stack CREATE completed successfully'),
    event(6, THEIRS, 'net', 'OS::Neutron::Net', 'CREATE', 'COMPLETE', resource_id=1),
    event(7, OLD, 'old', 'OS::Heat::Stack', 'DELETE', 'COMPLETE', physical_id=OLD),
]
EXPORT = {'name': 'web', 'template': TEMPLATE, 'environment': {'parameters': {'flavor': 'small', 'secret': 's3cret'}},
          'resources': {}}


def config(n, project=PROJECT, **values):
    return {'id': number(4, n), 'project_id': project, 'name': f'config-{n}', 'group': 'Heat::Ungrouped',
            'created_at': minutes(n), 'config': json.dumps(
                {'config': f'echo {n}', 'inputs': [], 'outputs': [], 'options': {}})} | values


def deployment(n, project=PROJECT, **values):
    return {'id': number(5, n), 'project_id': project, 'server_id': number(6, n), 'config_id': number(4, n),
            'action': 'CREATE', 'status': 'COMPLETE', 'status_reason': 'Outputs received', 'created_at': minutes(n),
            'input_values': json.dumps({'a': 1}), 'output_values': None, 'stack_user_project_id': None,
            'updated_at': None} | values


def snapshot(n, stack_id, **values):
    return {'id': number(3, n), 'stack_id': stack_id, 'project_id': PROJECT, 'name': f'snap-{n}', 'action': 'CREATE',
            'status': 'COMPLETE', 'reason': 'Stack SNAPSHOT completed successfully', 'data': json.dumps(EXPORT),
            'created_at': minutes(n)} | values


PLANNED = {'action': 'update', 'summary': {'update': 1}, 'is_empty': False, 'fails': None, 'changes': [], 'outputs': [],
           'rollback_may_change': []}


def plan(n, stack_id, **values):
    return {'id': number(11, n), 'project_id': PROJECT, 'stack_id': stack_id, 'stack_name': 'web', 'action': 'update',
            'state': 'READY', 'generation': 1, 'digest': 'a' * 64, 'author_id': 'u', 'author': 'ann',
            'approver_id': None, 'approver': None, 'summary': json.dumps(PLANNED['summary']),
            'document': json.dumps(PLANNED), 'request': '{}', 'created_at': minutes(n), 'expires_at': minutes(10 ** 6),
            'approved_at': None, 'applied_at': None} | values


def revision(stack_id, n, **values):
    return {'stack_id': stack_id, 'number': n, 'action': 'UPDATE', 'preceding': 'COMPLETE', 'author_id': 'u',
            'author': 'ann', 'plan_id': None, 'template_id': number(7, 1), 'digest': f'{n:064x}',
            'parameters': json.dumps({'OS::stack_id': stack_id, 'flavor': 'small', 'secret': '******'}),
            'created_at': minutes(10 + n)} | values


def fill(engine):
    """Creates the tables in an empty database and writes all rows."""
    tables.metadata.create_all(engine)
    ours = {'parameters': {'flavor': 'small', 'secret': 's3cret'}, 'parameter_defaults': {}, 'resource_registry': {}}
    with engine.begin() as tx:
        def put(table, rows):
            for row in rows:
                tx.execute(sa.insert(table).values(row))

        put(tables.files, [{'id': number(9, 1), 'content': json.dumps({'inner.yaml': 'heat_template_version: x'})}])
        put(tables.template, [{'id': number(7, 1), 'document': json.dumps(TEMPLATE), 'environment': json.dumps(ours),
                               'files_id': number(9, 1), 'created_at': START},
                              {'id': number(7, 2), 'document': json.dumps(FORMER_TEMPLATE), 'created_at': START,
                               'environment': json.dumps(FORMER_ENVIRONMENT), 'files_id': None}])
        put(tables.stack, STACKS)
        put(tables.stack_tag, [{'stack_id': stack_id, 'tag': tag} for stack_id, tag in TAGS])
        put(tables.resource, RESOURCES)
        put(tables.event, EVENTS)
        put(tables.snapshot, [snapshot(1, WEB), snapshot(2, BATCH)])
        put(tables.revision, [
            revision(WEB, 2), revision(WEB, 1, action='CREATE', preceding=None, template_id=number(7, 2), parameters=(
                json.dumps({'OS::stack_id': WEB, 'flavor': 'tiny', 'secret': '******'})))])
        put(tables.plan, [plan(1, WEB), plan(2, BATCH, state='APPLIED', applied_at=minutes(3))])
        put(tables.software_config, [config(1), config(2), config(3, OTHER)])
        put(tables.software_deployment, [deployment(1), deployment(2, OTHER, config_id=number(4, 3))])
        put(tables.resource_data, [{'stack_id': WEB, 'resource_id': 5, 'key': 'user_id', 'value': 'guest',
                                    'method': None}])
        put(tables.engine, [
            {'id': number(10, 1), 'host': 'h1', 'hostname': 'h1', 'binary': 'heat-engine', 'topic': 'engine',
             'report_interval': 60, 'expires_at': 1e11, 'created_at': START, 'updated_at': minutes(1)},
            {'id': number(10, 2), 'host': 'h2', 'hostname': 'h2', 'binary': 'heat-engine', 'topic': 'engine',
             'report_interval': 60, 'expires_at': 0.0, 'created_at': START, 'updated_at': None}])


@contextlib.contextmanager
def database(folder):
    """A database in that folder with all rows."""
    with contextlib.closing(Database(f'sqlite:///{folder}/db.sqlite')) as made:
        fill(made.engine)
        yield made
