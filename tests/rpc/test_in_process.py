"""The client of heatlite-all: what the endpoint gets and what the caller gets back."""

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.green_threads import GreenRuntime
from heatlite.rpc import messages
from heatlite.rpc.client import InProcessClient


class Engine:
    """An endpoint that does what the test says and remembers what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def handle(self, context, message):
        self.asked.append((context, message))
        return self.answer(message)


def client(answer, timeout=20.0):
    engine = Engine(answer)
    return engine, InProcessClient(GreenRuntime(), engine, timeout)


def test_a_call_carries_message_and_context_and_brings_the_answer():
    engine, ends = client(lambda message: {'stack_id': message.stack_id})
    asked = RequestContext(project_id='p', roles=['member'], username='u', overwrite=False)
    assert ends.call(asked, messages.ExportStack('s')) == {'stack_id': 's'}
    [(context, message)] = engine.asked
    assert message == messages.ExportStack('s')
    assert (context.project_id, context.roles, context.username) == ('p', ['member'], 'u')
    assert context.request_id == asked.request_id


def test_messages_arrive_as_they_would_over_the_broker():
    engine, ends = client(lambda message: None)
    sent = messages.CreateStack(template={'resources': {}}, stack_name='s', tags=('a',))
    ends.call(RequestContext(overwrite=False), sent)
    assert engine.asked[0][1].tags == ['a']


def test_errors_arrive_under_their_name():
    def refuse(message):
        raise exception.ActionInProgress(stack_name='s', action='UPDATE')
    with pytest.raises(exception.ActionInProgress, match='already has an action'):
        client(refuse)[1].call(RequestContext(overwrite=False), messages.DeleteStack('s'))


def test_an_answer_that_is_not_json_is_the_engines_mistake():
    with pytest.raises(TypeError):
        client(lambda message: object())[1].call(RequestContext(overwrite=False), messages.DeleteStack('s'))


def test_an_engine_that_does_not_answer_is_a_timeout():
    runtime = GreenRuntime()
    with pytest.raises(exception.MessagingTimeout):
        client(lambda message: runtime.sleep(60), timeout=0.05)[1].call(
            RequestContext(overwrite=False), messages.DeleteStack('s'))


def test_wake_reaches_the_endpoint_and_its_errors_reach_nobody():
    runtime, rang = GreenRuntime(), GreenRuntime().flag()

    def hear(message):
        rang.set()
        raise ValueError('not my stack')
    engine, ends = client(hear)
    ends.wake('s', engine_id='e')
    assert rang.wait(20)
    runtime.sleep(0)
    assert engine.asked[0][1] == messages.Wake('s')


def test_projects_share_the_engine():
    runtime, goes_on, answered = GreenRuntime(), GreenRuntime().flag(), []

    def work(message):
        if engine.asked[-1][0].project_id == 'busy':
            goes_on.wait(20)

    engine, ends = client(work)
    share = ends._slots.most_slots_of_share

    def ask(project):
        ends.call(RequestContext(project_id=project, overwrite=False), messages.ExportStack('s'))
        answered.append(project)

    for _ in range(10 * share):
        runtime.spawn(ask, 'busy')
    for _ in range(100):
        runtime.sleep(0)
    assert len(engine.asked) == share
    ask('neighbour')
    assert answered == ['neighbour']
    goes_on.set()
    while len(answered) < 1 + 10 * share:           # none was refused
        runtime.sleep(0)
