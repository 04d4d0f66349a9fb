"""The outputs of a stack in progress come from an engine, in whatever form they are shown; those of any other stack are
stored, and no engine is asked."""

import json
import uuid
from datetime import datetime

import pytest

from heatlite.api.cfn import deploy as cfn
from heatlite.common import exception
from heatlite.db import engines
from heatlite.db.tables import stack
from heatlite.rpc import messages
from tests.api import in_process, rows

PATH = f'/v1/{in_process.PROJECT}/stacks/web/{rows.WEB}'
STORED = [{'output_key': 'both', 'description': 'It', 'output_value': 'before'},
          {'output_key': 'dropped', 'description': 'It', 'output_value': 'before'}]
PRESENT = [{'output_key': 'both', 'description': 'It', 'output_value': 'now'},
           {'output_key': 'added', 'description': 'It', 'output_value': None}]
IN_PROGRESS = ['CREATE', 'UPDATE', 'ADOPT', 'ROLLBACK', 'SUSPEND', 'RESUME', 'CHECK', 'SNAPSHOT', 'RESTORE']


class Engine:
    """Answers with PRESENT, or fails."""

    def __init__(self):
        self.asked, self.error = [], None

    def call(self, context, message):
        self.asked.append(message)
        if self.error is not None:
            raise self.error
        return [each for each in PRESENT if message.keys is None or each['output_key'] in message.keys]


class World:
    """Both APIs over a database with an engine."""

    def __init__(self, database):
        self.database, self.engine = database, Engine()
        self.rest = in_process.build(None, database, self.engine)
        self.cfn = cfn.build(in_process.options(), database, self.engine, identity=in_process.Verified)

    def be(self, action, status='IN_PROGRESS', outputs=STORED, ids=(rows.WEB,)):
        with self.database.writer() as tx:
            tx.execute(stack.update().where(stack.c.id.in_(ids)).values(
                action=action, status=status, outputs=json.dumps(outputs)))

    def get(self, path=''):
        return in_process.ask(self.rest, 'GET', f'{PATH}{path}')

    def describe(self, **more):
        query = '&'.join(f'{name}={value}' for name, value in more.items())
        answer = in_process.ask(self.cfn, 'GET', f'/v1/?Action=DescribeStacks&ContentType=JSON&{query}')
        return answer.json['DescribeStacksResponse']['DescribeStacksResult']['Stacks']

    def values(self):
        """{key: value} in each of the forms; None for an output that is not found."""
        shown = self.get().json['stack']['outputs']
        listed = [each['output_key'] for each in self.get('/outputs').json['outputs']]
        single = {key: self.get(f'/outputs/{key}') for key in ('both', 'dropped', 'added')}
        described, = self.describe(StackName='web')
        return [{each['output_key']: each['output_value'] for each in shown}, listed,
                {key: answer.json['output']['output_value'] for key, answer in single.items()
                 if answer.status_int == 200},
                {each['OutputKey']: each['OutputValue'] for each in described['Outputs']}]


AS_STORED = [{'both': 'before', 'dropped': 'before'}, ['both', 'dropped'], {'both': 'before', 'dropped': 'before'},
             {'both': 'before', 'dropped': 'before'}]
AS_ANSWERED = [{'both': 'now', 'added': None}, ['both', 'added'], {'both': 'now', 'added': None},
               {'both': 'now', 'added': None}]


@pytest.fixture(scope='module')
def database(tmp_path_factory):
    with rows.database(tmp_path_factory.mktemp('running')) as made:
        yield made


@pytest.fixture
def world(database):
    with database.writer() as tx:
        if not any(engine.is_up for engine in engines.page(tx)):
            engines.register(tx, engine_id=str(uuid.uuid4()), host='h', hostname='h', binary='heat-engine',
                             topic='engine', report_interval=60, ttl=600, now=datetime(2026, 1, 1))
    return World(database)


@pytest.mark.parametrize('action', IN_PROGRESS)
def test_an_engine_says_which_outputs_a_stack_in_progress_has(world, action):
    world.be(action)
    assert world.values() == AS_ANSWERED
    assert world.engine.asked == [
        messages.ResolveOutputs(rows.WEB, keys)
        for keys in (None, None, ('both',), ('dropped',), ('added',), None)]


@pytest.mark.parametrize('action, status', [
    ('DELETE', 'IN_PROGRESS'), ('DELETE', 'FAILED'), ('CREATE', 'COMPLETE'), ('UPDATE', 'COMPLETE'),
    ('UPDATE', 'FAILED'), ('ROLLBACK', 'COMPLETE'), ('ROLLBACK', 'FAILED'), ('SUSPEND', 'COMPLETE')])
def test_no_engine_is_asked_about_others(world, action, status):
    world.be(action, status)
    assert world.values() == AS_STORED
    assert world.engine.asked == []


@pytest.mark.parametrize('error', [
    exception.EntityNotFound(entity='Stack', name='web'), exception.MessagingTimeout(seconds=15),
    exception.BrokerUnavailable(reason='gone'), exception.EngineTooOld(what='resolve_outputs')],
    ids=lambda each: type(each).__name__)
def test_what_is_stored_is_shown_when_the_engine_does_not_say(world, error):
    world.be('UPDATE')
    world.engine.error = error
    assert world.values() == AS_STORED


def test_nothing_is_asked_where_no_engine_is_up(world):
    with world.database.writer() as tx:
        for engine in engines.page(tx):
            engines.remove(tx, engine.id, datetime(2026, 1, 1))
    world.be('UPDATE')
    assert world.values() == AS_STORED
    assert world.engine.asked == []


def test_nothing_is_asked_for_a_stack_without_its_outputs(world):
    world.be('UPDATE')
    assert 'outputs' not in world.get('?resolve_outputs=false').json['stack']
    assert world.engine.asked == []


@pytest.mark.parametrize('error', [
    exception.MessagingTimeout(seconds=15), exception.EngineIsFull('full'), exception.TooLate(), exception.NoEngine(),
    exception.DatabaseUnavailable(reason='gone'), exception.BrokerUnavailable(reason='gone')],
    ids=lambda each: type(each).__name__)
def test_a_page_of_stacks_waits_once_for_engines_that_do_not_answer(world, error):
    world.be('UPDATE', ids=(rows.WEB, rows.BATCH, rows.CELLAR))
    world.engine.error = error
    assert len(world.describe()) >= 2
    assert len(world.engine.asked) == 1


def test_a_page_of_stacks_asks_for_each_where_one_is_not_found(world):
    world.be('UPDATE', ids=(rows.WEB, rows.BATCH, rows.CELLAR))
    world.engine.error = exception.EntityNotFound(entity='Stack', name='web')
    assert len(world.describe()) >= 2
    assert len(world.engine.asked) >= 2
