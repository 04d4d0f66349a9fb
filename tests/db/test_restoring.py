"""A restored database is prepared: no engine of the former site can write, streams go on, stacks are marked."""

import stat
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import changes, engines, events, leases, plans, restoring, stacks
from heatlite.db.connection import Database
from heatlite.db.plans import StoredPlan
from heatlite.db.tables import event as event_table
from heatlite.planning.plan import NOTHING
from tests.db.rows import NOW, Wanted, change, engine, event, finished, later, leased, stack, state
from tests.db.test_manage import run  # noqa: F401 - a fixture

PLAN = StoredPlan('open', 'p1', None, 's', 'create', plans.READY, None, 'd', None, None, None, None, {}, {}, {}, NOW,
                  later(500), None, None)


def prepared(db, at=None):
    return db.retry(lambda tx: restoring.prepare(tx, at, later(100)))


def test_engines_of_the_former_site_cannot_write(db, clock):
    with db.writer() as tx:
        engine(tx)
        leased(tx, stack('s1'), replace(stack('s2'), status='COMPLETE'))
        leases.release(tx, 's2', 'e1', 1)
    clock.seconds += 10
    found = prepared(db)
    assert (found.taken_at, found.stacks, found.unfinished, found.engines, found.plans) == (NOW, 2, 1, 1, 0)
    with db.writer() as tx:
        assert not leases.lock_shared(tx, leases.Lease('s1', 'e1', 1))
        assert changes.write(tx, [change('s1', stack=finished())]).lost == {'s1'}
        assert not engines.renew(tx, 'e1', 5.0, NOW)
    with db.writer() as tx:
        engine(tx, 'new')
        [taken] = leases.claim_expired(tx, 'new', 10)
        assert taken.stack_id == 's1' and taken.epoch > restoring.EPOCHS
        assert changes.write(tx, [change('s1', taken.epoch, row=state())]).lost == set()
        assert stacks.get(tx, 's1').restored_from == stacks.get(tx, 's2').restored_from == NOW


def test_the_time_is_that_of_the_newest_entry(db, clock):
    with db.writer() as tx:
        engine(tx)
        engines.renew(tx, 'e1', 5.0, later(3))
        leased(tx, stack('s1'))
        events.insert_many(tx, 's1', [event('v1', at=later(2))])
    clock.seconds += 10
    assert prepared(db).taken_at == later(3)
    assert prepared(db).taken_at == later(2)                    # again, without the engine that is removed
    with db.reader() as tx:
        assert restoring.restored_from(tx) == later(3)
    assert prepared(db, later(9)).taken_at == later(9)
    with db.reader() as tx:
        assert restoring.restored_from(tx) == later(9)


def test_a_database_in_use_is_refused(db, clock):
    with db.writer() as tx:
        engine(tx)
        leased(tx, stack('s1'))
    with pytest.raises(exception.Conflict, match='h1'):
        prepared(db)
    with db.reader() as tx:
        assert leases.owner(tx, 's1') == 'e1' and restoring.restored_from(tx) is None
    clock.seconds += 6
    prepared(db)


def test_an_empty_database(db):
    assert prepared(db).taken_at is None


def test_numbers_of_events_are_higher_than_any_before(db):
    with db.writer() as tx:
        leased(tx, stack('s1'))
        events.insert_many(tx, 's1', [event('v1')])
        first = tx.execute(sa.select(sa.func.max(event_table.c.id))).scalar()
    prepared(db)
    with db.writer() as tx:
        events.insert_many(tx, 's1', [event('v2')])
        assert [each.uuid for each in events.page(tx, ['s1'], Wanted())] == ['v2', 'v1']
        assert tx.execute(sa.select(sa.func.max(event_table.c.id))).scalar() > first + restoring.NUMBERS


def test_plans_that_were_not_applied_are_void(db):
    with db.writer() as tx:
        plans.insert(tx, PLAN, {(): NOTHING})
        plans.insert(tx, replace(PLAN, id='applied', state=plans.APPLIED), {(): NOTHING})
    assert prepared(db).plans == 1
    with db.reader() as tx:
        assert plans.show(tx, 'open', PLAN.project_id).expires_at == later(100)
        assert plans.show(tx, 'applied', PLAN.project_id).expires_at == later(500)


# --- the commands --------------------------------------------------------------------------------------------

def test_a_copy_is_of_one_moment_and_private(run, db, tmp_path):      # noqa: F811
    file = tmp_path / 'copy'
    with db.writer() as tx:
        leased(tx, stack('s1'))
    if db.dialect != 'sqlite':
        code, _, error = run('backup', str(file))
        assert code == 1 and ('mariadb-dump' in error or 'pg_dump' in error) and not file.exists()
        return
    with db.writer() as tx:                                     # not committed: not in the copy, and not waited for
        leased(tx, stack('s2'))
        assert run('backup', str(file))[:2] == (0, f'{file}: {file.stat().st_size // 1024} KiB')
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    copied = Database(f'sqlite:///{file}')
    with copied.reader() as tx:
        assert stacks.get(tx, 's1') is not None and stacks.get(tx, 's2') is None
    copied.close()
    code, _, error = run('backup', str(file))
    assert code == 1 and 'exists' in error


def test_the_command_says_what_it_has_done(run, db):            # noqa: F811
    with db.writer() as tx:
        leased(tx, stack('s1'))
        events.insert_many(tx, 's1', [event('v1', at=NOW + timedelta(days=1))])
    code, out, _ = run('restored')
    assert code == 0
    assert dict(line.rsplit(None, 1) for line in out.splitlines()[1:]) == {
        'backup taken at': '2026-01-03T03:04:05Z', 'stacks': '1', 'stacks in progress': '1', 'engines removed': '0',
        'plans that are void': '0'}
    assert run('restored', '--taken-at', '2026-01-04T05:00:00+02:00')[0] == 0
    with db.reader() as tx:
        assert str(restoring.restored_from(tx)) == '2026-01-04 03:00:00'
    assert run('restored', '--taken-at', 'yesterday')[0] == 2
