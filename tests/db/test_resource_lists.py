import pytest

from heatlite.common import exception
from heatlite.db import codec, resource_lists, resources, stack_trees, stacks
from tests.db.rows import NOW, delete_soft, later, nested, stack, state


def test_rows_of_some_names_and_what_requires_them(tree, counted):
    with tree.reader() as tx, counted(tx) as statements:
        found = resource_lists.page(tx, ['root', 'child'], names=['0', 'group'])
        assert len(statements) == 1
        detailed = resource_lists.page(tx, ['root'], ['definition'], names=['group', "'; --", '50%_"off"'])
        assert resource_lists.requiring(tx, ['root', 'child'], ['server', 'group', '50%_"off"']) == {
            'root': {'server': ('group',), '50%_"off"': ('group',)}}
        assert resource_lists.requiring(tx, ['root', 'child'], ['server', *map(str, range(50))]) == {
            'root': {'server': ('group',)}}
    assert [(each.stack_id, each.name, each.id) for each in found] == [
        ('child', '0', 1), ('root', 'group', 2)]
    assert [(each.name, each.id, each.definition, each.attributes) for each in detailed] == [
        ('group', 2, {'description': 'many'}, None)]


def test_lists(tree, counted):
    with tree.reader() as tx, counted(tx) as statements:
        found = resource_lists.page(tx, ['root', 'child'])
        detailed = resource_lists.page(tx, ['root'], resource_lists.DETAILS)
        assert len(statements) == 2
        assert resource_lists.page(tx, []) == []
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
        found = resource_lists.by_name(tx, 'root', 'server')
        assert len(statements) == 1
        assert resource_lists.by_name(tx, 'root', 'Server') == []
    assert [(each.id, each.replaced_by, each.metadata) for each in found] == [(1, 3, {'m': 1}), (3, None, None)]


def test_names_that_differ_by_a_blank_at_the_end(tree):
    """They are equal for MariaDB."""
    with tree.writer() as tx:
        resources.insert_many(tx, 'root', [state(7, 'group '), state(8, 'server ')])
    with tree.reader() as tx:
        assert [row.id for row in resource_lists.by_name(tx, 'root', 'server')] == [1, 3]
        assert [row.id for row in resource_lists.by_name(tx, 'root', 'server ')] == [8]
        assert [row.id for row in resources.named(tx, 'root', 'server ')] == [8]
        assert [row.id for row in resources.of_names(tx, 'root', ['server ', 'group'])] == [2, 8]
        for name, number, below in (('group', 2, 'child'), ('group ', 7, None)):
            _above, [row], nested_stack = resource_lists.in_place(tx, 'root', name)
            assert (row.id, nested_stack and nested_stack.id) == (number, below)
        assert resource_lists.in_place(tx, 'root', 'server  ')[1:] == ([], None)


def test_a_resource_in_its_place(tree, counted):
    with tree.writer() as tx:
        with counted(tx) as statements:
            above, rows, below = resource_lists.in_place(tx, 'root', 'group')
        assert len(statements) == 1
        assert (above.id, [row.id for row in rows], below.id) == ('root', [2], 'child')
        assert list(map(vars, rows)) == list(map(vars, resource_lists.by_name(tx, 'root', 'group')))
        above, rows, below = resource_lists.in_place(tx, 'root', 'server')
        assert (above.name, [row.id for row in rows], below) == ('name-root', [1, 3], None)
        above, rows, below = resource_lists.in_place(tx, 'root', 'nothing')
        assert (above.id, rows, below) == ('root', [], None)
        assert resource_lists.in_place(tx, 'nobody', 'server') is None
        delete_soft(tx, 'child', later(1))
        delete_soft(tx, 'root', later(1))
        above, rows, below = resource_lists.in_place(tx, 'root', 'group')
        assert (above.deleted_at, [row.id for row in rows], below) == (later(1), [2], None)


