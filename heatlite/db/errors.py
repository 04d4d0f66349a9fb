"""Errors of databases, and which of them an error of a driver means.

Each is a DatabaseUnavailable: callers of `db.connection` see no error of a driver that may pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypedDict

from oslo_db import exception as db_exception
from sqlalchemy import exc

from heatlite.common import exception
from heatlite.common.i18n import _

ER_ERROR_DURING_COMMIT = 1180               # MySQL's number of this error

class ErrorCodes(TypedDict):
    """What identifies errors of each kind of database; for SQLite and PostgreSQL beginnings."""

    sqlite: tuple[str, ...]
    mysql: tuple[int, ...]
    postgresql: tuple[str, ...]


# Errors of a server that answers but for now cannot write, or even read: the disk is full or broken, a fail-over has
# connected us to a replica, there are too many connections, an administrator ends it. Work waits for it as for one that
# is down.
OUT_OF_ORDER: ErrorCodes = {
    'sqlite': ('SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_READONLY', 'SQLITE_CANTOPEN', 'SQLITE_PROTOCOL'),
    'mysql': (1021, 1030, 1040, 1053, 1114, ER_ERROR_DURING_COMMIT, 1203, 1226, 1290, 1792, 1836, 1927),
    'postgresql': ('53', '57P', '58', '25006'),
}
# Errors of a server that has ended a statement before its end: an administrator did (KILL QUERY, pg_cancel_backend), or
# it took longer than the server allows (max_statement_time, max_execution_time, statement_timeout), as under load.
INTERRUPTED: ErrorCodes = {
    'sqlite': ('SQLITE_INTERRUPT',), 'mysql': (1317, 1969, 3024), 'postgresql': ('57014',),
}


class Busy(exception.DatabaseUnavailable):
    """All connections of the pool were in use for as long as a request waits for one."""

    wire_name = 'DatabaseUnavailable'


class Contention(exception.DatabaseUnavailable):
    """A deadlock or a lock held too long. Nothing was written; the same transaction may succeed if it is repeated."""

    msg_fmt = _('Too many writers at once: %(reason)s')


class TakesNoWrites(exception.DatabaseUnavailable):
    """The server answers, but for now cannot write, see OUT_OF_ORDER. Statements that need no space may succeed."""

    wire_name = 'DatabaseUnavailable'


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors of drivers that may pass as Contention, TakesNoWrites or DatabaseUnavailable; others as they are,
    with the text of an internal error."""
    try:
        yield
    except db_exception.DBDeadlock as error:
        raise Contention(reason=reason(error)) from error
    except db_exception.DBConnectionError as error:
        raise exception.DatabaseUnavailable(reason=reason(error)) from error
    except (exc.DBAPIError, db_exception.DBError) as error:
        original = _original(error)
        if _is_contention(original) or _has_ended_the_transaction(error):
            raise Contention(reason=reason(error)) from error
        if _is_among(original, OUT_OF_ORDER):
            raise TakesNoWrites(reason=reason(error)) from error
        if _is_among(original, INTERRUPTED):
            raise exception.DatabaseUnavailable(reason=reason(error)) from error
        if _lacks_a_table(original):
            raise exception.DatabaseUnavailable(
                reason=_('its tables are not there yet, heatlite-manage db_sync makes them')) from error
        if isinstance(error, db_exception.DBError):     # its text becomes the reason of a resource, or an answer
            error.args = (f'Internal error: {type(error).__name__}',)   # had the statement with its values
        raise


def _original(error: BaseException) -> BaseException:
    """Return the driver's own error."""
    inner = getattr(error, 'inner_exception', None) or error
    return getattr(inner, 'orig', None) or inner


def _is_contention(original: BaseException) -> bool:
    """PostgreSQL: lock_not_available, serialization_failure. SQLite: another process is writing."""
    return (getattr(original, 'pgcode', None) in ('55P03', '40001')
            or getattr(original, 'sqlite_errorname', '').startswith(('SQLITE_BUSY', 'SQLITE_LOCKED')))


def _has_ended_the_transaction(error: BaseException) -> bool:
    """Whether MariaDB answered a statement with the end of its transaction, as it does now and then to SKIP LOCKED.

    As answer to COMMIT, which is no statement for SQLAlchemy, the same number may mean a full disk, and what has been
    written is unknown: see OUT_OF_ORDER.
    """
    inner = getattr(error, 'inner_exception', None) or error
    return getattr(inner, 'statement', None) is not None and _original(error).args[:1] == (ER_ERROR_DURING_COMMIT,)


def _is_among(original: BaseException, codes: ErrorCodes) -> bool:
    return ((getattr(original, 'sqlite_errorname', None) or '').startswith(codes['sqlite'])
            or (*original.args, None)[0] in codes['mysql']
            or (getattr(original, 'pgcode', None) or '').startswith(codes['postgresql']))


def _lacks_a_table(original: BaseException) -> bool:
    """Whether a table is missing: a service started before the schema exists waits for it, as for a database that is
    down."""
    return (getattr(original, 'pgcode', None) == '42P01' or original.args[:1] == (1146,)
            or str(original).startswith('no such table'))


def reason(error: BaseException) -> str:
    """Return the database's own message in one line, without the statement, which may hold secrets."""
    original = _original(error)
    lines = str(original.args[-1] if original.args else original).strip().splitlines()
    return lines[0] if lines else type(original).__name__
