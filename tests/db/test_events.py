import random

import pytest
import sqlalchemy as sa

from heatlite.common.limits import MOST_PAGE
from heatlite.db import events, stacks, tables
from tests import reading
from tests.db.rows import Wanted, event, later, stack


def uuids(found):
    return [each.uuid for each in found]


@pytest.fixture
def history(db):
    """Of a: v0 to v5, of two resources; of b: w0 to w2, in between."""
    with db.writer() as tx:
        events.insert_many(tx, 'a', [event(
            f'v{number}', number % 2, later(number), status='COMPLETE' if number > 3 else 'IN_PROGRESS',
            resource_type=f'T{number % 3}', properties={'n': number} if number in (1, 3) else None)
            for number in range(6)])
        events.insert_many(tx, 'b', [event(f'w{number}', 7, later(number + 0.5), action='SIGNAL')
                                     for number in range(3)])
        events.insert_many(tx, 'b', [])
    return db


NEWEST_FIRST = ['v5', 'v4', 'v3', 'v2', 'v1', 'v0']


@pytest.mark.parametrize('stack_ids, wanted, expected', [
    (['a'], {}, NEWEST_FIRST),
    (['a'], {'sort_dir': 'asc'}, NEWEST_FIRST[::-1]),
    (['a'], {'limit': 2}, ['v5', 'v4']),
    (['a'], {'limit': 0}, []),
    (['a'], {'limit': 2, 'marker': 'v4'}, ['v3', 'v2']),
    (['a'], {'marker': 'v4', 'sort_dir': 'asc'}, ['v5']),
    (['a'], {'marker': 'w1'}, NEWEST_FIRST),
    (['a'], {'sort_keys': ('created_at',)}, NEWEST_FIRST[::-1]),
    (['a'], {'sort_keys': ('resource_type',)}, ['v0', 'v3', 'v1', 'v4', 'v2', 'v5']),
    (['a'], {'sort_keys': ('resource_type',), 'marker': 'v3', 'limit': 2}, ['v1', 'v4']),
    (['a'], {'sort_keys': ('resource_type',), 'sort_dir': 'desc'}, ['v5', 'v2', 'v4', 'v1', 'v3', 'v0']),
    (['a'], {'filters': {'resource_name': ('r1',), 'status': ('IN_PROGRESS',)}}, ['v3', 'v1']),
    (['a'], {'filters': {'resource_type': ('T0', 'T1'), 'action': ('CREATE',)}}, ['v4', 'v3', 'v1', 'v0']),
    (['a', 'b'], {}, ['w2', 'w1', 'w0', *NEWEST_FIRST]),
    (['a', 'b'], {'marker': 'w1', 'limit': 2}, ['w0', 'v5']),
    (['a', 'b'], {'sort_dir': 'asc', 'limit': 7}, [*NEWEST_FIRST[::-1], 'w0']),
    (['a', 'b'], {'filters': {'resource_name': ('r1',)}, 'limit': 2}, ['v5', 'v3']),
    (['b'], {'filters': {'action': ('SIGNAL',)}}, ['w2', 'w1', 'w0']),
    ([], {}, []),
])
def test_lists(history, stack_ids, wanted, expected):
    with history.reader() as tx:
        assert uuids(events.page(tx, stack_ids, Wanted(**wanted))) == expected


def tree_of_events(db, stack_ids):
    """Insert an event for each of these ids, in this order, and the stacks."""
    with db.writer() as tx:
        for stack_id in sorted(set(stack_ids)):
            stacks.insert(tx, stack(stack_id))
        tx.execute(tables.event.insert(), [{
            'uuid': f'{stack_id}-{place}', 'stack_id': stack_id, 'resource_id': 1, 'resource_name': 'x',
            'resource_type': 'T', 'action': 'SIGNAL', 'status': 'FAILED', 'reason': '', 'created_at': later(place)}
            for place, stack_id in enumerate(stack_ids)])


@pytest.mark.parametrize('weights', [(1,) * 30, (200, *(1,) * 20), (50, 50, 50, *(1,) * 8), (9, 8, 7, 6, 5, 4)])
@pytest.mark.parametrize('sort_dir', ['desc', 'asc'])
def test_pages_of_several_stacks(db, weights, sort_dir):
    """Whatever part of the events each stack has, and also where those of one are all newer."""
    chosen = random.Random(sum(weights))
    names = [f's{number:02}' for number in range(len(weights))]
    order = chosen.choices(names, weights, k=300) + [names[-1]] * 40 + chosen.choices(names, weights, k=60)
    tree_of_events(db, order)
    wanted = [f'{stack_id}-{place}' for place, stack_id in enumerate(order)]
    if sort_dir == 'desc':
        wanted.reverse()
    for limit in (1, 7, 150, 1000):
        found, last = [], None
        with db.reader() as tx:
            while listed := events.page(tx, names, Wanted(limit=limit, sort_dir=sort_dir), last=last):
                found += uuids(listed)
                last = listed[-1]
                if limit < 150 and len(found) > 30:
                    break
        assert found == wanted[:len(found)]
        assert len(found) > 30


