from dataclasses import replace

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.template_files import Files
from heatlite.db import (
    changes,
    credentials,
    events,
    leases,
    resources,
    revisions,
    signals,
    snapshots,
    stacks,
    tables,
    templates,
    upkeep,
)
from heatlite.planning.states import Datum, Status
from tests.db.rows import NOW, Wanted, change, delete_soft, engine, event, later, leased, nested, stack, state
from tests.db.test_belongings import CREDENTIALS, SNAPSHOT
from tests.db.test_revisions import FIRST


def fill(tx, row):
    """One row in each table that knows of stacks."""
    leased(tx, row)
    templates.insert(tx, row.template_id, {}, {}, {'f': 'x'}, NOW, stack_id=row.id)
    templates.insert(tx, f'old-{row.id}', {}, {}, {'f': 'x'}, NOW, stack_id=row.id)
    snapshots.insert(tx, replace(SNAPSHOT, id=f'n-{row.id}', stack_id=row.id))
    signals.insert(tx, row.id, 'r1', None, NOW)
    revisions.insert(tx, replace(FIRST, stack_id=row.id, template_id=f'old-{row.id}'))
    assert not changes.write(tx, [change(row.id, row=state(1), data=(Datum('k', 'v'),),
                                         events=(event(f'v-{row.id}'),))]).lost


def everything(db):
    with db.reader() as tx:
        return {name: count for name, table in tables.metadata.tables.items() if (
            count := tx.execute(sa.select(sa.func.count()).select_from(table)).scalar())}


def test_a_purged_stack_leaves_nothing(db):
    with db.writer() as tx:
        engine(tx)
        fill(tx, stack('kept', credentials_id='c1', tags=['t']))
        credentials.insert(tx, CREDENTIALS)
    before = everything(db)
    with db.writer() as tx:
        credentials.insert(tx, replace(CREDENTIALS, id='c2'))
        fill(tx, stack('gone', credentials_id='c2', tags=['t', 'u']))
        fill(tx, stack('gone-too', credentials_id='c1', previous_template_id='old-gone-too'))
        for stack_id in ('gone', 'gone-too'):
            delete_soft(tx, stack_id, later(10))
        assert upkeep.purge(tx, later(10)) == 0
        assert upkeep.purge(tx, later(11), 'p2') == 0
    with db.writer() as tx:
        assert upkeep.purge(tx, later(11), 'p1', batch=1) == 1
        assert upkeep.purge(tx, later(11), batch=5) == 1
        assert upkeep.purge(tx, later(11)) == 0
    assert everything(db) == before


def test_shared_files_survive_a_purge(db):
    with db.writer() as tx:
        stacks.insert(tx, stack('gone', template_id='t1'))
        stacks.insert(tx, stack('kept', template_id='t2'))
        files = Files({'f': 'x'})
        templates.insert(tx, 't1', {}, {}, files, NOW, stack_id='gone')
        templates.insert(tx, 't2', {}, {}, files, NOW, stack_id='kept')
        delete_soft(tx, 'gone', later(1))
        assert upkeep.purge(tx, later(2)) == 1
        assert templates.files(tx, 't2') == {'f': 'x'}


def test_reset(db):
    root = stack('root')
    with db.writer() as tx:
        engine(tx)
        leased(tx, root, nested('child', root, 'r1'), nested('done', root, 'r2', status='COMPLETE'), stack('other'))
        for stack_id in ('root', 'child', 'other'):
            resources.insert_many(tx, stack_id, [state(1, status=Status.IN_PROGRESS), state(2)])
    with db.writer() as tx:
        assert upkeep.reset(tx, 'root', later(5)) == ['root', 'child']
    with db.writer() as tx:
        assert changes.write(tx, [change('root', row=state(1))]).lost == {'root'}
        assert leases.claim_expired(tx, 'e1', 9) == []
        for stack_id, expected in [('root', ('FAILED', upkeep.RESET)), ('child', ('FAILED', upkeep.RESET)),
                                   ('other', ('IN_PROGRESS', 'Stack CREATE started'))]:
            row = stacks.get(tx, stack_id)
            assert (row.status, row.reason) == expected
        assert [(row.status, row.reason) for row in resources.light(tx, 'child')] == [
            (Status.FAILED, upkeep.RESET), (Status.COMPLETE, '')]
        assert resources.light(tx, 'other')[0].status is Status.IN_PROGRESS
        assert stacks.get(tx, 'done').status == 'COMPLETE'
        assert events.page(tx, ['root'], Wanted()) == []
        with pytest.raises(exception.Error, match='nobody could not be found: give its id'):
            upkeep.reset(tx, 'nobody', later(5))
