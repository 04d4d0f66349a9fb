"""Connections that wait in a pool cost no round trip they can spare.

The pools of SQLAlchemy ask each connection whether it is alive when it is taken, and roll it back when it returns: two
round trips for each transaction. Here one that was used a moment ago is not asked - should it have died since, its next
statement says so - and none is rolled back twice: who closes a connection has ended its transaction already.
"""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import plugins

PLUGIN = 'heatlite-pooling'
RESTED = 1.0                    # seconds in the pool after which a connection is asked before it is used


class Pooling(sa.CreateEnginePlugin):
    """`with_pooling(url)` names it to sa.create_engine, whoever calls that."""

    def update_url(self, url: sa.URL) -> sa.URL:
        return url.difference_update_query(['plugin'])

    def handle_pool_kwargs(self, _pool_class: Any, pool_args: dict[str, Any]) -> None:
        pool_args.update(pre_ping=False, reset_on_return=None, use_lifo=True)       # few connections, never cold

    def engine_created(self, engine: sa.Engine) -> None:
        dialect, since = engine.dialect, 'heatlite_rests_since'

        @sa.event.listens_for(engine, 'checkin')
        def _returned(_connection: Any, record: Any) -> None:
            record.info[since] = time.monotonic()

        @sa.event.listens_for(engine, 'checkout')
        def _taken(connection: Any, record: Any, _proxy: Any) -> None:
            if time.monotonic() - record.info.get(since, time.monotonic()) < RESTED:
                return
            try:
                dialect.do_ping(connection)
            except dialect.loaded_dbapi.Error as error:
                raise exc.InvalidatePoolError() from error      # the pool makes a new one, and asks no other old one


def with_pooling(url: sa.URL) -> sa.URL:
    return url.update_query_pairs([('plugin', PLUGIN)], append=True)


plugins.register(PLUGIN, __name__, Pooling.__name__)
