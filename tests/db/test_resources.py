import pytest

from heatlite.common import exception
from heatlite.db import codec, resources, stack_trees, stacks
from heatlite.planning.states import Action, Status
from tests.db.rows import NOW, delete_soft, later, nested, stack, state


@pytest.fixture
def tree(db):
    """A root with a server, its replacement and a group; the group's stack with one member."""
    root = stack('root')
    with db.writer() as tx:
        stacks.insert(tx, root)
        stacks.insert(tx, nested('child', root, 'group'))
        stacks.insert(tx, stack('other', project_id='p2'))
        resources.insert_many(tx, 'root', [
            state(1, 'server', action=Action.CREATE, status=Status.IN_PROGRESS, physical_id='ph1', replaced_by=3),
            state(2, 'group', requires={'server': 1, '50%_"off"': 9}, physical_id='child'),
            state(3, 'server', action=Action.CREATE, requires={'net_1': 5}, replaces=1, handle={'a': [1]})],
            {1: {'properties': {'flavor': 'm1'}, 'metadata': {'m': 1}},
             2: {'definition': {'description': 'many'}, 'attributes': {'refs': ['x']}}})
        resources.insert_many(tx, 'child', [state(1, '0', requires={'netX1': 5})])
        resources.insert_many(tx, 'other', [state(1, 'server', physical_id='ph1')])
    return db


def test_what_drives_a_stack_is_light(tree, counted):
    with tree.reader() as tx, counted(tx) as statements:
        rows = resources.light(tx, 'root')
    assert len(statements) == 1
    assert 'properties' not in statements[0]
    assert rows[0] == state(1, 'server', action=Action.CREATE, status=Status.IN_PROGRESS, physical_id='ph1',
                            replaced_by=3)
    assert rows[2] == state(3, 'server', action=Action.CREATE, requires={'net_1': 5}, replaces=1, handle={'a': [1]})
    assert isinstance(rows[0].action, Action)
    assert isinstance(rows[0].status, Status)
    with tree.reader() as tx:
        assert resources.light(tx, 'nobody') == []


def test_heavy_columns_by_number(tree):
    with tree.reader() as tx:
        assert resources.columns(tx, 'root', [1, 9], ('properties', 'metadata')) == {
            1: {'properties': {'flavor': 'm1'}, 'metadata': {'m': 1}}}
        assert resources.columns(tx, 'root', None, ('attributes',)) == {2: {'attributes': {'refs': ['x']}}}
        assert resources.columns(tx, 'root', [1], ('attributes',)) == {1: {'attributes': None}}
        assert resources.columns(tx, 'root', [], ('attributes',)) == {}


def test_rows_of_some_names_and_of_what_may_require_them(tree, counted):
    with tree.reader() as tx, counted(tx) as statements:
        found = resources.page(tx, ['root', 'child'], names=['0', 'group'])
        assert len(statements) == 1
        detailed = resources.page(tx, ['root'], with_detail=True, names=['group', "'; --", '50%_"off"'])
    assert [(each.stack_id, each.name, each.id) for each in found] == [
        ('child', '0', 1), ('root', 'group', 2), ('root', 'server', 3)]
    assert [(each.name, each.id) for each in detailed] == [('group', 2), ('server', 3)]


def test_lists(tree, counted):
    with tree.reader() as tx, counted(tx) as statements:
        found = resources.page(tx, ['root', 'child'])
        detailed = resources.page(tx, ['root'], with_detail=True)
        assert len(statements) == 2
        assert resources.page(tx, []) == []
    assert [(each.stack_id, each.name, each.id) for each in found] == [
        ('child', '0', 1), ('root', 'server', 1), ('root', 'group', 2), ('root', 'server', 3)]
    assert found[2].requires == {'server': 1, '50%_"off"': 9}
    assert found[2].definition is found[2].attributes is None
    assert detailed[1].definition == {'description': 'many'}
    assert detailed[1].attributes == {'refs': ['x']}
    assert detailed[0].metadata == {'m': 1}
    assert detailed[0].created_at == NOW


def test_by_name(tree, counted):
    with tree.reader() as tx, counted(tx) as statements:
        found = resources.by_name(tx, 'root', 'server')
        assert len(statements) == 1
        assert resources.by_name(tx, 'root', 'Server') == []
    assert [(each.id, each.replaced_by, each.metadata) for each in found] == [(1, 3, {'m': 1}), (3, None, None)]


def test_names_that_differ_by_a_blank_at_the_end(tree):
    """They are equal for MariaDB."""
    with tree.writer() as tx:
        resources.insert_many(tx, 'root', [state(7, 'group '), state(8, 'server ')])
    with tree.reader() as tx:
        assert [row.id for row in resources.by_name(tx, 'root', 'server')] == [1, 3]
        assert [row.id for row in resources.by_name(tx, 'root', 'server ')] == [8]
        assert [row.id for row in resources.named(tx, 'root', 'server ')] == [8]
        assert [row.id for row in resources.of_names(tx, 'root', ['server ', 'group'])] == [2, 8]
        for name, number, below in (('group', 2, 'child'), ('group ', 7, None)):
            _above, [row], nested_stack = resources.in_place(tx, 'root', name)
            assert (row.id, nested_stack and nested_stack.id) == (number, below)
        assert resources.in_place(tx, 'root', 'server  ')[1:] == ([], None)


