"""Reports about drift, and which stacks are due."""

from dataclasses import replace

from heatlite.db import drift_reports, upkeep
from heatlite.planning import drift
from heatlite.planning.drift import DriftFinding, ResourceDrift
from heatlite.planning.states import Action, Status
from tests.db.rows import NOW, delete_soft, later, leased, nested, stack

FOUND = drift.report('2026-01-01T00:00:00Z', 'request', [ResourceDrift(('a',), 'T', DriftFinding.GONE)])


def settled(stack_id, **values):
    return replace(stack(stack_id), **{'status': Status.COMPLETE, **values})


def test_a_report_replaces_the_last_one_and_goes_with_its_stack(db, counted):
    with db.writer() as tx:
        leased(tx, settled('s1'))
        assert drift_reports.report(tx, 's1') is None and drift_reports.repaired_at(tx, 's1') is None
        drift_reports.store(tx, 's1', FOUND)
        drift_reports.note_repair(tx, 's1', NOW)
        drift_reports.store(tx, 's1', replace(FOUND, looked_by='schedule'))
        with counted(tx) as statements:
            assert drift_reports.report(tx, 's1') == replace(FOUND, looked_by='schedule')
        assert len(statements) == 1
        assert drift_reports.repaired_at(tx, 's1') == NOW
        delete_soft(tx, 's1', NOW)
        assert upkeep.purge(tx, later(1)) == 1
        assert drift_reports.report(tx, 's1') is None


def test_stacks_of_one_project_are_due_together(db, counted):
    root = settled('s1', project_id='p1', name='n1')
    with db.writer() as tx:
        leased(tx, root, settled('s2', project_id='p1', name='n2'), settled('s3', project_id='p2', name='n3'),
               settled('busy', project_id='p1', name='n4', status=Status.IN_PROGRESS),
               settled('asleep', project_id='p1', name='n5', action=Action.SUSPEND), nested('inner', root, 'group'))
    with db.writer() as tx:
        with counted(tx) as statements:
            assert drift_reports.due(tx, NOW, 10) == ['s1', 's2']
        assert len(statements) == 2
        assert drift_reports.due(tx, NOW, 1) == ['s1']
        assert drift_reports.take(tx, 's1', NOW, later(10)) and not drift_reports.take(tx, 's1', NOW, later(10))
        assert drift_reports.due(tx, NOW, 10) == ['s2']
        assert drift_reports.take(tx, 's2', NOW, later(5))
        assert drift_reports.due(tx, NOW, 10) == ['s3']
        assert drift_reports.take(tx, 's3', NOW, later(20))
        assert drift_reports.due(tx, NOW, 10) == []
        assert drift_reports.due(tx, later(11), 10) == ['s2', 's1']
