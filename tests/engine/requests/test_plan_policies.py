"""Policies about plans: rules in CEL, and policy servers that hang, lie, are huge or are not there.

The servers listen on real sockets. Each bound is met in a fraction of a second, which the policies are given.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from heatlite.common import exception
from heatlite.common.green_threads import GreenRuntime
from heatlite.engine.requests import plan_policies
from heatlite.engine.requests.plan_policies import PlanPolicies, PolicySettings
from heatlite.planning.ruling import MOST_REASONS, REASON, Effect, denials

CHANGE = {'path': ['group', '0'], 'type': 'OS::Neutron::FloatingIP', 'action': 'create', 'reason': None, 'may': [],
          'physical_resource_id': None, 'values': [{'path': ['pool'], 'before': None, 'after': 'public'}]}
NONE = {**CHANGE, 'path': ['kept'], 'action': 'none'}
PLAN = {'project_id': 'p', 'stack_id': None, 'stack_name': 's', 'author': 'ann', 'approver': None, 'action': 'create',
        'summary': {'create': 1, 'delete': 0}, 'is_empty': False, 'fails': None, 'changes': [CHANGE, NONE],
        'outputs': [], 'blockers': [], 'rollback_may_change': []}
RULE = {'name': 'r', 'when': "change.type == 'OS::Neutron::FloatingIP'", 'effect': 'deny', 'reason': 'no'}


# --- rules ------------------------------------------------------------------------------------------------

@pytest.fixture
def policies(tmp_path):
    def made(*rules, fail_open=False):
        path = tmp_path / 'rules.yaml'
        path.write_text(json.dumps({'rules': [{**RULE, **rule} for rule in rules]}))
        return PlanPolicies(GreenRuntime(), PolicySettings(str(path), (), 1.0, fail_open))
    return made


def said(policies, plan=PLAN):
    return [(str(each.effect), each.reasons) for each in policies.rulings('p', plan)]


@pytest.mark.parametrize(('rule', 'effect'), [
    ({}, ('deny', ('no (group/0)',))),
    ({'effect': 'warn'}, ('warn', ('no (group/0)',))),
    ({'when': "change.action == 'delete'"}, ('allow', ())),
    ({'when': "change.values.exists(v, v.path[0] == 'pool' && v.after == 'public')"}, ('deny', ('no (group/0)',))),
    ({'when': "change.path[0].matches('^gr.*p$') && plan.author == 'ann'"}, ('deny', ('no (group/0)',))),
    ({'for': 'plan', 'when': 'plan.summary.create > 0'}, ('deny', ('no',))),
    ({'for': 'plan', 'when': 'plan.summary.delete > 0'}, ('allow', ())),
])
def test_what_a_rule_says(policies, rule, effect):
    assert said(policies(rule)) == [effect]


@pytest.mark.parametrize(('when', 'why'), [
    ('change.nothing == 1', 'Key not found'), ('1 / (size(change.may)) > 0', 'divide by zero'),
    ("change.values.map(v, range_of_nothing)", None), ('change.type', 'OS::Neutron::FloatingIP'),
])
def test_a_rule_that_cannot_be_evaluated_denies_or_warns(policies, when, why):
    if why is None:
        with pytest.raises(exception.Error, match='undeclared reference'):
            policies({'when': when})
        return
    (effect, (reason,)), = said(policies({'when': when}))
    assert effect == 'deny' and 'group/0: ' in reason and why in reason
    assert said(policies({'when': when}, fail_open=True))[0][0] == 'warn'


def test_values_of_other_classes_are_no_obstacle(policies):
    class Word(str):
        pass

    class Number(int):
        pass

    change = {**CHANGE, 'type': Word('x'), 'values': [{'path': ('a', Number(1)), 'before': None, 'after': Word('x')}]}
    plan = {**PLAN, 'action': Word('create'), 'blockers': [{'deny': (Word('delete'),)}], 'changes': [change]}
    when = "plan.action == 'create' && change.values[0].path == ['a', 1]"
    assert said(policies({'when': when}), plan)[0][0] == 'deny'


def test_what_is_too_large_is_not_evaluated_but_denied(policies):
    values = [{'path': ['a', number], 'before': None, 'after': 'x'} for number in range(1001)]
    for huge in ({**CHANGE, 'values': values}, {**CHANGE, 'reason': 'x' * 2 ** 20}):
        (effect, (reason,)), = said(policies({}), {**PLAN, 'changes': [huge]})
        assert effect == 'deny' and 'group/0 is too large' in reason


def test_a_rule_does_not_run_for_ever(policies):
    """Its iterations are counted by the library."""
    values = [{'path': ['a', number], 'before': None, 'after': 'x'} for number in range(1000)]
    nested = 'change.values.all(a, change.values.all(b, change.values.all(c, c.path[1] >= 0)))'
    (effect, (reason,)), = said(policies({'when': nested}), {**PLAN, 'changes': [{**CHANGE, 'values': values}]})
    assert effect == 'deny' and 'budget' in reason
    slow = {**CHANGE, 'type': 'a' * 100_000}
    assert said(policies({'when': "change.type.matches('(a+)+b')"}), {**PLAN, 'changes': [slow]}) == [('allow', ())]


def test_many_places_are_not_all_named(policies):
    (_deny, (reason,)), = said(policies({}), {**PLAN, 'changes': [
        {**CHANGE, 'path': [f'r{number}']} for number in range(100)]})
    assert reason.endswith(', and 80 more)') and len(reason) < 500


@pytest.mark.parametrize('text', [
    'rules: 1', '[]', 'other: []', 'rules: [1]', ': :', 'rules: [{name: a}]', 'rules: [{}], more: 1',
    json.dumps({'rules': [{**RULE, 'effect': 'allow'}]}), json.dumps({'rules': [{**RULE, 'for': 'stack'}]}),
    json.dumps({'rules': [{**RULE, 'when': '1 +'}]}), json.dumps({'rules': [{**RULE, 'when': '1'}]}),
    json.dumps({'rules': [RULE, RULE]}), json.dumps({'rules': [{**RULE, 'more': 'x'}]})])
def test_wrong_files_are_refused(tmp_path, text):
    path = tmp_path / 'rules.yaml'
    path.write_text(text)
    with pytest.raises(exception.Error, match='Wrong rules for plans'):
        PlanPolicies(GreenRuntime(), PolicySettings(str(path), (), 1.0, False))


def test_a_wrong_new_file_leaves_the_former_rules(tmp_path, policies):
    made = policies({})
    (tmp_path / 'rules.yaml').write_text('rules: 1')
    with pytest.raises(exception.Error):
        made.reload()
    assert said(made)[0][0] == 'deny'


# --- servers ----------------------------------------------------------------------------------------------

ANSWERS = {
    '/allow': {'effect': 'allow'}, '/warn': {'effect': 'warn', 'reasons': ['look']},
    '/deny': {'effect': 'deny', 'reasons': ['public address']},
    '/talks': {'effect': 'deny', 'reasons': ['x' * 999] * 60},
    '/no': {'reasons': []}, '/list': [], '/number': {'effect': 1}, '/map': {'effect': {}},
    '/words': {'effect': 'deny', 'reasons': 'x'}, '/mixed': {'effect': 'deny', 'reasons': [1]}}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self):
        self.over = threading.Event()
        self.seen, self.asked = [], threading.Event()
        super().__init__(('127.0.0.1', 0), Handler)

    def handle_error(self, request, client_address):
        pass


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        self.server.seen.append(json.loads(self.rfile.read(int(self.headers['Content-Length']))))
        self.server.asked.set()
        match self.path.partition('?')[0]:
            case '/hang':
                self.server.over.wait()
            case '/close':
                self.connection.close()
            case '/trickle':
                self.wfile.write(b'HTTP/1.1 200 OK\r\n\r\n')
                while not self.server.over.wait(0.02):
                    self.wfile.write(b' ')
            case '/huge':
                self._send(200, b'"' + b'x' * 100_000 + b'"')
            case '/deep':
                self._send(200, b'[' * 60_000)
            case '/bytes':
                self._send(200, b'\xff\xfe{')
            case '/away':
                self._send(302, b'', Location='/allow')
            case '/broken':
                self._send(500, b'{"effect": "allow"}')
            case path:
                self._send(200, json.dumps(ANSWERS[path]).encode())

    def _send(self, status, body, **headers):
        self.send_response(status)
        for name, value in {'Content-Length': str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server():
    found = Server()
    threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True).start()
    yield found
    found.over.set()
    found.shutdown()
    found.server_close()


def asking(server, *paths, fail_open=False, timeout=0.2):
    urls = [f'http://user:secret@127.0.0.1:{server.server_port}{path}?key=secret' for path in paths]
    return PlanPolicies(GreenRuntime(), PolicySettings(None, urls, timeout, fail_open))


def test_each_server_gets_the_plan_and_gives_its_ruling(server):
    found = asking(server, '/allow', '/warn', '/deny', timeout=30).rulings('p', PLAN)
    assert [(each.effect, each.reasons) for each in found] == [
        (Effect.ALLOW, ()), (Effect.WARN, ('look',)), (Effect.DENY, ('public address',))]
    assert found[2].policy == f'http://127.0.0.1:{server.server_port}/deny'     # without what is secret of the URL
    assert server.seen == [{'plan': PLAN}] * 3 and denials(found) == [found[2]]


@pytest.mark.parametrize('path', ['/hang', '/close', '/trickle', '/huge', '/deep', '/bytes', '/away', '/broken', '/no',
                                  '/list', '/number', '/map', '/words', '/mixed'])
def test_a_server_without_a_ruling_counts_as_the_option_says(server, path):
    for fail_open, effect in ((False, Effect.DENY), (True, Effect.WARN)):
        found, = asking(server, path, fail_open=fail_open).rulings('p', PLAN)
        assert found.effect is effect and 'it gave no ruling: ' in found.reasons[0]
        assert 'secret' not in str(found) and len(found.reasons[0]) < 300


def test_a_server_that_is_down():
    found, = PlanPolicies(GreenRuntime(), PolicySettings(None, ['http://127.0.0.1:1/'], 0.3, False)).rulings('p', PLAN)
    assert found.effect is Effect.DENY and 'ConnectionRefusedError' in found.reasons[0]


def test_all_servers_share_one_time(server):
    """The second one is not even asked: the first has used it all."""
    first, second = asking(server, '/hang', '/allow').rulings('p', PLAN)
    assert (first.effect, second.effect) == (Effect.DENY, Effect.DENY) and len(server.seen) == 1


def test_reasons_are_bounded(server):
    found, = asking(server, '/talks', timeout=30).rulings('p', PLAN)
    assert [len(each) for each in found.reasons] == [REASON] * MOST_REASONS


def test_no_project_waits_for_servers_with_all_its_plans(server, monkeypatch):
    monkeypatch.setattr(plan_policies, 'MOST_WAITING_OF_PROJECT', 1)
    asked = asking(server, '/hang', timeout=30)
    waiting = threading.Thread(target=asked.rulings, args=('p', PLAN), daemon=True)
    waiting.start()
    assert server.asked.wait(10)
    with pytest.raises(exception.HTTPServiceUnavailable, match='Too many plans wait'):
        asked.rulings('p', PLAN)
    asked._settings = PolicySettings(None, (), 1.0, False)
    assert asked.rulings('other', PLAN) == ()
    server.over.set()
    waiting.join()
    asked._settings = PolicySettings(None, [f'http://127.0.0.1:{server.server_port}/allow'], 30.0, False)
    assert asked.rulings('p', PLAN)[0].effect is Effect.ALLOW
