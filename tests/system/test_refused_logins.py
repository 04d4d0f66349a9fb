"""A broker or database that refuses the login, or is away, is one line in the log, without the password.

The programs go on trying.
"""

import contextlib
import socketserver
import struct
import threading

import pytest

from heatlite.cmd import manage
from tests.system import refusing_broker, wire
from tests.system.processes import Program, eventually, free_port

BROKER, DATABASE = 'rabbit://heat:topsecret@127.0.0.1:{port}/cellar', 'mysql+pymysql://heat:topsecret@127.0.0.1:{port}/heat'
CONF = """
[DEFAULT]
auth_encryption_key = 0123456789abcdef0123456789abcdef
transport_url = {broker}
num_engine_workers = 1
[database]
connection = {database}
[heat_api]
bind_port = {port}
workers = 1
[paste_deploy]
flavor = noauth
"""
DENIED = (1045, "Access denied for user 'heat'@'localhost' (using password: YES)")
UNKNOWN = (1049, "Unknown database 'heat'")
OF_BROKER, OF_DATABASE = 'Work waits for the message broker: ', 'Work waits for the database: '
BROKERS = {'login': (refusing_broker.LOGIN, 'refuses the user heat or the password'),
           'virtual host': (refusing_broker.VIRTUAL_HOST,
                            'refuses the virtual host cellar, or a right in it, to the user heat')}
DATABASES = {'login': (DENIED, "Access denied for user 'heat'@'localhost'"),
             'name': (UNKNOWN, "Unknown database 'heat'")}


@contextlib.contextmanager
def refusing_database(refusal):
    """The port of a MySQL server that refuses everybody in its first packet."""
    code, text = refusal
    content = b'\xff' + struct.pack('<H', code) + text.encode()
    packet = struct.pack('<I', len(content))[:3] + b'\x00' + content

    class Refusal(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.sendall(packet)

    with socketserver.ThreadingTCPServer(('127.0.0.1', 0), Refusal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def options(folder, broker, database):
    file, port = folder / 'heatlite.conf', free_port()
    file.write_text(CONF.format(broker=broker, database=database, port=port))
    return ['--config-file', file], port


@pytest.fixture(params=BROKERS)
def refusal(request, tmp_path):
    """(options of a program, its port, words of the line that it must log)"""
    found, words = BROKERS[request.param]
    with refusing_broker.refusing(found) as broker:
        given, port = options(tmp_path, BROKER.format(port=broker), f'sqlite:///{tmp_path}/db')
        assert manage.main([*map(str, given), 'db_sync']) == 0
        yield given, port, f'{OF_BROKER}127.0.0.1:{broker} {words}'


def check(program, line):
    text = program.log.read_text()
    assert text.count(line) == 1, text
    assert 'Traceback' not in text and 'topsecret' not in text, text


def test_an_engine_waits_to_be_let_in(refusal, tmp_path):
    given, _port, line = refusal
    engine = Program(tmp_path / 'engine.log', *given, module='heatlite.cmd.engine')
    try:
        eventually('the line', lambda: 'refuses' in engine.log.read_text())
        assert engine.stop() == 0
        text = engine.log.read_text()
        assert 'is up' in text and text.count(' is process ') <= 2, text        # no worker was started again
        assert 'heatlite-manage doctor' in text
        check(engine, line)
    finally:
        engine.kill()


def test_an_api_answers_503(refusal, tmp_path):
    given, port, line = refusal
    api = Program(tmp_path / 'api.log', *given, module='heatlite.cmd.api')
    try:
        eventually('the API', lambda: 'Listening' in api.log.read_text())
        body = b'{"stack_name": "s", "template": {"heat_template_version": "2018-08-31"}}'
        for _ in range(2):
            status, _headers, text = wire.send(port, wire.request('POST', '/v1/admin/stacks', body))
            assert status == 503 and b'topsecret' not in text and b'heat or' not in text, text
        check(api, line)
    finally:
        api.kill()


def test_an_engine_waits_for_a_broker_that_is_away(tmp_path):
    broker = free_port()
    given, _port = options(tmp_path, BROKER.format(port=broker), f'sqlite:///{tmp_path}/db')
    assert manage.main([*map(str, given), 'db_sync']) == 0
    engine = Program(tmp_path / 'engine.log', *given, module='heatlite.cmd.engine')
    try:
        eventually('the line', lambda: OF_BROKER in engine.log.read_text())
        assert engine.stop() == 0
        assert 'is up' in engine.log.read_text()
        check(engine, f'{OF_BROKER}The message broker cannot be reached: 127.0.0.1:{broker}: ')
    finally:
        engine.kill()


@pytest.mark.parametrize('module', ['heatlite.cmd.engine', 'heatlite.cmd.api'])
@pytest.mark.parametrize('case', [*DATABASES, 'away'])
def test_programs_wait_for_the_database(case, module, tmp_path):
    with contextlib.ExitStack() as stack:
        refused, words = DATABASES.get(case, (None, 'ECONNREFUSED'))
        port = stack.enter_context(refusing_database(refused)) if refused else free_port()
        given, api_port = options(tmp_path, BROKER.format(port=free_port()), DATABASE.format(port=port))
        program = Program(tmp_path / 'program.log', *given, module=module)
        stack.callback(program.kill)
        if module.endswith('api'):
            eventually('the API', lambda: 'Listening' in program.log.read_text())
            status, _headers, text = wire.send(api_port, wire.request('GET', '/v1/admin/stacks'))
            assert status == 503 and b'topsecret' not in text and b"'heat'" not in text, text
        eventually('the line', lambda: OF_DATABASE in program.log.read_text())
        assert program.stop() == 0
        text = program.log.read_text()
        line, = (each for each in text.splitlines() if OF_DATABASE in each)
        assert words in line, line
        check(program, OF_DATABASE)
