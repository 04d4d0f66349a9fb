"""What happens to a stack in memory: a newer request, the end of its action, and what threads of the pool find out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from heatlite.common.context import RequestContext
from heatlite.db.leases import Lease
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.planning.states import Action, Status
from heatlite.planning.target import Target
from heatlite.planning.traversal import Traversal
from tests.db.rows import stack

NOTHING = cast('Any', None)
CONTEXT = RequestContext(project_id='p1', overwrite=False)


@pytest.fixture
def leased() -> LeasedStack:
    return LeasedStack(stack(), Lease('s1', 'e1', 1), NOTHING, CONTEXT, Traversal(
        Target(Action.CREATE, {}, 'template', NOTHING), (), next_row=9, random=NOTHING, retry_limit=5))


@pytest.mark.parametrize('read, known, followed', [
    (None,      None,       None),
    (None,      'inner',    'inner'),               # made since the row was read
    ('inner',   None,       'inner'),               # made by another stack of the tree
    ('inner',   'former',   'inner'),
])
def test_the_row_of_a_newer_request_has_the_project_of_the_users(
        leased: LeasedStack, read: str | None, known: str | None, followed: str | None) -> None:
    newer = replace(leased.row, generation=leased.row.generation + 1, user_project_id=read)
    if known is not None:
        leased.users_are_in(known)
    other = RequestContext(project_id='p1', user_id='u2', overwrite=False)
    leased.follow(newer, other)
    assert leased.row == replace(newer, user_project_id=followed)
    assert leased.context is other


def test_the_end_of_an_action_leaves_the_rest_of_the_row(leased: LeasedStack) -> None:
    before = leased.row
    ended = replace(before, status=Status.FAILED, reason='no reason')
    leased.users_are_in('inner')
    leased.take_end(ended)
    assert leased.row == replace(ended, user_project_id='inner')


def test_each_action_has_one_span_and_its_own_signals(leased: LeasedStack) -> None:
    for generation in range(1, 3):
        leased.follow(replace(leased.row, generation=generation), CONTEXT)
        assert not leased.has_been_signalled
        leased.note_signal()
        assert leased.has_been_signalled
        assert [leased.end_trace(), leased.end_trace()] == [True, False]


def test_secrets_are_those_of_this_process_and_those_that_were_read(leased: LeasedStack) -> None:
    leased.hide('one')
    before = leased.secrets
    leased.hide(*{'two', 'three'})
    assert (before, leased.secrets) == ({'one'}, {'one', 'two', 'three'})


def test_outputs_and_the_definition_are_replaced(leased: LeasedStack) -> None:
    outputs, definition = [{'output_key': 'a'}], cast('Any', object())
    leased.take_outputs(outputs)
    leased.define(definition)
    assert (leased.row.outputs, leased.definition) == (outputs, definition)