@pytest.mark.parametrize('read', [
    lambda tx, names, _edge: events.page(tx, names, Wanted(limit=1)),
    lambda tx, names, _edge: events.page(tx, names, Wanted(limit=50)),
    lambda tx, names, _edge: events.page(tx, names, Wanted(limit=50, sort_dir='asc')),
    lambda tx, names, edge: events.page(tx, names, Wanted(limit=50), last=edge),
    lambda tx, names, edge: events.since(tx, names, later(0), 50, 'FAILED', edge.id)])
def test_a_page_does_not_read_all_events_of_a_tree(db, read):
    if db.dialect != 'sqlite':
        pytest.skip('only SQLite counts its steps')
    steps = []
    for count in (10, 100):                         # events of each stack
        names = [f'{count}-{number}' for number in range(20)]
        tree_of_events(db, [names[place % 20] for place in range(20 * count)])
        with db.reader() as tx:
            edge = events.page(tx, names, Wanted(limit=60))[-1]
            with reading.counted(db) as work:
                assert read(tx, names, edge)
        assert len(work.statements) <= 6
        steps.append(work.steps)
    assert steps[1] < 1.5 * steps[0]


@pytest.mark.parametrize('stack_ids, limit, after, expected', [
    (['a', 'b'], 9, None, ['w2', 'w1', 'w0', *NEWEST_FIRST]),
    (['a', 'b'], 4, None, ['w2', 'w1', 'w0', 'v5']),
    (['a', 'b'], 4, 'w1', ['w0', 'v5', 'v4', 'v3']),
    (['a', 'b', 'none'], 4, 'v1', ['v0']),
    (['a'], 2, None, ['v5', 'v4']),
    (['b'], 9, 'w2', ['w1', 'w0']),
    ([], 9, None, [])])
def test_the_newest_by_number(history, counted, stack_ids, limit, after, expected):
    """Numbers, not times: those of b were stored later, whatever their clock said."""
    with history.reader() as tx:
        numbers = {each.uuid: each.id for each in events.page(tx, ['a', 'b'], Wanted())}
        with counted(tx) as statements:
            assert uuids(events.newest(tx, stack_ids, limit, numbers.get(after))) == expected
        assert len(statements) <= 1


@pytest.mark.parametrize('before', [None, 5])
@pytest.mark.parametrize('stack_ids', [['a'], ['a', 'b']])
def test_the_newest_are_found_in_the_index(history, kind, stack_ids, before):
    """Neither the rows that are not returned are read, nor events of other stacks."""
    if kind != 'sqlite':
        pytest.skip('the plan is that of SQLite')
    plans = []

    def note(connection, cursor, statement, parameters, _context, _many):
        cursor.execute(f'EXPLAIN QUERY PLAN {statement}', parameters)
        plans.append(' '.join(row[-1] for row in cursor.fetchall()))

    with history.reader() as tx:
        sa.event.listen(tx, 'before_cursor_execute', note)
        events.newest(tx, stack_ids, 2, before)
        sa.event.remove(tx, 'before_cursor_execute', note)
    assert len(plans) == 1
    assert 'SEARCH event USING COVERING INDEX ix_event_stack_id_id' in plans[0]
    assert 'SEARCH event USING INTEGER PRIMARY KEY' in plans[0]
    assert 'SCAN event' not in plans[0]


def test_one_statement_a_list_two_with_a_marker(history, counted):
    with history.reader() as tx, counted(tx) as statements:
        assert events.page(tx, ['a'], Wanted())[0].properties is None
        assert len(statements) == 1
        assert 'properties' not in statements[0]
        events.page(tx, ['a', 'b'], Wanted(marker='v1'))
        assert len(statements) == 3


def test_one_event_shows_the_properties_of_its_time(history, counted):
    with history.reader() as tx, counted(tx) as statements:
        assert events.show(tx, 'a', 'v1').properties == {'n': 1}
        assert len(statements) == 1
        assert events.show(tx, 'a', 'v3').properties == events.show(tx, 'a', 'v5').properties == {'n': 3}
        assert events.show(tx, 'a', 'v4').properties is None            # of another resource
        assert len(statements) == 6
        assert events.show(tx, 'b', 'v1') is None
        assert events.show(tx, 'a', 'nothing') is None


def test_old_ones_go_and_their_properties_stay(history):
    with history.writer() as tx:
        assert events.purge_over(tx, 'a', 6) == 0
        assert events.purge_over(tx, 'a', 2) == 4
        assert events.count(tx, 'a') == 2
        assert events.count(tx, 'b') == 3
        assert uuids(events.page(tx, ['a'], Wanted())) == ['v5', 'v4']
        assert events.show(tx, 'a', 'v5').properties == {'n': 3}
        assert events.show(tx, 'a', 'v4').properties is None
        assert events.purge_over(tx, 'a', 0) == 0                       # no limit
        assert events.purge_over(tx, 'a', 1) == 1


