"""The answer to a login says nothing of the object of a request: no type takes it for its end, or for a conflict."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator

import pytest
import requests
from keystoneauth1 import exceptions
from keystoneauth1.identity import generic, v3
from requests.adapters import BaseAdapter

from heatlite.common import runtime
from heatlite.engine.clients import logins, sessions
from heatlite.engine.clients.os import http
from heatlite.engine.reconcile.service_errors import is_away
from heatlite.engine.requests import endpoint
from heatlite.engine.types import registry
from tests.plugins.openstack.cloud import Cloud
from tests.plugins.openstack.test_fault_matrix import Scene, acme, in_services, outcome

__all__ = ['acme']                      # a fixture

# Types whose delete asks no service, and one that the service refuses to make.
ASK_NOTHING = ('OS::Zaqar::SignedQueueURL', 'AWS::EC2::VPCGatewayAttachment', 'OS::Aodh::Alarm')
STATUSES = (404, 409, 403, 503, 413, 401, 429)
PAGE = b'default backend - 404'
OF_KEYSTONE = b'{"error": {"code": 404, "message": "Could not find trust: t1."}}'
CLIENTS = ('aodh', 'barbican', 'blazar', 'cinder', 'designate', 'glance', 'heat', 'ironic', 'keystone', 'magnum',
           'manila', 'mistral', 'neutron', 'nova', 'octavia', 'openstack', 'swift', 'trove', 'zaqar', 'zun')


class Answering(BaseAdapter):
    """Answers each request alike, and counts them."""

    def __init__(self, status: int, content: bytes, headers: dict[str, str] | None = None,
                 connects: bool = True) -> None:
        super().__init__()
        self.status, self.content, self.headers, self.asked = status, content, headers or {}, []
        self.connects = connects

    def send(self, request, **kwargs):
        self.asked.append((request.method, request.url))
        if not self.connects:
            raise requests.ConnectionError('refused')
        made = requests.Response()
        made.status_code, made.request, made.url, made.raw = self.status, request, request.url, io.BytesIO(self.content)
        made.headers.update(self.headers)
        return made

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, 'sleep', lambda seconds: None)


@pytest.fixture
def no_pauses_between_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.current(), 'sleep', lambda seconds: None, raising=False)


def adapter(answers: Answering, url: str = 'http://keystone/v3', **fixed: str) -> http.ServiceAdapter:
    """`fixed`: an endpoint and a token; else a login at Keystone, `url`, comes first."""
    transport = requests.Session()
    transport.mount('http://', answers)
    kind = v3.Password if url.endswith('/v3') else generic.Password
    auth = kind(auth_url=url, username='heat', password='x', user_domain_id='default', trust_id='t1')
    if fixed:
        from keystoneauth1 import token_endpoint
        auth = token_endpoint.Token('http://compute', 't')
    return http.ServiceAdapter(sessions.Session(auth=auth, session=transport), service_type='compute')


def failure(answers: Answering, url: str = 'http://keystone/v3', **fixed: str) -> Exception:
    with pytest.raises(exceptions.ClientException) as raised:
        adapter(answers, url, **fixed).delete('/servers/1')
    return raised.value


@pytest.mark.parametrize('status, content, kind, times', [
    (404, PAGE, logins.LoginUnanswered, 5), (404, OF_KEYSTONE, logins.LoginRefused, 1),
    (401, PAGE, logins.LoginRefused, 1), (403, OF_KEYSTONE, logins.LoginRefused, 1),
    (403, PAGE, logins.LoginUnanswered, 5), (409, PAGE, logins.LoginUnanswered, 5),
    (413, PAGE, logins.LoginUnanswered, 5), (500, PAGE, logins.LoginUnanswered, 5),
    (503, PAGE, logins.LoginUnanswered, 5), (200, PAGE, logins.LoginUnanswered, 5)])
def test_the_error_of_a_login_is_no_error_of_a_service(no_pauses_between_tries, status, content, kind, times):
    answers = Answering(status, content)
    found = failure(answers)
    assert type(found) is kind
    assert answers.asked == [('POST', 'http://keystone/v3/auth/tokens')] * times
    assert http.status_of(found) is None
    assert not http.reply_was_lost(found)
    assert is_away(found) is (kind is logins.LoginUnanswered)
    assert type(endpoint.refusal(found)).__name__ == {
        logins.LoginRefused: 'Forbidden', logins.LoginUnanswered: 'HTTPServiceUnavailable'}[kind]


@pytest.mark.parametrize('status, connects', [(503, True), (404, True), (403, True), (200, True), (200, False)])
def test_versions_of_keystone_that_cannot_be_read_are_an_outage(no_pauses_between_tries, status, connects):
    """The usual login, with an address without a version, asks for the versions first."""
    answers = Answering(status, PAGE, connects=connects)
    found = failure(answers, 'http://keystone')
    assert type(found) is logins.LoginUnanswered
    assert {method for method, _url in answers.asked} == {'GET'} and len(answers.asked) >= 5
    assert is_away(found) and not http.reply_was_lost(found)
    assert type(endpoint.refusal(found)).__name__ == 'HTTPServiceUnavailable'


@pytest.mark.parametrize('name', CLIENTS)
@pytest.mark.parametrize('status', STATUSES)
def test_no_client_takes_it_for_an_answer(simulator, name, status):
    registry.create()
    plugin = Cloud(simulator).plugin(name)
    for error in (logins.LoginRefused('no', status), logins.LoginUnanswered('no')):
        error.__cause__ = exceptions.from_response(_response(status), 'POST', 'http://keystone/v3/auth/tokens')
        assert not plugin.is_not_found(error)
        assert not plugin.is_conflict(error)
        assert not plugin.is_over_limit(error)
        with pytest.raises(type(error)), plugin.ignore_conflict_and_not_found:
            raise error


def _response(status: int) -> requests.Response:
    made = requests.Response()
    made.status_code = status
    return made


@pytest.mark.parametrize('content, headers, kind', [
    (PAGE, {'Content-Type': 'text/plain'}, exceptions.ServiceUnavailable),
    (b'<h1>Not Found</h1>', {'Content-Type': 'text/html'}, exceptions.ServiceUnavailable),
    (b'<h1>Not Found</h1>', {'X-Trans-Id': 'tx1'}, exceptions.NotFound),
    (b'<h1>Not Found</h1>', {'X-OpenStack-Request-Id': 'req-1'}, exceptions.NotFound),
    (b'<h1>Not Found</h1>', {'X-Compute-Request-Id': 'req-1'}, exceptions.NotFound),
    (b'{"itemNotFound": {}}', {}, exceptions.NotFound), (b'', {}, exceptions.NotFound)])
def test_the_page_of_a_proxy_is_no_answer_of_a_service(content, headers, kind):
    found = failure(Answering(404, content, headers), endpoint='fixed')
    assert type(found) is kind
    assert is_away(found) is (kind is exceptions.ServiceUnavailable)


def test_an_adapter_may_take_pages_for_answers_of_its_service():
    service = adapter(Answering(404, PAGE), endpoint='fixed')
    service.takes_pages = True
    with pytest.raises(exceptions.NotFound):
        service.delete('/servers/1')


@pytest.fixture
def login_fails(acme: Cloud) -> Iterator[None]:
    yield
    acme.clear_faults()
    _log_in_anew(acme)


def _log_in_anew(cloud: Cloud) -> None:
    for name in ('_session', '_clients'):
        cloud.context.__dict__.pop(name, None)


@pytest.mark.parametrize('name, status', [
    (name, STATUSES[number % 3]) for number, name in enumerate(in_services()) if name not in ASK_NOTHING])
def test_no_type_is_gone_because_the_login_fails(acme: Cloud, login_fails, name, status):
    scene = Scene(acme, in_services()[name])
    scene.surround()
    life = scene.it()
    life.create()
    before = acme.ids()
    acme.fault(kind='error', status=status, count=0, path='*/auth/tokens')
    _log_in_anew(acme)
    assert outcome(life.delete) is not None
    acme.clear_faults()
    _log_in_anew(acme)
    assert acme.ids() == before
    life.delete()
    scene.clear()
