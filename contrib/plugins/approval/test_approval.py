"""The approval against a desk that speaks real HTTP."""

import json
import shutil
import threading
import urllib.parse
from wsgiref import simple_server

import pytest

from heatlite.common import exception
from heatlite.engine.types import plugin_loading, registry
from tests.plugins.bench import Bench
from tests.system import alone
from tests.system.processes import ask, eventually, finished


class Desk:
    """A help desk in memory. `requests`: id -> what it says."""

    def __init__(self):
        self.requests = {}
        self.opened = 0

    def __call__(self, environ, start_response):
        verb, request_id = environ['REQUEST_METHOD'], environ['PATH_INFO'].strip('/').partition('/')[2]
        body = json.loads(environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0)) or 'null')
        status, answer = self.answer(verb, request_id, environ['QUERY_STRING'], body)
        start_response(status, [('Content-Type', 'application/json')])
        return [json.dumps(answer).encode()] if answer is not None else []

    def answer(self, verb, request_id, query, body):
        if verb == 'POST':
            self.opened += 1
            made = {'id': f'q{self.opened}', 'state': 'open', 'reason': '', **body}
            self.requests[made['id']] = made
            return '201 Created', made
        if not request_id:
            wanted = urllib.parse.parse_qs(query)['reference'][0]
            return '200 OK', [each for each in self.requests.values() if each['reference'] == wanted]
        if request_id not in self.requests:
            return '404 Not Found', None
        if verb == 'DELETE':
            del self.requests[request_id]
            return '204 No Content', None
        if verb == 'PATCH':
            self.requests[request_id].update(body)
        return '200 OK', self.requests[request_id]


class Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def desk():
    desk = Desk()
    server = simple_server.make_server('127.0.0.1', 0, desk, handler_class=Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    desk.url = f'http://127.0.0.1:{server.server_port}/requests'
    yield desk
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def bench(desk, request, tmp_path):
    shutil.copy(request.path.parent / 'approval.py', tmp_path)      # as an operator installs it
    found = plugin_loading.load([str(tmp_path)])
    types = registry.create()
    for name, kind in found.types.items():
        types.register(name, kind)
    yield Bench('Example::Desk::Approval', {'desk': desk.url, 'subject': 'ten servers'})
    registry.use(None)
    plugin_loading.package.__path__.remove(str(tmp_path))


def decide(desk, state, reason=''):
    for request in desk.requests.values():
        request.update(state=state, reason=reason)


def test_it_waits_for_the_yes(bench, desk):
    bench.validate()
    opening = bench.fresh('CREATE')
    opening.handler('CREATE')()
    asking = bench.fresh('CREATE')                          # another object, as after a crash
    assert asking.checker('CREATE')(None) is False
    decide(desk, 'yes', 'go on')
    assert asking.checker('CREATE')(None) is True
    assert asking.FnGetAtt('reason') == 'go on'
    assert desk.opened == 1


def test_a_no_is_a_failure_with_its_reason(bench, desk):
    bench.fresh('CREATE').handler('CREATE')()
    decide(desk, 'no', 'too many')
    with pytest.raises(exception.Error, match='Refused: too many'):
        bench.fresh('CREATE').checker('CREATE')(None)


def test_a_lost_answer_is_found_again(bench, desk):
    lost = bench.fresh('CREATE')
    assert lost.find_existing() is None
    lost.handler('CREATE')()
    bench.memory.written.clear()                               # the id never reached us
    again = bench.fresh('CREATE')
    assert again.find_existing() == 'q1' and desk.opened == 1


def test_new_details_go_to_the_same_request(bench, desk):
    bench.fresh('CREATE').handler('CREATE')()
    decide(desk, 'yes')
    made = bench.fresh('CREATE', 'COMPLETE')
    made.apply_definition(bench.definition)
    given = {'desk': desk.url, 'subject': 'ten servers'}
    assert bench.update({**given, 'details': {'until': 'Friday'}}) == {'details': {'until': 'Friday'}}
    assert desk.requests['q1']['details'] == {'until': 'Friday'}
    assert bench.update({**given, 'details': {'until': 'Friday'}}) is None
    with pytest.raises(exception.UpdateReplace):
        bench.update({**given, 'subject': 'twenty servers'})


def test_deleting_twice(bench, desk):
    bench.fresh('CREATE').handler('CREATE')()
    bench.run('DELETE')
    assert desk.requests == {}
    bench.run('DELETE')
    assert bench.fresh('DELETE').FnGetAtt('state') is None


def test_check_says_what_is_wrong(bench, desk):
    bench.fresh('CREATE').handler('CREATE')()
    with pytest.raises(exception.Error, match="'state': expected 'yes', got 'open'"):
        bench.run('CHECK')


@pytest.mark.parametrize('given, text', [
    ({'desk': 'ftp://x', 'subject': 'a'}, 'does not match pattern'), ({'desk': 'http://x'}, 'subject not assigned'),
    ({'desk': 'http://x', 'subject': ''}, r'length \(0\) is out of range'),
])
def test_what_it_refuses(bench, given, text):
    with pytest.raises(exception.StackValidationFailed, match=text):
        Bench('Example::Desk::Approval', given).validate()


def test_the_template_waits(desk, request, tmp_path):
    (tmp_path / 'plugins').mkdir()
    shutil.copy(request.path.parent / 'approval.py', tmp_path / 'plugins')
    with alone.running(tmp_path, tmp_path / 'plugins') as heatlite:
        template = (request.path.parent / 'template.yaml').read_text()
        stack = heatlite.create('big', template, desk=desk.url, count=2)
        eventually('the request', lambda: desk.opened)
        heatlite.kill()                                     # in the middle of waiting
        heatlite.start()
        assert heatlite.resource(stack, 'names')['resource_status'] == 'INIT_COMPLETE'
        assert [each['subject'] for each in desk.requests.values()] == ['2 big servers until Friday']
        decide(desk, 'yes', 'go on')
        assert finished(stack) == 'CREATE_COMPLETE'
        assert heatlite.outputs(stack) == {'why': 'go on'} and desk.opened == 1
        heatlite.delete(stack)
        assert ask('GET', stack)[0] in (200, 404) and desk.requests == {}
