"""A database is backed up while stacks are made and changed; everything is killed later, and the copy restored.

The commands are those of docs/operators/backup.rst. The cloud is a process of its own and goes on.
"""

import os
import shutil
import subprocess
import sys
import uuid
from collections import Counter

import pytest
import sqlalchemy as sa

from tests.system import databases, identities, options
from tests.system.processes import ROOT, Program, eventually, free_port
from tests.system.test_simulated import send

KEY = '0123456789abcdef0123456789abcdef'
KINDS = ('compute.servers', 'network.networks', 'network.subnets', 'volume.volumes')
STORES = ['sqlite', *(name for name, url in databases.SERVERS.items() if url)]

NET = {'type': 'OS::Neutron::Net'}
DISK = {'type': 'OS::Cinder::Volume', 'properties': {'size': 1}}


def server(**more):
    return {'type': 'OS::Nova::Server', 'properties': {'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [
        {'network': 'private'}]}, **more}


def template(**resources):
    return {'heat_template_version': '2018-08-31', 'resources': resources}


def named(name, **more):
    return {**NET, 'properties': {'name': name}, **more}


def subnet(cidr):
    return {'type': 'OS::Neutron::Subnet', 'properties': {'network': {'get_resource': 'net'}, 'cidr': cidr}}


# What waits for a server had not begun when the backup was taken: an own name, a given name, a nested stack.
SLOW = template(web=server(), disk={**DISK, 'depends_on': 'web'}, net=named('shop', depends_on='web'), group={
    'type': 'OS::Heat::ResourceGroup', 'depends_on': 'web', 'properties': {'count': 2, 'resource_def': NET}})
CALM = template(net=named('calm'), disk=DISK)
LATER = template(net=named('calm-2'), disk=DISK, extra=DISK)
MOVING = template(net=NET, inside=subnet('10.7.0.0/24'))
MOVED = template(net=NET, web=server(), inside={**subnet('10.8.0.0/24'), 'depends_on': 'web'},
                 disk={**DISK, 'depends_on': 'web'}, named=named('moved', depends_on='web'))


class Site:
    """A heatlite-all with a database, on the port that the catalogue of the cloud names."""

    def __init__(self, folder, cloud, store, port):
        self.folder, self.cloud, self.store, self.port = folder, cloud, store, port
        folder.mkdir()
        (folder / 'state').mkdir(mode=0o700)
        self.name = f'heatlite_{uuid.uuid4().hex[:12]}'
        self.url = (f'sqlite:///{folder}/state/heatlite.sqlite' if store == 'sqlite'
                    else databases.create(databases.SERVERS[store], self.name))
        self.file = folder / 'heatlite.conf'
        options.write(self.file, cloud.options(), options.database(self.url),
                      {'DEFAULT': {'auth_encryption_key': KEY}, 'engine': {'poll_interval': '0.1'}})
        self.program = None

    def start(self):
        self.program = Program(self.folder / 'log', '--state-dir', self.folder / 'state', '--port', self.port, '--auth',
                               'keystone', '--config-file', self.file, module='heatlite.cmd.all_in_one')
        assert self.program.process.stdout.readline(), (self.folder / 'log').read_text()

    def manage(self, *arguments):
        """The lines that heatlite-manage prints."""
        found = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(self.file), *arguments],
            cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, 'PYTHONPATH': str(ROOT)})
        assert found.returncode == 0, found.stderr + found.stdout
        return found.stdout.splitlines()

    # --- as the operator's guide says -------------------------------------------------------------------

    def back_up(self, file):
        url = sa.make_url(self.url)
        if self.store == 'sqlite':
            self.manage('backup', str(file))
        elif self.store == 'mariadb':
            self._run(['mariadb-dump', '--single-transaction', '--quick', '--no-tablespaces', *self._mariadb(url)],
                      file)
        else:
            self._run(['pg_dump', '--no-owner', str(url.set(drivername='postgresql').render_as_string(False))], file)

    def load(self, file):
        url = sa.make_url(self.url)
        if self.store == 'sqlite':
            shutil.copy(file, str(url.database))
        elif self.store == 'mariadb':
            self._run(['mariadb', *self._mariadb(url)], None, file)
        else:
            self._run(['psql', '-q', '-v', 'ON_ERROR_STOP=1', url.set(drivername='postgresql').render_as_string(False)],
                      None, file)

    @staticmethod
    def _mariadb(url):
        return [f'--host={url.host}', f'--port={url.port}', f'--user={url.username}', *(
            [f'--password={url.password}'] if url.password else []), '--protocol=tcp', str(url.database)]

    @staticmethod
    def _run(command, output, source=None):
        with open(output or os.devnull, 'w') as written, open(source or os.devnull) as read:
            subprocess.run(command, stdin=read, stdout=written, check=True)

    def close(self):
        if self.program is not None and self.program.process.poll() is None:
            self.program.kill()
        if self.store != 'sqlite':
            databases.drop(databases.SERVERS[self.store], self.name)


