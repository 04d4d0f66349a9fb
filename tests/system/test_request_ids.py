"""The id that an answer names is in every log line about what the request began: API, engines, nested stacks, threads
of executors, and engines that take over."""

import json
import os
import re
import signal
import urllib.request
import uuid

import pytest

from tests.system import alone
from tests.system.cluster import Cluster
from tests.system.processes import OPENER, ask, eventually

LINE = re.compile(r'\S+ \S+ \d+ (?P<level>\w+) (?P<name>\S+) \[(?P<id>\S+) (?P<global>\S+) \S+ \S+\] (?P<text>.*)')
PLUGINS = alone.__file__.replace('alone.py', 'plugins')
RABBIT, MARIADB = os.environ.get('HEATLITE_TEST_RABBIT_URL'), os.environ.get('HEATLITE_TEST_MYSQL_URL')
LEVELS = 'default_log_levels = heatlite=DEBUG,sqlalchemy=WARN,oslo.messaging=WARN,amqp=WARN,kombu=WARN'


class Service:
    def __init__(self, url, files, kill):
        self.url, self.files, self.kill = url, files, kill

    def lines(self, since=None):
        """(file name, id, global id, text) of each line behind `since`, an answer of `mark`."""
        return [(file.name, found['id'], found['global'], f"{found['level']} {found['name']} {found['text']}")
                for file in self.files() for line in file.read_text().splitlines()[(since or {}).get(file.name, 0):]
                if (found := LINE.match(line))]

    def mark(self):
        return {file.name: len(file.read_text().splitlines()) for file in self.files()}

    def ask(self, method, url, body=None, **headers):
        """(id of the request, JSON of the answer to a create)"""
        request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={'Content-Type': 'application/json', **headers})
        with OPENER.open(request, timeout=60) as answer:
            text = answer.read()
            return answer.headers['x-openstack-request-id'], json.loads(text) if answer.status == 201 else None

    def finished(self, stack, wanted):
        eventually(wanted, lambda: ask('GET', stack)[1].get('stack', {}).get(
            'stack_status', 'DELETE_COMPLETE') == wanted)
        end = f"[{stack.rsplit('/', 1)[1]}] {wanted}"               # it is logged when it is stored
        eventually(f'the line {end}', lambda: any(end in line[3] for line in self.lines()))

    def tree(self, stack):
        """Ids of a stack and of those nested in it."""
        found = ask('GET', f'{stack}/resources?nested_depth=5')[1]['resources']
        return {stack.rsplit('/', 1)[1], *(each['physical_resource_id'] for each in found
                                          if each['resource_type'].endswith('.yaml'))}

    def about(self, ids, since=None):
        """Lines about these stacks; what the test itself asks for is not among them."""
        return [line for line in self.lines(since) if any(each in line[3] for each in ids) and 'access' not in line[3]]


