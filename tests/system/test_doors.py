"""The programs as an operator starts them: real processes, on SQLite or on real services."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys

import pytest

from tests.system import databases, options, servers, wire
from tests.system.processes import ROOT, Program, answers, ask, eventually, finished, free_port

HELLO = (ROOT / 'examples' / 'hello.yaml').read_text()


class Programs:
    """Starts programs; `programs(module=..., ...)` is one, `serve` an API under any server."""

    def __init__(self, folder):
        self._folder = folder
        self.started = []

    def _log(self):
        return self._folder / f'log{len(self.started)}'

    def __call__(self, *command, **settings):
        self.started.append(Program(self._log(), *command, **settings))
        return self.started[-1]

    def serve(self, server, api, file, port):
        self.started.append(servers.start(server, api, file, port, self._log()))


@pytest.fixture
def programs(tmp_path):
    """All that it started are gone at the end."""
    made = Programs(tmp_path)
    yield made
    for each in made.started:
        each.kill()


# --- heatlite-all ------------------------------------------------------------------------------------------

def embedded(programs, folder):
    """heatlite-all and the URL it says it listens on."""
    program = programs('--state-dir', folder, '--port', '0', module='heatlite.cmd.all_in_one')
    said = program.process.stdout.readline().split()
    assert said[:-1] == ['heatlite', 'listens', 'on'], program.log.read_text()
    return program, f'{said[-1]}/v1/admin'


def test_all_in_one_keeps_stacks_over_a_crash_and_stops_politely(programs, tmp_path):
    program, url = embedded(programs, tmp_path / 'state')
    status, made = ask('POST', f'{url}/stacks', {'stack_name': 'hello', 'template': HELLO})
    assert status == 201
    assert finished(f"{url}/stacks/hello/{made['stack']['id']}") == 'CREATE_COMPLETE'
    program.kill()
    program, url = embedded(programs, tmp_path / 'state')
    assert [each['id'] for each in ask('GET', f'{url}/stacks')[1]['stacks']] == [made['stack']['id']]
    assert program.stop() == 0


def test_a_folder_has_one_master(programs, tmp_path):
    embedded(programs, tmp_path / 'state')
    second = programs('--state-dir', tmp_path / 'state', '--port', '0', module='heatlite.cmd.all_in_one')
    assert second.process.wait(60) == 1
    assert 'Another heatlite-all works in' in second.log.read_text()
    assert 'Traceback' not in second.log.read_text()


def test_interrupting_it_is_a_normal_end(programs, tmp_path):
    program, _ = embedded(programs, tmp_path / 'state')
    assert program.stop(signal.SIGINT) == 0
    assert 'Traceback' not in program.log.read_text()


# --- any WSGI server ---------------------------------------------------------------------------------------

@pytest.fixture
def configured(tmp_path):
    """A configuration file: SQLite with a schema, and a broker that is not there."""
    file = tmp_path / 'heatlite.conf'
    file.write_text(f"""[DEFAULT]
