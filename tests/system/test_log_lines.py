"""Nobody can write log lines of their own: each value that a user controls, sent to real processes with line ends,
control characters and lone surrogates in it."""

import http.client
import json
import os
import re
import urllib.parse

import pytest

from tests.system import alone
from tests.system.cluster import Cluster
from tests.system.processes import ask, eventually

FORGED = '2026-01-01 00:00:00.000 1 INFO heatlite.x [req-00000000-0000-0000-0000-000000000000 - - -] forged'
ENDS = ['\n', '\r\n', '\r', '\x0b', '\x0c', '\x1c', '\x85', '\u2028', '\u2029', '\x1b[2K\n', '\x00\n', '\ud800\n']
OURS = re.compile(r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ [A-Z]+ [\w.]+ \[\S+ \S+ \S+ \S+\] ')
CONTINUED = '    '
ODD = re.compile('[\x00-\x1f\x7f]|Logging error')
PLUGINS = alone.__file__.replace('alone.py', 'plugins')
RABBIT, MARIADB = os.environ.get('HEATLITE_TEST_RABBIT_URL'), os.environ.get('HEATLITE_TEST_MYSQL_URL')


def bad(end='\n'):
    return f'a{end}{FORGED}'


def template(resources, **more):
    return {'heat_template_version': '2018-08-31', 'resources': resources, **more}


def clumsy(**given):
    return {'type': 'Test::Clumsy', 'properties': given}


def bodies(text):
    """Requests to /stacks with `text` in each place that takes one: (path, body)."""
    good = template({'a': {'type': 'OS::Heat::Value', 'properties': {'value': 'x'}}})

    def new(name='n', **body):
        return {'stack_name': name, 'template': good, **body}

    places = [
        new(text), new(tags=text), new(parameters={text: text}), new(environment={text: text}),
        new(environment={'event_sinks': [{'type': text, 'target': text}]}),
        new(environment={'resource_registry': {text: text}}), new(environment=text), new(files={text: text}),
        new(timeout_mins=text), new(disable_rollback=text), {'stack_name': 'n', 'template_url': text},
        {'stack_name': 'n', 'template_url': f'http://127.0.0.1:1/{text}'}, new(template=text),
        new(template={'heat_template_version': text}), new(template={text: text, **good}),
        new(template=template({text: {'type': 'OS::Heat::None'}})), new(template=template({'a': {'type': text}})),
        new(template=template({'a': {'type': 'OS::Heat::None', 'depends_on': text}})),
        new(template=template({'a': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': text}}}})),
        new(template=template({'a': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_file': text}}}})),
        new(template=template({'a': {'type': 'OS::Heat::RandomString', 'properties': {'length': text}}})),
        new(template=template({'a': {'type': 'OS::Heat::None'}}, description=text)),
        new(template=template({}, parameters={'p': {'type': 'number'}}), parameters={'p': text}),
        new(template=template({}, parameters={'p': {'type': 'string', 'constraints': [
            {'allowed_values': ['x'], 'description': text}]}}), parameters={'p': text}),
        new(template=template({}, outputs={text: {'value': {'get_attr': ['a', text]}}}))]
    return [('/stacks', each) for each in places] + [('/validate', each) for each in places] + [
        ('/stacks/preview', each) for each in places]


def paths(text):
    quoted = urllib.parse.quote(text, safe='', errors='surrogatepass')
    return [f'/v1/{quoted}/stacks', f'/v1/admin/stacks/{quoted}', f'/v1/admin/stacks/{quoted}/x/resources/{quoted}',
            f'/v1/admin/stacks?{quoted}={quoted}', f'/v1/admin/stacks?limit={quoted}', f'/v1/admin/{quoted}',
            f'/v1/admin/resource_types/{quoted}', f'/v1/admin/software_configs/{quoted}', f'/{quoted}']


def raw(port, method, path, body=None, **headers):
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        data = b'' if body is None else json.dumps(body).encode()
        for name, value in {'Content-Type': 'application/json', 'Content-Length': str(len(data)), **headers}.items():
            connection.putheader(name, value.encode('latin-1'))
        connection.endheaders(data)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture(scope='module', params=['heatlite-all', 'cluster'])
def service(request, tmp_path_factory):
    """(port, URL, names of the log files)"""
    folder = tmp_path_factory.mktemp('lines')
    if request.param == 'heatlite-all':
        with alone.running(folder, PLUGINS) as made:
            yield made.port, made.url, [folder / 'log']
        return
    if not (RABBIT and MARIADB):
        pytest.skip('needs RabbitMQ and MariaDB: tools/services up')
    cluster = Cluster(folder, MARIADB, RABBIT, engines=1)
    yield cluster.port, cluster.url, [folder / 'api.log', folder / 'engine1.log']
    cluster.stop()


def wrong_lines(files):
    """Lines that are not ours, by every separator that a reader may know; and texts that no terminal should see."""
    found = []
    for file in files:
        text = file.read_bytes().decode('utf-8', 'surrogateescape')
        found += [line for line in text.splitlines()
                  if line and not OURS.match(line) and not line.startswith(CONTINUED)]
        found += [line for line in text.split('\n') if line.startswith(FORGED[:20]) or ODD.search(line)]
    return found


@pytest.mark.parametrize('end', ENDS, ids=ascii)
def test_requests_cannot_write_lines(service, end):
    port, url, files = service
    for path, body in bodies(bad(end)):
        ask('POST', f'{url}{path}', body)
    for path in paths(bad(end)):
        raw(port, 'GET', path)
    for name in ('X-OpenStack-Request-ID', 'User-Agent', 'X-Auth-User', 'X-Region-Name', 'Origin', 'Content-Type'):
        text = re.sub('[\n\r\x00]', ' ', bad(end).encode('ascii', 'ignore').decode())
        raw(port, 'GET', '/v1/admin/stacks', **{name: f'{text}\x85{FORGED}'})
    assert wrong_lines(files) == []


@pytest.mark.parametrize('end', ['\n', '\r', '\x85', '\u2028', '\x1b[2K\n', '\ud800\n'], ids=ascii)
def test_stacks_cannot_write_lines(service, end):
    """What is logged while a stack is driven: failures, texts of plug-ins, signals."""
    _port, url, files = service
    name = f'driven-{abs(hash(end))}'
    text = bad(end).replace('\ud800', '') if end == '\ud800\n' else bad(end)
    status, made = ask('POST', f'{url}/stacks', {'stack_name': name, 'template': template({
        'says': clumsy(say=text), 'fails': {**clumsy(refused=text), 'depends_on': 'says'},
        'breaks': {**clumsy(defect='KeyError'), 'depends_on': 'says'}})})
    assert status == 201, made
    stack = f"{url}/stacks/{name}/{made['stack']['id']}"
    eventually('the failure', lambda: ask('GET', stack)[1]['stack']['stack_status'] == 'CREATE_FAILED')
    assert ask('POST', f'{stack}/resources/says/signal', {'what': text})[0] == 200
    refused = f"A signal to says in stack {made['stack']['id']} was not accepted"
    eventually('the signal', lambda: any(refused in file.read_text(errors='replace') for file in files))
    ask('POST', f'{stack}/snapshots', {'name': bad(end)})
    ask('DELETE', stack)
    assert wrong_lines(files) == []


def test_a_message_is_bounded(service):
    _port, url, files = service
    before = sum(file.stat().st_size for file in files)
    long = 'x' * 200_000
    ask('POST', f'{url}/stacks', {'stack_name': long, 'template': template({})})
    _status, made = ask('POST', f'{url}/stacks', {'stack_name': 'long', 'template': template({
        'fails': clumsy(refused=long, say=long)})})
    stack = f"{url}/stacks/long/{made['stack']['id']}"
    eventually('the failure', lambda: ask('GET', stack)[1]['stack']['stack_status'] == 'CREATE_FAILED')
    assert sum(file.stat().st_size for file in files) - before < 100_000
    assert any('(cut, ' in file.read_text(errors='replace') for file in files)
