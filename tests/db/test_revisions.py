"""The statements on revisions."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from heatlite.db import changes, revisions, stacks, templates
from heatlite.planning.states import Action, Revision, StackChange, Status
from tests.db.rows import NOW, change, engine, later, leased, nested, stack, template_ids

DIGEST = 'd' * 64
FIRST = Revision('s1', 1, 'CREATE', None, 'u1', 'ann', None, 't1', DIGEST, {'x': '1'}, NOW)


def numbered(number, **changed):
    return replace(FIRST, number=number, action='UPDATE', preceding='COMPLETE', template_id=f't{number}',
                   digest=f'{number}' * 64, **changed)


def counted(db, work):
    """How many statements `work(tx)` runs."""
    seen = []
    with db.writer() as tx:
        sa.event.listen(tx, 'before_cursor_execute', lambda *about: seen.append(about[2]))
        work(tx)
    return len(seen)


def test_what_is_inserted_is_shown(db):
    second = numbered(2, plan_id='p1', author=None, author_id=None, parameters=None, created_at=later(1))
    assert counted(db, lambda tx: revisions.insert(tx, FIRST)) == 1
    assert counted(db, lambda tx: revisions.insert(tx, second)) == 1
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', revision=2, status='FAILED'))
        found = revisions.show(tx, 's1', 1)
        assert found == revisions.StoredRevision(1, 'CREATE', 'COMPLETE', 'u1', 'ann', None, 't1', DIGEST, {'x': '1'},
                                                 NOW)
        found = revisions.show(tx, 's1', 2)
        assert (found.outcome, found.plan_id, found.author, found.parameters) == ('FAILED', 'p1', None, None)
        assert revisions.show(tx, 's1', 3) is revisions.show(tx, 's2', 1) is None


@pytest.mark.parametrize('outcome, status, shown', [
    (None, 'IN_PROGRESS', 'IN_PROGRESS'), (None, 'COMPLETE', 'COMPLETE'), ('FAILED', 'COMPLETE', 'FAILED')])
def test_the_outcome_of_the_last_is_with_the_stack(db, outcome, status, shown):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', revision=1, outcome=outcome, status=status))
        revisions.insert(tx, FIRST)
        assert revisions.show(tx, 's1', 1).outcome == shown


def test_the_outcome_of_one_whose_successor_was_not_recorded_is_unknown(db):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', revision=2))
        revisions.insert(tx, FIRST)
        assert revisions.show(tx, 's1', 1).outcome is None


def test_equal_content_shares_a_template(db):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', revision=4))
        templates.insert(tx, 't1', {}, {}, None, NOW, stack_id='s1')
        for new in (FIRST, numbered(2), replace(numbered(3), digest=DIGEST), replace(numbered(4), digest=None),
                    replace(FIRST, stack_id='s2', number=2, template_id='other')):
            revisions.insert(tx, new)
        assert [revisions.show(tx, 's1', number).template_id for number in (1, 2, 3, 4)] == ['t1', 't2', 't1', 't4']
        assert tx.execute(sa.text("SELECT template_id FROM revision WHERE stack_id = 's2'")).scalar() == 'other'


def test_content_that_is_gone_is_not_shared(db):
    """An engine of the previous release may remove it."""
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', revision=2))
        templates.insert(tx, 't2', {'a': 1}, {}, {'f': 'x'}, NOW, stack_id='s1')
        revisions.insert(tx, FIRST)
        revisions.insert(tx, replace(numbered(2), digest=DIGEST))
        found, content = revisions.definition(tx, 's1', 2)
        assert (found.template_id, content.document, content.files) == ('t2', {'a': 1}, {'f': 'x'})
        assert revisions.definition(tx, 's1', 1) is revisions.definition(tx, 's1', 3) is None


def test_pages(db):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', revision=5, status='COMPLETE'))
        revisions.insert(tx, replace(FIRST, stack_id='s0', number=9))
        for number in range(1, 6):
            revisions.insert(tx, numbered(number))
        def numbers(**of):
            return [(each.number, each.outcome) for each in revisions.page(tx, 's1', **of)]
        assert [number for number, _outcome in numbers()] == [5, 4, 3, 2, 1]
        assert numbers(limit=2) == [(5, 'COMPLETE'), (4, 'COMPLETE')]
        assert numbers(limit=2, marker=4) == [(3, 'COMPLETE'), (2, 'COMPLETE')]
        assert numbers(marker=1) == numbers(limit=0) == []
        assert all(each.parameters is None for each in revisions.page(tx, 's1'))


def test_old_ones_go_with_their_templates(db):
    with db.writer() as tx:
        for number in range(1, 5):
            templates.insert(tx, f't{number}', {}, {}, {'f': str(number)}, NOW, stack_id='s1')
            revisions.insert(tx, numbered(number))
        stacks.insert(tx, stack('s1', revision=4, template_id='t4'))
        assert templates.prune(tx, 's1') == 0
        assert revisions.remove_until(tx, 's1', 2) == 2
        assert templates.prune(tx, 's1') == 2
        assert template_ids(tx) == {'t3', 't4'}
        assert revisions.remove_until(tx, 's0', 9) == 0


def test_a_request_with_a_definition_takes_the_next_number(db):
    root = stack('s1', revision=1, status='COMPLETE')
    with db.writer() as tx:
        leased(tx, root, nested('child', root, 'r1'))
        def accepted(stack_id, action, **requested):
            found = stacks.accept(tx, stack_id, action=action, reason='', now=later(1), **requested)
            assert stacks.get(tx, stack_id) == found
            return found.revision, found.outcome
        assert accepted('s1', 'CHECK') == (1, 'COMPLETE')
        assert accepted('s1', 'CHECK') == (1, 'COMPLETE')
        assert accepted('s1', 'UPDATE', template_id='t2') == (2, None)
        assert accepted('s1', 'SUSPEND') == (2, 'FAILED')                   # the update was in progress
        assert accepted('child', 'UPDATE', template_id='t2') == (None, None)


def test_a_stack_from_before_counts_its_present_definition(db):
    with db.writer() as tx:
        leased(tx, stack('s1'))
        assert stacks.accept(tx, 's1', action='CHECK', reason='', now=NOW).outcome == 'FAILED'     # in progress
        assert stacks.accept(tx, 's1', action='UPDATE', reason='', now=NOW, template_id='t2').revision == 2


@pytest.mark.parametrize('again', [False, True])
def test_a_rollback_that_the_engine_starts(db, again):
    """A transaction whose outcome was unknown is repeated: the revision is stored once."""
    with db.writer() as tx:
        engine(tx)
        leased(tx, stack('s1', revision=1, action='UPDATE', outcome='FAILED'))
    rollback = change('s1', stack=StackChange(
        1, action=Action.ROLLBACK, status=Status.IN_PROGRESS, reason='', template_id='t0', next_generation=2,
        updated_at=later(1), revision=2, revisions=(numbered(2),)))
    for attempt in range(1 + again):
        with db.writer() as tx:
            assert not changes.write(tx, [rollback], again=attempt > 0).superseded
    with db.reader() as tx:
        assert (stacks.get(tx, 's1').revision, stacks.get(tx, 's1').outcome) == (2, None)
        assert [each.number for each in revisions.page(tx, 's1')] == [2]


def test_a_superseded_rollback_stores_none(db):
    with db.writer() as tx:
        engine(tx)
        leased(tx, stack('s1', revision=3, generation=5))
        assert changes.write(tx, [change('s1', stack=StackChange(
            1, action=Action.ROLLBACK, next_generation=2, revision=2, revisions=(numbered(2),)))]).superseded
        assert revisions.page(tx, 's1') == []
        assert stacks.get(tx, 's1').revision == 3
