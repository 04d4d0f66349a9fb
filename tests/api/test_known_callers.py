"""What the authentication layer has made of the headers of a caller is used for a moment, and only where it may be."""

from datetime import UTC, timedelta

import pytest

from heatlite.api.middleware import known_callers
from heatlite.api.middleware.known_callers import KnownCallers
from heatlite.common import runtime
from tests.common.clock import stopped


@pytest.fixture
def clock():
    with stopped() as found:
        yield found


class Identity:
    """A layer that knows some tokens, as Keystone's middleware does. `token`: what tokens have besides."""

    def __init__(self, app):
        self.app, self.asked, self.token, self.lasts = app, [], {}, 3600.0
        self.is_late = False                        # it leaves the decision to the application

    def __call__(self, environ, start_response):
        token = environ.get('HTTP_X_AUTH_TOKEN')
        self.asked.append(token)
        for name in ('HTTP_X_ROLES', 'HTTP_X_USER_ID', 'HTTP_OPENSTACK_SYSTEM_SCOPE'):
            environ.pop(name, None)
        environ['keystone.token_auth'] = object()
        if token not in ('good', 'better'):
            if not self.is_late:
                start_response('401 Unauthorized', [])
                return []
            environ['HTTP_X_IDENTITY_STATUS'] = 'Invalid'
            return self.app(environ, start_response)
        environ.update(HTTP_X_USER_ID=f'user of {token}', HTTP_X_ROLES='member', HTTP_OPENSTACK_SYSTEM_SCOPE=None)
        ends = runtime.current().now().replace(tzinfo=UTC) + timedelta(seconds=self.lasts)
        environ['keystone.token_info'] = {'token': {'expires_at': ends.isoformat(), **self.token}}
        return self.app(environ, start_response)


@pytest.fixture
def ask(clock):
    seen = []

    def app(environ, start_response):
        seen.append(environ)
        return [b'answer']

    made = []
    layer = KnownCallers(app, lambda inner: made.append(Identity(inner)) or made[0])

    def ask(token='good', **more):
        environ = {'REQUEST_METHOD': 'GET', 'PATH_INFO': '/', 'HTTP_ACCEPT': 'a', **more}
        if token is not None:
            environ['HTTP_X_AUTH_TOKEN'] = token
        del seen[:]
        layer(environ, lambda *_: None)
        return seen[0] if seen else None

    ask.identity = made[0]
    return ask


def made(environ):
    return {name: value for name, value in environ.items() if name not in ('PATH_INFO', known_callers.SENT)}


def test_the_next_request_is_the_same_and_the_layer_is_not_asked(ask):
    first, second = ask(), ask(PATH_INFO='/other', REQUEST_METHOD='PUT')
    assert ask.identity.asked == ['good']
    assert made(second) == {**made(first), 'REQUEST_METHOD': 'PUT'}
    assert known_callers.SENT not in first and known_callers.SENT not in second
    assert second['HTTP_X_USER_ID'] == 'user of good' and second['HTTP_X_AUTH_TOKEN'] == 'good'


def test_for_a_moment(ask, clock):
    ask()
    clock.time = known_callers.SECONDS - 0.01
    ask()
    assert ask.identity.asked == ['good']
    clock.time = known_callers.SECONDS + 0.01
    ask()
    assert ask.identity.asked == ['good', 'good']


@pytest.mark.parametrize('more', [
    {'HTTP_X_ROLES': 'admin'}, {'HTTP_X_USER_ID': 'root'}, {'HTTP_OPENSTACK_SYSTEM_SCOPE': 'all'},
    {'HTTP_X_IDENTITY_STATUS': 'Confirmed'}, {'HTTP_X_AUTH_TOKEN': 'better'}], ids=str)
def test_other_headers_are_decided_anew(ask, more):
    plain = ask()
    other = ask(**{'token': None, 'HTTP_X_AUTH_TOKEN': 'good', **more})
    assert len(ask.identity.asked) == 2
    again = ask(**{'token': None, 'HTTP_X_AUTH_TOKEN': 'good', **more})
    assert len(ask.identity.asked) == 2 and made(again) == made(other)
    assert again['HTTP_X_ROLES'] == 'member' and again['HTTP_X_USER_ID'].startswith('user of ')
    assert again['HTTP_OPENSTACK_SYSTEM_SCOPE'] is None
    assert made(ask()) == made(plain)


def test_headers_that_no_layer_reads_change_nothing(ask):
    for name in ('HTTP_X_OPENSTACK_REQUEST_ID', 'HTTP_X_REQUEST_ID', 'HTTP_X_FORWARDED_FOR', 'HTTP_X_B3_SPANID'):
        ask(**{name: 'one', 'HTTP_ACCEPT': 'b'})
        assert ask(**{name: 'two'})[name] == 'two'
    assert ask.identity.asked == ['good']


def test_refusals_are_not_kept(ask):
    assert ask('wrong') is None and ask('wrong') is None and ask(None) is None
    assert ask.identity.asked == ['wrong', 'wrong', None]
    ask.identity.is_late = True
    assert [ask('wrong')['HTTP_X_IDENTITY_STATUS'] for _ in range(2)] == ['Invalid'] * 2
    assert len(ask.identity.asked) == 5


@pytest.mark.parametrize('token', [
    {'bind': {'kerberos': 'me'}}, {'oauth2_credential': {'x5t#S256': 'a'}},
    {'application_credential': {'id': 'a', 'access_rules': []}}, {'expires_at': None}, {'expires_at': 'soon'}], ids=str)
def test_what_depends_on_more_than_headers_is_decided_each_time(ask, token):
    ask.identity.token = token
    ask(), ask()
    assert ask.identity.asked == ['good', 'good']


def test_an_application_credential_without_rules_is_kept(ask):
    ask.identity.token = {'application_credential': {'id': 'a'}}
    ask(), ask()
    assert ask.identity.asked == ['good']


def test_no_token_is_used_after_its_end(ask):
    ask.identity.lasts = known_callers.SECONDS - 0.01
    ask(), ask()
    assert ask.identity.asked == ['good', 'good']


def test_service_tokens_have_an_end_of_their_own(ask):
    ask(HTTP_X_SERVICE_TOKEN='good'), ask(HTTP_X_SERVICE_TOKEN='good')
    assert ask.identity.asked == ['good', 'good']


def test_few_and_small_ones_are_kept(ask):
    for number in range(known_callers.MOST_OUTCOMES + 1):
        ask(HTTP_X_AUTH_USER=str(number))
    ask(HTTP_X_AUTH_USER='0')
    assert len(ask.identity.asked) == known_callers.MOST_OUTCOMES + 2
    del ask.identity.asked[:]
    large = {'HTTP_X_AUTH_USER': 'x' * known_callers.LARGEST}
    ask(**large), ask(**large)
    assert len(ask.identity.asked) == 2
