"""Two cells on the production profile: Keystone, encryption, three APIs; a project is moved while a stack waits.

`tests/system/test_cells.py` has the move itself, under load; here is who may see, sign and ask what afterwards.
"""

import json
import subprocess
import sys
import uuid

import pytest
import sqlalchemy as sa

from tests.system import databases, production
from tests.system.processes import ROOT

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)

CANARY = 'CANARY-of-cells-5309'
WAITING = """
heat_template_version: 2018-08-31
parameters: {secret: {type: string, hidden: true}}
resources:
  word: {type: OS::Heat::RandomString}
  handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: TOKEN_SIGNAL}}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, count: 1, timeout: 900}}
outputs:
  data: {value: {get_attr: [wait, data]}}
"""
SMALL = {'heat_template_version': '2018-08-31', 'resources': {'word': {'type': 'OS::Heat::RandomString'}}}


class Cells(production.Production):
    """`east`: the URL of the database of the other cell, which has an engine of its own."""

    def __init__(self, folder, east, topic):
        self.east = east
        super().__init__(folder, engines=1, cells__names='east', cell_east__connection=east,
                         cell_east__transport_url=production.RABBIT, cell_east__topic=topic)
        program = self.start_program('engine-east', 'heatlite.cmd.engine', '--workers', '1', '--set',
                                     f'database.connection={east}', '--set', f'engine.topic={topic}')
        self.engines.append(program)
        program.said('takes requests')

    def command(self, module, *words):
        """(exit code, what was printed)"""
        done = subprocess.run([sys.executable, '-W', 'ignore', '-m', module, '--config-file', str(self.file), *words],
                              cwd=ROOT, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def count(self, url, table, project):
        """Rows of a project in the database of a cell."""
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            (found,), = connection.execute(sa.text(
                f'SELECT count(*) FROM {table} WHERE project_id = :project'), {'project': project})
        engine.dispose()
        return found

    def texts(self, url):
        """All that is stored in a cell, as one text."""
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            found = '\n'.join(
                str(tuple(row)) for table in sa.inspect(connection).get_table_names()
                for row in connection.exec_driver_sql(f'SELECT * FROM `{table}`'))
        engine.dispose()
        return found


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    server, topic = databases.SERVERS['mariadb'], f'heatlite_{uuid.uuid4().hex[:12]}'
    if server is None:
        pytest.skip('needs MariaDB: tools/services up')
    east = databases.create(server, topic)
    try:
        with Cells(tmp_path_factory.mktemp('cells'), east, topic) as found:
            yield found
    finally:
        databases.drop(server, topic)


@pytest.fixture(scope='module')
def waiting(cloud):
    """The path of alpha's stack; its project was moved while it waited, and so was its metric."""
    alpha = cloud.people['alpha']
    path = cloud.create(alpha, 'waiting', WAITING, parameters={'secret': CANARY})
    cloud.resource_in_progress(alpha, path, 'wait')
    stored = cloud.ask_cloudwatch(alpha, 'PutMetricData', Namespace='Cells', **{
        'MetricData.member.1.MetricName': 'before', 'MetricData.member.1.Value': '1'})
    assert stored.status == 200, stored.text
    code, said = cloud.command('heatlite.cmd.manage', 'cells', 'move', alpha.project_id, 'east')
    assert code == 0, said
    return path


@pytest.fixture(scope='module')
def theirs(cloud):
    """The path of a stack of beta, whose project stays where it was."""
    beta = cloud.people['beta']
    path = cloud.create(beta, 'theirs', SMALL)
    assert cloud.finished(beta, path) == 'CREATE_COMPLETE'
    return path


def names(cloud, person, **asked):
    """The names of the stacks that a person is shown; None where the request is refused, and then without secrets."""
    answer = cloud.ask(person, 'GET', '/stacks', **asked)
    if answer.status == 200:
        return [each['stack_name'] for each in answer.json['stacks']]
    assert answer.status in (400, 403), answer.text
    assert production.RABBIT not in answer.text and 'mysql' not in answer.text
    return None


def test_a_signal_reaches_the_new_cell(cloud, waiting):
    """Its address and token are from before the move."""
    alpha = cloud.people['alpha']
    handle = cloud.ask(alpha, 'GET', f'{waiting}/resources/handle').json['resource']['attributes']
    assert handle['endpoint'].startswith(cloud.url), handle
    answer = cloud.ask(alpha, 'POST', f'{waiting}/resources/handle/signal', {
        'id': '1', 'data': 'seen', 'status': 'SUCCESS'})
    assert answer.status in (200, 204), answer.text
    assert cloud.finished(alpha, waiting) == 'CREATE_COMPLETE'
    shown = cloud.ask(alpha, 'GET', waiting).json['stack']
    assert json.loads(shown['outputs'][0]['output_value']) == {'1': 'seen'}


def test_all_is_in_the_new_cell_and_sealed(cloud, waiting):
    alpha = cloud.people['alpha']
    assert cloud.count(cloud.database_url, 'stack', alpha.project_id) == 0
    assert cloud.count(cloud.east, 'stack', alpha.project_id) > 0
    for url in (cloud.database_url, cloud.east):
        assert CANARY not in cloud.texts(url)


def test_signed_requests_find_the_cell(cloud, waiting):
    alpha = cloud.people['alpha']
    described = cloud.ask_cfn(alpha, 'DescribeStacks', StackName='waiting', ContentType='JSON')
    assert described.status == 200 and 'waiting' in described.text, described.text
    stored = cloud.ask_cloudwatch(alpha, 'PutMetricData', Namespace='Cells', **{
        'MetricData.member.1.MetricName': 'after', 'MetricData.member.1.Value': '1'})
    assert stored.status == 200, stored.text
    listed = cloud.ask_cloudwatch(alpha, 'ListMetrics', Namespace='Cells', ContentType='JSON')
    assert all(f'"{name}"' in listed.text for name in ('before', 'after')), listed.text
    assert [cloud.count(url, 'metric', alpha.project_id) for url in (cloud.database_url, cloud.east)] == [0, 2]


def test_other_projects_stay_and_see_nothing(cloud, waiting, theirs):
    alpha, beta = cloud.people['alpha'], cloud.people['beta']
    assert [cloud.count(url, 'stack', beta.project_id) for url in (cloud.database_url, cloud.east)] == [1, 0]
    assert names(cloud, beta) == ['theirs']
    assert cloud.ask(beta, 'GET', f'/v1/{alpha.project_id}{waiting}').status == 403
    assert cloud.ask(beta, 'GET', waiting).status == 404
    for action in ('DescribeStacks', 'DeleteStack', 'GetTemplate'):
        assert cloud.ask_cfn(beta, action, StackName='waiting').status in (400, 404)
    listed = cloud.ask_cloudwatch(beta, 'ListMetrics', Namespace='Cells', ContentType='JSON')
    assert listed.status == 200 and 'before' not in listed.text


@pytest.mark.parametrize('cell', ['east', 'home', 'nowhere', "x'; DROP TABLE stack; --", 'x' * 5000])
def test_members_cannot_choose_a_cell(cloud, waiting, theirs, cell):
    """Whatever they name: they see their own project, where it is, or are refused."""
    for name, own in (('alpha', 'waiting'), ('beta', 'theirs')):
        assert names(cloud, cloud.people[name], headers={'X-Heatlite-Cell': cell}) in ([own], None)


def test_the_commands_of_operators_know_both(cloud, waiting):
    code, said = cloud.command('heatlite.cmd.check_config')
    assert code == 0, said
    code, said = cloud.command('heatlite.cmd.manage', 'doctor', '--format', 'json')
    found = {each['name']: each['status'] for each in json.loads(said)['checks'] if 'cell' in each['name']}
    assert code == 0 and set(found.values()) == {'ok'} and len(found) == 4, said
    for words in (('list',), ('show', cloud.people['alpha'].project_id)):
        code, said = cloud.command('heatlite.cmd.manage', 'cells', *words)
        assert code == 0 and 'east' in said, said
    hosts = cloud.ask(cloud.people['admin'], 'GET', '/services')
    assert hosts.status == 200 and len({each['engine_id'] for each in hosts.json['services']}) == 2


def test_a_stack_is_made_and_deleted_in_the_new_cell(cloud, waiting):
    alpha = cloud.people['alpha']
    path = cloud.create(alpha, 'later', SMALL)
    assert cloud.finished(alpha, path) == 'CREATE_COMPLETE'
    assert [cloud.count(url, 'stack', alpha.project_id) for url in (cloud.database_url, cloud.east)] == [0, 2]
    assert cloud.ask(alpha, 'DELETE', path).status == 204
    assert cloud.finished(alpha, path) == 'DELETE_COMPLETE'
    assert names(cloud, alpha) == ['waiting']
