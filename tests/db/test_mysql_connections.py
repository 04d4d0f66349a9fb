"""Connections to MariaDB share their TLS context, until its files change, and write values as the library does."""

import decimal
import os
import shutil
import ssl
from datetime import datetime

import pymysql
import pytest
from pymysql.constants import SERVER_STATUS

from heatlite.db import mysql_connections
from heatlite.db.mysql_connections import MOST_CONTEXTS, MysqlConnection


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
