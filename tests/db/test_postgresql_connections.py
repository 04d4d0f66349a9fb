"""Which of several PostgreSQL servers a service connects to: the one that accepts writes.

HEATLITE_TEST_POSTGRESES_URL names a primary and its stand-by: eval "$(tools/services up --postgreses)".
"""

import os
import socket
import subprocess
import sys
from contextlib import closing

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db.connection import Database
from heatlite.db.postgresql_connections import Connector, PostgresqlConnection
from tests.system.relay import Relay

NODES = 'HEATLITE_TEST_POSTGRESES_URL'
SERVER = 'HEATLITE_TEST_POSTGRES_URL'
two = pytest.mark.skipif(NODES not in os.environ, reason=f'{NODES} is not set: tools/services up --postgreses')
one = pytest.mark.skipif(SERVER not in os.environ, reason=f'{SERVER} is not set: tools/services up')


def is_standby(url):
    engine = sa.create_engine(url)
    try:
        with engine.connect() as tx:
            return tx.exec_driver_sql('SELECT pg_is_in_recovery()').scalar()
    finally:
        engine.dispose()


def on(url, *hosts):
    """The URL with only these hosts, each `address:port`."""
    return sa.make_url(url).set(host=None, port=None).update_query_dict({'host': hosts}).render_as_string(
        hide_password=False)


@pytest.fixture
def nodes():
    """`address:port` of the stand-by, and of the primary."""
    url = os.environ[NODES]
    return sorted(sa.make_url(url).query['host'], key=lambda host: not is_standby(on(url, host)))


@pytest.fixture
def silent():
    """`address:port` of a server that accepts connections and says nothing, as one that is frozen."""
    with closing(socket.create_server(('127.0.0.1', 0))) as listening:
        yield f'127.0.0.1:{listening.getsockname()[1]}'


@two
def test_a_standby_is_passed_over(nodes):
    database = Database(on(os.environ[NODES], *nodes))
    for block in (database.reader, database.writer):
        with block() as tx:
            assert not tx.exec_driver_sql('SELECT pg_is_in_recovery()').scalar()
    database.close()


@two
def test_nothing_is_read_from_a_standby_which_may_be_behind(nodes):
    database = Database(on(os.environ[NODES], nodes[0]))
    for block in (database.reader, database.writer):
        with pytest.raises(exception.DatabaseUnavailable, match='read-only'), block():
            pass


@two
def test_a_standby_is_read_where_the_operator_asks_for_it(nodes):
    database = Database(on(os.environ[NODES], nodes[0]) + '&target_session_attrs=any')
    with database.reader() as tx:
        assert tx.exec_driver_sql('SELECT pg_is_in_recovery()').scalar()
    database.close()


PASSES = '''
import sys
from heatlite.common import runtime
if sys.argv[2] == 'cooperative':
    runtime.patch()
from heatlite.db import connection, postgresql_connections
database = connection.Database(sys.argv[1])
postgresql_connections.CONNECT = 2
for block in (database.reader, database.writer):
    with block() as tx:
        print(tx.exec_driver_sql('SELECT 1').scalar())
'''


@one
@pytest.mark.parametrize('kind', ['cooperative', 'blocking'])
def test_a_silent_server_keeps_nobody_from_the_next(silent, kind):
    url = sa.make_url(os.environ[SERVER])
    done = subprocess.run([sys.executable, '-c', PASSES, on(url, silent, f'{url.host}:{url.port}'), kind],
                          capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ['1', '1'], done.stderr


NAMED = '''
import _socket, sys
from heatlite.common import runtime
from tests import silent_names
resolver = _socket.getaddrinfo = silent_names.Resolver(['127.0.0.77', sys.argv[2]])
runtime.patch()
from heatlite.common import exception
from heatlite.db import connection
for _ in range(2):
    database = connection.Database(sys.argv[1])
    try:
        with database.reader() as tx:
            print(tx.exec_driver_sql('SELECT 1').scalar())
    except exception.DatabaseUnavailable as error:
        print(error)
    resolver.found = []
    from heatlite.common import host_lookups
    host_lookups.of_services().forget()
'''


@one
def test_a_name_is_looked_up_before_the_library_which_would_block_all_threads():
    """The first address that accepts the connection is used; a name without addresses is a server that is down."""
    url = sa.make_url(os.environ[SERVER])
    done = subprocess.run([sys.executable, '-c', NAMED, on(url, f'db.example:{url.port}'), url.host],
                          capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert lines[0] == '1', done.stderr
    assert 'could not translate host name "db.example" to address' in lines[1]


PINGED = '''
import sys
from heatlite.common import runtime
runtime.patch()
from heatlite.db import connection, pooling, postgresql_connections, server_connections
server_connections.SILENCE, server_connections.PING, pooling.RESTED = 1000, 2, 0.0
postgresql_connections.CONNECT = 2
database = connection.Database(sys.argv[1])
for _ in range(2):
    with database.reader() as tx:
        print(tx.exec_driver_sql('SELECT 1').scalar(), flush=True)
    sys.stdin.readline()
'''


@one
def test_an_idle_connection_to_a_server_that_freezes_is_left_soon():
    """Not after the time that a statement may take."""
    url = sa.make_url(os.environ[SERVER])
    relay = Relay((url.host, url.port))
    program = subprocess.Popen([sys.executable, '-c', PINGED, on(url, f'127.0.0.1:{relay.port}',
                                                                 f'{url.host}:{url.port}')],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == '1\n'
        relay.freeze()
        assert program.communicate('\n\n', timeout=60)[0] == '1\n'
    finally:
        program.kill()
        relay.cut()


def attempts():
    """What is asked of the library for each connection, when only the last server answers."""
    asked = []

    def connect(**named):
        import psycopg2
        asked.append(named)
        if named['host'] != 'c':
            raise psycopg2.OperationalError('refused\nmore')
        return named['host']

    connector = Connector(connect)
    return connector, asked


def test_servers_are_tried_in_turn_and_the_last_that_worked_first():
    connector, asked = attempts()
    named = {'host': 'a,b,c', 'port': '1,,3', 'user': 'u'}
    assert connector(**named) == connector(**named) == 'c'
    assert [(each['host'], each['port']) for each in asked] == [('a', '1'), ('b', ''), ('c', '3'), ('c', '3')]
    assert {(each['user'], each['connect_timeout']) for each in asked} == {('u', 5)}


def test_all_reasons_are_in_the_error():
    import psycopg2
    connector, _ = attempts()
    with pytest.raises(psycopg2.OperationalError, match='a: refused; b: refused'):
        connector(host='a,b', connect_timeout='7')


def test_a_single_server_is_given_the_usual_time():
    connector, asked = attempts()
    connector(host='c', port=5)
    assert asked == [{'host': 'c', 'port': 5, 'connection_factory': PostgresqlConnection}]


@one
def test_a_writer_is_at_read_committed_whatever_the_server_has_as_default():
    """The default of a database or a role, as ALTER ROLE ... SET gives it."""
    url = sa.make_url(os.environ[SERVER]).update_query_dict({
        'options': '-c default_transaction_isolation=serializable'})
    database = Database(url.render_as_string(hide_password=False))
    try:
        for _transaction in range(2):
            with database.writer() as tx:
                assert tx.exec_driver_sql('SHOW transaction_isolation').scalar() == 'read committed'
    finally:
        database.close()
