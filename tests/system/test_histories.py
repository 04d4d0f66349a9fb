"""What the check of histories accepts and refuses (tests.system.chaos.history)."""

from math import inf

import pytest

from tests.system.chaos.history import READ, WRITE, History, Operation, contradiction


def made(*described):
    return [Operation(*each) for each in described]


CREATED = (WRITE, 'a', 0, 1)


@pytest.mark.parametrize('described', [
    pytest.param([CREATED, (READ, 'a', 2, 3)], id='what was written is read'),
    pytest.param([CREATED, (WRITE, 'b', 2, 5), (READ, 'a', 3, 4)], id='a write in progress may be late'),
    pytest.param([CREATED, (WRITE, 'b', 2, 5), (READ, 'b', 3, 4)], id='a write in progress may be early'),
    pytest.param([CREATED, (WRITE, 'b', 2, 9), (READ, 'a', 3, 6), (READ, 'b', 4, 5)], id='readers at the same time'),
    pytest.param([CREATED, (WRITE, 'b', 2, inf), (READ, 'a', 3, 4), (READ, 'b', 8, 9)], id='unanswered, done later'),
    pytest.param([CREATED, (WRITE, 'b', 2, inf), (READ, 'a', 8, 9)], id='unanswered, never done'),
    pytest.param([CREATED, (WRITE, 'b', 2, 5), (WRITE, 'c', 3, 4), (READ, 'b', 6, 7)], id='writers at the same time'),
])
def test_possible(described):
    assert contradiction(made(*described)) is None


@pytest.mark.parametrize('described, culprit', [
    pytest.param([CREATED, (WRITE, 'b', 2, 3), (READ, 'a', 4, 5)], 2, id='older than what was accepted'),
    pytest.param([CREATED, (WRITE, 'b', 2, 9), (READ, 'b', 3, 4), (READ, 'a', 5, 6)], 3, id='back to what was before'),
    pytest.param([CREATED, (READ, 'b', 2, 3)], 1, id='never written'),
    pytest.param([CREATED, (READ, 'b', 2, 3), (WRITE, 'b', 4, 5)], 1, id='before it was written'),
    pytest.param([CREATED, (WRITE, 'b', 2, inf), (READ, 'b', 3, 4), (WRITE, 'c', 5, 6), (READ, 'b', 7, 8)], 4,
                 id='a write has its effect once'),
])
def test_impossible(described, culprit):
    operations = made(*described)
    assert contradiction(operations) == operations[culprit]


def test_registers_are_apart():
    history = History()
    for name in ('one', 'two'):
        history.add(name, Operation(*CREATED))
    history.add('two', Operation(READ, 'b', 2, 3))
    assert len(history) == 3
    assert [each.split(':')[0] for each in history.contradictions()] == ['two']
