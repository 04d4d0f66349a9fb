from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heatlite.engine.types import registry
from tests.plugins.bench import Bench
from tests.plugins.rest import generic_service


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[generic_service.Cloud]:
    from heatlite.engine.clients import sessions
    registry.create()
    with generic_service.running() as running:
        yield running
    sessions.forget()
    registry.use(None)


@pytest.fixture
def bench(cloud: generic_service.Cloud) -> Any:
    """A resource of a type, whose services are all the generic one."""
    def make(type_name: str, properties: dict[str, Any] | None = None, **parts: Any) -> Bench:
        made = Bench(type_name, properties, **parts)
        made.stack.context = generic_service.context(cloud)
        return made
    return make
