"""The check of a resource whose creation failed before there was an object fails, and asks no service."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.engine import resource
from heatlite.engine.types import registry
from tests.plugins import bench


def checked() -> list[str]:
    """The types with a check of their own; most of those that are described share one."""
    registry.create()
    try:
        return sorted(name for name, kind in registry.current().classes() if hasattr(kind, 'handle_check'))
    finally:
        registry.use(None)


@pytest.mark.parametrize('name', checked())
def test_what_was_never_made_is_not_healthy(types: registry.TypeRegistry, runtime: bench.SteppedRuntime, name: str):
    here = bench.Bench(name, runtime=runtime)
    acting = here.fresh(resource.Resource.CHECK)
    assert acting.resource_id is None
    handler = acting.handler(resource.Resource.CHECK)
    assert handler is not None
    with pytest.raises(exception.Error, match=f'check {here.name}, (resource|stack) not created'):
        handler()
