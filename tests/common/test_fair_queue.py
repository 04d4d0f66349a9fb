import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common.fair_queue import FairQueue

ITEMS = st.lists(st.tuples(st.sampled_from('ab'), st.sampled_from('123')), max_size=40)


def queue(*items):
    """A queue of texts like a1.0: project, stack, number."""
    found = FairQueue()
    for item in items:
        stack, _dot, _number = item.partition('.')
        found.put(item, stack[0], stack)
    return found


@pytest.mark.parametrize('items, taken', [
    (['a1.0', 'a1.1', 'a1.2', 'b1.0'], ['a1.0', 'b1.0', 'a1.1', 'a1.2']),
    (['a1.0', 'a1.1', 'a2.0', 'b1.0', 'b1.1'], ['a1.0', 'b1.0', 'a2.0', 'b1.1', 'a1.1']),
    ([], []),
])
def test_projects_and_their_stacks_take_turns(items, taken):
    assert queue(*items).take_many(100) == taken


def test_the_next_item_of_one_project():
    found = queue('a1.0', 'a1.1', 'a2.0', 'b1.0', 'c1.0')
    assert [*found.first_keys()] == ['a', 'b', 'c']
    assert [found.take('b'), found.take('a'), found.take('a')] == ['b1.0', 'a1.0', 'a2.0']
    assert [*found.first_keys()] == ['c', 'a']
    assert [found.take('a'), found.take('c')] == ['a1.1', 'c1.0']
    assert [*found.first_keys()] == []


@given(ITEMS)
def test_the_next_item_is_the_one_that_is_taken(items):
    found = queue(*(f'{project}{stack}.{number}' for number, (project, stack) in enumerate(items)))
    while found:
        assert found.next() == found.take()
    with pytest.raises(KeyError):
        found.next()


def test_one_that_comes_later_does_not_wait_for_all():
    found = queue(*(f'a{stack}.{number}' for stack in range(1000) for number in range(10)))
    found.put('b1.0', 'b', 'b1')
    assert 'b1.0' in found.take_many(2)


def test_items_of_a_stack_stay_in_order_when_its_project_becomes_known():
    found = FairQueue()
    found.put('first', '', 's1')
    found.put('second', 'a', 's1')
    found.put('other', 'a', 's2')
    assert [each for each in found.take_many(3) if each != 'other'] == ['first', 'second']
    found.put('third', 'a', 's1')
    assert found.users('a') == 1 and found.users('') == 0


@pytest.mark.parametrize('keys, users', [
    ([], 0), ([('a', 'r1', 's1')], 1), ([('a', 'r1', 's1'), ('a', 'r1', 's2')], 1),
    ([('a', 'r1', 's1'), ('a', 'r2', 's2')], 2), ([('a', 'r1', 's1'), ('b', 'r2', 's2')], 2),
])
def test_the_stacks_of_one_tree_are_one_user(keys, users):
    found = FairQueue()
    for each in keys:
        found.put('item', *each)
    assert found.users() == users
    assert found.users('a') == len({root for project, root, _stack in keys if project == 'a'})


def test_none_is_left():
    found = queue('a1.0', 'b1.0')
    assert (len(found), found.users(), found.users('a')) == (2, 2, 1)
    found.take()
    assert (len(found), found.users(), found.users('a')) == (1, 1, 0)
    found.clear()
    assert (len(found), found.users(), found.users('b')) == (0, 0, 0)
    with pytest.raises(KeyError):
        found.take()


@given(ITEMS, st.integers(0, 40))
def test_nothing_is_lost_and_each_stack_is_in_order(items, first):
    found, put = FairQueue(), []
    for number, (project, stack) in enumerate(items):
        found.put((project, stack, number), project, project + stack)
        put.append((project, stack, number))
    taken = [*found.take_many(first), *found.take_many(100)]
    assert sorted(taken) == sorted(put)
    for project, stack, _number in put:
        assert [each for each in taken if each[:2] == (project, stack)] == [
            each for each in put if each[:2] == (project, stack)]
    assert not found and not found.users()
