"""Errors that crossed the wire mean the same on the other side."""

import json

import pytest

from heatlite.common import exception
from heatlite.rpc import errors


class Foreign(Exception):
    """Of a library, say: the API knows nothing of it."""


class StackExists(Exception):
    """Somebody else's class that happens to have one of our names."""


def crossed(error):
    return errors.from_wire(json.loads(json.dumps(errors.to_wire(error))))


@pytest.mark.parametrize('error', [
    exception.EntityNotFound(entity='Stack', name='x'),
    exception.StackNotFound('x'),
    exception.NotFound('no %(thing)s', thing='output'),
    exception.StackExists(stack_name='x'),
    exception.StackValidationFailed('Property error', ['resources', 'a', 'rules', 1], 'wrong', details=['line 3']),
    exception.RequestLimitExceeded('too many'),
    exception.PropertyUnspecifiedError('a', 'b'),
    exception.ResourceTypeUnavailable(service_name='nova', resource_type='T', reason='gone'),
    exception.MessagingTimeout(seconds=3),
    exception.NoEngine(),
])
def test_own_errors_keep_class_message_and_codes(error):
    found = crossed(error)
    assert type(found) is type(error)
    assert (str(found), found.message) == (str(error), error.message)
    assert (found.http_code, found.cfn_code, found.safe) == (error.http_code, error.cfn_code, error.safe)


def test_what_a_failure_says_about_its_place_survives():
    error = exception.StackValidationFailed('Property error', ['resources', 'a', 1], 'wrong', details=('line 3',))
    found = crossed(error)
    assert (found.error, found.path, found.error_message) == ('Property error', ['resources', 'a', 1], 'wrong')
    assert found.first_line == error.first_line
    inner = crossed(exception.ResourceFailure(ValueError('dark'), None, 'CREATE'))
    assert str(inner) == 'ValueError: dark'


@pytest.mark.parametrize('error', [ValueError('x'), KeyError('x'), TypeError('x'), TimeoutError('x')])
def test_builtins_keep_their_class(error):
    assert type(crossed(error)) is type(error)


@pytest.mark.parametrize('error', [Foreign('secret'), StackExists('secret'), json.JSONDecodeError('secret', '', 0)])
def test_all_others_are_remote_errors_without_their_message(error):
    found = crossed(error)
    assert type(found) is exception.RemoteError
    assert (found.http_code, found.safe) == (500, False)
    assert 'secret' not in str(found)
    assert type(error).__name__ in str(found)


def test_a_builtin_that_wants_more_than_a_text_is_still_rebuilt():
    found = crossed(UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'bad'))
    assert isinstance(found, ValueError)


@pytest.mark.parametrize('name', ['SystemExit', 'KeyboardInterrupt', 'print', 'HeatException.__init__', '_rebuild', ''])
def test_nothing_but_an_error_is_made_from_a_name(name):
    assert type(errors.from_wire({'name': name, 'message': 'x'})) is exception.RemoteError


def test_state_that_is_not_json_or_is_endless_stays_behind():
    error = exception.Error('x')
    error.resource = object()
    error.log = 'y' * 1_000_000
    assert set(errors.to_wire(error)['state']) == {'kwargs'}


def test_an_error_of_a_newer_release_is_its_nearest_known_base_class():
    sent = {**errors.to_wire(exception.StackNotFound('x')), 'name': 'StackGoneForGood',
            'bases': ['AlsoNew', 'EntityNotFound']}
    found = errors.from_wire(json.loads(json.dumps(sent)))
    assert (type(found), found.http_code, str(found)) == (exception.EntityNotFound, 404, sent['message'])
    assert errors.to_wire(exception.StackNotFound('x'))['bases'] == ['EntityNotFound']
