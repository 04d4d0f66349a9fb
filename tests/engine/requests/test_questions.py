"""Several questions to services at once, in virtual time."""

from __future__ import annotations

import logging

import pytest
from keystoneauth1 import exceptions as services

from heatlite.common import exception, log_throttle
from heatlite.common.context import RequestContext
from heatlite.engine.requests import questions
from heatlite.engine.requests.questions import Question
from heatlite.testing.runtime import Universe

CONTEXT = RequestContext(project_id='p', overwrite=False)


def asked(*made, seconds=10.0):
    """Seconds that it took, with functions from a runtime to an answer; and the questions."""
    universe = Universe(1)
    runtime = universe.process('engine')
    found = [Question(str(number), lambda each=each: each(runtime)) for number, each in enumerate(made)]
    over = []

    def run():
        questions.ask(runtime, CONTEXT, found, seconds)
        over.append(universe.time)

    runtime.spawn(run)
    assert universe.run(lambda: bool(over))
    universe.close()
    return over[0], found


def after(seconds, answer):
    def read(runtime):
        runtime.sleep(seconds)
        return answer
    return read


def fails(error):
    def read(runtime):
        raise error
    return read


def test_all_are_asked_at_once():
    seconds, found = asked(after(4, 'a'), after(5, 'b'), after(3, 'c'))
    assert seconds == pytest.approx(5) and [each.answer(None) for each in found] == ['a', 'b', 'c']


def test_what_hangs_is_given_up():
    seconds, found = asked(after(1000, 'a'), after(5, 'b'))
    assert seconds == pytest.approx(10) and [each.answer('none') for each in found] == ['none', 'b']
    assert [each.failure for each in found] == ['the service did not answer in time', '']


def test_a_request_that_ends_leaves_no_thread_that_asks():
    universe = Universe(1)
    runtime = universe.process('engine')
    asking = []

    def read():
        asking.append(1)
        try:
            runtime.sleep(1000)
        finally:
            asking.pop()

    request = runtime.spawn(questions.ask, runtime, CONTEXT, [Question(str(each), read) for each in range(50)], 45.0)
    assert universe.run(lambda: len(asking) == 50)
    request.kill()
    assert not asking
    universe.close()


@pytest.mark.parametrize('error, failure', [
    (services.Forbidden('secret'), 'the service refuses your credentials'),
    (services.EndpointNotFound('http://secret'), 'the service is not in the catalogue'),
    (services.ConnectFailure('http://secret'), 'the service does not answer'),
    (exception.RequestLimitExceeded('Too many.'), 'Request limit exceeded: Too many.'),
    (services.InternalServerError('secret'), 'the service does not answer'),
    (KeyError('secret'), 'the answer cannot be used')])
def test_failures_do_not_tell_where_the_service_is(error, failure):
    _seconds, [found] = asked(fails(error))
    assert found.failure == failure and found.answer(None) is None


def test_what_users_name_shares_its_log_lines(caplog):
    caplog.set_level(logging.INFO)
    log_throttle.forget()
    for name in ('web', 'db', 'cache'):
        Question('members of stack sets', lambda: {}['secret'], what=f'member {name}').ask()
    assert [record.getMessage() for record in caplog.records] == ["Reading member web: KeyError: 'secret'"]


def test_nothing_to_ask_takes_no_time():
    assert asked()[0] == 0
