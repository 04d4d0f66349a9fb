"""The statements that move resources, on each database."""

import pytest

from heatlite.common import exception
from heatlite.db import alarms, changes, leases, refactoring, resource_data, resources, stack_trees, stacks
from heatlite.db.refactoring import RowMove
from heatlite.planning.states import Datum
from tests.db.rows import change, engine, leased, nested, stack, state
from tests.db.test_alarms import alarm


@pytest.fixture
def two(db):
    """Stacks s1 and s2 with rows and data."""
    with db.writer() as tx:
        engine(tx)
        leased(tx, stack('s1'), stack('s2'))
        resources.insert_many(tx, 's1', [state(1, 'a', requires={'b': 2}), state(2, 'b', physical_id='x')],
                              {1: {'definition': {'type': 'T'}}, 2: {'attributes': {'k': 'v'}}})
        resources.insert_many(tx, 's2', [state(1, 'a')])
        changes.write(tx, [change('s1', row=state(2, 'b', physical_id='x'),
                                  data=(Datum('key', 'text', False), Datum('other', 'words', False)))], 'e1')
    return db


def test_a_row_goes_to_another_stack_with_its_data(two):
    with two.writer() as tx:
        [before] = resources.named(tx, 's1', 'b')
        stored = {each.key: each.clear() for each in resource_data.data(tx, 's1', 2)}
        refactoring.move(tx, [RowMove(('s1', 2), 's2', before._replace(id=7, name='c', requires={'a': 1}), {
            'attributes': {'': 'y'}})])
        refactoring.keep_data(tx, 'named', {('s2', 7): 'once'})
        refactoring.keep_data(tx, 'named', {('s2', 7): 'twice'})
    with two.reader() as tx:
        assert [row.name for row in resources.light(tx, 's1')] == ['a']
        assert resources.named(tx, 's2', 'c') == [before._replace(id=7, name='c', requires={'a': 1})]
        assert resources.columns(tx, 's2', [7], ('attributes',)) == {7: {'attributes': {'': 'y'}}}
        assert resource_data.data(tx, 's1', 2) == []
        assert {each.key: each.clear() for each in resource_data.data(tx, 's2', 7)} == {**stored, 'named': 'once'}


def test_rows_of_one_stack_swap_their_names(two):
    with two.writer() as tx:
        rows = {row.name: row for row in resources.light(tx, 's1')}
        refactoring.move(tx, [RowMove(('s1', rows[name].id), 's1', rows[name]._replace(name=other), {})
                              for name, other in (('a', 'b'), ('b', 'a'))])
    with two.reader() as tx:
        assert {row.name: row.id for row in resources.light(tx, 's1')} == {'b': 1, 'a': 2}
        assert len(resource_data.data(tx, 's1', 2)) == 2


def test_alarms_swap_their_resources(db):
    with db.writer() as tx:
        for name, stack_id, resource in (('x', 's1', 'a'), ('y', 's1', 'b'), ('z', 's2', 'a')):
            alarms.put(tx, alarm(name, stack_id=stack_id, resource_name=resource))
        refactoring.move_alarms(tx, [(('s1', 'a'), ('s1', 'b')), (('s1', 'b'), ('s2', 'c'))])
        refactoring.move_alarms(tx, [])
    with db.reader() as tx:
        found = {each.name: (each.stack_id, each.resource_name) for each in alarms.named(tx, 'p1', ['x', 'y', 'z'])}
    assert found == {'x': ('s1', 'b'), 'y': ('s2', 'c'), 'z': ('s2', 'a')}


def test_a_name_that_is_taken(two):
    with two.writer() as tx:
        refactoring.rename(tx, 's1', 'free')
    with pytest.raises(exception.StackExists), two.writer() as tx:
        refactoring.rename(tx, 's2', 'free')
    with two.reader() as tx:
        assert stacks.by_name(tx, 'p1', 'free').id == 's1'


def test_a_nested_stack_changes_its_tree(db):
    with db.writer() as tx:
        top, other = stack('s1'), stack('s2')
        inner = nested('n', top, 'r')
        leased(tx, top, other, inner, nested('d', inner, 'q'))
        refactoring.reparent(tx, 'n', 's2', 'new')
        refactoring.move_in_trees(tx, {'n': 1, 'd': 2}, 's2', 'c2')
    with db.reader() as tx:
        assert stack_trees.child(tx, 's2', 'new').id == 'n' and stack_trees.child(tx, 's1', 'r') is None
        assert [each.id for each in stack_trees.tree(tx, 's2')] == ['s2', 'n', 'd']
        assert stacks.get(tx, 'd').credentials_id == 'c2'
        assert not leases.is_idle(tx, 'n')
