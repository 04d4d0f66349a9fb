"""Requests of an ordinary member over a socket: refused beyond the limit, while another project is served."""

import pytest

from tests.system.processes import Program
from tests.system.test_simulated import send

pytestmark = pytest.mark.thorough


@pytest.fixture
def service(tmp_path):
    """(URL of the API, URL of the cloud), of a service that has counted nothing yet."""
    program = Program(tmp_path / 'log', '--state-dir', tmp_path / 'state', '--port', '0', '--cloud', 'simulated',
                      '--auth', 'keystone', '--set', 'rate_limits.requests=5', '--set', 'rate_limits.changes=1',
                      module='heatlite.cmd.all_in_one')
    said = [program.process.stdout.readline().split() for _ in range(2)]
    assert said[1], program.log.read_text()
    yield said[0][-1], said[1][5].rstrip(';')
    program.kill()


def login(service, name):
    """(URL of the project, a token)."""
    status, headers, body = send('POST', f'{service[1]}/v3/auth/tokens', {'auth': {
        'identity': {'methods': ['password'], 'password': {
            'user': {'name': name, 'domain': {'id': 'default'}, 'password': 'secret'}}},
        'scope': {'project': {'name': name, 'domain': {'id': 'default'}}}}})
    assert status == 201, body
    (url,) = [each['endpoints'][0]['url'] for each in body['token']['catalog'] if each['type'] == 'orchestration']
    return url, headers['X-Subject-Token']


def until_refused(method, url, body, token):
    """The first refusal. More than a limit may pass: the machine may be slow, and the time is that of the clock."""
    for _ in range(100):
        status, headers, found = send(method, url, body, token)
        if status == 429:
            return headers, found
    raise AssertionError('nothing was refused')


@pytest.mark.parametrize('method, path, body, option, most', [
    ('POST', '/validate', {'template': {'heat_template_version': '2018-08-31'}}, 'changes', 1),
    ('GET', '/stacks', None, 'requests', 5)])
def test_a_member_that_sends_too_many(service, method, path, body, option, most):
    url, token = login(service, 'demo')
    headers, found = until_refused(method, url + path, body, token)
    assert 1 <= int(headers['Retry-After']) <= 60 // most
    assert found['error']['type'] == 'TooManyRequests'
    assert f'more than {most} {option} in a minute (option [rate_limits] {option})' in found['error']['message']
    other, token_of_other = login(service, 'admin')
    if option == 'requests':
        assert send('GET', f'{other}/stacks', None, token_of_other)[0] == 200
