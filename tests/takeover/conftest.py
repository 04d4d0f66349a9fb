"""Databases of both sides, of the same kind: SQLite, and the servers of tools/services where they run."""

import os

import pytest
from oslo_config import cfg

from heatlite.common import config
from heatlite.common.green_threads import GreenRuntime
from heatlite.db import sync
from heatlite.engine.types import registry
from heatlite.takeover.source import HeatDatabase
from heatlite.takeover.transfer import Transfer, TransferOptions
from tests.db.conftest import SERVERS, clock, databases, make_database  # noqa: F401
from tests.takeover.heats import KEY, Heat

OURS = 'our own key, 32 characters long!'


@pytest.fixture(scope='session', params=['sqlite', *SERVERS])
def kind(request):
    if request.param != 'sqlite' and SERVERS[request.param] not in os.environ:
        pytest.skip(f'{SERVERS[request.param]} is not set: eval "$(tools/services up)"')
    return request.param


@pytest.fixture(scope='session')
def types():
    found = registry.create()
    yield found
    registry.use(None)


@pytest.fixture
def our_key():
    config.register(cfg.CONF)
    cfg.CONF.set_override('auth_encryption_key', OURS)
    yield OURS
    cfg.CONF.clear_override('auth_encryption_key')


@pytest.fixture
def ours(make_database, our_key):  # noqa: F811
    database = make_database()
    sync.up(database)
    return database


@pytest.fixture
def heat(make_database):  # noqa: F811
    made = Heat(make_database().url.render_as_string(hide_password=False))
    yield made
    made.close()


@pytest.fixture
def take(heat, ours, types):
    """`take(switch=True)` -> the report of one run."""
    def run(key=KEY, of=heat, runtime=None, **options):
        source = HeatDatabase(of.url)
        try:
            return Transfer(source, key, ours, runtime or GreenRuntime(), types, TransferOptions(**options)).run()
        finally:
            source.close()
    return run
