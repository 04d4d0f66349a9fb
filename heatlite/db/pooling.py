"""Spares pooled connections the round trips that SQLAlchemy's pools make by default.

Those pools test each connection when it is taken, and roll it back when it returns: two round trips for each
transaction. Here a connection used a moment ago is not tested - if it has died since, its next statement fails - and
none is rolled back twice: the code that returns a connection has ended its transaction already.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import plugins

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection

PLUGIN = 'heatlite-pooling'
RESTED = 1.0                    # seconds in the pool after which a connection is tested before it is used


class Pooling(sa.CreateEnginePlugin):
    """Installed into sa.create_engine by the URL that `with_pooling(url)` returns."""

    def update_url(self, url: sa.URL) -> sa.URL:
        return url.difference_update_query(['plugin'])

    def handle_pool_kwargs(self, _pool_class: object, pool_args: dict[str, object]) -> None:
        pool_args.update(pre_ping=False, reset_on_return=None, use_lifo=True)       # few connections in use

    def engine_created(self, engine: sa.Engine) -> None:
        dialect, since = engine.dialect, 'heatlite_rests_since'

        @sa.event.listens_for(engine, 'checkin')
        def _returned(_connection: object, record: sa.pool.ConnectionPoolEntry) -> None:
            record.info[since] = time.monotonic()

        @sa.event.listens_for(engine, 'checkout')
        def _taken(connection: DBAPIConnection, record: sa.pool.ConnectionPoolEntry, _proxy: object) -> None:
            if time.monotonic() - record.info.get(since, time.monotonic()) < RESTED:
                return
            try:
                with getattr(connection, 'tested', nullcontext)():      # drivers may have a time limit for it
                    dialect.do_ping(connection)
            except dialect.loaded_dbapi.Error as error:
                raise exc.InvalidatePoolError() from error      # the pool opens a new one


def with_pooling(url: sa.URL) -> sa.URL:
    return url.update_query_pairs([('plugin', PLUGIN)], append=True)


plugins.register(PLUGIN, __name__, Pooling.__name__)
