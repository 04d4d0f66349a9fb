"""Which columns each change of a row writes: all others stay as they are."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from heatlite.planning import row_changes, text
from heatlite.planning.marks import DIRTY
from heatlite.planning.states import NO_HANDLE, Action, ResourceState, Status

CREATED, NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
ROW = ResourceState(7, 'a', 'u7', 'T', Action.CREATE, Status.COMPLETE, 'before', 'p7', {'b': 2}, 3, 8, 't1', 'f1', 'h1',
                    CREATED, CREATED)
NEW = ResourceState(7, 'a', 'u7', 'T', template_id='t2', created_at=NOW)
CHANGED = 'state changed'
BEGUN = {'status': 'IN_PROGRESS', 'reason': CHANGED, 'handle': NO_HANDLE, 'updated_at': NOW}


def unchanged(row, requires=ROW.requires, heals=False, fingerprint=''):
    return row_changes.unchanged(row, requires, heals=heals, fingerprint=fingerprint, template_id='t2')


@pytest.mark.parametrize('change, written', [
    (lambda row: row_changes.begun(row, Action.CREATE, 't2', NOW, resource_type='U', requires={'c': 4}),
     {**BEGUN, 'requires': {'b': 2, 'c': 4}, 'template_id': 't2', 'type': 'U', 'updated_at': CREATED}),
    (lambda row: row_changes.begun(row, Action.UPDATE, 't2', NOW, resource_type='U', requires={'b': 5}),
     {**BEGUN, 'action': 'UPDATE', 'requires': {'b': 5}, 'template_id': 't2', 'type': 'U', 'fingerprint': DIRTY}),
    (lambda row: row_changes.begun(row, Action.DELETE, 't2', NOW), {**BEGUN, 'action': 'DELETE'}),
    (lambda row: row_changes.begun(row, Action.CHECK, 't2', NOW), {**BEGUN, 'action': 'CHECK'}),
    (lambda row: row_changes.called(row, 'h2'), {'handle': 'h2'}),
    (lambda row: row_changes.completed(row, unsupported=False, requires={'c': 4}, fingerprint='f2'),
     {'reason': CHANGED, 'handle': NO_HANDLE, 'requires': {'c': 4}, 'fingerprint': 'f2'}),
    (lambda row: row_changes.completed(row, unsupported=False, requires=None, fingerprint=''),
     {'reason': CHANGED, 'handle': NO_HANDLE}),
    (lambda row: row_changes.completed(row, unsupported=False, requires={}, fingerprint=''),
     {'reason': CHANGED, 'handle': NO_HANDLE, 'requires': {}}),
    (lambda row: row_changes.completed(row, unsupported=True, requires=None, fingerprint=''),
     {'reason': 'CHECK not supported for T', 'handle': NO_HANDLE}),
    (lambda row: row_changes.failed(row, 'no'), {'status': 'FAILED', 'reason': 'no', 'handle': NO_HANDLE}),
    (lambda row: row_changes.failed(row, 'no', Action.UPDATE),
     {'action': 'UPDATE', 'status': 'FAILED', 'reason': 'no', 'handle': NO_HANDLE}),
    (lambda row: row_changes.refused(row, 'no'), {'action': 'UPDATE', 'status': 'FAILED', 'reason': 'no'}),
    (row_changes.removed, {'action': 'DELETE', 'reason': CHANGED}),
    (row_changes.repeated_later, {'handle': NO_HANDLE}),
    (unchanged, {'replaced_by': None}),
    (lambda row: unchanged(row, {'b': 9}), {'replaced_by': None}),          # the number does not count
    (lambda row: unchanged(row, {'c': 4}), {'replaced_by': None, 'requires': {'c': 4}}),
    (lambda row: unchanged(row, heals=True), {'replaced_by': None, 'reason': text.HEALED, 'handle': NO_HANDLE}),
    (lambda row: unchanged(row, fingerprint='f2'), {'replaced_by': None, 'fingerprint': 'f2', 'template_id': 't2'}),
    (lambda row: row_changes.replaced_by(row, 9), {'replaced_by': 9}),
    (lambda row: row_changes.announced(row, 'because', NOW)[0],
     {'action': 'UPDATE', 'status': 'IN_PROGRESS', 'reason': CHANGED, 'updated_at': NOW}),
    (lambda row: row_changes.announced(row, 'because', NOW)[1],
     {'action': 'UPDATE', 'reason': 'because', 'updated_at': NOW}),
    (row_changes.not_updatable, {'reason': 'The Resource a requires replacement.', 'handle': NO_HANDLE}),
    (lambda row: row_changes.identified(row, 'p8'), {'physical_id': 'p8'}),
    (lambda row: row_changes.identified(row, None), {}),
    (lambda row: row_changes.recreating(row, NOW), {**BEGUN, 'action': 'DELETE'}),
    (row_changes.without_object, {'physical_id': None, 'handle': NO_HANDLE}),
    (lambda row: row_changes.not_recreated(row, 'no'), {'status': 'FAILED', 'reason': 'no'}),
])
def test_what_is_written(change, written):
    before = ROW._asdict()
    after = change(ROW)._asdict()
    assert after == {**before, **written}


def test_a_row_that_is_as_wanted_is_not_written():
    row = ROW._replace(replaced_by=None)
    assert unchanged(row) is row


def test_a_row_without_requirements_begins_without_a_copy_of_them():
    assert row_changes.begun(NEW, Action.CREATE, 't2', NOW).requires is NEW.requires
