"""Where secrets are planted and looked for: heatlite-all with the simulated cloud, and the production profile."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from urllib.parse import urlencode

import oslo_messaging
import sqlalchemy as sa
from oslo_config import cfg

from tests.system import production
from tests.system.processes import OPENER, Program, eventually

KEY = '0123456789abcdef0123456789abcdef'
PASSWORD = 'secret'


def send(method, url, body=None, token=None, **headers):
    """(status, headers, text)."""
    request = urllib.request.Request(
        url, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={'Content-Type': 'application/json', 'Accept': 'application/json',
                 **({'X-Auth-Token': token} if token else {}), **headers})
    try:
        with OPENER.open(request, timeout=120) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


class Place:
    """`ask(who, method, path, body)`: (status, text); `who`: member, reader or admin. `tokens`: of all of them. `aws`:
    URLs of the APIs of Amazon, `cfn` and `cloudwatch`."""

    is_simulated = False

    def ask_aws(self, who, api, action, **parameters):
        """An action of an API of Amazon, with a token instead of a signature: (status, text)."""
        query = urlencode({'Action': action, 'ContentType': 'JSON', **parameters})
        status, _headers, text = send('GET', f'{self.aws[api]}/?{query}', token=self.tokens[who],
                                      **{'X-Auth-User': who})
        return status, text

    def ask(self, who, method, path, body=None):
        raise NotImplementedError

    def json(self, who, method, path, body=None):
        status, text = self.ask(who, method, path, body)
        assert status < 300, (method, path, status, text[-1000:])
        return json.loads(text) if text else None

    def finished(self, path):
        """Waits until the action of a stack has ended; its status."""
        def status():
            code, text = self.ask('member', 'GET', f'{path}?resolve_outputs=false')
            found = 'DELETE_COMPLETE' if code == 404 else json.loads(text)['stack']['stack_status']
            return None if found.endswith('IN_PROGRESS') else found
        return eventually(f'the end of the action of {path}', status)

    def columns(self):
        """(table, column, text) of everything that is stored."""
        engine = sa.create_engine(self.database_url)
        with engine.connect() as connection:
            tables = sa.MetaData()
            tables.reflect(connection)
            for table in tables.tables.values():
                for row in connection.execute(sa.select(table)):
                    for name, value in row._mapping.items():
                        if value is not None:
                            yield table.name, name, str(value)
        engine.dispose()


class Embedded(Place):
    """heatlite-all; its cloud and its Keystone are simulated. `options`: of [DEFAULT]."""

    is_simulated = True

    def __init__(self, folder, **options):
        self.folder = folder
        self.state = folder / 'state'
        given = {'debug': 'true', 'enable_stack_abandon': 'true', 'enable_stack_adopt': 'true', **options}
        self.program = Program(
            folder / 'all.log', '--state-dir', self.state, '--port', '0', '--cloud', 'simulated', '--auth', 'keystone',
            *(part for name, value in given.items() for part in ('--set', f'{name}={value}')),
            module='heatlite.cmd.all_in_one')
        said = [self.program.process.stdout.readline().split() for _ in range(4)]
        assert said[3], self.program.log.read_text()
        self.url, self.cloud = said[0][-1], said[1][5].rstrip(';')
        self.aws = {'cfn': said[2][-1], 'cloudwatch': said[3][-1]}
        self._admin, _project = self._login('admin', 'admin')
        self._make_reader()
        self.tokens, self._projects = {}, {}
        for who, user, project in (('member', 'demo', 'demo'), ('reader', 'reader', 'demo'),
                                   ('admin', 'admin', 'admin')):
            self.tokens[who], self._projects[who] = self._login(user, project)
        self.project_id = self._projects['member']
        self.known = {'key of encryption': (self.state / 'encryption-key').read_text().strip()}

    def _login(self, user, project):
        asked = {'auth': {
            'identity': {'methods': ['password'], 'password': {
                'user': {'name': user, 'domain': {'id': 'default'}, 'password': PASSWORD}}},
            'scope': {'project': {'name': project, 'domain': {'id': 'default'}}}}}
        status, headers, text = send('POST', f'{self.cloud}/v3/auth/tokens', asked)
        assert status == 201, text
        return headers['X-Subject-Token'], json.loads(text)['token']['project']['id']

    def _make_reader(self):
        def keystone(method, path, body=None):
            status, _headers, text = send(method, f'{self.cloud}/v3{path}', body, self._admin)
            assert status < 300, text
            return json.loads(text) if text else None
        roles = {each['name']: each['id'] for each in keystone('GET', '/roles')['roles']}
        projects = {each['name']: each['id'] for each in keystone('GET', '/projects')['projects']}
        user = keystone('POST', '/users', {'user': {
            'name': 'reader', 'domain_id': 'default', 'password': PASSWORD}})['user']['id']
        keystone('PUT', f'/projects/{projects["demo"]}/users/{user}/roles/{roles["reader"]}')

    def ask(self, who, method, path, body=None):
        url = f'{self.url}/v1/{self._projects["member"]}{path}'
        status, _headers, text = send(method, url, body, self.tokens[who])
        return status, text

    @property
    def database_url(self):
        return f'sqlite:///{self.state}/heatlite.sqlite'

    def figures(self):
        return send('GET', f'{self.url}/metrics')[2]

    def notifications(self):
        return ''

    def logs(self):
        return [self.program.log]

    def stop(self):
        if self.program.process.poll() is None:
            self.stdout = self.program.process.stdout
        return self.program.stop()

    def close(self):
        self.program.kill()


class Listener:
    """Gathers all that the bus says on one topic."""

    def __init__(self, topic):
        self.heard = []
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[])
        transport = oslo_messaging.get_notification_transport(conf, url=production.RABBIT)
        self._server = oslo_messaging.get_notification_listener(
            transport, [oslo_messaging.Target(topic=topic)], [self], executor='threading')
        self._server.start()

    def info(self, *heard):
        self.heard.append(heard)

    error = warn = info

    def stop(self):
        self._server.stop()
        self._server.wait()


class Clustered(Place):
    """The production profile. The broker is listened to."""

    def __init__(self, folder, **options):
        self.topic = f'canaries-{uuid.uuid4().hex[:8]}'
        self._listener = Listener(self.topic)
        self.cloud = production.Production(
            Path(folder), engines=2, debug='true', enable_stack_abandon='true', enable_stack_adopt='true',
            oslo_messaging_notifications__driver='messagingv2', oslo_messaging_notifications__topics=self.topic,
            **options)
        people = self.cloud.people
        self.project_id = people['alpha'].project_id
        self._people = {'member': people['alpha'], 'reader': people['alpha_reader'], 'admin': people['admin']}
        self.tokens = {who: person.token for who, person in self._people.items()}
        self.aws = {'cfn': f'{self.cloud.cfn_url}/v1', 'cloudwatch': f'{self.cloud.cloudwatch_url}/v1'}
        url = sa.make_url(self.cloud.database_url)
        self.known = {'key of encryption': KEY}
        if len(url.password or '') > 8:
            self.known['password of the database'] = url.password

    def ask(self, who, method, path, body=None):
        project = self._people['member'].project_id
        answer = self.cloud.ask(self._people[who], method, f'/v1/{project}{path}', body)
        return answer.status, answer.text

    @property
    def database_url(self):
        return self.cloud.database_url

    def figures(self):
        return send('GET', f'{self.cloud.url}/metrics')[2] + send('GET', f'{self.cloud.cfn_url}/metrics')[2]

    def notifications(self):
        return repr(self._listener.heard)

    def logs(self):
        return sorted(self.cloud.folder.glob('*.log'))

    def close(self):
        self._listener.stop()
        self.cloud.stop()
