"""A request is accepted at each moment of an action that ends. It is carried out, whatever was about to be stored."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.planning.revisions import RevisionOutcome
from heatlite.planning.states import Action, Status
from heatlite.rpc import messages
from tests.simulation.cluster import done, strike, wait

REFUSED = (exception.NotSupported, exception.ActionInProgress, exception.EntityNotFound)


def template(*failing, **values):
    """Resources with these values, each made after the one before. Those named in `failing` fail."""
    names = list(values)
    return {'heat_template_version': '2018-08-31', 'resources': {
        name: {'type': 'Sim::Thing', 'depends_on': names[max(place - 1, 0):place],
               'properties': {'value': values[name], 'fail': name in failing}}
        for place, name in enumerate(names)}}


LATER = template(a='changed', c='new')
REQUESTS = {
    'update': lambda stack: messages.UpdateStack(stack_id=stack, template=LATER, environment={}),
    'delete': messages.DeleteStack,
    'roll back': lambda stack: messages.CancelStack(stack, rollback=True),
    'stop': lambda stack: messages.CancelStack(stack, rollback=False),
    'check': lambda stack: messages.StackAction(stack, 'check'),
}


def ask_during(place, message):
    """Send a request to an engine. The thread that calls this one waits for the answer."""
    answers = []
    runtime, service = place.engines[0]

    def ask():
        try:
            answers.append(service.endpoint.handle(place.context, message))
        except REFUSED as error:
            answers.append(error)

    runtime.spawn(ask)
    for _ in range(100):
        if not answers:
            place.user.sleep(0.01)


def interrupts(*requests):
    """What `strike` does: the requests arrive at one visit of the database. A visit right before a commit is none of
    their moments, as that transaction has locked the stack."""
    def blow(place, number):
        def visited(label, runtime):
            if place.chaos.visits == number and label != 'before a commit':
                stack_id = place.user_stack('stack')
                for request in requests if stack_id is not None else ():
                    ask_during(place, REQUESTS[request](stack_id))

        place.chaos.on_visit = visited

    return blow


def lived(place, begin):
    """A stack that begins an action by `begin(place)`, which returns its id or None; afterwards another definition."""
    begin(place)
    place.chaos.enabled = True
    stack_id = place.user_stack('stack')
    place.settle(stack_id)
    place.chaos.enabled = False
    wait(place, 2.0)                                # a request may have been sent after the end
    row = place.settle(stack_id)
    if row.deleted_at is None:
        if row.action is Action.SUSPEND:
            place.ask(messages.StackAction(stack_id, 'resume'))
            done(place, stack_id, 'RESUME')
        place.update(stack_id, LATER)
        done(place, stack_id, 'UPDATE')
        assert sorted(found['value'] for found in place.cloud.objects.values()) == ['changed', 'new']
        place.delete(stack_id)
        done(place, stack_id, 'DELETE')
    assert place.cloud.objects == {}


def creates(*failing, **options):
    def begin(place):
        place.chaos.enabled = True
        place.create('stack', template(*failing, a='y', b='y'), **options)

    return begin


def goes_on(message, before):
    """The action that `message(stack id)` asks for, of a stack with this definition."""
    def begin(place):
        stack_id = place.create('stack', before)
        done(place, stack_id, 'CREATE')
        place.chaos.enabled = True
        place.ask(message(stack_id), allowed=REFUSED)

    return begin


def updates(*failing, **options):
    return goes_on(lambda stack_id: messages.UpdateStack(
        stack_id=stack_id, template=template(*failing, a='y', b='y'), environment={}, **options), template(a='x'))


ACTIONS = {
    'create': creates(disable_rollback=True),
    'create, first fails': creates('a', disable_rollback=True),
    'create, first fails, rolled back': creates('a', disable_rollback=False),
    'update': updates(),
    'update, first fails': updates('a'),
    'update, last fails': updates('b'),
    'update, last fails, rolled back': updates('b', disable_rollback=False),
    'suspend': goes_on(lambda stack_id: messages.StackAction(stack_id, 'suspend'), template(a='x', b='y')),
    'check': goes_on(lambda stack_id: messages.StackAction(stack_id, 'check'), template(a='x', b='y')),
}


@pytest.mark.parametrize('request_name', REQUESTS)
@pytest.mark.parametrize('action', ACTIONS)
def test_while_an_action_ends(action, request_name):
    stride = 1 if 'first fails' in action else 3
    assert strike(lambda place: lived(place, ACTIONS[action]), stride, False, lambda chaos: chaos.visits,
                  interrupts(request_name), lambda chaos: f'{action}, {request_name}', engines=1) > 10


def stopped_before_it_begins(place):
    """An update takes the place of one that may just have reached its definition, and is stopped at once."""
    updates()(place)
    stack_id = place.user_stack('stack')
    place.settle(stack_id)
    place.chaos.enabled = False
    wait(place, 2.0)
    row = place.settle(stack_id)
    made = sorted(found['value'] for found in place.cloud.objects.values())
    if (row.status, row.outcome) == (Status.FAILED, RevisionOutcome.COMPLETE):
        assert {'changed', 'new'} <= set(made), f'{made}, and a rollback would go back to {row.template_id}'


def test_an_update_that_was_stopped_before_it_began_was_not_reached():
    strike(stopped_before_it_begins, 2, False, lambda chaos: chaos.visits, interrupts('update', 'stop'), str, engines=1)
