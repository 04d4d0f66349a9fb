"""Plans that must not be applied, over HTTP on the production profile: each is refused with a clear status and reason,
and nothing of it is done."""

import contextlib
import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import sqlalchemy as sa

from tests.system import production

pytestmark = [pytest.mark.service, pytest.mark.skipif(not production.is_possible(), reason=production.REASON)]

SECONDS = 1.0                           # that policy servers have


class Policy(BaseHTTPRequestHandler):
    """A policy server. `says`: what it answers, bytes; None: nothing for ever."""

    says = b''
    ended = threading.Event()

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        if self.says is None:
            self.ended.wait()
            return
        with contextlib.suppress(OSError):          # the caller has read enough
            self.send_response(200)
            self.send_header('Content-Length', str(len(self.says)))
            self.end_headers()
            self.wfile.write(self.says)

    def log_message(self, *what):
        pass


ALLOWED = json.dumps({'effect': 'allow'}).encode()


@pytest.fixture(scope='module')
def policy():
    server = ThreadingHTTPServer(('127.0.0.1', 0), Policy)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    Policy.ended.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope='module')
def cloud(tmp_path_factory, policy):
    with production.Production(tmp_path_factory.mktemp('refusals'), engines=2, plan_policies__timeout=SECONDS,
                               plan_policies__servers=f'http://127.0.0.1:{policy.server_port}') as found:
        yield found


@pytest.fixture(autouse=True)
def allowing():
    Policy.says = ALLOWED


@pytest.fixture
def ann(cloud):
    return cloud.people['alpha']


@pytest.fixture
def ask(cloud, ann):
    return lambda *what, **more: cloud.ask(ann, *what, **more)


def template(value='one', **more):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'a': {'type': 'OS::Heat::TestResource', 'properties': {'value': value, **more}}}}


@pytest.fixture
def stack(cloud, ann):
    path = cloud.create(ann, f's{uuid.uuid4().hex}', template())
    assert cloud.finished(ann, path) == 'CREATE_COMPLETE'
    return path


def planned(ask, stack, **body):
    answer = ask('POST', f'{stack}/plans', body or {'template': template('two')})
    assert answer.status == 201, answer.text
    return answer.json['plan']


def apply(ask, plan, **body):
    return ask('POST', f"/plans/{plan['id']}/apply", body or None)


def refused(answer, status, *told):
    """The message of the error, which clients can read."""
    assert answer.status == status, answer.text
    error = answer.json['error']
    assert answer.json['code'] == status and error['type'] and 'Traceback' not in answer.text
    assert all(each in error['message'] for each in told), error['message']
    return error['message']


def state(cloud, stack):
    """What would change if something was done."""
    stack_id = stack.rpartition('/')[2]
    return cloud.rows(f"SELECT action, status, generation, template_id FROM stack WHERE id = '{stack_id}'")