class User:
    """demo, in the cloud and in whatever heatlite the catalogue names."""

    def __init__(self, cloud, port):
        self.root = cloud.url.removesuffix('/identity/v3').removesuffix('/v3')
        asked = {'auth': {'identity': {'methods': ['password'], 'password': {'user': {
            'name': 'demo', 'domain': {'id': 'default'}, 'password': 'secret'}}},
            'scope': {'project': {'name': 'demo', 'domain': {'id': 'default'}}}}}
        status, headers, body = send('POST', f'{cloud.url}/auth/tokens', asked)
        assert status == 201, body
        self.token = headers['X-Subject-Token']
        self.project = body['token']['project']['id']
        self.url = f'http://127.0.0.1:{port}/v1/{self.project}'

    def ask(self, method, path, body=None):
        status, _headers, found = send(method, f'{self.url}{path}', body, self.token)
        return status, found

    def create(self, name, wanted):
        status, found = self.ask('POST', '/stacks', {'stack_name': name, 'template': wanted})
        assert status == 201, found
        return f"/stacks/{name}/{found['stack']['id']}"

    def update(self, stack, wanted, **more):
        status, found = self.ask('PUT', stack, {'template': wanted, **more})
        assert status == 202, found

    def ended(self, stack):
        def state():
            status, found = self.ask('GET', stack)
            said = 'DELETE_COMPLETE' if status == 404 else found['stack']['stack_status']
            return None if said.endswith('IN_PROGRESS') else said
        return eventually(f'the end of {stack}', state)

    def delete(self, stack):
        assert self.ask('DELETE', stack)[0] == 204
        self.done(stack, 'DELETE')

    def done(self, stack, action):
        assert self.ended(stack) == f'{action}_COMPLETE', self.ask('GET', stack)[1]

    def resources(self, stack):
        return {each['resource_name']: each['physical_resource_id']
                for each in self.ask('GET', f'{stack}/resources')[1]['resources']}

    def statuses(self, stack):
        return Counter(each['resource_status'] for each in self.ask('GET', f'{stack}/resources')[1]['resources'])

    def drift(self, stack):
        status, found = self.ask('POST', f'{stack}/drift')
        assert status == 200, found
        return {'/'.join(each['path']): each['finding'] for each in found['drift']['resources']}

    def objects(self):
        """{id: name} of all servers, networks, subnets and volumes."""
        found = [send('GET', f'{self.root}/_sim/objects/{kind}')[2]['objects'][kind] for kind in KINDS]
        return {ident: name for each in found for ident, name in zip(each['ids'], each['names'], strict=True)}


@pytest.fixture(params=STORES)
def story(request, tmp_path):
    port = free_port()
    sites = []
    with identities.Simulated('', tmp_path, f'http://127.0.0.1:{port}', '', '', boot=10) as cloud:
        def site(name):
            sites.append(Site(tmp_path / name, cloud, request.param, port))
            return sites[-1]
        yield site, User(cloud, port)
        for each in sites:
            each.close()


def test_a_restore_takes_over_what_happened_since_and_names_the_rest(story, tmp_path):
    site, user = story
    former = site('former')
    former.start()
    initial = user.objects()
    calm, gone, moving = (user.create(name, wanted) for name, wanted in (
        ('calm', CALM), ('gone', CALM), ('moving', MOVING)))
    for stack in (calm, gone, moving):
        user.done(stack, 'CREATE')
    user.update(moving, MOVED)
    slow = user.create('slow', SLOW)
    also_gone = user.create('also-gone', CALM)
    user.done(also_gone, 'CREATE')
    eventually('the server of slow', lambda: user.resources(slow)['web'])

    former.back_up(tmp_path / 'copy')
    assert user.statuses(slow)['INIT_COMPLETE'] == 3, user.statuses(slow)
    assert 'disk' not in user.resources(moving)

    user.done(slow, 'CREATE')
    user.done(moving, 'UPDATE')
    user.update(calm, LATER)
    user.done(calm, 'UPDATE')
    extra = user.resources(calm)['extra']
    user.delete(gone)
    user.delete(also_gone)
    unknown = user.create('unknown', template(net=NET, disk=DISK, named=named('since')))
    user.done(unknown, 'CREATE')
    lost = set(user.resources(unknown).values())
    before = user.objects()
    former.program.kill()

    new = site('new')
    new.load(tmp_path / 'copy')
    said = '\n'.join(new.manage('restored'))
    assert 'stacks in progress   2' in said, said
    new.start()
    user.done(slow, 'CREATE')
    user.done(moving, 'UPDATE')
    assert user.objects() == before, 'something was made twice, or removed'

    orphans = {line.split()[2] for line in new.manage('orphans')[1:]}
    assert orphans == lost | {extra}
    assert user.drift(slow) == user.drift(moving) == {}
    assert user.drift(calm) == {'net': 'changed'}
    assert user.drift(gone) == {'net': 'unreadable', 'disk': 'unreadable'}      # its trust was deleted with it
    user.update(gone, CALM)
    user.done(gone, 'UPDATE')
    assert user.drift(gone) == {'net': 'gone', 'disk': 'gone'}
    user.delete(also_gone)

    status, found = user.ask('POST', f'{calm}/plans', {'template': LATER, 'refresh': True})
    assert status == 201 and Counter(each['action'] for each in found['plan']['changes'])['replace'] == 0, found
    user.update(calm, LATER)
    user.done(calm, 'UPDATE')
    assert user.resources(calm)['extra'] == extra and user.objects() == before and user.drift(calm) == {}
    status, found = user.ask('POST', '/stacks', {
        'stack_name': 'unknown', 'template': template(net=NET, disk=DISK), 'imports': {
            name: {'id': each} for each in lost for name, kind in (('net', 'unknown-net-'), ('disk', 'unknown-disk-'))
            if before[each].startswith(kind)}})
    assert status == 201, found
    user.done(f"/stacks/unknown/{found['stack']['id']}", 'CREATE')
    assert user.objects() == before
    assert [line.split()[3] for line in new.manage('orphans')[1:]] == ['since']

    for stack in (calm, gone, moving, slow, f"/stacks/unknown/{found['stack']['id']}"):
        user.delete(stack)
    assert Counter(user.objects().values()) - Counter(initial.values()) == {'since': 1}
