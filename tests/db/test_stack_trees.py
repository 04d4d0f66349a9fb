from heatlite.db import stack_trees, stacks
from tests.db.rows import delete_soft, ids, later, nested, stack


def test_trees(db):
    root = stack('root')
    left, right = nested('left', root, 'a'), nested('right', root, 'b', created_at=later(1))
    deep = nested('deep', left, 'c')
    with db.writer() as tx:
        for row in (root, left, right, deep, stack('other')):
            stacks.insert(tx, row)
        assert ids(stack_trees.tree(tx, 'root')) == ['root', 'left', 'right', 'deep']
        assert ids(stack_trees.descendants(tx, 'root', 'root', 0)) == []
        assert ids(stack_trees.descendants(tx, 'root', 'root', 1)) == ['left', 'right']
        assert ids(stack_trees.descendants(tx, 'root', 'root', 9)) == ['left', 'right', 'deep']
        assert ids(stack_trees.descendants(tx, 'root', 'left', 1)) == ['deep']
        assert ids(stack_trees.descendants(tx, 'root', 'right', 1)) == []
        for top, depth, below in (('root', 0, []), ('root', 1, ['left', 'right']), ('other', 9, []),
                                  ('root', 9, ['left', 'right', 'deep']), ('left', 0, []), ('left', 1, ['deep']),
                                  ('deep', 1, [])):
            found, nested_ones = stack_trees.with_descendants(tx, top, depth)
            assert (found.id, ids(nested_ones)) == (top, below)
        assert stack_trees.with_descendants(tx, 'left', 9) == (None, [])
        for depth in (1, 9):
            assert stack_trees.with_descendants(tx, 'missing', depth) == (None, [])
        assert stack_trees.child(tx, 'root', 'b').id == 'right'
        assert stack_trees.child(tx, 'root', 'c') is None
        delete_soft(tx, 'left', later(2))
        assert ids(stack_trees.descendants(tx, 'root', 'root', 9)) == ['right']
        for depth in (1, 9):
            assert ids(stack_trees.with_descendants(tx, 'root', depth)[1]) == ['right']
        delete_soft(tx, 'root', later(3))
        for depth in (1, 9):
            assert stack_trees.with_descendants(tx, 'root', depth)[0].deleted_at is not None
        assert stack_trees.child(tx, 'root', 'a') is None
        found = stack_trees.children(tx, ['left', 'right', 'absent'])
        assert {each.id: each.deleted_at is not None for each in found.values()} == {'left': True, 'right': False}


def test_nested_stacks_of_names_that_differ_by_a_blank_at_the_end(db):
    """They are equal for MariaDB."""
    root = stack('root')
    with db.writer() as tx:
        for row in (root, nested('old', root, 'web'), nested('new', root, 'web ', created_at=later(1))):
            stacks.insert(tx, row)
        for name, expected in (('web', 'old'), ('web ', 'new')):
            assert stack_trees.child(tx, 'root', name).id == expected
        assert stack_trees.child(tx, 'root', 'web  ') is None
        delete_soft(tx, 'new', later(2))
        assert stack_trees.child(tx, 'root', 'web ') is None


def test_many_children_in_few_statements(db, counted):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1'))
    with db.reader() as tx, counted(tx) as statements:
        assert list(stack_trees.children(tx, [f's{number}' for number in range(1200)])) == ['s1']
    assert len(statements) == 3
