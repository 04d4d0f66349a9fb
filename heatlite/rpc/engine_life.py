"""What an API process knows of the engines: which live, and whether one has ended that may have had messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Generic, TypeVar

from oslo_db import exception as db_exception
from sqlalchemy.exc import SQLAlchemyError

from heatlite.common import exception, runtime
from heatlite.common.api_call import ENDED_SECONDS
from heatlite.db import engines
from heatlite.db.connection import Database

T = TypeVar('T')

POLL_SECONDS = 1.0                  # between two looks at the database
# How long a call waits for an engine while none has a queue, or none lives: the first engine may just be starting.
OFFERED_SECONDS = 10.0


class _Polled(Generic[T]):
    """What is read once a second at most, for all calls. `unknown`: it cannot be read."""

    def __init__(self, read: Callable[[], T], unknown: T) -> None:
        self._read = read
        self._unknown = self._found = unknown
        self._polled_at = -POLL_SECONDS

    def __call__(self) -> T:
        now = runtime.current().monotonic()
        if now - self._polled_at >= POLL_SECONDS:
            self._polled_at = now
            try:
                self._found = self._read()
            except (exception.HeatException, SQLAlchemyError, db_exception.DBError):
                self._found = self._unknown
        return self._found


class EngineLife:
    """Which engines live and have ended, as far as the database knows. Where it cannot be read, they count as alive."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Whether an engine lives, or was stopped less than OFFERED_SECONDS ago.
        self.any_lives = _Polled(self._any_lives, True)
        # The ids of those that live, if another one has ended less than ENDED_SECONDS ago.
        self.substitutes: _Polled[Sequence[str]] = _Polled(self._substitutes, ())

    def _any_lives(self) -> bool:
        with self._database.reader() as tx:
            return engines.any_lives(tx, stopped_after=runtime.current().now() - timedelta(seconds=OFFERED_SECONDS))

    def _substitutes(self) -> Sequence[str]:
        since = runtime.current().now() - timedelta(seconds=ENDED_SECONDS)
        with self._database.reader() as tx:
            return engines.living(tx) if engines.any_ended(tx, since, ENDED_SECONDS) else ()
