import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import leases, stacks
from heatlite.db.tables import stack as table
from tests.db import rows
from tests.db.rows import Wanted, later, leased, nested, stack


def names(found):
    return [each.id for each in found]


def test_a_row_comes_back_as_it_was(db):
    row = stack(tags=['b', 'a'], parameters={'n': '1', 'é': '☃'}, outputs=[{'output_key': 'x', 'output_value': [1]}],
                request={'adopt': {}}, timeout_mins=5, converge=True, description='ünïcode 🎈', user_project_id='up')
    with db.writer() as tx:
        stacks.insert(tx, row)
    with db.reader() as tx:
        assert stacks.get(tx, 's1') == row
        assert stacks.show(tx, 's1') == row


def test_a_text_no_database_would_take_is_cleaned(db):
    with db.writer() as tx:
        stacks.insert(tx, stack(reason='a\0b\ud800', description='c\0', parameters={'x': 'a\0b\ud800'}))
    with db.reader() as tx:
        row = stacks.get(tx, 's1')
    assert (row.reason, row.description) == ('a\ufffdb?', 'c\ufffd')
    assert row.parameters == {'x': 'a\0b\ud800'}


def test_one_select_shows_a_stack(db, counted):
    with db.writer() as tx:
        stacks.insert(tx, stack())
    with db.reader() as tx, counted(tx) as statements:
        stacks.show(tx, 's1')
        assert len(statements) == 1
        stacks.identity(tx, 's1')
        assert len(statements) == 2
        stacks.page(tx, 'p1', Wanted())
        assert len(statements) == 3
        stacks.page(tx, 'p1', Wanted(marker='s1'))
        assert len(statements) == 5
        stacks.count(tx, 'p1', Wanted())
        stacks.by_name(tx, 'p1', 'x')
        stacks.children(tx, ['s1', 's2', 's3'])
        stacks.descendants(tx, 's1', 's1', 3)
        stacks.tree(tx, 's1')
        stacks.child(tx, 's1', 'r1')
        assert len(statements) == 11


def test_a_name_is_taken_once_in_a_project_and_free_after_deletion(db):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', 'web'))
        stacks.insert(tx, stack('s2', 'Web'))               # names differ by case
        stacks.insert(tx, stack('s3', 'web', project_id='p2'))
    with pytest.raises(exception.StackExists, match='web'), db.writer() as tx:
        stacks.insert(tx, stack('s4', 'web'))
    with db.writer() as tx:
        assert stacks.delete_soft(tx, 's1', later(1))
        assert not stacks.delete_soft(tx, 's1', later(2))
        stacks.insert(tx, stack('s4', 'web'))
        assert stacks.by_name(tx, 'p1', 'web').id == 's4'
        assert stacks.get(tx, 's1') is None
        assert stacks.get(tx, 's1', deleted=True).deleted_at == later(1)
        assert stacks.by_id_or_name(tx, 'p1', 's1').id == 's1'
        assert stacks.by_id_or_name(tx, 'p1', 'web').id == 's4'


def test_nothing_leaves_its_project(db):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', 'web', user_project_id='up1'))
        stacks.insert(tx, stack('s2', 'db', project_id='p2'))
        assert stacks.get(tx, 's1', 'p2') is None
        assert stacks.get(tx, 's1', 'p1').id == stacks.get(tx, 's1', 'up1').id == 's1'
        assert stacks.by_name(tx, 'p2', 'web') is None
        assert stacks.by_name(tx, 'p1', 'web').id == stacks.by_name(tx, 'up1', 'web').id == 's1'
        assert stacks.by_id_or_name(tx, 'p2', 's1') is None
        assert stacks.by_name(tx, None, 'web') is stacks.by_id_or_name(tx, None, 's1') is None
        assert names(stacks.page(tx, 'p1', Wanted())) == ['s1']
        assert names(stacks.page(tx, 'p2', Wanted())) == ['s2']
        assert names(stacks.page(tx, 'p1', Wanted(filters={'project_id': ('p2',)}))) == []
        assert names(stacks.page(tx, 'p2', Wanted(marker='s1'))) == ['s2']      # another project's marker is unknown
        assert stacks.count(tx, 'p1', Wanted()) == stacks.count_live_roots(tx, 'p2') == 1
        assert names(stacks.page(tx, None, Wanted())) == ['s2', 's1']


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
        stacks.delete_soft(tx, 's8', later(50))
    return db


