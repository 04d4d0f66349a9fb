"""/healthcheck and /readiness of both doors, and what callers learn of what is down: nothing but that it is."""

import datetime
import json
import logging

import pytest

from heatlite.api.cfn import deploy as cfn
from heatlite.common import exception, health
from heatlite.db import engines, sync
from heatlite.db.connection import Database
from tests.api import in_process

SECRET = 'mysql+pymysql://canary_user:canary_password@127.0.0.1:1/canary_database'
NOW = datetime.datetime(2026, 11, 22)


class Broker:
    """A client of engines whose broker is, or is not, there."""

    def __init__(self, works):
        self._works = works

    def check(self):
        if not self._works:
            raise exception.BrokerUnavailable(reason='canary.example:5672: refused')

    def call(self, context, message):
        raise exception.BrokerUnavailable(reason='canary.example:5672: refused')


def app(api, database, engine, conf=None):
    conf = conf or in_process.options()
    if api == 'cfn':
        return cfn.build(conf, database, engine, identity=in_process.Verified)
    return in_process.build(conf, database=database, engine=engine)


@pytest.fixture
def filled(tmp_path):
    made = Database(f'sqlite:///{tmp_path}/db.sqlite')
    sync.up(made)
    yield made
    made.close()


def register(database, ttl):
    with database.writer() as tx:
        engines.register(tx, engine_id='e', host='h', hostname='h', binary='b', topic='t', report_interval=60, ttl=ttl,
                         now=NOW)


@pytest.mark.parametrize('api', ['rest', 'cfn'])
@pytest.mark.parametrize('accept', ['application/json', 'text/html', '*/*'])
def test_a_process_that_answers_lives(api, accept):
    answer = in_process.ask(app(api, None, None), 'GET', '/healthcheck', project=None, headers={'Accept': accept})
    assert (answer.status_code, answer.content_type) == (200, 'application/json')
    assert answer.json == {'detailed': False, 'reasons': []}
    assert in_process.ask(app(api, None, None), 'HEAD', '/healthcheck', project=None).body == b''


@pytest.mark.parametrize('api', ['rest', 'cfn'])
@pytest.mark.parametrize('path', ['/healthcheck', '/readiness'])
def test_a_file_takes_an_api_out_of_a_balancer(tmp_path, filled, api, path):
    register(filled, 60.0)
    file, conf = tmp_path / 'offline', tmp_path / 'heat.conf'
    conf.write_text(f'[healthcheck]\ndisable_by_file_path = {file}\n')
    made = app(api, filled, Broker(True), in_process.options([str(conf)]))
    assert in_process.ask(made, 'GET', path, project=None).status_code == 200
    file.touch()
    answer = in_process.ask(made, 'GET', path, project=None)
    assert (answer.status_code, answer.json['reasons']) == (503, ['DISABLED BY FILE'])
    file.unlink()
    assert in_process.ask(made, 'GET', path, project=None).status_code == 200


@pytest.mark.parametrize('api', ['rest', 'cfn'])
@pytest.mark.parametrize('ttl, broker, status, checks', [
    (60.0, True, 200, {'database': 'ok', 'engines': 'ok', 'broker': 'ok'}),
    (-60.0, True, 503, {'database': 'ok', 'engines': 'failed', 'broker': 'ok'}),
    (60.0, False, 503, {'database': 'ok', 'engines': 'ok', 'broker': 'failed'}),
    (60.0, None, 200, {'database': 'ok', 'engines': 'ok'})])
def test_what_is_needed_to_serve(filled, api, ttl, broker, status, checks):
    register(filled, ttl)
    client = in_process.NoEngine() if broker is None else Broker(broker)
    answer = in_process.ask(app(api, filled, client), 'GET', '/readiness', project=None)
    assert (answer.status_code, answer.json) == (status, {'ready': status == 200, 'checks': checks})


