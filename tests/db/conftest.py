"""A throw-away database of each kind. Servers are those of HEATLITE_TEST_MYSQL_URL and HEATLITE_TEST_POSTGRES_URL.

`eval "$(tools/services up)"` brings them up and sets both.
"""

import os
import uuid
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from heatlite.db import sync
from heatlite.db.connection import Database
from heatlite.db.tables import metadata
from tests.db.rows import Clock

SERVERS = {'mysql': 'HEATLITE_TEST_MYSQL_URL', 'postgresql': 'HEATLITE_TEST_POSTGRES_URL'}
KINDS = ('sqlite', *SERVERS)


@pytest.fixture(scope='session', params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope='session')
def make_database(kind, tmp_path_factory):
    """A function that makes another empty database of this kind; all are dropped at the end."""
    if kind == 'sqlite':
        folder = tmp_path_factory.mktemp('sqlite')
        made = []

        def make(**options):
            made.append(Database(f'sqlite:///{folder}/{uuid.uuid4().hex}.sqlite', **options))
            return made[-1]

        yield make
        for database in made:
            database.close()
        return
    variable = SERVERS[kind]
    if variable not in os.environ:
        pytest.skip(f'{variable} is not set: eval "$(tools/services up)"')
    url = sa.make_url(os.environ[variable])
    server = sa.create_engine(url, isolation_level='AUTOCOMMIT')
    made, names = [], []

    def make(**options):
        names.append(f'heatlite_test_{uuid.uuid4().hex[:12]}')
        with server.connect() as connection:
            connection.exec_driver_sql(f'CREATE DATABASE {names[-1]}')
        made.append(Database(url.set(database=names[-1]).render_as_string(hide_password=False), **options))
        return made[-1]

    yield make
    for database in made:
        database.close()
    with server.connect() as connection:
        for name in names:
            connection.exec_driver_sql(f'DROP DATABASE {name}' + (' WITH (FORCE)' if kind == 'postgresql' else ''))
    server.dispose()


@pytest.fixture(scope='session')
def clock():
    return Clock()


@pytest.fixture(scope='session')
def schema(make_database, clock):
    """The database of the session, with its tables. Its clock stands still unless a test moves it."""
    database = make_database(now=clock)
    sync.up(database)
    return database


@pytest.fixture
def db(schema, clock):
    """The same, emptied."""
    with schema.writer() as tx:
        for table in metadata.tables.values():
            tx.execute(table.delete())
    clock.seconds = Clock.START
    return schema


@pytest.fixture
def counted():
    """`with counted(tx) as statements`: the texts of what is run meanwhile."""
    @contextmanager
    def count(tx):
        found = []

        def note(_connection, _cursor, statement, _parameters, _context, _many):
            found.append(statement)

        sa.event.listen(tx, 'before_cursor_execute', note)
        try:
            yield found
        finally:
            sa.event.remove(tx, 'before_cursor_execute', note)
    return count
