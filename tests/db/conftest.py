"""A throw-away database of each kind. Servers are those of HEATLITE_TEST_MYSQL_URL, HEATLITE_TEST_POSTGRES_URL and
HEATLITE_TEST_GALERA_URLS.

`eval "$(tools/services up --galera)"` starts them and sets all three. On Galera the transactions of a test run on the
nodes in turn, so each reads what another node has written.
"""

import itertools
import os
import uuid
from contextlib import ExitStack, contextmanager

import pytest
import sqlalchemy as sa

from heatlite.db import resources, stacks, sync
from heatlite.db.bulk import LAST
from heatlite.db.connection import Database
from heatlite.db.tables import metadata
from heatlite.planning.states import Action, Status
from tests.db.rows import Clock, nested, stack, state

SERVERS = {'mysql': 'HEATLITE_TEST_MYSQL_URL', 'postgresql': 'HEATLITE_TEST_POSTGRES_URL'}
GALERA = 'HEATLITE_TEST_GALERA_URLS'            # the URLs of the nodes of one cluster, a blank between
KINDS = ('sqlite', *SERVERS, 'galera')
NO_GALERA = f'{GALERA} is not set: eval "$(tools/services up --galera)"'


def nodes():
    """The URLs of the cluster's nodes, without a database; none where no cluster runs."""
    return [sa.make_url(url) for url in os.environ.get(GALERA, '').split()]


def on_nodes(name, **options):
    """A Database on each node for the database `name`, which is on all of them when this returns."""
    found = [Database(url.set(database=name).render_as_string(hide_password=False), **options) for url in nodes()]
    for url in nodes():
        administer(url, 'SET SESSION wsrep_sync_wait = 7', 'SHOW TABLES FROM mysql')
    return found


def administer(url, *statements):
    server = sa.create_engine(url, isolation_level='AUTOCOMMIT')
    with server.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    server.dispose()


class Nodes(Database):
    """A database whose transactions run on the nodes of a cluster in turn.

    Each waits for what the one before it has written, whatever it begins with: these tests do not try again.
    """

    def __init__(self, name, **options):
        options = {'mysql_wsrep_sync_wait': 15, **options}
        super().__init__(nodes()[0].set(database=name).render_as_string(hide_password=False), **options)
        self.nodes = on_nodes(name, **options)
        self._turns = itertools.cycle(self.nodes)

    def reader(self):
        return next(self._turns).reader()

    def writer(self):
        return next(self._turns).writer()

    def close(self):
        super().close()
        for node in self.nodes:
            node.close()


@pytest.fixture(scope='session', params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope='session')
def databases(kind, tmp_path_factory):
    """`with databases() as make`: `make(**options)` makes an empty database of this kind, which is closed at the end.

    Those of servers are dropped then: a session that kept the connections of each test would take all of a server.
    """
    if kind == 'sqlite':
        folder = tmp_path_factory.mktemp('sqlite')
        return lambda: _made(lambda _name: None, lambda name: f'sqlite:///{folder}/{name}.sqlite', lambda _name: None)
    if kind == 'galera':
        if len(nodes()) < 2:
            pytest.skip(NO_GALERA)
        server = nodes()[0]
        return lambda: _made(lambda name: administer(server, f'CREATE DATABASE {name}'), None,
                             lambda name: administer(server, f'DROP DATABASE {name}'))
    variable = SERVERS[kind]
    if variable not in os.environ:
        pytest.skip(f'{variable} is not set: eval "$(tools/services up)"')
    server = sa.make_url(os.environ[variable])
    force = ' WITH (FORCE)' if kind == 'postgresql' else ''
    return lambda: _made(lambda name: administer(server, f'CREATE DATABASE {name}'),
                         lambda name: server.set(database=name).render_as_string(hide_password=False),
                         lambda name: administer(server, f'DROP DATABASE {name}{force}'))


@contextmanager
def _made(create, url, drop):
    """`create` and `drop` take the name of a database; `url` as well, and is None for the nodes of a cluster."""
    with ExitStack() as ends:
        def make(**options):
            name = f'heatlite_test_{uuid.uuid4().hex[:12]}'
            create(name)
            ends.callback(drop, name)
            database = Database(url(name), **options) if url else Nodes(name, **options)
            ends.callback(database.close)
            return database

        yield make


@pytest.fixture
def make_database(databases):
    """A function that makes another empty database of this kind for one test."""
    with databases() as make:
        yield make


@pytest.fixture(scope='session')
def clock():
    return Clock()


@pytest.fixture(scope='session')
def schema(databases, clock):
    """The database of the session, with its tables. Its clock stands still unless a test moves it."""
    with databases() as make:
        database = make(now=clock)
        sync.up(database)
        yield database


@pytest.fixture
def db(schema, clock):
    """The same, emptied."""
    with schema.writer() as tx:
        for table in metadata.tables.values():
            tx.execute(table.delete())
    clock.seconds = Clock.START
    return schema


@pytest.fixture
def places(db, kind, clock):
    """`places[0]`, `places[1]`, ...: `db` as processes see it that do not share a node, or the same where there is one.

    A process on Galera reads what its own node has applied, with what the server says about reads from others.
    """
    if kind != 'galera':
        yield [db] * 3
        return
    found = on_nodes(db.url.database, now=clock, mysql_wsrep_sync_wait=0)
    yield found
    for node in found:
        node.close()


@pytest.fixture
def counted():
    """`with counted(tx) as statements`: the texts of what is run meanwhile, without the end of a message of several.

    A database in place of `tx`: of all its transactions, on whichever node.
    """
    @contextmanager
    def count(tx):
        found = []
        places = [node.engine for node in getattr(tx, 'nodes', [tx])] if isinstance(tx, Database) else [tx]

        def note(_connection, _cursor, statement, _parameters, _context, _many):
            if statement != LAST:
                found.append(statement)

        for place in places:
            sa.event.listen(place, 'before_cursor_execute', note)
        try:
            yield found
        finally:
            for place in places:
                sa.event.remove(place, 'before_cursor_execute', note)
    return count


@pytest.fixture
def tree(db):
    """A root with a server, its replacement and a group; the group's stack with one member."""
    root = stack('root')
    with db.writer() as tx:
        stacks.insert(tx, root)
        stacks.insert(tx, nested('child', root, 'group'))
        stacks.insert(tx, stack('other', project_id='p2'))
        resources.insert_many(tx, 'root', [
            state(1, 'server', action=Action.CREATE, status=Status.IN_PROGRESS, physical_id='ph1', replaced_by=3),
            state(2, 'group', requires={'server': 1, '50%_"off"': 9}, physical_id='child'),
            state(3, 'server', action=Action.CREATE, requires={'net_1': 5}, replaces=1, handle={'a': [1]})],
            {1: {'properties': {'flavor': 'm1'}, 'metadata': {'m': 1}},
             2: {'definition': {'description': 'many'}, 'attributes': {'refs': ['x']}}})
        resources.insert_many(tx, 'child', [state(1, '0', requires={'netX1': 5})])
        resources.insert_many(tx, 'other', [state(1, 'server', physical_id='ph1')])
    return db
