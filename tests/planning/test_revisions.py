"""The template that a failed update goes back to, for each state of a stack."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from heatlite.planning.revisions import DEFINING, last_good, settled
from heatlite.planning.states import Action, Status

OTHERS = sorted(set(Action) - DEFINING - {Action.INIT})


@dataclass(frozen=True)
class Row:
    action: str
    status: str
    outcome: str | None = None
    template_id: str = 'present'
    previous_template_id: str | None = 'former'


@pytest.mark.parametrize('action', sorted(DEFINING))
def test_a_definition_that_was_reached_is_good(action):
    assert last_good(Row(action, Status.COMPLETE)) == 'present'


@pytest.mark.parametrize('status', [Status.IN_PROGRESS, Status.FAILED])
@pytest.mark.parametrize('action', sorted(DEFINING - {Action.ROLLBACK}))
def test_one_that_was_not_reached_is_not(action, status):
    assert last_good(Row(action, status)) == 'former'


@pytest.mark.parametrize('status', list(Status))
def test_the_target_of_a_rollback_is_good(status):
    assert last_good(Row(Action.ROLLBACK, status)) == 'present'


@pytest.mark.parametrize('action', OTHERS)
@pytest.mark.parametrize('status', list(Status))
@pytest.mark.parametrize('outcome, wanted', [
    (Status.COMPLETE, 'present'), (Status.FAILED, 'former'), ('ROLLED_BACK', 'former'), (None, 'present')])
def test_actions_without_a_definition_do_not_matter(action, status, outcome, wanted):
    assert last_good(Row(action, status, outcome)) == wanted


@pytest.mark.parametrize('action', sorted(DEFINING))
def test_an_update_to_the_same_definition_may_reach_it(action):
    row = Row(action, Status.COMPLETE, outcome=Status.FAILED)
    assert last_good(row) == 'present'
    assert settled(row) == Status.COMPLETE


@pytest.mark.parametrize('action', sorted(Action))
@pytest.mark.parametrize('status', list(Status))
def test_if_none_was_reached_the_present_one_stays(action, status):
    assert last_good(Row(action, status, previous_template_id=None)) == 'present'