def paged(tx, wanted, **more):
    """All pages of two."""
    found, marker = [], None
    while True:
        page = stacks.page(tx, 'p1', Wanted(**{**wanted, 'limit': 2, 'marker': marker, **more}))
        found += names(page)
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
        assert names(stacks.page(tx, 'p1', Wanted(**wanted))) == expected
        if 'marker' not in wanted:
            assert paged(tx, wanted) == expected
            assert stacks.count(tx, 'p1', Wanted(**wanted, limit=1, marker='s5')) == len(expected)


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
            assert names(stacks.page(tx, 'p1', Wanted(**wanted))) == expected
            assert stacks.count(tx, 'p1', Wanted(**wanted)) == len(expected)
        finally:
            sa.event.remove(tx.engine, 'before_cursor_execute', note)
    assert statements and all(each.count('SELECT') <= 3 and each.count('stack.name') < 20 for each in statements)


def test_limit_zero_is_an_empty_list(listed):
    with listed.reader() as tx:
        assert stacks.page(tx, 'p1', Wanted(limit=0)) == []


def test_hidden_tags(listed):
    with listed.reader() as tx:
        assert names(stacks.page(tx, 'p1', Wanted(tags_any=('t1',)), ['t1'])) == []
        assert names(stacks.page(tx, 'p1', Wanted(), ['t1', 'zz'])) == ['s6', 's4', 's2', 's0']
        assert stacks.count(tx, 'p1', Wanted(), ['t1']) == 4
        assert stacks.count_live_roots(tx, 'p1') == 9


def test_pages_keep_their_order_among_equal_times(db):
    with db.writer() as tx:
        for number in range(7):
            stacks.insert(tx, stack(f's{number}', created_at=rows.NOW))
    with db.reader() as tx:
        assert paged(tx, {}) == [f's{number}' for number in range(6, -1, -1)]
        assert paged(tx, {'sort_dir': 'asc'}) == [f's{number}' for number in range(7)]


def test_trees(db):
    root = stack('root')
    left, right = nested('left', root, 'a'), nested('right', root, 'b', created_at=later(1))
    deep = nested('deep', left, 'c')
    with db.writer() as tx:
        for row in (root, left, right, deep, stack('other')):
            stacks.insert(tx, row)
        assert names(stacks.tree(tx, 'root')) == ['root', 'left', 'right', 'deep']
        assert names(stacks.descendants(tx, 'root', 'root', 0)) == []
        assert names(stacks.descendants(tx, 'root', 'root', 1)) == ['left', 'right']
        assert names(stacks.descendants(tx, 'root', 'root', 9)) == ['left', 'right', 'deep']
        assert names(stacks.descendants(tx, 'root', 'left', 1)) == ['deep']
        assert names(stacks.descendants(tx, 'root', 'right', 1)) == []
        for top, depth, below in (('root', 0, []), ('root', 1, ['left', 'right']), ('other', 9, []),
                                  ('root', 9, ['left', 'right', 'deep']), ('left', 0, []), ('left', 1, ['deep']),
                                  ('deep', 1, [])):
            found, nested_ones = stacks.with_descendants(tx, top, depth)
            assert (found.id, names(nested_ones)) == (top, below)
        assert stacks.with_descendants(tx, 'left', 9) == (None, [])
        for depth in (1, 9):
            assert stacks.with_descendants(tx, 'missing', depth) == (None, [])
        assert stacks.child(tx, 'root', 'b').id == 'right'
        assert stacks.child(tx, 'root', 'c') is None
        stacks.delete_soft(tx, 'left', later(2))
        assert names(stacks.descendants(tx, 'root', 'root', 9)) == ['right']
        for depth in (1, 9):
            assert names(stacks.with_descendants(tx, 'root', depth)[1]) == ['right']
        stacks.delete_soft(tx, 'root', later(3))
        for depth in (1, 9):
            assert stacks.with_descendants(tx, 'root', depth)[0].deleted_at is not None
        assert stacks.child(tx, 'root', 'a') is None
        found = stacks.children(tx, ['left', 'right', 'nobody'])
        assert {each.id: each.deleted_at is not None for each in found.values()} == {'left': True, 'right': False}


