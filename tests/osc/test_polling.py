"""Commands that wait for the service: an outage that passes is not the end of what they wait for."""

import argparse
import io
import json
import threading
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from heatclient import client, exc
from keystoneauth1 import exceptions as keystone_exceptions
from keystoneauth1 import session, token_endpoint

from heatlite.osc import plans, wait
from heatlite.osc.forced_deletes import ForceDeleteStackCommand

DONE = {'progress': {'stack_name': 's', 'action': 'CREATE', 'status': 'COMPLETE', 'status_reason': 'done',
                     'levels': [], 'seconds': 1, 'seconds_left': None, 'waiting_for': []}}
LEFT = {'left': {'state': 'COMPLETE', 'resources': []}}
AWAY = (503, {})


class Service(ThreadingHTTPServer):
    """Answers questions about a stack with `answers`, in turn, the last one again and again."""

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.answers, self.asked = [], 0

    @property
    def next_answer(self):
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        is_lookup = self.path.partition('?')[0].endswith(('/stacks/s', '/stacks/s/1'))
        self.answer(*((200, {'stack': {'id': '1', 'stack_name': 's'}}) if is_lookup else self.server.next_answer))

    def do_DELETE(self):
        self.answer(202, {})

    def answer(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *given):
        pass


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setattr(plans, 'PAUSE', 0.0)
    with Service() as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


@pytest.fixture
def app(service):
    """The parts of the `openstack` program that commands use, with its real client."""
    endpoint = f'http://127.0.0.1:{service.server_port}/v1/p'
    heat = client.Client('1', session=session.Session(token_endpoint.Token(endpoint, 'token')),
                         endpoint_override=endpoint)
    return types.SimpleNamespace(client_manager=types.SimpleNamespace(orchestration=heat), stdout=io.StringIO(),
                                 options=types.SimpleNamespace(verbose_level=0))


def waited(app, **given):
    chosen = argparse.Namespace(**{'stack': 's', 'timeout': None, 'interval': 0.0, 'quiet': True, 'formatter': 'text',
                                   **given})
    return wait.WaitForStackCommand(app, None).take_action(chosen)


@pytest.mark.parametrize('status', [429, 502, 503, 504])
def test_a_wait_goes_on_when_the_service_answers_again(service, app, status):
    service.answers = [(status, {})] * 3 + [(200, DONE)]
    assert waited(app) == 0
    assert (service.asked, app.stdout.getvalue()) == (4, 's CREATE_COMPLETE: done\n')


def test_a_wait_ends_when_the_service_does_not_answer_for_long(service, app, monkeypatch):
    monkeypatch.setattr(wait, 'PATIENCE', 0.0)
    service.answers = [AWAY]
    with pytest.raises(exc.HTTPServiceUnavailable):
        waited(app)


def test_other_errors_end_a_wait_at_once(service, app):
    service.answers = [(403, {'error': {'message': 'no'}})]
    with pytest.raises(exc.HTTPForbidden):
        waited(app)
    assert service.asked == 1


def test_the_time_of_a_wait_passes_while_the_service_is_away(service, app):
    """The stack has not failed."""
    service.answers = [AWAY]
    assert waited(app, timeout=0.0) == wait.TIMED_OUT
    assert 'does not say what s does' in app.stdout.getvalue()


def test_a_refused_connection_is_tried_again(app, monkeypatch):
    api, asked = plans.Api(app), []

    def get(path):
        asked.append(path)
        raise keystone_exceptions.ConnectFailure('refused')
    monkeypatch.setattr(api._http, 'get', get)
    monkeypatch.setattr(plans, 'time', types.SimpleNamespace(monotonic=lambda: len(asked), sleep=lambda _seconds: None))
    with pytest.raises(keystone_exceptions.ConnectFailure):
        api.get('/x', 2.0)
    assert len(asked) == 3


def test_a_forced_delete_goes_on_when_the_service_answers_again(service, app):
    service.answers = [AWAY, (200, LEFT)]
    command = ForceDeleteStackCommand(app, None)
    assert list(command.take_action(argparse.Namespace(stack='s', yes=True))[1]) == []
    assert service.asked == 2
