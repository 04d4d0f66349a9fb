"""Guards of trees, the names that protections are compared with, and the way to a nested stack."""

from heatlite.db import guards, resources, stack_trees, upkeep
from heatlite.db.guards import NONE, Lock, TreeGuards
from heatlite.planning.protection import Denial, Protection
from heatlite.planning.states import Action
from tests.db.rows import NOW, delete_soft, later, leased, nested, stack, state

PROTECTED = (Protection(('a', '*'), frozenset({Denial.DELETE}), 'r\N{SNOWMAN}'), Protection((), frozenset(Denial)))
LOCK = Lock('maintenance', 'u1', 'ann', '2026-01-01T00:00:00Z')


def test_protections_and_the_lock_are_stored_apart(db, counted):
    with db.writer() as tx:
        leased(tx, stack('s1'))
        assert guards.of(tx, 's1') is NONE
        guards.set_protections(tx, 's1', PROTECTED)
        assert guards.of(tx, 's1') == TreeGuards(PROTECTED)
        guards.set_lock(tx, 's1', LOCK)
        guards.set_protections(tx, 's1', PROTECTED[:1])
        with counted(tx) as statements:
            assert guards.of(tx, 's1') == TreeGuards(PROTECTED[:1], LOCK)
        assert len(statements) == 1
        guards.set_protections(tx, 's1', ())
        guards.set_lock(tx, 's1', None)
        assert guards.of(tx, 's1') == NONE and guards.of(tx, 's2') is NONE
        guards.set_lock(tx, 's1', LOCK)
        delete_soft(tx, 's1', NOW)
        assert upkeep.purge(tx, later(1)) == 1
        assert guards.of(tx, 's1') is NONE


def test_names_and_paths(db):
    root = stack('root')
    inner = nested('inner', root, 'group')
    leaf = nested('leaf', inner, '0')
    with db.writer() as tx:
        leased(tx, root, inner, leaf)
        resources.insert_many(tx, 'leaf', [
            state(1, 'server', action=Action.CREATE), state(2, 'server', action=Action.CREATE), state(3, 'new')])
        assert resources.names(tx, ['leaf', 'inner']) == {'leaf': ['server']}
        assert (stack_trees.path(tx, leaf), stack_trees.path(tx, root)) == (('group', '0'), ())
        assert stack_trees.whole_path(tx, leaf)[1:] == ('group', '0')
        assert stack_trees.whole_path(tx, root) == (root.name,)
