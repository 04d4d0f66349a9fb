"""A change that is sent to a second engine, because the first one may have ended with it, is accepted once."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest

from heatlite.common import exception
from heatlite.common.api_call import ApiCall
from heatlite.engine.requests.repeated_calls import CLOCKS_APART
from heatlite.planning.states import Action, Status
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, strike, wait
from tests.simulation.test_crashes import template, thing

LONG = CLOCKS_APART / timedelta(seconds=1) + 1.0            # seconds: certainly later, by whatever clock
CREATED, WANTED, OTHER = (template({'a': thing(value)}) for value in ('created', 'wanted', 'other'))
MESSAGES = {
    'create': lambda stack_id: messages.CreateStack(template=CREATED, environment={}, stack_name='stack'),
    'update': lambda stack_id: messages.UpdateStack(template=WANTED, environment={}, stack_id=stack_id),
    'update that changes nothing': lambda stack_id: messages.UpdateStack(template=CREATED, environment={},
                                                                         stack_id=stack_id),
    'check': lambda stack_id: messages.StackAction(stack_id, 'check'),
    'suspend': lambda stack_id: messages.StackAction(stack_id, 'suspend'),
    'delete': messages.DeleteStack,
}


class Caller:
    """The API: sends a call to an engine, and to another one after some seconds without an answer."""

    def __init__(self, place, message):
        self.place, self.message = place, message
        self.id, self.sent_at = place.user.uuid(), place.user.now()
        self.answers = []

    def send(self, service, runtime, is_repeated=False):
        def call():
            context = copy.copy(self.place.context)
            try:
                context.call = ApiCall(self.id, self.sent_at, is_repeated, service.lease_manager.check())
                self.answers.append(service.endpoint.handle(context, self.message))
            except exception.DatabaseUnavailable:
                pass                                # the API asks another engine
            except exception.HeatException as error:
                self.answers.append(error)

        runtime.spawn(call)

    def ask(self):
        """The first answer."""
        place = self.place
        first, service = place.engines[0]
        self.send(service, first)
        wait(place, 4.0)
        while not self.answers:
            others = [(runtime, service) for runtime, service in place.engines if not runtime.dead and runtime != first]
            if others:
                self.send(others[0][1], others[0][0], is_repeated=True)
            wait(place, 2.0)
        return self.answers[0]


def restore(place, stack_id):
    """The message that restores a snapshot that is made for it."""
    snapshot = place.ask(messages.SnapshotStack(stack_id, 'before'))
    done(place, stack_id, 'SNAPSHOT')
    wait(place, LONG)
    return messages.RestoreSnapshot(stack_id, snapshot['id'])


def begins(place, stack_id, action):
    """How often the stack has begun that action, by its history."""
    return sum((name, *state) == ('stack', action, 'IN_PROGRESS') for name, *state, _why in place.events(stack_id))


def accepted_once(name):
    def life(place):
        stack_id = None
        if name != 'create':
            stack_id = place.create('stack', CREATED)
            done(place, stack_id, 'CREATE')
            wait(place, LONG)
        message = restore(place, stack_id) if name == 'restore' else MESSAGES[name](stack_id)
        place.chaos.enabled = True
        answer = Caller(place, message).ask()
        assert not isinstance(answer, Exception), answer
        stack_id = stack_id or answer['stack_id']
        row = place.settle(stack_id)
        place.chaos.enabled = False
        assert row.status == Status.COMPLETE, row.reason
        assert begins(place, stack_id, row.action) == 1
        assert str(row.action) == name.split()[0].upper()
        assert len(place.cloud.objects) == (name != 'delete')

    return life


def _kill_first(place, number):
    """The first engine is killed there, and no other one: it has the message."""
    place.chaos.kill_at = {number}


def _freeze_first(place, number):
    def visited(label, runtime):
        if place.chaos.visits == number:
            runtime.freeze(9.0)

    place.chaos.on_visit = visited


@pytest.mark.parametrize('name', [*MESSAGES, 'restore'])
def test_an_engine_is_killed_with_it(name):
    assert strike(accepted_once(name), 3, False, lambda chaos: chaos.count, _kill_first,
                  lambda chaos: f'killed at {chaos.killed}', engines=2) > 5


@pytest.mark.parametrize('name', [*MESSAGES, 'restore'])
def test_an_engine_stands_still_with_it(name):
    assert strike(accepted_once(name), 3, False, lambda chaos: chaos.visits, _freeze_first,
                  lambda chaos: 'frozen', engines=2) > 5


@pytest.fixture
def created():
    place = Cluster()
    stack_id = place.create('stack', CREATED)
    done(place, stack_id, 'CREATE')
    wait(place, LONG)
    return place, stack_id


def test_another_request_was_accepted_meanwhile(created):
    """Whether the call was accepted before that one can no longer be found out: it must not take its place."""
    place, stack_id = created
    caller = Caller(place, MESSAGES['update'](stack_id))
    place.update(stack_id, OTHER)
    caller.send(place.engines[0][1], place.engines[0][0], is_repeated=True)
    done(place, stack_id, 'UPDATE')
    wait(place, 2.0)
    assert isinstance(caller.answers[0], exception.OutcomeUnknown)
    assert [each['value'] for each in place.cloud.objects.values()] == ['other']


def test_an_engine_that_stood_still_does_not_go_back_behind_a_newer_request(created):
    """The second engine has accepted the call, and then another one."""
    place, stack_id = created
    caller = Caller(place, MESSAGES['update'](stack_id))
    (first, service), (second, other) = place.engines
    caller.send(service, first)
    first.freeze(20.0)
    wait(place, 5.0)
    caller.send(other, second, is_repeated=True)
    wait(place, 2.0)
    assert len(caller.answers) == 1
    place.engines.pop(0)                            # it is not asked while it stands still
    place.update(stack_id, OTHER)
    wait(place, 20.0)
    done(place, stack_id, 'UPDATE')
    assert begins(place, stack_id, Action.UPDATE) == 2
    assert [each['value'] for each in place.cloud.objects.values()] == ['other']


def test_an_engine_that_is_slow_does_not_go_back_behind_a_newer_request(created):
    """The API has sent the call to a second engine, because a third one has ended; that one has accepted it, and then
    another one."""
    place, stack_id = created
    caller = Caller(place, MESSAGES['update'](stack_id))
    dead, _service = place.start_engine()
    wait(place, 2.0)
    dead.kill()
    wait(place, 6.0)
    (first, service), (second, other), *_ = place.engines
    caller.sent_at = place.user.now()
    caller.send(other, second, is_repeated=True)
    wait(place, 1.0)
    place.update(stack_id, OTHER)
    wait(place, 2.0)
    caller.send(service, first)
    wait(place, 2.0)
    done(place, stack_id, 'UPDATE')
    assert isinstance(caller.answers[1], exception.OutcomeUnknown)
    assert [each['value'] for each in place.cloud.objects.values()] == ['other']


def test_what_changes_nothing_is_answered_again(created):
    """Whatever was accepted since."""
    place, stack_id = created
    caller = Caller(place, messages.ResolveOutputs(stack_id))
    place.update(stack_id, OTHER)
    caller.send(place.engines[0][1], place.engines[0][0], is_repeated=True)
    wait(place, 2.0)
    assert not isinstance(caller.answers[0], Exception), caller.answers
    done(place, stack_id, 'UPDATE')


def test_requests_long_before_do_not_matter(created):
    place, stack_id = created
    caller = Caller(place, MESSAGES['update'](stack_id))
    caller.send(place.engines[0][1], place.engines[0][0], is_repeated=True)
    wait(place, 2.0)
    done(place, stack_id, 'UPDATE')
    assert caller.answers[0]['stack_id'] == stack_id
    assert [each['value'] for each in place.cloud.objects.values()] == ['wanted']
