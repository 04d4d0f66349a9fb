"""Readiness of an API process: the database, an engine that is alive, and the broker between them."""

from __future__ import annotations

from collections.abc import Callable

from heatlite.common.health import Readiness
from heatlite.db import engines
from heatlite.db.connection import Database
from heatlite.rpc.client import EngineClient


def checks(database: Database, engine: EngineClient) -> Readiness:
    """Return the checks. `engine`: the client; without a broker, none is checked."""
    def found() -> list[engines.Engine]:
        with database.reader() as tx:
            return engines.page(tx)

    wanted: dict[str, Callable[[], object]] = {
        'database': found, 'engines': lambda: any(each.is_up for each in found())}
    check = getattr(engine, 'check', None)
    if check is not None:
        wanted['broker'] = check
    return Readiness(wanted)
