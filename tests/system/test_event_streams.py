"""Streams of events over sockets, from each server: what happens is heard within a second, resumed, ended."""

import contextlib
import http.client
import json

import pytest

from tests.system import servers, wire
from tests.system.processes import Program, answers, eventually, free_port

STREAM = '/v1/admin/events/stream'
TEMPLATE = {'heat_template_version': '2021-04-16', 'resources': {'value': {'type': 'OS::Heat::Value',
                                                                           'properties': {'value': 'x'}}}}


class Stream:
    """A client of a stream: blocks of fields."""

    def __init__(self, port, path=STREAM, position=None):
        self.connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
        self.connection.request('GET', path, headers={
            'Accept': 'text/event-stream', **({} if position is None else {'Last-Event-ID': str(position)})})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        self.position = int(self.block()['id'])

    def block(self):
        """The next block that is no comment; None at the end."""
        fields = {}
        while line := self.answer.readline().decode():
            if line == '\n' and fields:
                return fields
            name, _, value = line.rstrip('\n').partition(': ')
            if name and not line.startswith(':'):
                fields[name] = value
        return None

    def event(self):
        fields = self.block()
        if fields is None:
            return None
        self.position = int(fields['id'])
        return json.loads(fields['data'])

    def until(self, stack_name, status):
        """The events up to the one of the stack with this status."""
        found = []
        while True:
            found.append(self.event())
            if found[-1]['resource_name'] == stack_name and found[-1]['resource_status'] == status:
                return found

    def close(self):
        self.connection.close()


def start(folder, *settings, port=0):
    program = Program(folder / 'log', '--state-dir', folder / 'state', '--port', port,
                      *(word for each in settings for word in ('--set', each)), module='heatlite.cmd.all_in_one')
    return program, int(program.process.stdout.readline().rsplit(':', 1)[1])


@pytest.fixture(scope='module')
def port(tmp_path_factory):
    program, number = start(tmp_path_factory.mktemp('streams'), 'event_streams.heartbeat=1')
    yield number
    program.kill()
    assert 'Traceback' not in program.log.read_text()


def create(port, name):
    status, body = wire.ask(port, 'POST', '/v1/admin/stacks', json.dumps(
        {'stack_name': name, 'template': TEMPLATE}).encode(), Content_Type='application/json')
    assert status == 201, body
    return body['stack']['id']


def test_events_are_heard_as_they_happen(port):
    with contextlib.closing(Stream(port)) as stream:
        stack_id = create(port, 'heard')
        found = stream.until('heard', 'CREATE_COMPLETE')
    own = [each for each in found if each['stack_id'] == stack_id]      # stacks of other tests may not have ended
    assert [(each['resource_name'], each['resource_status']) for each in own] == [
        ('heard', 'CREATE_IN_PROGRESS'), ('value', 'CREATE_IN_PROGRESS'), ('value', 'CREATE_COMPLETE'),
        ('heard', 'CREATE_COMPLETE')]


def test_a_stack_has_a_stream_of_its_own_that_begins_where_the_client_was(port):
    stack_id = create(port, 'own')
    path = f'/v1/admin/stacks/own/{stack_id}/events/stream'
    with contextlib.closing(Stream(port, path, 0)) as stream:
        whole = stream.until('own', 'CREATE_COMPLETE')
    with contextlib.closing(Stream(port, path, 0)) as stream:
        some = [stream.event(), stream.event()]
        position = stream.position
    create(port, 'another')
    with contextlib.closing(Stream(port, path, position)) as stream:
        assert [*some, *stream.until('own', 'CREATE_COMPLETE')] == whole


@pytest.mark.parametrize('server', ['gunicorn', 'uwsgi'])
def test_any_api_process_sends_them(tmp_path, server):
    """The stack is driven by one process, the stream comes from another one on the same database."""
    first, driving = start(tmp_path)
    options = tmp_path / 'heatlite.conf'
    options.write_text(f"""[DEFAULT]
auth_encryption_key = {(tmp_path / 'state' / 'encryption-key').read_text()}
transport_url = rabbit://127.0.0.1:1/
[database]
connection = sqlite:///{tmp_path}/state/heatlite.sqlite
[paste_deploy]
flavor = noauth
""")
    port = free_port()
    second = servers.start(server, 'api', options, port, tmp_path / 'second.log', workers=1)
    try:
        answers(f'http://127.0.0.1:{port}/')
        stream = Stream(port)
        create(driving, 'elsewhere')
        assert len(stream.until('elsewhere', 'CREATE_COMPLETE')) == 4
        status, body = wire.ask(port, 'GET', STREAM, Accept='text/event-stream')
        assert status == 503, body                      # of two, the other one is left to other projects
        assert wire.ask(port, 'GET', '/v1/admin/stacks')[0] == 200
        stream.close()
    finally:
        second.kill()
        first.kill()


def test_silence_is_broken_by_a_comment(port):
    with contextlib.closing(Stream(port)) as stream:
        assert any(stream.answer.readline() == b':\n' for _line in range(50))


def test_streams_do_not_hold_up_a_stop_and_go_on_with_the_next_process(tmp_path):
    port = free_port()
    first, _ = start(tmp_path, port=port)
    with contextlib.closing(Stream(port)) as stream:
        create(port, 'before')
        stream.until('before', 'CREATE_COMPLETE')
        assert first.stop() == 0
        assert stream.event() is None                    # ended in order, not cut off with requests that take too long
    second, _ = start(tmp_path, port=port)
    try:
        create(port, 'between')
        path = '/v1/admin/stacks?name=between&status=COMPLETE'
        eventually('the stack', lambda: wire.ask(port, 'GET', path)[1]['stacks'])
        with contextlib.closing(Stream(port, position=stream.position)) as again:
            assert {each['stack_name'] for each in again.until('between', 'CREATE_COMPLETE')} == {'between'}
    finally:
        second.kill()