@pytest.fixture(scope='module', params=['heatlite-all', 'cluster'])
def service(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp('ids')
    ledger = folder / 'ledger'
    ledger.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('HEATLITE_TEST_LEDGER', str(ledger))
        yield from started(request, folder)


def started(request, folder):
    if request.param == 'heatlite-all':
        with alone.running(folder, PLUGINS, f'[DEFAULT]\n{LEVELS}\n') as made:
            def restart():
                made.kill()
                made.start()
            yield Service(made.url, lambda: [folder / 'log'], restart)
        return
    if not (RABBIT and MARIADB):
        pytest.skip('needs RabbitMQ and MariaDB: tools/services up')
    name, _equals, levels = LEVELS.partition(' = ')
    cluster = Cluster(folder, MARIADB, RABBIT, engines=2, **{name: levels})

    def kill():
        stacks = ask('GET', f'{cluster.url}/stacks')[1]['stacks']
        owner = eventually('an owner', lambda: cluster.owner(f"{cluster.url}/stacks/x/{stacks[0]['id']}"))
        owner.stop(signal.SIGKILL)
        cluster.start_engine()
    yield Service(cluster.url, lambda: sorted(folder.glob('*.log')), kill)
    cluster.stop()


def entry(**given):
    return {'type': 'Test::Ledger::Entry', 'properties': given}


FILES = {
    'child.yaml': json.dumps({'heat_template_version': '2018-08-31', 'parameters': {'note': {'type': 'string'}},
                              'resources': {'grandchild': {'type': 'grandchild.yaml', 'properties': {
                                  'note': {'get_param': 'note'}}}}}),
    'grandchild.yaml': json.dumps({'heat_template_version': '2018-08-31', 'parameters': {'note': {'type': 'string'}},
                                   'resources': {'thing': entry(seconds=0.3, note={'get_param': 'note'}),
                                                 'clumsy': {'type': 'Test::Clumsy', 'properties': {
                                                     'say': {'get_param': 'note'}}}}})}


def nested(note):
    return {'template': {'heat_template_version': '2018-08-31', 'resources': {
        'child': {'type': 'child.yaml', 'properties': {'note': note}}}}, 'files': FILES}


def check(service, request_id, ids, since, words):
    """Every line about the stacks has the id, and each of `words` is in one that has it."""
    wrong = [line for line in service.about(ids, since) if line[1] != request_id]
    assert wrong == []
    lines = [line for line in service.lines(since) if line[1] == request_id]
    assert any('middleware.access' in line[3] for line in lines), 'the API says nothing of it'
    for word in words:
        assert any(word in line[3] for line in lines), (word, lines)


def test_an_id_is_followed_through_a_life(service):
    name = f's{uuid.uuid4().hex[:6]}'
    given = f'req-{uuid.uuid4()}'
    since = service.mark()
    first, made = service.ask('POST', f'{service.url}/stacks', {'stack_name': name, **nested('one')},
                              **{'X-OpenStack-Request-ID': given})
    stack = f"{service.url}/stacks/{name}/{made['stack']['id']}"
    service.finished(stack, 'CREATE_COMPLETE')
    ids = service.tree(stack)
    assert len(ids) == 3
    ends = ['Clumsy says', f'{name}-child', 'thing (Test::Ledger::Entry) CREATE_COMPLETE', f'Stack {name} [']
    check(service, first, ids, since, ends)
    assert {line[2] for line in service.lines(since) if line[1] == first} == {given}

    for method, url, body, wanted in (
            ('PUT', stack, nested('two'), 'UPDATE_COMPLETE'),
            ('POST', f'{stack}/actions', {'check': None}, 'CHECK_COMPLETE'),
            ('POST', f'{stack}/actions', {'suspend': None}, 'SUSPEND_COMPLETE'),
            ('POST', f'{stack}/actions', {'resume': None}, 'RESUME_COMPLETE'),
            ('POST', f'{stack}/snapshots', {'name': 'x'}, 'SNAPSHOT_COMPLETE'),
            ('DELETE', stack, None, 'DELETE_COMPLETE')):
        since = service.mark()
        request_id, _body = service.ask(method, url, body)
        assert request_id != first
        service.finished(stack, wanted)
        below = [] if wanted == 'SNAPSHOT_COMPLETE' else [f'{name}-child']    # it does nothing to nested stacks
        check(service, request_id, ids, since, [wanted, f'Stack {name} [', *below])


def test_an_update_in_the_middle_changes_the_id(service):
    """The lines that follow belong to the request that the stack now follows."""
    name = f's{uuid.uuid4().hex[:6]}'
    _first, made = service.ask('POST', f'{service.url}/stacks', {'stack_name': name, 'template': {
        'heat_template_version': '2018-08-31', 'resources': {'slow': entry(seconds=60)}}})
    stack = f"{service.url}/stacks/{name}/{made['stack']['id']}"
    since = service.mark()
    second, _body = service.ask('DELETE', stack)
    service.finished(stack, 'DELETE_COMPLETE')
    check(service, second, {made['stack']['id']}, since, ['DELETE_COMPLETE'])


def test_a_signal_has_its_own_id(service):
    name = f's{uuid.uuid4().hex[:6]}'
    _first, made = service.ask('POST', f'{service.url}/stacks', {'stack_name': name, 'template': {
        'heat_template_version': '2018-08-31', 'resources': {'clumsy': {'type': 'Test::Clumsy'}}}})
    stack = f"{service.url}/stacks/{name}/{made['stack']['id']}"
    service.finished(stack, 'CREATE_COMPLETE')
    since = service.mark()
    request_id, _body = service.ask('POST', f'{stack}/resources/clumsy/signal', {})
    eventually('the signal', lambda: any('was not accepted' in line[3] for line in service.lines(since)))
    check(service, request_id, {made['stack']['id']}, since, ['was not accepted'])


def test_an_id_outlives_the_engine(service):
    name = f's{uuid.uuid4().hex[:6]}'
    request_id, made = service.ask('POST', f'{service.url}/stacks', {'stack_name': name, 'files': FILES, 'template': {
        'heat_template_version': '2018-08-31', 'resources': {
            'slow': entry(seconds=3),
            'child': {'type': 'child.yaml', 'depends_on': 'slow', 'properties': {'note': 'after'}}}}})
    stack = f"{service.url}/stacks/{name}/{made['stack']['id']}"
    eventually('the begin', lambda: ask('GET', f'{stack}/resources/slow')[1]['resource']['physical_resource_id'])
    since = service.mark()
    service.kill()
    service.finished(stack, 'CREATE_COMPLETE')
    lines = [line for line in service.about(service.tree(stack)) if line[1] != request_id]
    assert lines == []
    assert any('Taking over stack' in line[3] and line[1] == request_id for line in service.lines())
    assert any('Clumsy says after' in line[3] and line[1] == request_id for line in service.lines(since))
