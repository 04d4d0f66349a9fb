"""The cache of attributes is read and cleaned while an update of the stack adds and removes rows."""

from __future__ import annotations

from typing import Any, cast

from heatlite.engine.reconcile.attribute_reader import AttributeReader
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.planning.states import Action
from heatlite.planning.target import Target
from heatlite.planning.traversal import Traversal

KEPT = {'reference': 'x'}


def test_values_of_a_row_that_was_not_read_are_dropped():
    """A row is added, or removed, between the reading of the rows and that of the cached values."""
    nothing = cast('Any', None)
    leased = LeasedStack(nothing, nothing, nothing, nothing, Traversal(
        Target(Action.CREATE, {}, 'template', nothing), (), next_row=9, random=nothing))
    leased.kept = {7: KEPT, 8: KEPT}
    AttributeReader(leased, cast('ResourceObjects', nothing)).forget_live()
    assert leased.kept == {}
