"""Connections to MariaDB share their TLS context, until its files change, and write values as the library does."""

import decimal
import os
import shutil
import ssl
import subprocess
import sys
from datetime import datetime

import pymysql
import pytest
import sqlalchemy as sa
from pymysql.constants import SERVER_STATUS

from heatlite.db import mysql_connections
from heatlite.db.mysql_connections import MOST_CONTEXTS, MysqlConnection
from tests.system.relay import Relay

SERVER = 'HEATLITE_TEST_MYSQL_URL'


@pytest.fixture(autouse=True)
def nothing_shared_yet(monkeypatch):
    monkeypatch.setattr(mysql_connections, '_contexts', {})


@pytest.fixture
def authority(tmp_path):
    """A file of certificates."""
    known = ssl.get_default_verify_paths()
    if known.cafile is None:
        pytest.skip('the system has no file of certificates')
    return shutil.copy(known.cafile, tmp_path / 'ca.pem')


def context(**options):
    """That of a new connection, which is not opened."""
    return MysqlConnection(defer_connect=True, **options).ctx


def test_connections_without_options_share_a_context():
    assert context() is context()
    assert context().verify_mode is ssl.CERT_NONE


def test_connections_with_other_options_do_not(authority):
    verifying = context(ssl_ca=str(authority), ssl_verify_cert=True)
    assert verifying is not context()
    assert verifying is context(ssl_ca=str(authority), ssl_verify_cert=True)
    assert verifying.verify_mode is ssl.CERT_REQUIRED


def test_new_certificates_are_read(authority):
    before = context(ssl_ca=str(authority))
    stat = os.stat(authority)
    os.utime(authority, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert context(ssl_ca=str(authority)) is not before


def test_a_context_of_the_caller_is_used():
    given = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert context(ssl=given) is given


def test_few_are_kept(authority):
    for number in range(2 * MOST_CONTEXTS):
        os.utime(authority, ns=(number, number))
        context(ssl_ca=str(authority))
    assert len(mysql_connections._contexts) <= MOST_CONTEXTS


class _Text(str):
    """A text of another type, as enumerations are."""


@pytest.mark.parametrize('flags', [0, SERVER_STATUS.SERVER_STATUS_NO_BACKSLASH_ESCAPES])
@pytest.mark.parametrize('value', [
    '', "it's", 'a\\b', '"quoted"', 'line\nline\r', '\x00\x1a', 'Größe \U0001f600', '%s', _Text("it's"), 0, -7, 2 ** 63,
    True, None, 1.5, b"it's", datetime(2026, 11, 27, 1, 2, 3, 4), decimal.Decimal('1.50'), ("it's", 1)], ids=repr)
def test_values_are_written_as_the_library_writes_them(value, flags):
    connection = MysqlConnection(defer_connect=True)
    connection.server_status = flags
    library = pymysql.connections.Connection(defer_connect=True)
    library.server_status = flags
    assert connection.escape(value) == library.escape(value)


PINGED = '''
import sys
from heatlite.common import runtime
runtime.patch()
from heatlite.common import exception
from heatlite.db import connection, pooling, server_connections
server_connections.SILENCE, server_connections.PING, pooling.RESTED = 1000, 2, 0.0
database = connection.Database(sys.argv[1])
for _ in range(2):
    try:
        with database.reader() as tx:
            print(tx.exec_driver_sql('SELECT 1').scalar(), flush=True)
    except exception.DatabaseUnavailable:
        print('gone', flush=True)
    sys.stdin.readline()
'''


@pytest.mark.skipif(SERVER not in os.environ, reason=f'{SERVER} is not set: eval "$(tools/services up mariadb)"')
@pytest.mark.parametrize('is_connected', [True, False], ids=['idle', 'new'])
def test_a_connection_to_a_server_that_freezes_is_left_soon(is_connected):
    """Not after the time that a statement may take, whether it was idle or is only being made."""
    url = sa.make_url(os.environ[SERVER])
    relay = Relay((url.host, url.port))
    if not is_connected:
        relay.freeze()
    program = subprocess.Popen(
        [sys.executable, '-c', PINGED, url.set(host='127.0.0.1', port=relay.port).update_query_dict(
            {'connect_timeout': '2'}).render_as_string(hide_password=False)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == ('1\n' if is_connected else 'gone\n')
        relay.freeze()
        assert program.communicate('\n\n', timeout=60)[0] == 'gone\n'
    finally:
        program.kill()
        relay.cut()
