"""One resource of almost every described type in the simulated cloud, which answers as the real services do."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests
import yaml
from keystoneauth1 import session
from keystoneauth1.identity import v3

from heatlite.common.context import RequestContext
from heatlite.engine.resources.rest import types
from heatlite.engine.types import registry
from heatlite.testing.examples import LOADER
from tests.plugins.bench import Bench, SteppedRuntime

pytestmark = pytest.mark.random_order(disabled=True)         # a sequence: each test goes on where the one before ended

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = yaml.load(Path(__file__).with_name('everything.yaml').read_text(), Loader=LOADER)
WORK = 0.01                                 # seconds that a change of state takes
# Made by services themselves: the default group of a project that asks for groups, the secret of an order.
LEFT = ('network.security-group', 'key-manager.secrets')


class Runtime(SteppedRuntime):
    """A second is over when the simulated cloud has done its work."""

    def sleep(self, seconds):
        super().sleep(seconds)
        time.sleep(2 * WORK)


class Acme:
    """Resources made one after the other, as the parts of one stack."""

    def __init__(self, url):
        self.url = url
        auth = v3.Password(f'{url}/v3', username='admin', password='secret', user_domain_id='default',
                           project_name='admin', project_domain_id='default')
        access = auth.get_access(session.Session(auth))
        self.context = RequestContext(
            project_id=access.project_id, user_id=access.user_id, auth_token=access.auth_token,
            auth_token_info={'token': access._data['token']}, auth_url=f'{url}/v3', region_name='RegionOne',
            roles=['admin'], overwrite=False)
        self.runtime = Runtime()
        self.made = {}

    def make(self, name):
        if name in self.made:
            return self.made[name]
        entry = TEMPLATE['resources'][name]
        bench = Bench(entry['type'], self.resolved(entry.get('properties', {})), name=name, runtime=self.runtime)
        bench.stack.context = self.context
        assert bench.validate() is None
        bench.create()
        self.made[name] = bench
        return bench

    def resolved(self, value):
        if isinstance(value, dict):
            if set(value) == {'get_resource'}:
                return self.make(value['get_resource']).fresh('CREATE', 'COMPLETE').get_reference_id()
            return {key: self.resolved(item) for key, item in value.items()}
        return [self.resolved(item) for item in value] if isinstance(value, list) else value

    def objects(self):
        found = requests.get(f'{self.url}/_sim/objects', timeout=30).json()['objects']
        return {table: set(told['ids']) for table, told in found.items()}


@pytest.fixture(scope='module')
def acme():
    registry.create()
    command = [sys.executable, '-m', 'cloudsim', '--port', '0', '--work', str(WORK), '--boot', str(WORK)]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE) as running:
        found = Acme(re.search(r'http://\S+', running.stdout.readline()).group())
        found.before = found.objects()
        yield found
        running.terminate()
    registry.use(None)


@pytest.mark.parametrize('name', TEMPLATE['resources'])
def test_made_read_and_left_alone(acme, name):
    bench = acme.make(name)
    made = bench.fresh('CREATE', 'COMPLETE')
    for attribute in made.attributes_schema:
        made.FnGetAtt(attribute)
    assert bench.update(acme.resolved(TEMPLATE['resources'][name].get('properties', {}))) is None
    if made.type() not in types.files():
        return                              # a class of its own
    again = bench.fresh('CREATE', 'COMPLETE')
    real = again.observe(again.compare(bench.definition))
    assert not again.needs_update(real), 'nothing has drifted'


def test_everything_is_deleted(acme):
    for name in TEMPLATE['resources']:
        acme.make(name)
    for bench in reversed(acme.made.values()):
        bench.run('DELETE')
    left = {table: ids - acme.before.get(table, set()) for table, ids in acme.objects().items()}
    assert {table: ids for table, ids in left.items() if ids and not table.startswith(LEFT)} == {}