def test_a_resource_in_its_place(tree, counted):
    with tree.writer() as tx:
        with counted(tx) as statements:
            above, rows, below = resources.in_place(tx, 'root', 'group')
        assert len(statements) == 1
        assert (above.id, [row.id for row in rows], below.id) == ('root', [2], 'child')
        assert list(map(vars, rows)) == list(map(vars, resources.by_name(tx, 'root', 'group')))
        above, rows, below = resources.in_place(tx, 'root', 'server')
        assert (above.name, [row.id for row in rows], below) == ('name-root', [1, 3], None)
        above, rows, below = resources.in_place(tx, 'root', 'nothing')
        assert (above.id, rows, below) == ('root', [], None)
        assert resources.in_place(tx, 'nobody', 'server') is None
        delete_soft(tx, 'child', later(1))
        delete_soft(tx, 'root', later(1))
        above, rows, below = resources.in_place(tx, 'root', 'group')
        assert (above.deleted_at, [row.id for row in rows], below) == (later(1), [2], None)


@pytest.mark.parametrize('top', ['root', 'child'])
def test_a_stack_brings_its_rows_if_they_are_few(tree, counted, top):
    with tree.writer() as tx:
        for depth in (0, 1, 9) if top == 'root' else (0, 1):
            with counted(tx) as statements:
                found = resources.with_few(tx, top, depth)
            assert len(statements) == 1
            assert (found.stack, found.below) == stack_trees.with_descendants(tx, top, depth)
            assert list(map(vars, found.rows())) == list(map(vars, resources.page(tx, [top])))
        numbers = [each.id for each in resources.page(tx, [top])]
        stacks.set_next_resource(tx, top, resources.FEW)
        assert [each.id for each in resources.with_few(tx, top, 1).rows()] == numbers
        stacks.set_next_resource(tx, top, resources.FEW + 1)
        found = resources.with_few(tx, top, 1)
        assert (found.rows(), found.stack.id) == (None, top)
        assert found.below == stack_trees.with_descendants(tx, top, 1)[1]


def test_of_a_nested_stack_one_statement_finds_one_level(tree):
    with tree.writer() as tx:
        assert resources.with_few(tx, 'child', 9) is None
        assert resources.with_few(tx, 'missing', 9) is resources.with_few(tx, 'missing', 1) is None
        stacks.insert(tx, stack('empty'))
        assert resources.with_few(tx, 'empty', 1).rows() == []


def test_outer_stacks_come_first_then_older_ones(tree):
    with tree.writer() as tx:
        root = stacks.show(tx, 'root')
        for stack_id, parent, at in (('c', root, later(2)), ('b', root, later(3)), ('d', root, later(2)),
                                     ('a', nested('b', root, 'x'), later(1))):
            stacks.insert(tx, nested(stack_id, parent, 'x', created_at=at))
        found = resources.with_few(tx, 'root', 9)
        assert [each.id for each in found.below] == ['child', 'c', 'd', 'b', 'a']
        assert found.below == stack_trees.with_descendants(tx, 'root', 9)[1]


def test_of_a_long_list_the_first_rows_are_kept(db):
    number = resources.ROWS_PER_SLICE + codec.CACHED_OF_A_LIST
    with db.writer() as tx:
        stacks.insert(tx, stack('root'))
        resources.insert_many(tx, 'root', [state(each) for each in range(1, number + 1)], {})
        found = resources.page(tx, ['root'])
    assert [each.id for each in found] == list(range(1, number + 1))
    assert sum(each.is_cached for each in found) == codec.CACHED_OF_A_LIST
    assert all(each.is_cached for each in found[:codec.CACHED_OF_A_LIST])


def test_required_by(tree):
    with tree.reader() as tx:
        assert resources.required_by(tx, 'root', 'server') == ['group']
        assert resources.required_by(tx, 'root', '50%_"off"') == ['group']
        assert resources.required_by(tx, 'root', 'net_1') == ['server']
        assert resources.required_by(tx, 'child', 'net_1') == []        # _ is no wildcard
        assert resources.required_by(tx, 'root', 'er') == []


def test_what_stands_behind_an_object(tree):
    with tree.reader() as tx:
        assert [each.stack_id for each in resources.by_physical_id(tx, 'ph1', 'p1')] == ['root']
        assert [each.stack_id for each in resources.by_physical_id(tx, 'ph1', 'p2')] == ['other']
        assert [each.stack_id for each in resources.by_physical_id(tx, 'ph1', None)] == ['other', 'root']
        assert resources.by_physical_id(tx, 'ph1', 'p3') == []
        assert resources.find(tx, 'child').name == 'group'
        with pytest.raises(exception.PhysicalResourceIDAmbiguity):
            resources.find(tx, 'ph1')
        with pytest.raises(exception.NotFound, match='nothing'):
            resources.find(tx, 'nothing')


def test_counts(tree):
    with tree.writer() as tx:
        assert resources.count(tx, ['root', 'child', 'other']) == 5
        assert resources.count_in_tree(tx, 'root') == 4
        delete_soft(tx, 'child', later(1))
        assert resources.count_in_tree(tx, 'root') == 3


def test_metadata_is_compared_and_swapped(tree):
    with tree.writer() as tx:
        value, version = resources.metadata(tx, 'root', 1)
        assert (value, version) == ({'m': 1}, 0)
        assert resources.set_metadata(tx, 'root', 1, {'m': 2}, version)
        assert not resources.set_metadata(tx, 'root', 1, {'m': 3}, version)
        assert resources.metadata(tx, 'root', 1) == ({'m': 2}, 1)
        with pytest.raises(LookupError):
            resources.metadata(tx, 'root', 99)


def test_many_rows_at_once(db):
    rows = [state(number) for number in range(2500)]
    with db.writer() as tx:
        resources.insert_many(tx, 'big', rows)
    with db.reader() as tx:
        assert resources.light(tx, 'big') == rows
        assert len(resources.columns(tx, 'big', range(1200), ('properties',))) == 1200