def test_many_old_ones_go_in_parts(history, monkeypatch):
    monkeypatch.setattr(events, 'PURGED_AT_ONCE', 2)
    with history.writer() as tx:
        edge = events.prepare_purge(tx, 'a', 1)
        assert [events.purge(tx, 'a', edge) for _part in range(4)] == [2, 2, 1, 0]
        assert uuids(events.page(tx, ['a'], Wanted())) == ['v5']
        assert events.show(tx, 'a', 'v5').properties == {'n': 3}
        assert events.count(tx, 'b') == 3
        assert events.prepare_purge(tx, 'a', 1) is None


def test_properties_of_a_later_event_are_not_overwritten_by_a_purge(db):
    with db.writer() as tx:
        events.insert_many(tx, 'a', [event('v0', properties={'n': 0}), event('v1', properties={'n': 1}), event('v2'),
                                     event('v3', 2)])
        events.purge_over(tx, 'a', 3)
        assert [events.show(tx, 'a', uuid).properties for uuid in ('v1', 'v2', 'v3')] == [{'n': 1}, {'n': 1}, None]


def test_history_is_followed_from_a_position(history):
    with history.reader() as tx:
        start = events.following(tx, 'b', 0, 1)[0].id - 1
        assert [(each.uuid, each.properties) for each in events.following(tx, 'a', 0, 5)] == [
            ('v0', None), ('v1', {'n': 1}), ('v2', None), ('v3', {'n': 3}), ('v4', None)]
        found = events.following(tx, 'a', events.following(tx, 'a', 0, 3)[-1].id, 5)
        assert [(each.uuid, each.properties) for each in found] == [('v3', {'n': 3}), ('v4', None), ('v5', {'n': 3})]
        assert uuids(events.following(tx, 'b', start, 2)) == ['w0', 'w1']
        assert events.following(tx, 'b', events.position(tx, 'b', of_action=False), 5) == []


def test_it_is_followed_by_characters(db):
    """Events with large properties come a few at a time, and are decoded when they are read."""
    large = {'p': 'x' * (MOST_PAGE // 3)}
    with db.writer() as tx:
        events.insert_many(tx, 'a', [event('v0', properties=large), event('v1'), event('v2', 2, properties=large),
                                     event('v3', 3, properties=large), event('v4', properties={'n': 4}), event('v5')])
    with db.reader() as tx:
        first = events.following(tx, 'a', 0, 100)
        assert uuids(first) == ['v0', 'v1', 'v2', 'v3'] and all(each.properties == large for each in first)
        others = events.following(tx, 'a', first[1].id, 100)
        assert uuids(others) == ['v2', 'v3', 'v4', 'v5']
        assert [dict(each.properties) for each in others] == [large, large, {'n': 4}, {'n': 4}]
        assert uuids(events.following(tx, 'a', first[0].id, 1)) == ['v1']


def test_the_position_of_an_action_is_before_its_beginning(db):
    with db.writer() as tx:
        events.insert_many(tx, 'a', [
            event('v0', None, status='IN_PROGRESS'), event('v1', None), event('v2', None, status='IN_PROGRESS'),
            event('v3', 1, status='IN_PROGRESS'), event('v4', 1)])
        assert uuids(events.following(tx, 'a', events.position(tx, 'a', of_action=True), 9)) == ['v2', 'v3', 'v4']


def test_texts_come_back_as_they_were(db):
    new = event('v0', reason='ünï\0🎈', physical_id='x', properties={'a': '\0\ud800', 'b': [1, None]})
    with db.writer() as tx:
        events.insert_many(tx, 'a', [new])
        found = events.show(tx, 'a', 'v0')
    assert (found.reason, found.properties, found.created_at) == ('ünï\ufffd🎈', new.properties, new.created_at)


def test_names_that_differ_by_a_blank_at_the_end(db):
    """They are equal for MariaDB."""
    def events_of(name, number):
        return event(f'{name}{number}', number, later(number), resource_name=name)

    with db.writer() as tx:
        events.insert_many(tx, 'a', [events_of('web', 1), events_of('web ', 2), events_of('web', 3),
                                     events_of('web ', 4)])
    with db.reader() as tx:
        assert uuids(events.of_resource(tx, 'a', 'web', 2)) == ['web1', 'web3']
        assert uuids(events.of_resource(tx, 'a', 'web ', 1)) == ['web 4']
        assert uuids(events.page(tx, ['a'], Wanted(filters={'resource_name': ('web',)}))) == ['web3', 'web1']
        assert uuids(events.page(tx, ['a'], Wanted(filters={'resource_name': ('web ', 'x')}, limit=1))) == ['web 4']
        assert events.beginnings(tx, ['a'], ['web'], later(0)) == {('a', 'web'): later(3)}
        assert events.beginnings(tx, ['a'], ['web ', 'web'], later(0)) == {
            ('a', 'web'): later(3), ('a', 'web '): later(4)}
