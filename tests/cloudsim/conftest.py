"""One real process for all tests; its clock stands still, so that a test decides when anything happens."""

import re
import subprocess
import sys
from pathlib import Path

import openstack
import pytest
import requests
from keystoneauth1 import adapter, session
from keystoneauth1.identity import v3

ROOT = Path(__file__).resolve().parents[2]


class Sim:
    """The simulator from outside: HTTP only."""

    def __init__(self, url):
        self.url = url
        self.admin_url = f'{url}/_sim'
        self._sessions = {}

    def ask(self, method, path, body=None):
        answer = requests.request(method, f'{self.admin_url}/{path}', json=body, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def reset(self):
        self.ask('POST', 'reset')
        self.ask('POST', 'clock', {'stopped': True})
        self._sessions.clear()

    def advance(self, seconds=60):
        self.ask('POST', 'clock', {'advance': seconds})

    def run_clock(self):
        self.ask('POST', 'clock', {'stopped': False})

    def fault(self, **rule):
        return self.ask('POST', 'faults', rule)['faults'][0]

    def ids(self, table):
        return self.ask('GET', f'objects/{table}')['objects'][table]['ids']

    def session(self, user='demo', **scope):
        key = (user, *sorted(scope.items()))
        if key not in self._sessions:
            scope = scope or {'project_name': user, 'project_domain_id': 'default'}
            auth = v3.Password(f'{self.url}/v3', username=user, password='secret',
                               user_domain_id=scope.pop('user_domain_id', 'default'), **scope)
            self._sessions[key] = session.Session(auth)
        return self._sessions[key]

    def service(self, service_type, user='demo', **how):
        """An adapter: .get, .post ... with paths below the endpoint; no error status raises."""
        return adapter.Adapter(self.session(user), service_type=service_type, interface='public',
                               region_name='RegionOne', raise_exc=False, **how)

    def connect(self, user='demo'):
        return openstack.connection.Connection(session=self.session(user), region_name='RegionOne')


@pytest.fixture(scope='session')
def process():
    with subprocess.Popen([sys.executable, '-m', 'cloudsim', '--port', '0'], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE) as running:
        yield Sim(re.search(r'http://\S+', running.stdout.readline()).group())
        running.terminate()


@pytest.fixture
def sim(process):
    process.reset()
    return process


@pytest.fixture
def compute(sim):
    return sim.service('compute', default_microversion='2.79')


@pytest.fixture
def network(sim):
    return sim.service('network')


@pytest.fixture
def volume(sim):
    return sim.service('block-storage')


@pytest.fixture
def make(sim):
    """make(adapter, path, key, **fields): creates, and gives what the answer has below the key."""
    def create(service, path, key, **fields):
        answer = service.post(path, json={key: fields} if key else fields)
        assert answer.status_code < 300, answer.text
        return answer.json()[key] if key else answer.json()

    return create


@pytest.fixture
def seed(sim):
    """seed(table, name): the id of a thing a fresh cloud has."""
    def find(table, name):
        found = sim.ask('GET', f'objects/{table}')['objects'][table]
        return found['ids'][found['names'].index(name)]

    return find


@pytest.fixture
def server(compute, seed):
    """server(**fields): the id of one that is asked for, not yet booted."""
    def create(**fields):
        answer = compute.post('/servers', json={'server': {
            'name': 'one', 'imageRef': seed('image.images', 'cirros'), 'flavorRef': seed('compute.flavors', 'm1.tiny'),
            'networks': [{'uuid': seed('network.networks', 'private')}], **fields}})
        assert answer.status_code == 202, answer.text
        return answer.json()['server']['id']

    return create
