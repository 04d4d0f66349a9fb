"""What a request has used is freed when it has been answered. A process that serves hundreds of requests a second would
otherwise stop every second or two for as long as the garbage collector needs for all of them."""

import http.client
import json
import urllib.error

import pytest

from tests.system import collecting
from tests.system.processes import OPENER, Program, ask, eventually

REQUESTS = 20
FEW = 10                            # objects of other threads, in all
TEMPLATE = {'heat_template_version': '2018-08-31',
            'resources': {'password': {'type': 'OS::Heat::RandomString'}, 'nothing': {'type': 'OS::Heat::None'}},
            'outputs': {'it': {'value': {'get_attr': ['password', 'value']}}}}


class Counted:
    """heatlite-all without a login, with a stack."""

    def __init__(self, folder):
        self.program = Program(folder / 'log', 'heatlite.cmd.all_in_one', '--state-dir', folder / 'state',
                               '--port', '0', module='tests.system.collecting')
        self.root = self.program.process.stdout.readline().split()[-1]
        self.port = int(self.root.rsplit(':', 1)[1])
        status, found = ask('POST', f'{self.root}/v1/admin/stacks', {'stack_name': 'one', 'template': TEMPLATE})
        assert status == 201, found
        self.stack = f"/v1/admin/stacks/one/{found['stack']['id']}"
        eventually('the end of the create', lambda: ask('GET', self.root + self.stack)[1]['stack'][
            'stack_status'] == 'CREATE_COMPLETE')

    def collected(self):
        """The number of objects that the collector finds now."""
        before = len(self._counts())
        self.program.process.send_signal(collecting.COUNT)
        eventually('the collection', lambda: len(self._counts()) > before)
        return self._counts()[-1]

    def _counts(self):
        return [int(line.split()[1]) for line in self.program.log.read_text().splitlines()
                if line.startswith('collected ')]


@pytest.fixture(scope='module')
def counted(tmp_path_factory):
    made = Counted(tmp_path_factory.mktemp('counted'))
    yield made
    made.program.kill()


ASKED = [
    ('GET', '/v1/admin/stacks', None, 200), ('GET', '{stack}', None, 200), ('GET', '{stack}/resources', None, 200),
    ('GET', '{stack}/events', None, 200), ('GET', '{stack}/template', None, 200), ('GET', '{stack}/outputs', None, 200),
    ('GET', '/v1/admin/stacks/one', None, 302), ('GET', '/v1/admin/stacks/none', None, 404),
    ('GET', '/v1/admin/stacks?limit=few', None, 400), ('PATCH', '/v1/admin/stacks', None, 405),
    ('GET', '/v1/admin/none/of/them', None, 404), ('POST', '/v1/admin/stacks', '{', 400),
    ('POST', '/v1/admin/stacks', json.dumps({'stack_name': 'one', 'template': TEMPLATE}), 409),
    ('GET', '/', None, 300), ('GET', '/healthcheck', None, 200)]


@pytest.mark.parametrize('method, path, body, status', ASKED, ids=[f'{each[0]} {each[1]} {each[3]}' for each in ASKED])
def test_a_request_leaves_nothing_to_the_collector(counted, method, path, body, status):
    path = path.format(stack=counted.stack)
    connection = http.client.HTTPConnection('127.0.0.1', counted.port)

    def request():
        connection.request(method, path, body, {'Content-Type': 'application/json'})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status

    request()                           # what is made once
    counted.collected()
    for _ in range(REQUESTS):
        request()
    connection.close()
    assert counted.collected() < FEW


def test_a_connection_leaves_nothing_to_the_collector(counted):
    def request():
        with pytest.raises(urllib.error.HTTPError), OPENER.open(f'{counted.root}/v1/admin/none', timeout=10):
            pass

    request()
    counted.collected()
    for _ in range(REQUESTS):
        request()
    assert counted.collected() < FEW
