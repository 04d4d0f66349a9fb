"""Forced deletes: which are to be ended, which are late, and what they leave."""

from dataclasses import replace

from heatlite.db import forced_deletes, leases, stacks, upkeep
from heatlite.db.forced_deletes import ForcedDelete, Left
from heatlite.engine.durability.periodic import paged
from heatlite.planning.states import Action, Status
from tests.db.rows import NOW, later, leased, nested, stack

LEFT = (Left(('group', '0'), 'T', 'i', 'because \N{SNOWMAN}'),)


def test_a_forced_delete_is_stored_and_ended(db, counted):
    root = replace(stack('s1'), action=Action.DELETE, status=Status.IN_PROGRESS)
    with db.writer() as tx:
        leased(tx, root, nested('inner', root, 'group'))
        assert forced_deletes.show(tx, 's1') is None
        forced_deletes.begin(tx, 's1', later(10))
        assert forced_deletes.to_end(tx, NOW) == [] and forced_deletes.to_end(tx, later(10)) == ['s1']
        assert forced_deletes.late(tx, later(10)) == [] and forced_deletes.is_decided(tx, 's1') is False
        forced_deletes.leave(tx, 's1', LEFT)
        with counted(tx) as statements:
            assert forced_deletes.show(tx, 's1') == ForcedDelete(later(10), LEFT)
        assert len(statements) == 1
        assert forced_deletes.to_end(tx, later(10)) == [] and forced_deletes.late(tx, later(10)) == ['s1']
        assert (forced_deletes.is_decided(tx, 's1'), forced_deletes.is_decided(tx, 'other')) == (True, None)
        assert forced_deletes.gone(tx) == []
        before = leases.claim(tx, 's1', 'e1')
        forced_deletes.remove(tx, ['s1', 'inner'], 'removed', NOW)
        assert not leases.lock_shared(tx, before)
        found = stacks.show(tx, 's1')
        assert (found.action, found.status, found.reason, found.deleted_at) == ('DELETE', 'COMPLETE', 'removed', NOW)
        assert stacks.get(tx, 'inner') is None and forced_deletes.late(tx, later(10)) == []
        assert forced_deletes.gone(tx) == ['s1'] and forced_deletes.gone(tx, 's1') == []
        forced_deletes.end(tx, 's1')
        assert forced_deletes.gone(tx) == []
        assert forced_deletes.show(tx, 's1').left_behind == LEFT
        assert upkeep.purge(tx, later(1)) == 2
        assert forced_deletes.show(tx, 's1') is None


def test_all_come_in_pages(db, monkeypatch):
    """One that fails again and again does not keep others from their turn."""
    monkeypatch.setattr(forced_deletes, 'AT_ONCE', 2)
    with db.writer() as tx:
        for number in range(5):
            leased(tx, replace(stack(f's{number}'), name=f'n{number}', action=Action.DELETE, status=Status.FAILED))
            forced_deletes.begin(tx, f's{number}', later(10))
        assert list(paged(lambda after: forced_deletes.to_end(tx, NOW, after))) == [f's{number}' for number in range(5)]


def test_one_that_failed_is_ended_at_once_and_may_begin_anew(db):
    with db.writer() as tx:
        leased(tx, replace(stack('s1'), action=Action.DELETE, status=Status.FAILED))
        forced_deletes.begin(tx, 's1', later(10))
        forced_deletes.leave(tx, 's1', ())
        assert forced_deletes.to_end(tx, NOW) == ['s1']
        forced_deletes.begin(tx, 's1', later(20))
        assert forced_deletes.show(tx, 's1') == ForcedDelete(later(20))
