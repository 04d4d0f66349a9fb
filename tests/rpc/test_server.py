"""From the wire form of a message to the wire form of its answer."""

from datetime import datetime, timedelta

import pytest
from keystoneauth1 import exceptions

from heatlite.common import runtime, turns
from heatlite.common.context import RequestContext
from heatlite.common.green_threads import GreenRuntime
from heatlite.engine.requests.endpoint import Endpoint
from heatlite.rpc import messages, server


class Echo:
    def handle(self, context, message):
        return [context.project_id, type(message).__name__]


CONTEXT = RequestContext(project_id='p', overwrite=False).to_dict()


def test_every_message_has_a_method_of_its_own():
    classes = [found for found in vars(messages).values()
               if isinstance(found, type) and issubclass(found, messages.Message) and found is not messages.Message]
    assert len(server.MESSAGES) == len(classes) > 20
    assert server.MESSAGES['create_stack'] is messages.CreateStack


def test_a_field_of_a_newer_sender_is_refused_and_another_engine_asked():
    """It is only sent where it does not have its default, so that something else would be done without it."""
    found = server.answer(Echo(), CONTEXT, 'delete_stack', {'stack_id': 's', 'added_later': 1})
    assert (found['error']['name'], found['elsewhere']) == ('EngineTooOld', True)
    assert 'delete_stack.added_later' in found['error']['message']


def test_a_method_of_a_newer_sender_is_refused_and_another_engine_asked():
    found = server.answer(Echo(), CONTEXT, 'paint_stack', {})
    assert (found['error']['name'], found['elsewhere']) == ('EngineTooOld', True)
    assert 'paint_stack' in found['error']['message']


def test_a_wake_of_a_newer_sender_is_not_lost():
    assert server.answer(Echo(), CONTEXT, 'wake', {'stack_id': 's', 'added_later': 1}) == {'answer': ['p', 'Wake']}


def test_a_missing_field_is_an_error_not_a_crash():
    assert server.answer(Echo(), CONTEXT, 'delete_stack', {})['error']['name'] == 'TypeError'


def test_a_context_of_a_newer_sender_is_understood():
    assert server.answer(Echo(), {**CONTEXT, 'added_later': 1}, 'wake', {'stack_id': 's'}) == {'answer': ['p', 'Wake']}


@pytest.mark.parametrize('error, name', [
    (exceptions.Forbidden('the trust', http_status=403), 'Forbidden'), (exceptions.Unauthorized('you'), 'Forbidden'),
    (exceptions.ConnectFailure('http://keystone.internal'), 'HTTPServiceUnavailable'),
    (exceptions.BadGateway('gone'), 'HTTPServiceUnavailable'),
    (exceptions.EndpointNotFound(), 'HTTPServiceUnavailable'),
    (exceptions.BadRequest('what we sent was wrong'), 'BadRequest')])
def test_a_service_that_ends_a_request_is_no_defect_of_ours(error, name):
    def delete(_context, _message):
        raise error
    found = server.answer(Endpoint({messages.DeleteStack: delete}), CONTEXT, 'delete_stack', {'stack_id': 's'})['error']
    assert found['name'].rpartition('.')[2] == name
    assert 'internal' not in str(found)


class SetClock(GreenRuntime):
    at = datetime(2030, 1, 1)

    def now(self):
        return self.at


@pytest.mark.parametrize('message, ended', [
    (messages.ValidateTemplate, True), (messages.PreviewStack, True), (messages.DeleteStack, False)])
def test_a_read_is_not_computed_on_when_its_caller_has_given_up(monkeypatch, message, ended):
    clock = SetClock()
    monkeypatch.setattr(runtime, '_current', clock)

    def compute(_context, _message):
        for _ in range(3):
            clock.at += timedelta(seconds=25)
            turns.spend(turns.EVERY)
        return 'computed'
    context = {**CONTEXT, messages.DEADLINE: (clock.at + timedelta(seconds=60)).isoformat()}
    arguments = {} if ended else {'stack_id': 's'}
    found = server.answer(Endpoint({message: compute}), context, message.method(), arguments)
    assert found.get('answer') == (None if ended else 'computed')
    assert not ended or found['error']['name'] == 'TooLate'
