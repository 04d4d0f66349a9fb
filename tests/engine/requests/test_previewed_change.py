"""What the record of a resource in a preview says at the end, and the words in which clients read it."""

import pytest

from heatlite.engine.reconcile.diff import PropertyChange
from heatlite.engine.requests import presenters, stack_sets
from heatlite.engine.requests.previewed_change import PreviewedChange, PreviewedChanges
from heatlite.planning.plan import PlanAction
from heatlite.planning.replacement import Reason, ReplacementCause
from heatlite.planning.states import ResourceState

ROW = ResourceState(1, 'a', 'uuid-1', 'OS::Heat::TestResource')
NEWER = ROW._replace(id=ROW.id + 1)
DIFFERING = {'length': PropertyChange(1, 2, False)}
CAUSE = ReplacementCause(Reason.FAILED, 'the service is down')


def record(action=PlanAction.NONE, **columns):
    return PreviewedChange('a', action, ROW, properties=DIFFERING, cause=CAUSE, stored={'length': 1}, **columns)


@pytest.mark.parametrize('first, then, action, row', [
    (PlanAction.NONE, PlanAction.UPDATE, PlanAction.UPDATE, NEWER),
    (PlanAction.UPDATE, PlanAction.REPLACE, PlanAction.REPLACE, ROW),
    (PlanAction.REPLACE, PlanAction.UPDATE, PlanAction.REPLACE, ROW),
    (PlanAction.REPLACE, PlanAction.CREATE, PlanAction.REPLACE, ROW),
    (PlanAction.CREATE, PlanAction.REPLACE, PlanAction.CREATE, ROW),
])
def test_the_first_change_stays_unless_an_update_replaces(first, then, action, row):
    change = PreviewedChange('a', first, ROW)
    change.become(then, NEWER)
    assert (change.action, change.row) == (action, row)


@pytest.mark.parametrize('change, action, properties, cause', [
    (record(), PlanAction.NONE, {}, None),
    (record(PlanAction.UPDATE), PlanAction.UPDATE, DIFFERING, None),
    (record(PlanAction.UPDATE, is_settled=True), PlanAction.NONE, {}, None),
    (record(PlanAction.REPLACE), PlanAction.REPLACE, DIFFERING, CAUSE),
])
def test_what_means_no_change_is_dropped(change, action, properties, cause):
    change.conclude(NEWER)
    assert (change.action, change.properties, change.cause) == (action, properties, cause)
    assert change.row is (NEWER if action is PlanAction.NONE else ROW)
    assert bool(change.stored) == (cause is not None)


def test_an_unknown_change_has_its_reason_and_the_properties_that_differ():
    change = record(PlanAction.REPLACE, new_properties={'length': 2}, imported='x', is_gone=True)
    change.become_unknown(NEWER, 'CREATE of it is under way')
    assert (change.action, change.row, change.why, change.inside) == (
        PlanAction.UNKNOWN, NEWER, 'CREATE of it is under way', 'CREATE of it is under way')
    assert (change.properties, change.is_gone) == (DIFFERING, True)
    assert (change.new_properties, change.stored, change.cause, change.imported) == ({}, {}, None, None)


def test_a_record_is_made_when_it_is_asked_for():
    changes = PreviewedChanges()
    changes['a'].is_reached = True
    assert changes['a'].is_reached and list(changes) == ['a']


def test_each_action_has_a_word_of_heat():
    assert set(presenters.SHOWN_AS) == set(PlanAction)
    assert list(stack_sets.CHANGES) == ['unchanged', 'updated', 'replaced', 'added', 'deleted']
    assert stack_sets.ADDED == 'added'
