"""heatlite-manage setup keystone with a real Keystone: what it makes passes the checks of the doctor."""

import json
import os
import subprocess
import sys
import uuid

import pytest

from tests.system import identities, service
from tests.system.processes import ROOT

pytestmark = [pytest.mark.service, pytest.mark.skipif(not service.KEYSTONE, reason='needs tools/keystone up')]


@pytest.fixture
def name():
    """Of everything that is made; removed at the end."""
    found = f'setup_{uuid.uuid4().hex[:8]}'
    yield found
    keystone = service.admin()
    for user in keystone.get('/users').json()['users']:
        if user['name'].startswith(found):
            identities.remove(keystone, f'/users/{user["id"]}')
    for domain in keystone.get(f'/domains?name={found}').json()['domains']:
        keystone.patch(f'/domains/{domain["id"]}', json={'domain': {'enabled': False}})
        identities.remove(keystone, f'/domains/{domain["id"]}')
    for endpoint in keystone.get(f'/endpoints?region_id={found}').json()['endpoints']:
        identities.remove(keystone, f'/endpoints/{endpoint["id"]}')
    identities.remove(keystone, f'/regions/{found}')


def manage(*arguments):
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', *map(str, arguments)], cwd=ROOT,
        capture_output=True, text=True, timeout=60, env={
            **os.environ, 'PYTHONPATH': str(ROOT), 'OS_CLIENT_CONFIG_FILE': str(service.FOLDER / 'clouds.yaml')})
    return done.returncode, done.stdout, done.stderr


def test_what_it_makes_is_what_is_needed(name, tmp_path):
    file = tmp_path / 'heatlite.conf'
    wanted = ('setup', 'keystone', '--os-cloud', 'admin', '--host', 'api.example', '--region', name, '--user',
              f'{name}_user', '--domain', name, '--domain-admin', f'{name}_admin')
    code, _said, errors = manage(*wanted, '--output', file)
    assert code == 0, errors
    assert f'made         user {name}_user' in errors
    code, _said, errors = manage('--config-file', file, *wanted)      # with the passwords that were generated
    assert code == 0 and 'nothing was changed' in errors, errors

    keystone = service.admin()
    identity = keystone.get('/services?type=identity').json()['services'][0]['id']
    keystone.post('/endpoints', json={'endpoint': {
        'region_id': name, 'service_id': identity, 'interface': 'public', 'url': service.KEYSTONE}})
    code, said, errors = manage('--config-file', file, 'doctor', '--format', 'json', '--only', 'keystone-*', '--only',
                              'catalogue-[!s]*')
    assert code == 0, said
    assert {each['status'] for each in json.loads(said)['checks']} == {'ok', 'not used'}, said


def test_differences(name):
    wanted = ('setup', 'keystone', '--os-cloud', 'admin', '--region', name, '--user', f'{name}_user', '--domain', name,
              '--domain-admin', f'{name}_admin')
    assert manage(*wanted, '--host', 'one.example')[0] == 0
    code, _said, errors = manage(*wanted, '--host', 'two.example', '--without', 'cloudwatch')
    assert code == 1 and errors.count('differs      ') == 6, errors
    code, _said, errors = manage(*wanted, '--host', 'two.example', '--without', 'cloudwatch', '--change')
    assert code == 0 and errors.count('changed      ') == 6, errors
    assert manage(*wanted, '--host', 'two.example', '--without', 'cloudwatch')[0] == 0
