"""Reads the results of PyMySQL connections from what has arrived, many packets at a time.

The library reads each packet by itself: two calls to read its head and its content, an object for it, and one more
call for each value. That is more than half of what a SELECT of some rows costs.

A result is a packet with the number of its columns, one that describes each column, an end packet, one packet for each
row and another end packet. The head of a packet has the size of its content in three bytes and a number that counts
the packets of the result. The descriptions take about 60 bytes for each column and are the same for each execution of
a statement, so they are parsed when they are first seen. So are small rows, as they were stored: clients that poll read
the same ones. What was sealed stays sealed; a row may outlive its deletion here until others displace it.

What has not arrived as a whole, and all that is not a row, is left to the library.

A large result usually arrives faster than it is read, so that its thread never waits: it lets others run by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pymysql.connections import MySQLResult

if TYPE_CHECKING:
    from heatlite.db.mysql_connections import MysqlConnection

MOST_DESCRIPTIONS: Final = 1024             # descriptions of whole results, of some kilobytes each
MOST_ROWS: Final = 2_000                    # rows that are kept, of a result the first ones,
ROWS_OF_A_RESULT: Final = 200               # so that those of a large result do not displace all others,
SMALL: Final = 1_024                        # and only if they have no more bytes
ROWS_AT_ONCE: Final = 500                   # rows after which other threads run: five milliseconds of work
HEAD: Final = 4                             # bytes of the head of a packet
LAST_OF_ROWS: Final = 0xFD                  # as first byte of a packet; greater ones are ends and errors
NULL: Final = 0xFB                          # in place of the size of a value; greater ones are codes:
SIZES: Final = {0xFC: 2, 0xFD: 3, 0xFE: 8}  # code -> bytes of the size that follow

# Of a column: how its values are encoded, and what is made of them; None: not at all.
Converter = tuple[str | None, Callable[[str | bytes], object] | None]


@dataclass(frozen=True, eq=False)
class ResultColumns:
    """What the library makes of the descriptions of a result."""

    fields: list[object]
    converters: list[Converter]
    description: tuple[object, ...]


_known: dict[tuple[bytes, str], ResultColumns] = {}         # threads of all kinds use it, so nothing but whole steps


class MysqlResult(MySQLResult):             # type: ignore[misc]
    """The result of a statement. All connections have the same decoders."""

    connection: MysqlConnection
    fields: list[object]
    converters: list[Converter]
    description: tuple[object, ...]
    _columns: ResultColumns | None              # None: another execution will not find them

    def _get_descriptions(self) -> None:
        connection = self.connection
        data = connection.arrived()
        size = size_of(data, self.field_count)
        key = data[:size], connection.encoding
        found = _known.get(key)
        if found is None:
            super()._get_descriptions()
            self._columns = None
            if size:
                if len(_known) >= MOST_DESCRIPTIONS:
                    _known.clear()
                self._columns = _known[key] = ResultColumns(self.fields, self.converters, self.description)
            return
        connection.advance(size, self.field_count)
        self._columns = found
        self.fields, self.converters, self.description = found.fields, found.converters, found.description
        end = connection._read_packet()
        assert end.is_eof_packet(), 'an end packet follows the descriptions'

    def _read_rowdata_packet(self) -> None:
        rows: list[tuple[object, ...]] = []
        pause = ROWS_AT_ONCE
        while True:
            self._take_arrived(rows)
            if len(rows) >= pause:
                time.sleep(0)
                pause = len(rows) + ROWS_AT_ONCE
            packet = self.connection._read_packet()
            if self._check_packet_is_eof(packet):
                break
            rows.append(values(packet.get_all_data(), self.converters))
        self.affected_rows = len(rows)
        self.rows = tuple(rows)

    def _take_arrived(self, rows: list[tuple[object, ...]]) -> None:
        """Add the rows at the beginning of what has arrived."""
        connection = self.connection
        data = connection.arrived()
        length, at, packets = len(data), 0, 0
        while at + HEAD < length:
            begin = at + HEAD
            end = begin + int.from_bytes(data[at:at + 3], 'little')
            if end > length or data[begin] > LAST_OF_ROWS or data[at + 3] != connection.number(packets):
                break
            if end - begin <= SMALL and len(rows) < ROWS_OF_A_RESULT and self._columns is not None:
                rows.append(_kept_values(data[begin:end], self._columns))
            else:
                rows.append(values(data[begin:end], self.converters))
            at, packets = end, packets + 1
        connection.advance(at, packets)


def size_of(data: bytes, packets: int) -> int:
    """Return the bytes that so many packets at the beginning of `data` have; 0: they are not all there."""
    at, length = 0, len(data)
    for _number in range(packets):
        if at + HEAD > length:
            return 0
        at += HEAD + int.from_bytes(data[at:at + 3], 'little')
    return at if at <= length else 0


def values(packet: bytes, converters: list[Converter]) -> tuple[object, ...]:
    """Return the values of a row, of which some servers leave out the last ones."""
    row: list[object] = []
    at, length = 0, len(packet)
    for encoding, converter in converters:
        if at >= length:
            break
        size = packet[at]
        at += 1
        if size >= NULL:
            if size == NULL:
                row.append(None)
                continue
            width = SIZES[size]
            size = int.from_bytes(packet[at:at + width], 'little')
            at += width
        content = packet[at:at + size]
        at += size
        value = content if encoding is None else content.decode(encoding)
        row.append(value if converter is None else converter(value))
    return tuple(row)


@lru_cache(MOST_ROWS)
def _kept_values(packet: bytes, columns: ResultColumns) -> tuple[object, ...]:
    return values(packet, columns.converters)
