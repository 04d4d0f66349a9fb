"""Texts of users and services in columns that many rows are read with at once: each has a bound, wherever it is
written."""

import pytest
import sqlalchemy as sa

from heatlite.common import exception, limits
from heatlite.db import (
    alarms,
    changes,
    codec,
    event_stream,
    events,
    forced_deletes,
    resource_lists,
    resources,
    snapshots,
    software_deployments,
    stack_lists,
    stacks,
    tables,
)
from heatlite.planning.replacement import MARKED, Reason, ReplacementCause
from heatlite.planning.states import Action, StackChange, Status
from tests.db.rows import NOW, change, engine, event, leased, stack, state

BOMB = 'x' * 1_000_000
USUAL = 'ü' * 5_000                                 # what Heat shows whole is shown whole
LISTS = {
    'stacks': stack_lists.SUMMARY, 'identities': stacks.IDENTITY, 'resources': resource_lists._BRIEF,
    'loaded resources': resources.LIGHT, 'events': events.LISTED, 'deployments': software_deployments.COLUMNS,
    'snapshots': snapshots.COLUMNS, 'alarms': alarms.COLUMNS,
}
# Columns of lists that are bounded otherwise: by what.
ELSEWHERE = {
    'stack.tags': 'limits.MOST_TAGS', 'resource.requires': 'names in one template',
    'resource.handle': 'written by types', 'snapshot.data': 'max_snapshots_per_stack',
    'software_deployment.input_values': 'limits of what is deployed on a server',
    'software_deployment.output_values': 'limits of what is deployed on a server',
    'alarm.rule': 'limits of its parts', 'alarm.reason_data': 'made by the service',
}


def is_unbounded(column):
    return isinstance(column.type, sa.Text) and column.name not in limits.STORED_TEXT


@pytest.mark.parametrize('name', LISTS)
def test_each_text_of_a_list_has_a_bound(name):
    found = {f'{column.table.name}.{column.name}' for column in LISTS[name] if is_unbounded(column)}
    assert found - set(ELSEWHERE) == set()


def test_each_bound_is_of_a_column():
    assert {column.name for table in tables.metadata.tables.values() for column in table.c} >= set(limits.STORED_TEXT)


def test_an_error_stays_whole_with_the_words_before_it():
    assert limits.STORED_TEXT['reason'] > exception.LONGEST_TEXT + 1_000


def written(tx, text):
    """Writes `text` by each statement that writes a text of a list: stack s<n> by each of stacks, and so on."""
    engine(tx, 'e1')
    leased(tx, stack('s1', reason=text, description=text), stack('s2'), stack('s3'), stack('s4'))
    stacks.accept(tx, 's2', action=Action.UPDATE, reason=text, now=NOW, description=text)
    changes.write(tx, [change('s3', stack=StackChange(1, status=Status.FAILED, reason=text, description=text),
                              row=state(1, reason=text), events=(event('v1', reason=text),))])
    resources.insert_many(tx, 's1', [state(1, reason=text), state(2), state(3, status=Status.IN_PROGRESS)])
    resources.set_state(tx, 's1', state(2, reason=text), ReplacementCause(
        Reason.UNHEALTHY, text, 'ann', None))
    resources.fail_in_progress(tx, 's1', text, NOW)
    events.insert_many(tx, 's1', [event('v2', reason=text)])
    forced_deletes.remove(tx, ['s4'], text, NOW)
    snapshots.insert(tx, snapshots.Snapshot('n1', 's1', 'p1', None, 'CREATE', 'IN_PROGRESS', text, None, NOW))
    snapshots.insert(tx, snapshots.Snapshot('n2', 's1', 'p1', None, 'CREATE', 'IN_PROGRESS', None, None, NOW))
    snapshots.set_state(tx, 'n2', status='FAILED', reason=text)


WRITTEN = [tables.stack.c.reason, tables.stack.c.description, tables.resource.c.reason, tables.event.c.reason,
           tables.snapshot.c.reason]


def lengths(tx, column):
    return sorted(len(found) for found in tx.execute(sa.select(column)).scalars())


@pytest.mark.parametrize('column', WRITTEN, ids=str)
def test_a_long_text_is_stored_shortened(db, column):
    with db.writer() as tx:
        written(tx, BOMB)
        found = lengths(tx, column)
        bound = limits.STORED_TEXT[column.name] + len('...')
        assert found[-1] == bound
        assert found.count(bound) == {'stack.description': 3, 'stack.reason': 4, 'resource.reason': 4,
                                      'event.reason': 2, 'snapshot.reason': 2}[str(column)]


@pytest.mark.parametrize('column', WRITTEN, ids=str)
def test_a_usual_text_is_stored_whole(db, column):
    with db.writer() as tx:
        written(tx, USUAL)
        assert lengths(tx, column)[-1] == len(USUAL)


def test_why_a_resource_is_replaced_is_bounded(db):
    with db.writer() as tx:
        written(tx, BOMB)
        cause_of = tables.resource.c.cause
        stored = tx.execute(sa.select(cause_of).where(cause_of.is_not(None))).scalar_one()
        assert len(codec.decode(stored)[MARKED]['what']) == exception.LONGEST_TEXT + len('...')


def test_a_text_with_characters_that_a_database_refuses(db):
    with db.writer() as tx:
        written(tx, 'a\0b\ud800')
        assert set(tx.execute(sa.select(tables.stack.c.description)).scalars()) == {'a\ufffdb?', ''}


def test_streams_read_shortened_texts(db):
    with db.writer() as tx:
        written(tx, BOMB)
        assert max(len(each.event.reason) for each in event_stream.after(tx, 0, 100)) < 15_000


def test_the_end_of_a_shortened_text_says_so():
    assert codec.stored_text('reason', BOMB).endswith('x...')
