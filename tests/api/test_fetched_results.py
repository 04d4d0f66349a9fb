"""A deployment that waits for a result which the service fetches is shown after an engine has looked for it."""

import json
import uuid
from datetime import datetime

import pytest

from heatlite.common import exception
from heatlite.db import engines, tables
from heatlite.rpc import messages
from tests.api import in_process, rows

ID = rows.number(5, 50)
PATH = f'/v1/{in_process.PROJECT}/software_deployments/{ID}'
FETCHED = {'deploy_signal_transport': 'TEMP_URL_SIGNAL', 'deploy_signal_id': 'https://swift.example/v1/a/c/o'}


class Engine:
    """Stores a result, or fails."""

    def __init__(self, database):
        self.database, self.asked, self.error = database, [], None

    def call(self, context, message):
        self.asked.append(message)
        if self.error is not None:
            raise self.error
        with self.database.writer() as tx:
            tx.execute(tables.software_deployment.update().where(tables.software_deployment.c.id == ID).values(
                status='COMPLETE'))


@pytest.fixture
def database(tmp_path):
    with rows.database(tmp_path) as made:
        with made.writer() as tx:
            engines.register(tx, engine_id=str(uuid.uuid4()), host='h', hostname='h', binary='heat-engine',
                             topic='engine', report_interval=60, ttl=600, now=datetime(2026, 1, 1))
        yield made


def shown(database, engine, inputs, status='IN_PROGRESS'):
    """(the status that is shown, the messages to the engine)"""
    config = {'config': '', 'inputs': [{'name': name, 'value': value} for name, value in inputs.items()],
              'outputs': [], 'options': {}}
    with database.writer() as tx:
        tx.execute(tables.software_config.insert().values(rows.config(50, config=json.dumps(config))))
        tx.execute(tables.software_deployment.insert().values(rows.deployment(50, status=status)))
    answer = in_process.ask(in_process.build(None, database, engine), 'GET', PATH)
    return answer.json['software_deployment']['status'], engine.asked


@pytest.mark.parametrize('inputs', [FETCHED, {'deploy_signal_transport': 'ZAQAR_SIGNAL', 'deploy_queue_id': 'q'}])
def test_an_engine_looks_for_the_result(database, inputs):
    assert shown(database, Engine(database), inputs) == ('COMPLETE', [messages.CollectDeployment(ID)])


@pytest.mark.parametrize('error', [exception.MessagingTimeout(seconds=15), exception.Error('no Swift')])
def test_what_is_stored_is_shown_where_it_cannot_be_fetched(database, error):
    engine = Engine(database)
    engine.error = error
    assert shown(database, engine, FETCHED)[0] == 'IN_PROGRESS'


@pytest.mark.parametrize('inputs, status', [
    (FETCHED, 'COMPLETE'), ({**FETCHED, 'deploy_stack_id': 's/1'}, 'IN_PROGRESS'),
    ({'deploy_signal_transport': 'NO_SIGNAL'}, 'IN_PROGRESS'), ({}, 'IN_PROGRESS')])
def test_no_engine_is_asked_for_others(database, inputs, status):
    assert shown(database, Engine(database), inputs, status) == (status, [])
