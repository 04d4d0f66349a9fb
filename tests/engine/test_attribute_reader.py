"""How the cache of attributes is cleaned for a reader while an update adds and removes rows."""

from __future__ import annotations

from typing import Any, cast

import pytest

from heatlite.engine.reconcile.attribute_reader import AttributeReader
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.planning.states import Action
from heatlite.planning.target import Target
from heatlite.planning.traversal import Traversal

KEPT = {'': 'x'}

NOTHING = cast('Any', None)


@pytest.fixture
def leased() -> LeasedStack:
    return LeasedStack(NOTHING, NOTHING, NOTHING, NOTHING, Traversal(
        Target(Action.CREATE, {}, 'template', NOTHING), (), next_row=9, random=NOTHING, retry_limit=5))


def reader_of(leased: LeasedStack) -> AttributeReader:
    return AttributeReader(leased, cast('ResourceObjects', NOTHING))


def test_values_of_a_row_that_was_not_read_are_dropped(leased):
    """A row is added, or removed, between the reading of the rows and that of the cached values."""
    leased.attribute_cache.fill({7: KEPT, 8: KEPT})
    reader_of(leased).forget_live()
    assert leased.attribute_cache.numbers() == []