transport_url = rabbit://guest:guest@127.0.0.1:{free_port()}/
auth_encryption_key = 0123456789abcdef0123456789abcdef
[database]
connection = sqlite:///{tmp_path}/heatlite.sqlite
[paste_deploy]
flavor = noauth
""")
    subprocess.run([sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(file),
                    'db_sync'], cwd=ROOT, check=True, capture_output=True)
    return file


@pytest.mark.parametrize('server', servers.NAMES)
def test_any_server_serves_the_api(programs, configured, server):
    port = free_port()
    programs.serve(server, 'api', configured, port)
    url = f'http://127.0.0.1:{port}'
    assert answers(f'{url}/healthcheck') == 200
    assert ask('GET', f'{url}/v1/p/stacks') == (200, {'stacks': []})
    status, fault = ask('POST', f'{url}/v1/p/stacks', {'stack_name': 'hello', 'template': HELLO})
    assert (status, fault['error']['type']) == (503, 'BrokerUnavailable')


@pytest.mark.parametrize('server', servers.NAMES)
def test_any_server_keeps_a_connection_or_says_that_it_closes_it(programs, configured, server):
    """Clients use a connection again unless they are told not to: http.client opens another one only then."""
    port = free_port()
    programs.serve(server, 'api', configured, port)
    answers(f'http://127.0.0.1:{port}/healthcheck')
    with contextlib.closing(http.client.HTTPConnection('127.0.0.1', port, timeout=60)) as connection:
        for method, path, body, status in [('GET', '/v1/p/stacks', None, 200), ('POST', '/v1/p/stacks', '{}', 400),
                                           ('GET', '/nowhere', None, 404), ('HEAD', '/v1/p/stacks', None, 405)] * 2:
            connection.request(method, path, body, {'Content-Type': 'application/json'})
            response = connection.getresponse()
            response.read()
            assert response.status == status, (method, path)


@pytest.mark.parametrize('server', servers.NAMES)
def test_any_server_serves_the_cloudformation_api(programs, configured, server):
    """Forms arrive whole, bodies are bounded, and every error is a document: under any server."""
    port = free_port()
    with configured.open('a') as file:
        file.write('[keystone_authtoken]\nwww_authenticate_uri = http://127.0.0.1:1/v3\n')
    programs.serve(server, 'cfn', configured, port)
    assert answers(f'http://127.0.0.1:{port}/healthcheck') == 200
    status, found = ask('GET', f'http://127.0.0.1:{port}/readiness')
    assert (status, found['checks']['database'], found['checks']['broker']) == (503, 'ok', 'failed')
    form = {'Content_Type': 'application/x-www-form-urlencoded'}
    status, said = wire.ask(port, 'POST', '/v1/', b'Action=ListStacks', **form)
    assert (status, '<Code>IncompleteSignature</Code>' in said) == (400, True), said
    signed = b'Action=ListStacks&AWSAccessKeyId=a&Signature=s'
    status, said = wire.ask(port, 'POST', '/v1/', signed, **form)
    assert (status, '<Code>ServiceUnavailable</Code>' in said) == (503, True), said     # no Keystone is there
    status, said = wire.ask(port, 'POST', '/v1/', Content_Length=str(400 << 20), **form)
    assert (status, '<Code>RequestLimitExceeded</Code>' in said) == (400, True), said


@pytest.mark.parametrize('server', servers.NAMES)
def test_any_server_serves_the_cloudwatch_api(programs, configured, server):
    port = free_port()
    with configured.open('a') as file:
        file.write('[keystone_authtoken]\nwww_authenticate_uri = http://127.0.0.1:1/v3\n')
    programs.serve(server, 'cloudwatch', configured, port)
    assert answers(f'http://127.0.0.1:{port}/healthcheck') == 200
    form = {'Content_Type': 'application/x-www-form-urlencoded'}
    status, said = wire.ask(port, 'POST', '/v1/', b'Action=ListMetrics', **form)
    assert (status, '<Code>IncompleteSignature</Code>' in said) == (400, True), said
    signed = b'Action=ListMetrics&AWSAccessKeyId=a&Signature=s'
    status, said = wire.ask(port, 'POST', '/v1/', signed, **form)
    assert (status, '<Code>ServiceUnavailable</Code>' in said) == (503, True), said         # no Keystone is there
    status, said = wire.ask(port, 'POST', '/v1/', Content_Length=str(400 << 20), **form)
    assert (status, '<Code>RequestEntityTooLarge</Code>' in said) == (413, True), said


def test_a_cloudformation_api_without_a_keystone_does_not_start(programs, configured):
    program = programs('--config-file', configured, '--set', f'heat_api_cfn.bind_port={free_port()}', '--set',
                       'paste_deploy.flavor=', module='heatlite.cmd.api_cfn')
    assert program.process.wait(60) == os.EX_CONFIG
    assert '[ec2authtoken] auth_uri is not set' in program.log.read_text()
    assert 'Traceback' not in program.log.read_text()


# --- a cluster ---------------------------------------------------------------------------------------------

@pytest.fixture
def cluster(tmp_path):
    """A configuration file for a database of our own on the real server, and the real broker."""
    server, broker = os.environ.get('HEATLITE_TEST_MYSQL_URL'), os.environ.get('HEATLITE_TEST_RABBIT_URL')
    if not server or not broker:
        pytest.skip('HEATLITE_TEST_MYSQL_URL and HEATLITE_TEST_RABBIT_URL are not set: eval "$(tools/services up)"')
    name = f'heatlite_doors_{os.getpid()}'
    databases.drop(server, name)
    file = tmp_path / 'heatlite.conf'
    options.write(file, options.cluster(broker=broker, database_url=databases.create(server, name),
                                        topic=f'doors-{os.getpid()}', port=free_port()),
                  {'paste_deploy': {'flavor': 'noauth'}})
    subprocess.run([sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(file),
                    'db_sync'], cwd=ROOT, check=True, capture_output=True)
    yield file
    databases.drop(server, name)


@pytest.mark.service
def test_a_cluster_survives_its_workers(cluster, programs):
    engines = programs('--config-file', cluster, '--workers', '2', module='heatlite.cmd.engine')
    programs('--config-file', cluster, '--workers', '2', module='heatlite.cmd.api')
    port = next(line for line in cluster.read_text().splitlines() if line.startswith('bind_port')).split()[-1]
    url = f'http://127.0.0.1:{port}/v1/p'
    answers(url)
    up = eventually('two engines', lambda: two(engines.said('is up (process')))
    eventually('that both hear', lambda: two(engines.said('takes requests')))

    stacks = [create(url, f'slow-{number}', 'OS::Heat::Delay', {'min_wait': 3}) for number in range(4)]
    os.kill(process_in(up[0]), signal.SIGKILL)
    assert {finished(each) for each in stacks} == {'CREATE_COMPLETE'}
    engines.said('is dead; its stacks are free')
    assert engines.stop() == 0


@pytest.mark.service
def test_workers_do_not_outlive_their_parent(cluster, programs):
    engines = programs('--config-file', cluster, '--workers', '2', module='heatlite.cmd.engine')
    up = eventually('two engines', lambda: two(engines.said('is up (process')))
    engines.process.kill()
    engines.process.wait()
    eventually('the end of both workers', lambda: all(gone(process_in(line)) for line in up))


def test_an_engine_waits_for_what_is_not_there_and_can_be_stopped_meanwhile(programs, tmp_path):
    file, port = tmp_path / 'heatlite.conf', free_port()
    file.write_text(f"""[DEFAULT]