def test_settled_stacks_of_a_tree(db, counted):
    """Settled under its present generation, with as many nested stacks as then, and so are all stacks below it."""
    root = stack('root')
    left, right = nested('left', root, 'a', generation=2), nested('right', root, 'b')
    deep = nested('deep', left, 'c')
    settled = {'left': stacks.settling(2, 1, 'd1'), 'right': stacks.settling(1, 0, 'd2'),
               'deep': stacks.settling(1, 0, 'd3')}
    with db.writer() as tx:
        for row in (root, left, right, deep):
            leased(tx, row)
        for stack_id, value in settled.items():
            tx.execute(table.update().where(table.c.id == stack_id).values(settled=value))
        with counted(tx) as statements:
            assert stacks.settled_below(tx, 'root', 'root') == {'left': 'd1', 'right': 'd2', 'deep': 'd3'}
        assert len(statements) == 1
        assert stacks.settled_below(tx, 'root', 'left') == {'deep': 'd3'}
        stacks.accept(tx, 'deep', action='CHECK', reason='', now=later(1))
        assert stacks.settled_below(tx, 'root', 'root') == {'right': 'd2'}
        stacks.delete_soft(tx, 'deep', later(2))
        assert stacks.settled_below(tx, 'root', 'root') == {'right': 'd2'}         # one nested stack is missing
        stacks.unsettle(tx, 'right')
        assert stacks.settled_below(tx, 'root', 'root') == {}


def test_many_children_in_few_statements(db, counted):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1'))
    with db.reader() as tx, counted(tx) as statements:
        assert list(stacks.children(tx, [f's{number}' for number in range(1200)])) == ['s1']
    assert len(statements) == 3


def test_a_new_request(db):
    with db.writer() as tx:
        leased(tx, stack(tags=['a', 'b'], template_id='t1'))
        leases.release(tx, 's1', 'e1', 1)
    with db.writer() as tx:
        accepted = stacks.accept(tx, 's1', action='UPDATE', reason='Stack UPDATE started', now=later(9),
                                 template_id='t2', previous_template_id='t1', tags=['b', 'c'], request={'x': 1})
    with db.writer() as tx:
        row = stacks.get(tx, 's1')
        assert row == accepted
        assert (row.generation, row.action, row.status, row.template_id, row.previous_template_id) == (
            2, 'UPDATE', 'IN_PROGRESS', 't2', 't1')
        assert row.updated_at == row.started_at == later(9)
        assert row.disable_rollback is True
        assert names(stacks.page(tx, 'p1', Wanted(tags=('c',)))) == ['s1']
        assert names(stacks.page(tx, 'p1', Wanted(tags=('a',)))) == []
        assert [each.stack_id for each in leases.claim_expired(tx, 'e2', 5)] == ['s1']      # it is wanted again
        assert stacks.accept(tx, 's1', action='UPDATE', reason='', now=later(10), tags=None).tags is None
        assert names(stacks.page(tx, 'p1', Wanted(tags_any=('b', 'c')))) == []


def test_a_request_to_a_stack_that_is_gone(db):
    with db.writer() as tx:
        stacks.insert(tx, stack())
        stacks.delete_soft(tx, 's1', later(1))
        for stack_id in ('s1', 'nobody'):
            with pytest.raises(exception.StackNotFound):
                stacks.accept(tx, stack_id, action='UPDATE', reason='', now=later(2))


def test_a_request_changes_only_what_requests_may(db):
    with db.writer() as tx, pytest.raises(TypeError, match='project_id'):
        stacks.accept(tx, 's1', action='UPDATE', reason='', now=later(2), project_id='p2')


def test_resource_numbers_are_given_out_once(db):
    with db.writer() as tx:
        stacks.insert(tx, stack())
        assert list(stacks.take_resource_numbers(tx, 's1', 3)) == [1, 2, 3]
        assert list(stacks.take_resource_numbers(tx, 's1', 2)) == [4, 5]
        stacks.set_next_resource(tx, 's1', 3)
        assert list(stacks.take_resource_numbers(tx, 's1', 1)) == [6]
        stacks.set_next_resource(tx, 's1', 100)
        assert list(stacks.take_resource_numbers(tx, 's1', 1)) == [100]
        with pytest.raises(exception.StackNotFound):
            stacks.take_resource_numbers(tx, 'nobody', 1)


def test_single_values(db):
    with db.writer() as tx:
        stacks.insert(tx, stack())
        stacks.set_outputs(tx, 's1', [{'output_key': 'k'}])
        stacks.set_parameters(tx, 's1', {'a': 'b'})
        stacks.set_user_project(tx, 's1', 'up')
        stacks.set_credentials(tx, 's1', 'c1')
        row = stacks.get(tx, 's1')
    assert (row.outputs, row.parameters, row.user_project_id, row.credentials_id) == (
        [{'output_key': 'k'}], {'a': 'b'}, 'up', 'c1')