@pytest.mark.parametrize('top', ['root', 'child'])
def test_a_stack_brings_its_rows_if_they_are_few(tree, counted, top):
    with tree.writer() as tx:
        for depth in (0, 1, 9) if top == 'root' else (0, 1):
            with counted(tx) as statements:
                found = resource_lists.with_few(tx, top, depth)
            assert len(statements) == 1
            assert (found.stack, found.below) == stack_trees.with_descendants(tx, top, depth)
            assert list(map(vars, found.rows())) == list(map(vars, resource_lists.page(tx, [top])))
        numbers = [each.id for each in resource_lists.page(tx, [top])]
        stacks.set_next_resource(tx, top, resource_lists.FEW)
        assert [each.id for each in resource_lists.with_few(tx, top, 1).rows()] == numbers
        stacks.set_next_resource(tx, top, resource_lists.FEW + 1)
        found = resource_lists.with_few(tx, top, 1)
        assert (found.rows(), found.stack.id) == (None, top)
        assert found.below == stack_trees.with_descendants(tx, top, 1)[1]


def test_of_a_nested_stack_one_statement_finds_one_level(tree):
    with tree.writer() as tx:
        assert resource_lists.with_few(tx, 'child', 9) is None
        assert resource_lists.with_few(tx, 'missing', 9) is resource_lists.with_few(tx, 'missing', 1) is None
        stacks.insert(tx, stack('empty'))
        assert resource_lists.with_few(tx, 'empty', 1).rows() == []


def test_outer_stacks_come_first_then_older_ones(tree):
    with tree.writer() as tx:
        root = stacks.show(tx, 'root')
        for stack_id, parent, at in (('c', root, later(2)), ('b', root, later(3)), ('d', root, later(2)),
                                     ('a', nested('b', root, 'x'), later(1))):
            stacks.insert(tx, nested(stack_id, parent, 'x', created_at=at))
        found = resource_lists.with_few(tx, 'root', 9)
        assert [each.id for each in found.below] == ['child', 'c', 'd', 'b', 'a']
        assert found.below == stack_trees.with_descendants(tx, 'root', 9)[1]


def test_of_a_long_list_the_first_rows_are_kept(db):
    number = resource_lists.ROWS_PER_SLICE + codec.CACHED_OF_A_LIST
    with db.writer() as tx:
        stacks.insert(tx, stack('root'))
        resources.insert_many(tx, 'root', [state(each) for each in range(1, number + 1)], {})
        found = resource_lists.page(tx, ['root'])
    assert [each.id for each in found] == list(range(1, number + 1))
    assert sum(each.is_cached for each in found) == codec.CACHED_OF_A_LIST
    assert all(each.is_cached for each in found[:codec.CACHED_OF_A_LIST])


def test_required_by(tree):
    with tree.reader() as tx:
        assert resource_lists.required_by(tx, 'root', 'server') == ['group']
        assert resource_lists.required_by(tx, 'root', '50%_"off"') == ['group']
        assert resource_lists.required_by(tx, 'root', 'net_1') == ['server']
        assert resource_lists.required_by(tx, 'child', 'net_1') == []        # _ is no wildcard
        assert resource_lists.required_by(tx, 'root', 'er') == []


def test_what_stands_behind_an_object(tree):
    with tree.reader() as tx:
        assert [each.stack_id for each in resource_lists.by_physical_id(tx, 'ph1', 'p1')] == ['root']
        assert [each.stack_id for each in resource_lists.by_physical_id(tx, 'ph1', 'p2')] == ['other']
        assert [each.stack_id for each in resource_lists.by_physical_id(tx, 'ph1', None)] == ['other', 'root']
        assert resource_lists.by_physical_id(tx, 'ph1', 'p3') == []
        assert [each.stack_id for each in resource_lists.oldest_holders(tx, 'ph1', 'p2', 8)] == ['other']
        assert {each.stack_id for each in resource_lists.oldest_holders(tx, 'ph1', None, 8)} == {'other', 'root'}
        assert len(resource_lists.oldest_holders(tx, 'ph1', None, 1)) == 1
        assert resource_lists.find(tx, 'child').name == 'group'
        with pytest.raises(exception.PhysicalResourceIDAmbiguity):
            resource_lists.find(tx, 'ph1')
        with pytest.raises(exception.NotFound, match='nothing'):
            resource_lists.find(tx, 'nothing')
