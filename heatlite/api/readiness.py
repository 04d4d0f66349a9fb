"""Readiness of an API process: the database with the tables that it needs, an engine that is alive, and the broker."""

from __future__ import annotations

from collections.abc import Callable

from heatlite.common.health import Readiness
from heatlite.db import engines, sync
from heatlite.db.connection import Database
from heatlite.rpc.client import EngineClient


def checks(database: Database, engine: EngineClient) -> Readiness:
    """Return the checks. `engine`: the client; without a broker, none is checked."""
    def has_tables() -> bool:
        return sync.has_needed(sync.version(database))

    def found() -> list[engines.Engine]:
        with database.reader() as tx:
            return engines.page(tx)

    wanted: dict[str, Callable[[], object]] = {
        'database': has_tables, 'engines': lambda: any(each.is_up for each in found())}
    check = getattr(engine, 'check', None)
    if check is not None:
        wanted['broker'] = check
    return Readiness(wanted)
