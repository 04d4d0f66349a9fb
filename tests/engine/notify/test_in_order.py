"""The end of an action that comes before its request was announced."""

from dataclasses import fields, replace

import pytest

from heatlite.db.stacks import StoredStack
from heatlite.engine.notify.in_order import InOrder
from heatlite.engine.notify.notifications import Scaling

STACK = StoredStack(**{**{field.name: None for field in fields(StoredStack)}, 'id': 'i', 'generation': 2})
GROWN = Scaling('end', 'group', 'ExactCapacity', 2, 2, 'done')


@pytest.fixture
def sent():
    return []


@pytest.fixture
def notify(sent):
    return InOrder(lambda stack, action, status, reason, scaling=None: sent.append(
        (stack.generation, f'{action}_{status}' if scaling is None else scaling.phase)))


def test_an_end_waits_for_its_start(notify, sent):
    with notify.held(STACK):
        notify(STACK, 'UPDATE', 'COMPLETE', 'grown', GROWN)
        notify(STACK, 'UPDATE', 'COMPLETE', '')
        assert sent == []
        notify(STACK, 'UPDATE', 'IN_PROGRESS', '')
    assert sent == [(2, 'UPDATE_IN_PROGRESS'), (2, 'end'), (2, 'UPDATE_COMPLETE')]
    notify(STACK, 'UPDATE', 'FAILED', '')
    assert sent[3:] == [(2, 'UPDATE_FAILED')]


def test_a_former_action_and_other_stacks_wait_for_nothing(notify, sent):
    with notify.held(STACK):
        notify(replace(STACK, generation=1), 'CREATE', 'COMPLETE', '')
        notify(replace(STACK, id='j'), 'CREATE', 'FAILED', '')
        assert sent == [(1, 'CREATE_COMPLETE'), (2, 'CREATE_FAILED')]


def test_a_rollback_waits_for_the_failure_that_waits(notify, sent):
    rollback = replace(STACK, generation=3)
    with notify.held(STACK):
        notify(STACK, 'UPDATE', 'FAILED', '')
        notify(rollback, 'ROLLBACK', 'IN_PROGRESS', '')
        notify(STACK, 'UPDATE', 'IN_PROGRESS', '')
        notify(rollback, 'ROLLBACK', 'COMPLETE', '')
    assert sent == [(2, 'UPDATE_IN_PROGRESS'), (2, 'UPDATE_FAILED'), (3, 'ROLLBACK_IN_PROGRESS'),
                    (3, 'ROLLBACK_COMPLETE')]


def test_one_of_two_requests_is_not_committed(notify, sent):
    with notify.held(STACK):
        with notify.held(STACK):
            notify(STACK, 'CHECK', 'COMPLETE', '')
        notify(STACK, 'CHECK', 'IN_PROGRESS', '')
    assert sent == [(2, 'CHECK_IN_PROGRESS'), (2, 'CHECK_COMPLETE')]
