import contextlib

import pytest

from heatlite.api.event_hub import EventStreamBounds, Hub, StreamScope
from heatlite.db import event_stream, events, stacks
from tests.db.rows import event, later, nested, stack

ROOT = stack('a', project_id='p1')
INNER = nested('b', ROOT, 'group', project_id='p1')
OTHER = stack('c', project_id='p2')


@pytest.fixture
def filled(db):
    """Events of `a` (root) and `b` (nested in it) in project p1, of `c` in p2."""
    with db.writer() as tx:
        for each in (ROOT, INNER, OTHER):
            stacks.insert(tx, each)
        for number, stack_id in enumerate('abcab'):
            events.insert_many(tx, stack_id, [event(f'{stack_id}{number}', 1, later(number))])
    return db


def uuids(found):
    return [each.event.uuid for each in found]


def numbers(database):
    with database.reader() as tx:
        return event_stream.newest(tx, 100)


def test_events_are_read_in_the_order_of_their_numbers(filled):
    first, *_, last = numbers(filled)
    with filled.reader() as tx:
        every = event_stream.after(tx, 0, 100)
        assert uuids(every) == ['a0', 'b1', 'c2', 'a3', 'b4']
        assert [(each.stack_name, each.project_id, each.root_id) for each in every[:3]] == [
            ('name-a', 'p1', 'a'), ('name-b', 'p1', 'a'), ('name-c', 'p2', 'c')]
        assert uuids(event_stream.after(tx, first, 2)) == ['b1', 'c2']
        assert uuids(event_stream.of_project(tx, 'p1', first, last, 100)) == ['b1', 'a3', 'b4']
        assert uuids(event_stream.of_project(tx, 'p2', 0, last, 100)) == ['c2']
        assert uuids(event_stream.of_tree(tx, 'a', 0, last, 3)) == ['a0', 'b1', 'a3']
        assert uuids(event_stream.of_tree(tx, 'b', 0, last, 100)) == ['b1', 'b4']
        assert event_stream.newest(tx, 2) == numbers(filled)[-2:]
        assert event_stream.numbers_within(tx, [(first, first), (last, last + 5)], 100) == [first, last]
        assert uuids(event_stream.by_numbers(tx, [last, first])) == ['a0', 'b4']


def test_a_listener_gets_what_is_committed_late(filled):
    """Two writers of two stacks: the second takes later numbers and commits first. SQLite has one writer only."""
    if filled.dialect == 'sqlite':
        pytest.skip('SQLite has one writer: numbers are committed in order')
    hub = Hub(filled, EventStreamBounds(
        poll=0.5, heartbeat=15.0, longest=3600.0, listeners=1, listeners_in_threads=1, listeners_of_project=1))
    hub._is_running = True                              # the test looks by itself
    listener = hub.listen(StreamScope('p1', project_id='p1'), lambda found: [f'data: {found.event.uuid}\n\n'.encode()])
    next(listener)
    with contextlib.ExitStack() as first:
        tx = first.enter_context(filled.writer())
        events.insert_many(tx, 'a', [event('slow', 1)])
        with filled.writer() as second:
            events.insert_many(second, 'b', [event('quick', 1)])
        hub.look()
        before = next(listener)
    hub.look()
    after = next(listener)
    assert b'quick' in before
    assert b'slow' in after
    position = int(before.split(b'\n')[0].removeprefix(b'id: '))
    with filled.reader() as tx:
        assert 'slow' in uuids(event_stream.after(tx, position, 100)), 'a client that resumes there would miss it'


def test_numbers_are_never_given_again(filled):
    last = numbers(filled)[-1]
    with filled.writer() as tx:
        tx.exec_driver_sql("DELETE FROM event WHERE stack_id = 'b'")
    with filled.writer() as tx:
        events.insert_many(tx, 'a', [event('new', 1)])
    assert numbers(filled)[-1] > last
