"""What a resource has become stays known, whatever actions on what exists come after it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from heatlite.planning import marks, row_changes
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.planning.steps import refuses

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEFINITION = 'c0' * 16
COMPLETE = ResourceState(1, 'a', 'u1', 'T', Action.CREATE, Status.COMPLETE, physical_id='p1', fingerprint=DEFINITION)
CHECK_FAILED = ('CHECK', 'FAILED')
OPERATIONS = ('suspend', 'resume fails', 'resume', 'check fails', 'check succeeds', 'snapshot', 'mark', 'reset',
              'create fails', 'update fails')
SEQUENCES = [each for length in range(5) for each in itertools.product(OPERATIONS, repeat=length)]


def performed(row, operation):
    """Return the row after an operation of the engine, or of a user."""
    match operation:
        case 'mark':
            return row._replace(action=Action.CHECK, status=Status.FAILED, fingerprint=marks.unhealthy(row))
        case 'reset':
            if not marks.is_unhealthy(row) and row.state != CHECK_FAILED:
                return row
            return row._replace(action=Action.CHECK, status=Status.COMPLETE, fingerprint=marks.healthy(row))
        case 'create fails':                        # of the resource that replaces this one
            row = COMPLETE._replace(action=Action.INIT, fingerprint='', physical_id=None)
    action = Action(operation.split()[0].upper())
    if refuses(row, action) is not None:
        return row
    begun = row_changes.begun(row, action, 't1', NOW)
    if operation.endswith('fails'):
        return row_changes.failed(begun, 'no')
    return row_changes.completed(begun, unsupported=False, requires=None, fingerprint='')


@dataclass
class Model:
    """What the documentation promises: see docs/users/actions.rst and docs/spec/engine.rst."""

    shown: tuple[str, str] = ('CREATE', 'COMPLETE')
    suspended: bool = False
    resumable: bool = False
    unhealthy: bool = False
    unfinished: bool = False

    def perform(self, operation):
        verb, fails = operation.split()[0], operation.endswith('fails')
        if verb == 'suspend' and self.shown[1] == 'FAILED':
            return
        if verb == 'resume' and not self.resumable:
            return
        if verb == 'reset' and not self.unhealthy and self.shown != CHECK_FAILED:
            return
        if verb in ('suspend', 'resume'):
            self.suspended, self.resumable = verb == 'suspend', True
        elif verb in ('create', 'update'):
            self.suspended = self.resumable = self.unhealthy = False
            self.unfinished = True
        elif verb != 'snapshot':
            is_found = operation == 'check fails' and not self.suspended
            is_over = operation in ('check succeeds', 'reset')
            self.unhealthy = not is_over and (self.unhealthy or is_found or verb == 'mark')
        shown = {'mark': CHECK_FAILED, 'reset': ('CHECK', 'COMPLETE')}
        self.shown = shown.get(verb, (verb.upper(), 'FAILED' if fails else 'COMPLETE'))


def after(sequence):
    row, model = COMPLETE, Model()
    for operation in sequence:
        row = performed(row, operation)
        model.perform(operation)
    return row, model


@pytest.mark.parametrize('first', [None, *OPERATIONS])
def test_every_sequence_ends_as_the_documentation_says(first):
    for sequence in SEQUENCES:
        if (sequence[0] if sequence else None) != first:
            continue
        row, model = after(sequence)
        assert row.state == model.shown, sequence
        assert (refuses(row, Action.RESUME) is None) == model.resumable, sequence
        assert marks.is_unhealthy(row) == model.unhealthy, sequence
        judged = marks.as_for_update(row)
        assert (judged.state == CHECK_FAILED) == model.unhealthy, sequence
        if not model.unhealthy:
            is_failed = judged.failed and judged.action is not Action.RESUME
            assert is_failed == model.unfinished, sequence
        needs_update = model.unhealthy or model.unfinished
        if row.status is Status.COMPLETE:           # else an update looks at it for that
            assert (marks.applied(row.fingerprint) == DEFINITION) == (not needs_update), sequence
        assert marks.is_uncertain(row.fingerprint) or row.failed or not model.unfinished, sequence
        assert len(row.fingerprint) <= 64, 'the length of the column'


def test_what_is_written_is_read():
    for fingerprint in sorted({after(sequence)[0].fingerprint for sequence in SEQUENCES}):
        _check_parts(fingerprint)


def _check_parts(fingerprint):
    parts = marks.read(fingerprint)
    assert parts.written() == fingerprint
    assert (marks.MARK in fingerprint) == (parts.is_unhealthy or marks.is_uncertain(fingerprint))
    assert marks.read(marks.uncertain(fingerprint))[:2] == parts[:2], 'a drift is no resume, and no health'
    assert marks.is_uncertain(marks.uncertain(fingerprint))
    assert marks.read(marks.after_update(fingerprint, 'd')) == (parts.resumes, False, 'd')
    applied = 'd' if parts.applied == DEFINITION else parts.applied
    assert marks.read(marks.with_definition(fingerprint, 'd')) == parts._replace(applied=applied)


@pytest.mark.parametrize('fingerprint', ['', '^', '>', '~', '~failed', '^~', '~unhealthy', f'~unhealthy{DEFINITION}'])
def test_a_resource_is_not_as_applied_where_an_update_has_to_look(fingerprint):
    assert marks.applied(fingerprint) == ''
    assert marks.MARK in fingerprint or fingerprint in marks.UNKNOWN, 'as the database selects it'
