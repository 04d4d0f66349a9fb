"""What an engine cannot tell now is answered from the database: a stack that was found is not "not found" after all."""

import json
from datetime import datetime

import pytest

from heatlite.common import exception
from heatlite.db import engines
from heatlite.db.tables import stack
from tests.api import in_process, rows

PATH = f'/v1/{in_process.PROJECT}/stacks/web/{rows.WEB}'


class Failing:
    def __init__(self, error):
        self.error, self.asked = error, 0

    def call(self, context, message):
        self.asked += 1
        raise self.error


@pytest.fixture(scope='module')
def live(tmp_path_factory):
    """A stack with an output that an engine has to resolve anew each time, and an engine."""
    with rows.database(tmp_path_factory.mktemp('live')) as made:
        with made.writer() as tx:
            engines.register(tx, engine_id='e1', host='h', hostname='h', binary='heat-engine', topic='engine',
                             report_interval=60, ttl=600, now=datetime(2026, 1, 1))
            tx.execute(stack.update().where(stack.c.id == rows.WEB).values(outputs=json.dumps(
                [{'output_key': 'url', 'description': '', 'output_value': 'http://stored', 'live': True}])))
        yield made


@pytest.mark.parametrize('error', [
    exception.EntityNotFound(entity='Stack', name='web'),       # an engine whose node of the database is behind
    exception.DatabaseUnavailable(reason='gone'), exception.MessagingTimeout(seconds=60),
    exception.BrokerUnavailable(reason='gone'), exception.AnswerLost(), exception.RemoteError(type='KeyError'),
], ids=lambda each: type(each).__name__)
def test_stored_outputs_stand_in_for_an_engine_that_fails(live, error):
    engine = Failing(error)
    answer = in_process.ask(in_process.build(None, live, engine), 'GET', PATH)
    assert (answer.status_int, engine.asked) == (200, 1)
    assert [each['output_value'] for each in answer.json['stack']['outputs']] == ['http://stored']
