"""What most parts of an engine need of it: its id, its clock and threads, its database, its resource types."""

from __future__ import annotations

from dataclasses import dataclass

from heatlite.common.runtime import Runtime
from heatlite.db.connection import Database
from heatlite.engine.types.registry import TypeRegistry


@dataclass(frozen=True)
class EngineCore:
    """There is one for each engine."""

    engine_id: str
    runtime: Runtime
    database: Database
    registry: TypeRegistry
