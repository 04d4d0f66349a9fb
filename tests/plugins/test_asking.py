"""Custom constraints: in whose name they ask, and that they do not ask twice."""

from __future__ import annotations

import pytest

from heatlite.common.context import RequestContext
from heatlite.engine import constraints
from heatlite.engine.clients import constraint_cache


class Lamps(constraints.BaseCustomConstraint):
    asked = []

    def validate(self, value, context):
        self.asked.append((value, context.project_id))
        return value != 'broken'


@pytest.fixture
def find(runtime):
    Lamps.asked.clear()

    def find(project='p'):
        context = RequestContext(project_id=project, overwrite=False)
        return constraint_cache.lookup({'lamp': Lamps}.get, context)
    return find


def test_one_answer_serves_one_piece_of_work(find, runtime):
    lamps = find()
    assert lamps('other') is None
    assert [lamps('lamp').validate('a') for _question in range(1000)] == [True] * 1000
    assert Lamps.asked == [('a', 'p')]
    runtime.sleep(61)
    lamps('lamp').validate('a')
    find('q')('lamp').validate('a')
    assert Lamps.asked == [('a', 'p'), ('a', 'p'), ('a', 'q')]


def test_a_no_is_not_remembered_and_says_why(find):
    lamps = find()
    check = lamps('lamp')
    assert [check.validate('broken'), check.validate('broken')] == [False, False] and len(Lamps.asked) == 2
    assert check.error('broken') == "Error validating value 'broken'"


def test_values_that_are_equal_but_not_the_same(find):
    lamps = find()
    assert lamps('lamp').validate(1) and lamps('lamp').validate(True) and lamps('lamp').validate([1])
    assert len(Lamps.asked) == 3


def test_nobody_is_asked_about_what_is_known(runtime):
    Lamps.asked.clear()
    check = constraint_cache.lookup({'lamp': Lamps}.get, RequestContext(project_id='p', overwrite=False),
                          lambda value: value == 'broken')('lamp')
    assert check.validate('broken') and Lamps.asked == []
    assert check.validate('a') and Lamps.asked == [('a', 'p')]
