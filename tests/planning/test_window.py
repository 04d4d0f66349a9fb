"""A large stack is begun piece by piece: as many steps as may wait for their first call, then one for each answer."""

import pytest

from heatlite.planning import commands as c
from heatlite.planning import schedule
from heatlite.planning.states import Action, Status
from tests.planning.drive import START, Driver

WINDOW = 3
MANY = {f'r{number}': [] for number in range(10)}


@pytest.fixture(autouse=True)
def window(monkeypatch):
    monkeypatch.setattr(schedule, 'MOST_UNANSWERED', WINDOW)


def begun(commands):
    return [each.step for each in commands if isinstance(each, c.Persist) and each.wait]


def handed(driver, event):
    return driver.traverse.handle(event, START)


def started(**options):
    driver = Driver(**options)
    driver.perform = driver.commands.extend                # nothing is answered but what the test answers
    driver.traversal(Action.CREATE, MANY)
    return driver, begun(driver.commands)


def test_the_next_begins_when_one_has_ended():
    driver, first = started()
    assert [step.name for step in first] == ['r0', 'r1', 'r2']
    assert begun(handed(driver, c.Persisted(first[1]))) == []          # its call is to be made
    assert [step.name for step in begun(handed(driver, c.HandlerReturned(first[1], None, done=True)))] == ['r3']


@pytest.mark.parametrize('answer', [
    lambda step: c.HandlerReturned(step, {'id': 1}), lambda step: c.Away(step, 'the service is away', 5.0),
    lambda step: c.Failed(step, 'busy', retry=True)], ids=['polls', 'away', 'is tried again'])
def test_one_that_waits_for_its_service_holds_up_no_other(answer):
    driver, first = started()
    handed(driver, c.Persisted(first[0]))
    handed(driver, answer(first[0]))
    assert len(driver.traverse.busy_rows()) == WINDOW + 1


def test_all_wait_for_their_service_at_the_same_time():
    done = Driver(slow=MANY, preempts=True).traversal(Action.CREATE, MANY).run()      # none of them ever ends
    assert {row.name for row in done.traverse.busy_rows()} == set(MANY)


def test_a_failure_begins_no_more():
    done = Driver(fails=lambda name, action: name == 'r1').traversal(Action.CREATE, MANY).run()
    assert done.unwound and len({name for name, _action, _status in done.log}) < len(MANY)


@pytest.mark.parametrize('action', [Action.CREATE, Action.DELETE])
def test_all_are_done_in_the_end(action):
    first = Driver().traversal(Action.CREATE, MANY).run()
    done = first if action is Action.CREATE else Driver().traversal(action, {}, first.rows, 't2').run()
    assert done.finish[0] is Status.COMPLETE
    assert len(done.log) == 2 * len(MANY)
