"""The cache of attributes: what is stored of it, and how it is cleaned while an update adds and removes rows."""

from __future__ import annotations

from typing import Any, cast

import pytest

from heatlite.engine.reconcile.attribute_reader import AttributeReader
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.planning.states import Action
from heatlite.planning.target import Target
from heatlite.planning.traversal import Traversal

KEPT = {'reference': 'x'}


NOTHING = cast('Any', None)
ERROR = ValueError('not yet')


@pytest.fixture
def leased() -> LeasedStack:
    return LeasedStack(NOTHING, NOTHING, NOTHING, NOTHING, Traversal(
        Target(Action.CREATE, {}, 'template', NOTHING), (), next_row=9, random=NOTHING, retry_limit=5))


def reader_of(leased: LeasedStack) -> AttributeReader:
    return AttributeReader(leased, cast('ResourceObjects', NOTHING))


def test_values_of_a_row_that_was_not_read_are_dropped(leased):
    """A row is added, or removed, between the reading of the rows and that of the cached values."""
    leased.cached_values = {7: KEPT, 8: KEPT}
    reader_of(leased).forget_live()
    assert leased.cached_values == {}


@pytest.mark.parametrize('before, values, cached, stored', [
    (None,          {'': 'id'},                    None,                           None),
    (KEPT,          {'': 'id'},                    None,                           {}),
    (None,          {'': 'name'},                  {'': 'name'},                   {'': 'name'}),
    (KEPT,          {'': 'id', 'size': 1},         {'': 'id', 'size': 1},          {'': 'id', 'size': 1}),
    (None,          {'': 'id', 'size': ERROR},     {'': 'id', 'size': ERROR},      {'': 'id'}),
])
def test_what_is_cached_and_stored_of_the_values_of_a_row(leased, before, values, cached, stored):
    leased.cached_values = {7: before} if before is not None else {}
    assert reader_of(leased).keep(7, 'id', values) == stored
    assert leased.cached_values.get(7) == cached