def execute(cloud, statement):
    engine = sa.create_engine(cloud.database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


def test_an_expired_plan(cloud, ask, stack):
    plan, before = planned(ask, stack), state(cloud, stack)
    execute(cloud, f"UPDATE plan SET expires_at = '2020-01-01 00:00:00' WHERE id = '{plan['id']}'")
    refused(apply(ask, plan), 409, 'expired at 2020-01-01T00:00:00Z', 'make a new one')
    refused(ask('POST', f"/plans/{plan['id']}/approve"), 409, 'expired')
    assert state(cloud, stack) == before


def test_a_plan_of_another_project(cloud, ask, stack):
    plan, before, bob = planned(ask, stack), state(cloud, stack), cloud.people['beta']
    for method, path in (('GET', ''), ('POST', '/apply'), ('POST', '/approve'), ('DELETE', '')):
        refused(cloud.ask(bob, method, f"/plans/{plan['id']}{path}"), 404, plan['id'])
        assert cloud.ask(bob, method, f"/v1/{cloud.people['alpha'].project_id}/plans/{plan['id']}{path}").status == 403
    assert cloud.ask(bob, 'POST', f'{stack}/plans', {'template': template()}).status == 404
    assert plan['id'] not in cloud.ask(bob, 'GET', '/plans').text
    assert state(cloud, stack) == before and ask('GET', f"/plans/{plan['id']}").json['plan']['state'] == 'READY'


def test_readers_look_at_plans_only(cloud, ask, stack):
    plan, reader = planned(ask, stack), cloud.people['alpha_reader']
    assert cloud.ask(reader, 'GET', f"/plans/{plan['id']}").status == 200
    for method, path in (('POST', '/apply'), ('POST', '/approve'), ('DELETE', '')):
        assert cloud.ask(reader, method, f"/plans/{plan['id']}{path}").status == 403


def test_an_applied_plan(cloud, ann, ask, stack):
    plan = planned(ask, stack)
    assert apply(ask, plan, digest=plan['digest']).status == 202
    assert cloud.finished(ann, stack) == 'UPDATE_COMPLETE'
    before = state(cloud, stack)
    refused(apply(ask, plan), 409, 'was applied at')
    refused(ask('DELETE', f"/plans/{plan['id']}"), 409, 'has been applied')
    refused(ask('POST', f"/plans/{plan['id']}/approve"), 409, 'was applied at')
    assert state(cloud, stack) == before


def test_a_deleted_plan(cloud, ask, stack):
    plan, before = planned(ask, stack), state(cloud, stack)
    assert ask('DELETE', f"/plans/{plan['id']}").status == 204
    for method, path in (('GET', ''), ('POST', '/apply'), ('DELETE', '')):
        refused(ask(method, f"/plans/{plan['id']}{path}"), 404, 'Plan')
    assert state(cloud, stack) == before


@pytest.mark.parametrize('digest, status', [('0' * 64, 409), ('', 409), ('x' * 10_000, 400), (7, 400), ([], 400)])
def test_a_digest_of_another_plan(cloud, ask, stack, digest, status):
    plan, before = planned(ask, stack), state(cloud, stack)
    refused(apply(ask, plan, digest=digest), status, 'digest')
    assert state(cloud, stack) == before


@pytest.mark.parametrize('column, value', [
    ('document', '{"changes": [], "action": "update"}'), ('request', '{"action": "delete"}')])
def test_a_plan_that_was_changed_in_the_database(cloud, ask, stack, column, value):
    plan, before = planned(ask, stack), state(cloud, stack)
    execute(cloud, f"UPDATE plan SET {column} = '{value}' WHERE id = '{plan['id']}'")
    refused(apply(ask, plan), 409, 'is not what was planned')
    assert state(cloud, stack) == before


def test_a_stack_that_has_changed(cloud, ann, ask, stack):
    plan = planned(ask, stack)
    assert ask('PUT', stack, {'template': template('three')}).status == 202
    assert cloud.finished(ann, stack) == 'UPDATE_COMPLETE'
    before = state(cloud, stack)
    refused(apply(ask, plan), 409, 'The stack has changed since plan', 'a: update, but with other values of value')
    assert state(cloud, stack) == before


def test_a_stack_in_progress(cloud, ann, ask, stack):
    plan = planned(ask, stack)
    assert ask('PUT', stack, {'template': template('slow', wait_secs=30)}).status == 202
    before = state(cloud, stack)
    refused(ask('POST', f'{stack}/plans', {'template': template()}), 409, 'in progress')
    refused(apply(ask, plan), 409, 'in progress')
    assert state(cloud, stack) == before
    assert ask('DELETE', stack).status == 204


def test_a_stack_that_is_gone(cloud, ann, ask, stack):
    plan = planned(ask, stack)
    assert ask('DELETE', stack).status == 204
    assert cloud.finished(ann, stack) == 'DELETE_COMPLETE'
    assert apply(ask, plan).status in (404, 409)
    refused(ask('POST', f'{stack}/plans', {'action': 'delete'}), 404)


def test_of_requests_at_once_one_is_accepted(cloud, ann, ask, stack):
    plans = [planned(ask, stack), planned(ask, stack)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda plan: apply(ask, plan), plans * 3))
    assert sorted(each.status for each in answers) == [202] + [409] * 5, [each.text for each in answers]
    for answer in answers:
        if answer.status == 409:
            refused(answer, 409)
    assert cloud.finished(ann, stack) == 'UPDATE_COMPLETE'
    assert len(ask('GET', f'{stack}/revisions').json['revisions']) == 2


@pytest.mark.parametrize('said, told', [
    (None, 'it gave no ruling'), (b'no JSON', 'it gave no ruling'), (b'{"effect": "perhaps"}', 'has no ruling'),
    (b'[' * 100_000, 'it gave no ruling'), (b'x' * 1_000_000, 'more than 65536 bytes'),
    (json.dumps({'effect': 'deny', 'reasons': ['not on Fridays']}).encode(), 'not on Fridays')])
def test_a_policy_server_that_hangs_lies_or_denies(cloud, ask, stack, said, told):
    plan, before = planned(ask, stack), state(cloud, stack)
    Policy.says = said
    refused(apply(ask, plan), 409, 'denied by policy', told)
    denied = planned(ask, stack)                    # can be made and looked at
    [ruling] = denied['policies']
    assert ruling['effect'] == 'deny' and told in ruling['reasons'][0]
    assert state(cloud, stack) == before
    Policy.says = ALLOWED
    assert apply(ask, denied).status == 202         # what holds is what the server says then


def test_a_policy_server_that_is_down(tmp_path):
    with production.Production(tmp_path, engines=1, plan_policies__timeout=SECONDS,
                               plan_policies__servers='http://policies.invalid/,http://127.0.0.1:1/') as cloud:
        ann = cloud.people['alpha']
        answer = cloud.ask(ann, 'POST', '/plans', {'stack_name': 'new', 'template': template()})
        assert [each['effect'] for each in answer.json['plan']['policies']] == ['deny', 'deny']
        refused(cloud.ask(ann, 'POST', f"/plans/{answer.json['plan']['id']}/apply"), 409, 'was not reached')
        assert cloud.ask(ann, 'GET', '/stacks').json['stacks'] == []
