"""A tree of stacks that Heat 27.0.1 made, taken over by heatlite-manage and driven by engines of a cluster.

tests/takeover/heat.json has the rows of that Heat, heat-answers.json what its API said of them. The tree has a random
string, a value, a template resource with a hidden parameter, a resource group and a scaling group: no resource needs a
service. `python -m tests.cloud.take_over` does the same with a Heat that runs.
"""

import json
import os
import re
import subprocess
import sys
import uuid
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from heatlite.takeover import schema
from tests.cloud.answers import MISSING, about, differences
from tests.cloud.deployment import Deployment
from tests.system import databases
from tests.system.cluster import Cluster
from tests.system.processes import ROOT, eventually

RABBIT = os.environ.get('HEATLITE_TEST_RABBIT_URL')
ROWS = ROOT / 'tests' / 'takeover' / 'heat.json'
ANSWERS = ROOT / 'tests' / 'takeover' / 'heat-answers.json'
KEY = '0123456789abcdef0123456789abcdef'
PROJECT = 'd301dc8abe41425ea1ed3b837f73db40'
NAME = 'two-fixture'
ROOT_ID = '9d6ca64d-6b76-4164-a56d-9f1a6bc91f47'
STACK = f'/stacks/{NAME}/{ROOT_ID}'


@pytest.fixture(params=[name for name, url in databases.SERVERS.items() if url] or ['mariadb'])
def cluster(request, tmp_path):
    if not (RABBIT and databases.SERVERS[request.param]):
        pytest.skip('needs a database server and RabbitMQ: tools/services up')
    made = Cluster(tmp_path, databases.SERVERS[request.param], RABBIT, engines=1)
    yield made
    made.stop()


class Heat:
    """The database of a Heat that has stopped, with its configuration. `server`: URL of a database server."""

    def __init__(self, server, folder):
        self._server, self._name = server, f'heat_{uuid.uuid4().hex[:12]}'
        url = databases.create(server, self._name)
        self.engine = sa.create_engine(url)
        schema.metadata.create_all(self.engine)
        self.configuration = Path(folder) / 'heat.conf'
        self.configuration.write_text(f'[DEFAULT]\nauth_encryption_key = {KEY}\n[database]\nconnection = '
                                      + url.replace('%', '%%') + '\n')
        with self.engine.begin() as tx:
            for name, rows in json.loads(ROWS.read_text().replace(PROJECT, 'admin')).items():
                for row in rows:
                    tx.execute(schema.metadata.tables[name].insert().values(read(row)))
            # This cluster has no identity service, so there is no trust to act under.
            tx.execute(schema.stack.update().values(user_creds_id=None))

    def close(self):
        self.engine.dispose()
        databases.drop(self._server, self._name)


def read(row):
    return {name: datetime.fromisoformat(value) if name.endswith('_at') and value else value
            for name, value in row.items()}


@pytest.fixture
def heat(cluster, tmp_path):
    made = Heat(cluster._server, tmp_path)
    yield made
    made.close()


def take_over(cluster, heat, *arguments, code=0):
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(cluster.file), 'import-heat',
         '--heat-config', str(heat.configuration), *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def service(cluster):
    return Deployment(cluster.url)


# What differs between answers of Heat and of heatlite whether or not a stack was taken over, by place.
MASKED = '******'       # what came from hidden parameters or secret data, in history and metadata
EXPECTED = re.compile('|'.join((
    r'/environment\.encrypted_param_names',                 # heatlite knows what is hidden in nested stacks
    r'/resources/[^/.]*\.resource\.attributes\..*')))       # Heat shows no references of groups there


def test_every_answer_is_as_before(cluster, heat):
    assert 'taken over' in take_over(cluster, heat)
    before = json.loads(ANSWERS.read_text().replace(PROJECT, 'admin'))
    after = about(service(cluster), STACK)
    assert before.keys() == after.keys()
    found = [f'{path}{place}: {one} | {other}' for path in before
             for place, one, other in differences(before[path], after[path])
             if other != MASKED and not EXPECTED.search(f'{path}{place}')]
    assert found == []
    values = [place for path in before for place, one, other in differences(before[path], after[path])
              if '.attributes.' in place and MISSING not in (one, other) and one is not None]
    assert values == []