@pytest.mark.parametrize('api', ['rest', 'cfn'])
def test_nothing_is_ready_without_its_tables(tmp_path, api):
    database = Database(f'sqlite:///{tmp_path}/db.sqlite')
    answer = in_process.ask(app(api, database, Broker(True)), 'GET', '/readiness', project=None)
    assert (answer.status_code, answer.json['checks']) == (
        503, {'database': 'failed', 'engines': 'failed', 'broker': 'ok'})


@pytest.mark.parametrize('api', ['rest', 'cfn'])
@pytest.mark.parametrize('found, is_ready', [('0019', False), (sync.HEAD, True), ('9999', True), ('no version', False)])
def test_an_api_is_ready_with_the_tables_of_its_release_or_of_a_newer_one(filled, api, found, is_ready):
    register(filled, 60.0)
    with filled.writer() as tx:
        tx.execute(sync.VERSION_TABLE.update().values(version_num=found))
    answer = in_process.ask(app(api, filled, Broker(True)), 'GET', '/readiness', project=None)
    assert (answer.status_code == 200, answer.json['checks']['database'] == 'ok') == (is_ready, is_ready)


@pytest.mark.parametrize('api, path', [
    ('rest', f'/v1/{in_process.PROJECT}/stacks'), ('rest', '/readiness'), ('cfn', '/v1/?Action=ListStacks'),
    ('cfn', '/readiness')])
def test_callers_are_not_told_where_the_database_is(caplog, api, path):
    caplog.set_level(logging.INFO)
    answer = in_process.ask(app(api, Database(SECRET), Broker(False)), 'GET', path)
    assert answer.status_code == 503
    assert not [word for word in ('canary', '127.0.0.1', 'pymysql', 'refused') if word in answer.text], answer.text
    if path != '/readiness':
        assert 'The database cannot be reached.' in answer.text
        assert [record.levelname for record in caplog.records if '127.0.0.1' in record.getMessage()] == ['WARNING']


@pytest.mark.parametrize('api, path, body', [
    ('rest', f'/v1/{in_process.PROJECT}/validate', b'{"template": {"heat_template_version": "2018-08-31"}}'),
    ('cfn', '/v1/?Action=ValidateTemplate&TemplateBody=heat_template_version:%202018-08-31', b'')])
def test_callers_are_not_told_where_the_broker_is(filled, api, path, body):
    answer = in_process.ask(app(api, filled, Broker(False)), 'POST', path, body)
    assert answer.status_code == 503
    assert 'canary' not in answer.text
    assert 'The message broker cannot be reached.' in answer.text


# --- how often is looked -----------------------------------------------------------------------------------

class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_checks_are_made_once_a_second_at_most():
    clock, looked = Clock(), []
    ready = health.Readiness({'a': lambda: looked.append(None)}, clock)
    assert [ready.look() for _ in range(100)] == [{'a': 'ok'}] * 100
    assert len(looked) == 1
    clock.now = 1.0
    ready.look()
    assert len(looked) == 2


def test_one_caller_looks_while_others_get_the_result_before():
    clock, seen = Clock(), []
    ready = health.Readiness({'a': lambda: seen.append(dict(ready.look()))}, clock)
    assert ready.look() == {'a': 'ok'}
    clock.now = 2.0
    assert ready.look() == {'a': 'ok'}
    assert seen == [{'a': 'failed'}, {'a': 'ok'}]


def test_a_failure_is_one_line_in_the_log(caplog):
    clock, works = Clock(), [True, False, False, True]
    ready = health.Readiness({'a': lambda: works.pop(0)}, clock)
    results = []
    for clock.now in (0.0, 2.0, 4.0, 6.0):
        results.append(ready.look()['a'])
    assert results == ['ok', 'failed', 'failed', 'ok']
    assert [record.getMessage() for record in caplog.records] == [
        'The readiness check "a" fails: the answer is no']


def test_the_body_is_json():
    said = []
    body = b''.join(health.Readiness({'a': lambda: 1 / 0})({}, lambda status, headers: said.append(status)))
    assert (said, json.loads(body)) == (['503 Service Unavailable'], {'ready': False, 'checks': {'a': 'failed'}})
