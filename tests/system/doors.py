"""A heatlite-all with all doors and a simulated cloud, as clients with and without credentials find it."""

import contextlib
import json
import re
import urllib.parse

from tests.system import wire
from tests.system.processes import Program


class Doors:
    """`port`, `cfn_port`, `cloudwatch_port`: where they listen; `cloud`: port of the simulated cloud."""

    def __init__(self, folder, *options):
        self.program = Program(folder / 'log', '--state-dir', folder / 'state', '--port', '0', '--cfn-port', '0',
                               '--cloudwatch-port', '0', '--cloud', 'simulated', '--auth', 'keystone', *options,
                               module='heatlite.cmd.all_in_one')
        said = ''.join(self.program.process.stdout.readline() for _ in range(4))
        self.port, self.cloud, _same, self.cfn_port, self.cloudwatch_port = (
            int(found) for found in re.findall(r'127.0.0.1:(\d+)', said))
        self._token = None

    def _identity(self, method, path, body, **headers):
        content = json.dumps(body).encode()
        return wire.send(self.cloud, wire.request(method, path, content, Content_Type='application/json', **headers))

    def log_in(self):
        """(token, project id, user id) of user demo."""
        if self._token is None:
            status, headers, body = self._identity('POST', '/v3/auth/tokens', {'auth': {
                'identity': {'methods': ['password'], 'password': {
                    'user': {'name': 'demo', 'domain': {'id': 'default'}, 'password': 'secret'}}},
                'scope': {'project': {'name': 'demo', 'domain': {'id': 'default'}}}}})
            assert status == 201, body
            found = json.loads(body)['token']
            self._token = headers['x-subject-token'], found['project']['id'], found['user']['id']
        return self._token

    def ec2_key(self):
        """(access, secret) of user demo."""
        token, project, user = self.log_in()
        status, _, body = self._identity('POST', f'/v3/users/{user}/credentials/OS-EC2', {'tenant_id': project},
                                         X_Auth_Token=token)
        assert status == 201, body
        found = json.loads(body)['credential']
        return found['access'], found['secret']

    def rest(self, method, path, body=b'', **headers):
        """A request to the REST API as user demo; `path` goes on after the project."""
        token, project, _user = self.log_in()
        headers = {'X_Auth_Token': token, 'Content_Type': 'application/json', **headers}
        return wire.ask(self.port, method, f'/v1/{project}{path}', body, **headers)

    def cfn(self, method='POST', path='/v1/', body=b'', **headers):
        """A request to the CloudFormation API, unsigned but with a token: no key is needed."""
        headers = {'X_Auth_User': 'demo', 'X_Auth_Token': self.log_in()[0],
                   'Content_Type': 'application/x-www-form-urlencoded', **headers}
        return wire.ask(self.cfn_port, method, path, body, **headers)


def form(**parameters):
    return urllib.parse.urlencode(parameters).encode()


@contextlib.contextmanager
def running(folder, *options):
    doors = Doors(folder, *options)
    try:
        yield doors
    finally:
        doors.program.kill()