def template(rows):
    """The template of the root as its user gave it, with its environment and files."""
    found = next(row for row in rows['raw_template'] if '"word": {"type": "OS::Heat::RandomString"' in row['template'])
    files = next(row for row in rows['raw_template_files'] if row['id'] == found['files_id'])
    return {'template': json.loads(found['template']), 'environment': json.loads(found['environment']),
            'files': json.loads(files['files'])}


def physical_ids(heatlite):
    return {(each.get('parent_resource'), each['resource_name']): each['physical_resource_id']
            for each in heatlite.resources(STACK)}


def test_an_equal_template_changes_nothing_another_one_changes_in_place(cluster, heat):
    take_over(cluster, heat)
    heatlite, body = service(cluster), template(json.loads(ROWS.read_text()))
    body['environment'].pop('encrypted_param_names')
    plan = heatlite.ask('PUT', f'{STACK}/preview?show_nested=true', 200, body)['resource_changes']
    assert {each['resource_name'] for each in plan['updated']} <= {'one', 'group', 'scaled', '0', '1'}   # stacks
    assert not plan['added'] + plan['deleted'] + plan['replaced']
    before, word = physical_ids(heatlite), heatlite.ask('GET', f'{STACK}/outputs/word', 200)
    times = {each['resource_name']: each['updated_time'] for each in heatlite.resources(STACK)}
    assert heatlite.update(STACK, **body) == 'UPDATE_COMPLETE'
    assert physical_ids(heatlite) == before
    assert heatlite.ask('GET', f'{STACK}/outputs/word', 200) == word
    after = {each['resource_name']: each['updated_time'] for each in heatlite.resources(STACK)}
    assert {name for name in times if times[name] != after[name]} <= {'one', 'group', 'scaled', '0', '1'}
    body['template']['resources']['value']['properties']['value'] = 'another'
    body['template']['resources']['group']['properties']['count'] = 3
    assert heatlite.update(STACK, **body) == 'UPDATE_COMPLETE'
    changed = physical_ids(heatlite)
    assert {place: changed[place] for place in before} == before
    assert heatlite.resource(STACK, 'value')['resource_status'] == 'UPDATE_COMPLETE'
    assert heatlite.delete(STACK) == 'DELETE_COMPLETE'
    assert heatlite.ask('GET', '/stacks?show_nested=true', 200)['stacks'] == []
    again = take_over(cluster, heat, code=1)
    assert 'heatlite has worked on it' in again


def test_work_under_way_is_brought_to_an_end(cluster, heat):
    with heat.engine.begin() as tx:                 # as if Heat had been killed after it had made the first one
        tx.execute(schema.stack.update().where(schema.stack.c.id == ROOT_ID).values(
            status='IN_PROGRESS', status_reason='Stack CREATE started'))
        tx.execute(schema.resource.update().where(
            schema.resource.c.stack_id == ROOT_ID, schema.resource.c.name == 'value').values(
            action='INIT', nova_instance=None, rsrc_prop_data_id=None, requires='[]'))
        tx.execute(schema.resource.update().where(
            schema.resource.c.stack_id == ROOT_ID, schema.resource.c.name == 'scaled').values(status='IN_PROGRESS'))
    assert 'in progress' in take_over(cluster, heat)
    heatlite = service(cluster)
    assert heatlite.ask('GET', '/stacks', 200)['stacks'] == []
    take_over(cluster, heat, '--switch')
    eventually('the end of the creation', lambda: heatlite.stack(STACK)['stack_status'] == 'CREATE_COMPLETE')
    assert {each['resource_status'] for each in heatlite.resources(STACK)} <= {'CREATE_COMPLETE', 'UPDATE_COMPLETE'}
    assert heatlite.resource(STACK, 'value')['attributes']['value']
