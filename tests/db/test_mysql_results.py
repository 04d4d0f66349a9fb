"""Results of MariaDB are read as the library reads them, wherever what has arrived ends."""

import io
import struct

import pymysql
import pytest
import sqlalchemy as sa
from pymysql.constants import FIELD_TYPE

from heatlite.db import mysql_results
from heatlite.db.mysql_connections import MysqlConnection

TEXT, BINARY, NUMBER, TIME = ((FIELD_TYPE.VAR_STRING, 45), (FIELD_TYPE.BLOB, 63), (FIELD_TYPE.LONGLONG, 63),
                              (FIELD_TYPE.DATETIME, 63))
END = b'\xfe\x00\x00\x02\x00'


def sized(value):
    """A value as a row has it."""
    if value is None:
        return b'\xfb'
    size = len(value)
    return (bytes([size]) if size < 251 else b'\xfc' + struct.pack('<H', size) if size < 1 << 16
            else b'\xfd' + struct.pack('<I', size)[:3]) + value


def described(name, kind):
    number, charset = kind
    names = b''.join(sized(each) for each in (b'def', b'db', b't', b't', name, name))
    return names + b'\x0c' + struct.pack('<HIBHB', charset, 255, number, 0, 0) + b'\x00\x00'


def answer(kinds, *rows, end=END):
    """What a server sends for a SELECT."""
    packets = [bytes([len(kinds)]), *(described(b'c%d' % number, kind) for number, kind in enumerate(kinds)), END,
               *(b''.join(map(sized, row)) for row in rows), end]
    return b''.join(struct.pack('<I', len(packet))[:3] + bytes([number % 256]) + packet
                    for number, packet in enumerate(packets, 1))


class Pieces(io.RawIOBase):
    """A socket on which data arrives in pieces that end at these places."""

    def __init__(self, data, ends):
        self.pieces = [data[begin:end] for begin, end in zip([0, *ends], [*ends, len(data)], strict=True)]

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self.pieces.pop(0) if self.pieces else b''
        if isinstance(piece, Exception):
            raise piece
        size = min(len(buffer), len(piece))
        buffer[:size] = piece[:size]
        if piece[size:]:
            self.pieces.insert(0, piece[size:])
        return size


class Socket:
    closed = False

    def close(self):
        self.closed = True

    def settimeout(self, seconds):
        pass


def read(kind, raw, shown=str):
    """(rows, columns, number of the next packet) of a connection of that class; or the error and whether it closed."""
    connection = kind(defer_connect=True, charset='utf8mb4')
    connection._sock = Socket()
    connection._rfile = io.BufferedReader(raw, 8192)
    connection._next_seq_id, connection._current_timeout = 1, connection._read_timeout
    sock = connection._sock
    try:
        connection._read_query_result()
    except pymysql.Error as error:
        return error.args[0], sock.closed
    result = connection._result
    rows = [tuple(map(shown, row)) for row in result.rows]        # times are of another type
    return rows, result.description, connection._next_seq_id, result.affected_rows, result.has_next


RESULTS = {
    'one row': answer([TEXT, NUMBER, TIME], (b'a', b'7', b'2026-11-27 01:02:03.000004')),
    'none': answer([TEXT, NUMBER]),
    'nothing in it': answer([TEXT, TEXT], (None, b''), (b'', None)),
    'letters': answer([TEXT, BINARY], ('Größe \U0001f600'.encode(), b'\xff\x00')),
    'long values': answer([TEXT, TEXT], (b'a' * 250, b'b' * 251), (b'c' * 65535, b'd' * 65536), (b'e', b'f')),
    'many rows': answer([NUMBER, TEXT], *((b'%d' % number, b'x' * (number % 40)) for number in range(2000))),
    'many columns': answer([TEXT] * 200, (b'a',) * 200),
    'fewer values': answer([TEXT, NUMBER], (b'a',), (b'b', b'1')),
    'an error': answer([TEXT], (b'a',), end=b'\xff\x28\x04#HY000out of memory'),
}


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(mysql_results, '_known', {})


@pytest.mark.parametrize('name', RESULTS)
def test_a_result_is_that_of_the_library(name):
    data = RESULTS[name]
    wanted = read(pymysql.connections.Connection, Pieces(data, []))
    assert [read(MysqlConnection, Pieces(data, [])) for _ in range(3)] == [wanted] * 3


@pytest.mark.parametrize('name', ['one row', 'nothing in it', 'fewer values', 'an error'])
def test_wherever_it_is_cut(name):
    data = RESULTS[name]
    wanted = read(pymysql.connections.Connection, Pieces(data, []))
    for _round in range(2):                         # the second one knows the columns
        for end in range(1, len(data)):
            assert read(MysqlConnection, Pieces(data, [end])) == wanted, end


