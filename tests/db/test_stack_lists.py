import pytest
import sqlalchemy as sa

from heatlite.db import stack_lists, stacks
from tests.db import rows
from tests.db.rows import Wanted, delete_soft, ids, later, nested, stack


@pytest.fixture
def listed(db):
    """Ten roots, one second between them; s7 has two children, s8 is deleted."""
    with db.writer() as tx:
        for number in range(10):
            stacks.insert(tx, stack(f's{number}', f'n{9 - number}', created_at=later(number),
                                    updated_at=later(100 - number) if number % 2 else None,
                                    status='COMPLETE' if number < 5 else 'FAILED',
                                    disable_rollback=number != 3, timeout_mins=number or None,
                                    tags=[f't{number % 2}', f'u{number % 3}'] if number else None))
        parent = stacks.get(tx, 's7')
        stacks.insert(tx, nested('c1', parent, 'r1', created_at=later(20)))
        stacks.insert(tx, nested('c2', parent, 'r2', created_at=later(21)))
        delete_soft(tx, 's8', later(50))
    return db


def paged(tx, wanted, **more):
    """All pages of two."""
    found, marker = [], None
    while True:
        page = stack_lists.page(tx, 'p1', Wanted(**{**wanted, 'limit': 2, 'marker': marker, **more}))
        found += ids(page)
        if len(page) < 2:
            return found
        marker = page[-1].id


ROOTS = ['s9', 's7', 's6', 's5', 's4', 's3', 's2', 's1', 's0']


@pytest.mark.parametrize('wanted, expected', [
    ({}, ROOTS),
    ({'sort_dir': 'asc'}, ROOTS[::-1]),
    ({'sort_keys': ('name',)}, ROOTS),
    ({'sort_keys': ('name',), 'sort_dir': 'desc'}, ROOTS[::-1]),
    ({'sort_keys': ('status', 'name')}, ['s4', 's3', 's2', 's1', 's0', 's9', 's7', 's6', 's5']),
    ({'sort_keys': ('updated_at',)}, ['s0', 's2', 's4', 's6', 's9', 's7', 's5', 's3', 's1']),
    ({'sort_keys': ('created_at', 'created_at')}, ROOTS[::-1]),
    ({'show_deleted': True}, ['s9', 's8', *ROOTS[1:]]),
    ({'show_nested': True}, ['c2', 'c1', *ROOTS]),
    ({'filters': {'status': ('FAILED',)}}, ['s9', 's7', 's6', 's5']),
    ({'filters': {'status': ()}}, []),
    ({'filters': {'id': ('s1', 's2'), 'name': ('n8', 'x')}}, ['s1']),
    ({'filters': {'disable_rollback': (False,)}}, ['s3']),
    ({'filters': {'timeout_mins': (4, 6)}}, ['s6', 's4']),
    ({'filters': {'owner_id': ('s7',)}, 'show_nested': True}, ['c2', 'c1']),
    ({'filters': {'username': ('ann',), 'action': ('CREATE',), 'reason': ('Stack CREATE started',)}}, ROOTS),
    ({'tags': ('t1', 'u0')}, ['s9', 's3']),
    ({'tags_any': ('u0', 'u1')}, ['s9', 's7', 's6', 's4', 's3', 's1']),
    ({'not_tags': ('t1', 'u0')}, ['s7', 's6', 's5', 's4', 's2', 's1', 's0']),
    ({'not_tags_any': ('t1', 'u0')}, ['s4', 's2', 's0']),
    ({'marker': 'nowhere'}, ROOTS),
    ({'marker': 's6'}, ROOTS[3:]),
])
def test_lists(listed, wanted, expected):
    with listed.reader() as tx:
        assert ids(stack_lists.page(tx, 'p1', Wanted(**wanted))) == expected
        if 'marker' not in wanted:
            assert paged(tx, wanted) == expected
            assert stack_lists.count(tx, 'p1', Wanted(**wanted, limit=1, marker='s5')) == len(expected)


MANY = tuple(f'm{number}' for number in range(2500))      # as many as fit into the line of a request


@pytest.mark.parametrize('wanted, expected', [
    ({'tags': MANY}, []),
    ({'tags': ('t1', *MANY)}, []),
    ({'tags_any': ('t1', *MANY)}, ['s9', 's7', 's5', 's3', 's1']),
    ({'not_tags': ('t1', *MANY)}, ROOTS),
    ({'not_tags_any': ('t1', *MANY)}, ['s6', 's4', 's2', 's0']),
    ({'filters': {'name': ('n8', *MANY)}}, ['s1']),
    ({'sort_keys': ('name',) * 1200}, ROOTS),
])
def test_a_list_s_statement_does_not_grow_with_the_query(listed, wanted, expected):
    statements = []

    def note(_tx, _cursor, statement, *_given):
        statements.append(statement)

    with listed.reader() as tx:
        sa.event.listen(tx.engine, 'before_cursor_execute', note)
        try:
            assert ids(stack_lists.page(tx, 'p1', Wanted(**wanted))) == expected
            assert stack_lists.count(tx, 'p1', Wanted(**wanted)) == len(expected)
        finally:
            sa.event.remove(tx.engine, 'before_cursor_execute', note)
    assert statements and all(each.count('SELECT') <= 3 and each.count('stack.name') < 20 for each in statements)


def test_limit_zero_is_an_empty_list(listed):
    with listed.reader() as tx:
        assert stack_lists.page(tx, 'p1', Wanted(limit=0)) == []


def test_hidden_tags(listed):
    with listed.reader() as tx:
        assert ids(stack_lists.page(tx, 'p1', Wanted(tags_any=('t1',)), ['t1'])) == []
        assert ids(stack_lists.page(tx, 'p1', Wanted(), ['t1', 'zz'])) == ['s6', 's4', 's2', 's0']
        assert stack_lists.count(tx, 'p1', Wanted(), ['t1']) == 4
        assert stack_lists.count_live_roots(tx, 'p1') == 9


def test_pages_keep_their_order_among_equal_times(db):
    with db.writer() as tx:
        for number in range(7):
            stacks.insert(tx, stack(f's{number}', created_at=rows.NOW))
    with db.reader() as tx:
        assert paged(tx, {}) == [f's{number}' for number in range(6, -1, -1)]
        assert paged(tx, {'sort_dir': 'asc'}) == [f's{number}' for number in range(7)]
