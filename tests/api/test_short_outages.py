"""A request that finds the database away waits for it for a moment, in every API, unless an engine has its message."""

import pytest

from heatlite.api.cfn import deploy as cfn
from heatlite.api.cloudwatch import deploy as cloudwatch
from heatlite.common import exception, outages, runtime
from heatlite.common.green_threads import GreenRuntime
from heatlite.db import tables
from heatlite.db.connection import Database
from tests.api import in_process

PATHS = {
    'rest': f'/v1/{in_process.PROJECT}/stacks', 'cfn': '/v1/?Action=ListStacks',
    'cloudwatch': '/v1/?Action=ListMetrics'}


class Clock(GreenRuntime):
    """`after(number)` is called in each pause, with its number."""

    def __init__(self, after):
        self.pauses = []
        self.passed = 0.0                   # seconds that tries have taken
        self._after = after

    def monotonic(self):
        return super().monotonic() + self.passed

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self._after(len(self.pauses))


@pytest.fixture
def database(tmp_path):
    """One that is away: it has no tables."""
    made = Database(f'sqlite:///{tmp_path}/db.sqlite')
    yield made
    made.close()


@pytest.fixture
def using():
    before = runtime.current()

    def use(after=lambda number: None):
        clock = Clock(after)
        runtime.use(clock)
        return clock

    yield use
    runtime.use(before)


def app(door, database, engine=None):
    if door == 'rest':
        return in_process.build(database=database, engine=engine)
    kind = cfn if door == 'cfn' else cloudwatch
    return kind.build(in_process.options(), database, engine, identity=in_process.Verified)


@pytest.mark.parametrize('door', PATHS)
def test_it_is_answered_when_the_database_is_back(database, using, door):
    clock = using(lambda number: number == 3 and tables.metadata.create_all(database.engine))
    answer = in_process.ask(app(door, database), 'GET', PATHS[door])
    assert (answer.status_code, clock.pauses) == (200, [0.1, 0.2, 0.5])


@pytest.mark.parametrize('door', PATHS)
def test_it_is_refused_when_the_database_stays_away(database, using, door):
    clock = using()
    answer = in_process.ask(app(door, database), 'GET', PATHS[door])
    assert (answer.status_code, sum(clock.pauses)) == (503, pytest.approx(2.5))


def test_in_a_long_outage_no_request_waits(database, using):
    clock = using()
    outages.away(outages.DATABASE, 'a test')
    outages.current[outages.DATABASE].since -= 10
    assert in_process.ask(app('rest', database), 'GET', PATHS['rest']).status_code == 503
    assert clock.pauses == []


def test_a_database_that_is_silent_is_not_asked_again_and_again(database, using):
    """Each try waits until the connection is given up."""
    def after(_number):
        clock.passed += 30.0

    clock = using(after)
    assert in_process.ask(app('rest', database), 'GET', PATHS['rest']).status_code == 503
    assert clock.pauses == [0.1]


def test_a_message_is_not_sent_twice(database, using):
    class Engine:
        messages = []

        def call(self, _context, message):
            self.messages.append(message)
            raise exception.DatabaseUnavailable(reason='of the engine')

    tables.metadata.create_all(database.engine)
    clock, template = using(), {'heat_template_version': '2018-08-31'}
    answer = in_process.ask(app('rest', database, Engine()), 'POST', PATHS['rest'],
                            {'stack_name': 's', 'template': template})
    assert (answer.status_code, len(Engine.messages), clock.pauses) == (503, 1, [])