transport_url = rabbit://guest:guest@127.0.0.1:{free_port()}/
auth_encryption_key = 0123456789abcdef0123456789abcdef
[database]
connection = sqlite:///{tmp_path}/heatlite.sqlite
[metrics]
engine_port = {port}
""")
    engine = programs('--config-file', file, '--workers', '1', module='heatlite.cmd.engine')
    engine.said('waits for the tables')
    subprocess.run([sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(file),
                    'db_sync'], cwd=ROOT, check=True, capture_output=True)
    engine.said('is up (process')
    eventually('its lease', lambda: ask('GET', f'http://127.0.0.1:{port}/readiness') == (503, {
        'ready': False, 'checks': {'database': 'ok', 'engine': 'ok', 'broker': 'failed', 'requests': 'ok'}}))
    assert engine.stop() == 0
    assert 'Traceback' not in engine.log.read_text()


def process_in(line):
    return int(line.rsplit('process ', 1)[1].rstrip(')'))


def gone(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def two(lines):
    return lines if len(lines) >= 2 else None


def create(url, name, kind, properties):
    status, made = ask('POST', f'{url}/stacks', {'stack_name': name, 'template': {
        'heat_template_version': '2018-08-31', 'resources': {'only': {'type': kind, 'properties': properties}}}})
    assert status == 201, made
    return f"{url}/stacks/{name}/{made['stack']['id']}"