@pytest.mark.parametrize('name', ['long values', 'many rows', 'many columns'])
@pytest.mark.parametrize('size', [7, 1000, 8191, 8193])
def test_in_pieces(name, size):
    data = RESULTS[name]
    wanted = read(pymysql.connections.Connection, Pieces(data, []))
    for _round in range(2):
        assert read(MysqlConnection, Pieces(data, list(range(size, len(data), size)))) == wanted


@pytest.mark.parametrize('end', [b'', TimeoutError('silence'), ConnectionResetError('reset')], ids=repr)
def test_a_connection_that_ends_is_lost_and_closed(end):
    data = RESULTS['many rows']
    for at in (1, 4, 5, 30, 5000):
        for _round in range(2):
            raw = Pieces(data[:at], [])
            raw.pieces.append(end)
            assert read(MysqlConnection, raw) == (2013, True)


def test_packets_of_another_result_are_an_error():
    data = bytearray(RESULTS['one row'])
    data[-len(END) - 1] += 1                        # the number of the last packet
    assert read(MysqlConnection, Pieces(bytes(data), [])) == (
        read(pymysql.connections.Connection, Pieces(bytes(data), [])))


def test_columns_are_parsed_once_and_few_are_kept(monkeypatch):
    monkeypatch.setattr(mysql_results, 'MOST_DESCRIPTIONS', 2)
    for number in range(1, 10):
        read(MysqlConnection, Pieces(answer([TEXT] * number), []))
        assert 1 <= len(mysql_results._known) <= 2
    known = dict(mysql_results._known)
    read(MysqlConnection, Pieces(answer([TEXT] * 9, (b'a',) * 9), []))
    assert dict(mysql_results._known) == known


def test_the_same_bytes_of_other_columns_are_other_values():
    for kind in (TEXT, BINARY, NUMBER, TEXT):
        data = answer([kind], (b'7',))
        wanted = read(pymysql.connections.Connection, Pieces(data, []), shown=repr)
        assert [read(MysqlConnection, Pieces(data, []), shown=repr) for _round in range(2)] == [wanted] * 2


LIMIT = mysql_results.ROWS_OF_A_RESULT
KEPT_ROWS = {
    'small': ([b'a', b'b', b'a'], 2),
    'large': ([b'x' * mysql_results.SMALL], 0),
    'many': ([b'%d' % number for number in range(2 * LIMIT)], LIMIT),
    'in many pieces': ([b'%0200d' % number for number in range(5 * LIMIT)], LIMIT),     # forty in each
}


@pytest.mark.parametrize('rows, kept', KEPT_ROWS.values(), ids=list(KEPT_ROWS))
def test_small_rows_at_the_beginning_are_kept(rows, kept):
    mysql_results._kept_values.cache_clear()
    for _round in range(3):                                 # the first one may not know the columns
        read(MysqlConnection, Pieces(answer([TEXT], *((row,) for row in rows)), []))
    assert kept - 20 <= mysql_results._kept_values.cache_info().currsize <= kept       # the library reads some


def test_rows_of_columns_that_are_not_known_are_not_kept():
    mysql_results._kept_values.cache_clear()
    data = answer([TEXT, TEXT], (b'a', b'b'))
    for _round in range(3):
        read(MysqlConnection, Pieces(data, [9]))            # the descriptions have not arrived as a whole
    assert mysql_results._known == {}
    assert mysql_results._kept_values.cache_info().currsize == 0


def test_all_types_of_a_server(db):
    """Values of each type that MariaDB has, as text of the server and as the library makes them."""
    if db.dialect != 'mysql':
        pytest.skip('other drivers read their results themselves')
    query = ("SELECT 1, -1.5, 1e10, CAST(2.50 AS DECIMAL(5,2)), 'text', NULL, x'00ff', DATE '2026-11-27', "
             "TIME '01:02:03.5', TIMESTAMP '2026-11-27 01:02:03.000004', b'1', REPEAT('x', 70000), JSON_OBJECT('a', 1)")
    with db.reader() as tx:
        ours = [tx.exec_driver_sql(query).fetchone() for _ in range(2)]
        raw = tx.connection.driver_connection
        assert isinstance(raw, MysqlConnection)
        library = sa.create_engine(db.url).connect()
        with library:
            theirs = library.exec_driver_sql(query).fetchone()
    assert ours == [theirs, theirs]


@pytest.mark.parametrize('ends', [[], list(range(1000, 20_000, 1000))], ids=['at once', 'in pieces'])
def test_other_threads_run_while_a_large_result_is_read(ends, monkeypatch):
    pauses = []
    monkeypatch.setattr(mysql_results.time, 'sleep', pauses.append)
    data = RESULTS['many rows']                 # 2 000 of them
    read(MysqlConnection, Pieces(data, [end for end in ends if end < len(data)]))
    assert pauses[:3] == [0] * 3 and len(pauses) <= 2000 // mysql_results.ROWS_AT_ONCE
    del pauses[:]
    read(MysqlConnection, Pieces(RESULTS['long values'], []))
    assert not pauses
