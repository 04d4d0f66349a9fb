"""Runs tests/gabbi/*.yaml in this process: real layers, real routes, a real SQLite database.

Each file starts the fixture it names: `Rows`, a database as an engine would have left it, while none runs; `Engine`, an
empty database and an engine; `Service`, the same, or a service that runs elsewhere: `make test-api URL=http://...`
(HEATLITE_TEST_URL; HEATLITE_TEST_TOKEN and HEATLITE_TEST_PROJECT where it wants a token); `People`, a service that
tells people apart: elsewhere that needs more tokens, which `python -m tests.system.gabbi` has.
(The pytest plug-in of gabbi is not used: it takes every parametrised test with a colon in its name for its own.)
"""

import os
import pathlib
import sys
import tempfile
import unittest

import pytest
from gabbi import driver, fixture, reporter
from oslo_config import cfg

from heatlite.common.green_threads import GreenRuntime
from heatlite.db import tables
from heatlite.db.connection import Database
from heatlite.engine.service import EngineService
from heatlite.rpc.client import InProcessClient
from tests.api import conforming, elsewhere, in_process, rows

pytestmark = pytest.mark.random_order(disabled=True)         # a sequence: each test goes on where the one before ended

URL = os.environ.get('HEATLITE_TEST_URL', '').rstrip('/')
API = URL or 'http://heat.example:8004'
YAML = pathlib.Path(__file__).parents[1] / 'gabbi'

_application = None


class Files(fixture.GabbiFixture):
    """A fresh database behind the application for the length of one file."""

    options = {}                        # of the service, beyond the defaults

    def start_fixture(self):
        global _application
        self._directory = tempfile.TemporaryDirectory()
        self._database = Database(f'sqlite:///{self._directory.name}/db.sqlite')
        conf = in_process.options(hidden_stack_tags=['hidden'], auth_encryption_key='k' * 32, **self.options)
        _application = conforming.Conforming(in_process.build(conf, self._database, self.engine(conf)))

    def stop_fixture(self):
        self._database.close()
        self._directory.cleanup()


class Rows(Files):
    """The rows of tests/api/rows.py, and no engine."""

    def engine(self, _conf):
        rows.fill(self._database.engine)
        return in_process.NoEngine()


class Engine(Files):
    """Empty tables, and an engine that works whenever a request lets it."""

    def engine(self, conf):
        tables.metadata.create_all(self._database.engine)
        runtime = GreenRuntime()
        self._service = EngineService(conf, runtime, self._database)
        self._service.start()
        return InProcessClient(runtime, self._service.endpoint)

    def stop_fixture(self):
        self._service.stop()
        super().stop_fixture()


class SmallEngine(Engine):
    """One with small limits."""

    options = {'max_snapshots_per_stack': 1, 'max_stacks_per_tenant': 1, 'max_resources_per_stack': 2,
               'max_json_body_size': 4000}


class Service(elsewhere.Service if URL else Engine):
    """A whole service without stacks: in this process, or at HEATLITE_TEST_URL."""


class OpenService(Service):
    """One that lets stacks leave and come in."""

    options = {'enable_stack_abandon': True, 'enable_stack_adopt': True}


class People(Service):
    """One that tells members from administrators and one project from another."""


class OpenPeople(OpenService):
    """One that does so and tells members from administrators."""


ANYWHERE = {Service, OpenService} | ({People, OpenPeople} if 'HEATLITE_TEST_ADMIN_TOKEN' in os.environ else set())
# Polls of the files last for seconds, enough within one process; those of a cluster that shares its machine for longer.
ELSEWHERE = {'count': 1200, 'delay': 0.05}


def application():
    return elsewhere.Forward(URL) if URL else in_this_process


def in_this_process(environ, start_response):
    environ['HTTP_HOST'] = 'heat.example:8004'
    # The client leaves the path decoded; servers hand over its bytes.
    environ['PATH_INFO'] = environ['PATH_INFO'].encode().decode('latin-1')
    GreenRuntime().sleep(0.01)                    # an engine in this thread gets its turn
    return _application(environ, start_response)


def load():
    """The suite of each file; of those for any service, when it is elsewhere."""
    os.environ.update(rows.ENVIRON, API=API, LONG='x' * 4000)
    if URL:
        os.environ.update(PROJECT=os.environ.get('HEATLITE_TEST_PROJECT', 'admin'),
                          OTHER=os.environ.get('HEATLITE_TEST_OTHER_PROJECT', 'other'))
    suites = list(driver.build_tests(str(YAML), unittest.TestLoader(), intercept=application,
                                   fixture_module=sys.modules[__name__], test_loader_name='gabbi'))
    if not URL:
        return suites
    suites = [suite for suite in suites if set(next(iter(suite)).fixtures) <= ANYWHERE]
    for case in (case for suite in suites for case in suite if case.test_data['poll']):
        case.test_data['poll'] = ELSEWHERE
    return suites


def name(case):
    return type(case).__name__.replace(':', ': ', 1).replace('_', ' ')


SUITES = load()


@pytest.fixture(scope='module')
def turn():
    """Starts the fixtures of a suite when its first case comes, and stops those of the one before."""
    cfg.CONF.set_override('auth_encryption_key', 'k' * 32)      # for as long as suites run, beyond single tests
    running = []

    def take(suite=None):
        if running and running[0] is not suite:
            running.pop().stop()
        if suite is not None and not running:
            suite.start(reporter.PyTestResult())
            running.append(suite)

    yield take
    take()


@pytest.mark.parametrize(
    'suite, case', [pytest.param(suite, case, id=name(case)) for suite in SUITES for case in suite])
def test_http(turn, suite, case):
    turn(suite)
    case(reporter.PyTestResult())
