"""PyMySQL connections that make only once what is the same for all of them.

The server describes each column of each result again, in about 60 bytes that are the same for each execution of a
statement. Parsing them takes 2.5 us for each column: as long as all the rest of reading one row of it.

The library makes a TLS context for each connection, even if the server then wants none, and reads the certificates of
the system for it: 20 ms during which no other thread runs, so the first sixteen requests at once would wait for 0.3 s.

Most values of the rows that are written are texts, whole numbers and NULL. The library needs three calls for each of
them, which is a third of what writing a row costs.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Final

import pymysql
from pymysql.constants import SERVER_STATUS
from pymysql.converters import escape_string
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

MOST: Final = 4096              # descriptions of some hundred bytes: more than there are columns in all statements
MOST_CONTEXTS: Final = 16       # more than there are databases and renewals of their certificates at one time

described = functools.lru_cache(MOST)(FieldDescriptorPacket)       # results only read them
_contexts: dict[tuple[object, ...], object] = {}


class MysqlConnection(pymysql.connections.Connection):       # type: ignore[misc]
    def _read_packet(self, packet_type: object = MysqlPacket) -> object:
        return super()._read_packet(described if packet_type is FieldDescriptorPacket else packet_type)

    def escape(self, obj: object, mapping: object = None) -> str:
        kind = type(obj)
        if kind is str and not self.server_status & SERVER_STATUS.SERVER_STATUS_NO_BACKSLASH_ESCAPES:
            return f"'{escape_string(obj)}'"
        if obj is None:
            return 'NULL'
        if kind is int:
            return str(obj)
        found: str = super().escape(obj, mapping)
        return found

    def _create_ssl_ctx(self, sslp: object) -> object:
        if not isinstance(sslp, Mapping):               # a context
            return super()._create_ssl_ctx(sslp)
        key = tuple((name, value, _changed(value)) for name, value in sorted(sslp.items()))
        found = _contexts.get(key)
        if found is None:
            found = super()._create_ssl_ctx(sslp)
            if len(_contexts) >= MOST_CONTEXTS:
                _contexts.clear()
            _contexts[key] = found
        return found


def _changed(value: object) -> int | None:
    """Return when the file of this name was changed, in nanoseconds; None if there is none. New certificates are used
    from the next connection on."""
    try:
        return os.stat(value).st_mtime_ns if isinstance(value, str) else None
    except OSError:
        return None
