"""Encryption keys that are secrets of Barbican, that of the simulator: read at the start, or a clear error."""

import json
import os
import subprocess
import sys

import pytest
import sqlalchemy as sa

from heatlite.common import crypt, exception, key_manager
from heatlite.db import sealing, tables
from heatlite.db.connection import Database
from tests.api import in_process, rows
from tests.architecture.source import ROOT
from tests.cloudsim.conftest import process, sim  # noqa: F401
from tests.system.options import write
from tests.system.processes import Program, ask

KEY, FORMER = 'k' * 32, 'f' * 32
UNKNOWN = '00000000-0000-4000-8000-000000000000'


@pytest.fixture
def store(sim):                         # noqa: F811
    """store(text, **fields): the id of a new secret of the administrator."""
    def make(text, **fields):
        answer = sim.service('key-manager', user='admin').post('/v1/secrets', json={
            'name': 'key', 'payload': text, 'payload_content_type': 'text/plain', **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()['secret_ref'].rsplit('/', 1)[1]

    return make


def login(url, **more):
    return {'auth_type': 'keystone_password', 'auth_url': f'{url}/v3', 'username': 'admin', 'password': 'secret',
            'project_name': 'admin', 'user_domain_id': 'default', 'project_domain_id': 'default', **more}


@pytest.fixture
def options(sim, tmp_path):             # noqa: F811
    """options(id, ids, **login): of a program with such a file."""
    def made(current=None, others=(), user=None, **more):
        file = tmp_path / 'heatlite.conf'
        write(file, {
            'DEFAULT': {**({'auth_encryption_key_id': current} if current else {}),
                        **({'auth_decryption_key_ids': ','.join(others)} if others else {}), **more},
            'key_manager': login(sim.url, **(user or {}))})
        return in_process.options(files=[str(file)])

    return made


@pytest.mark.parametrize('kind', [{}, {'secret_type': 'passphrase'}])
def test_the_key_is_the_text_of_the_secret(store, options, kind):
    conf = options(store(KEY, **kind), [store(FORMER, **kind)], auth_decryption_keys='d' * 32)
    key_manager.load(conf)
    assert (conf.auth_encryption_key, conf.auth_decryption_keys) == (KEY, ['d' * 32, FORMER])
    assert not key_manager.is_used(conf)
    key_manager.load(conf)                              # harmless
    assert (conf.auth_encryption_key, conf.auth_decryption_keys) == (KEY, ['d' * 32, FORMER])


def test_only_a_former_key_is_kept_there(store, options):
    conf = options(None, [store(FORMER)], auth_encryption_key=KEY)
    key_manager.load(conf)
    assert (conf.auth_encryption_key, conf.auth_decryption_keys) == (KEY, [FORMER])


def test_without_ids_nothing_is_asked(options):
    conf = options(user={'auth_url': 'http://127.0.0.1:1/v3'}, auth_encryption_key=KEY)
    key_manager.load(conf)
    assert conf.auth_encryption_key == KEY


def refusal(conf, **more):
    with pytest.raises(exception.Error) as refused:
        key_manager.load(conf, **more)
    assert not conf.auth_encryption_key or conf.auth_encryption_key == KEY
    assert '\n' not in str(refused.value)
    return str(refused.value)


def test_a_secret_that_is_not_there(options):
    said = refusal(options(UNKNOWN))
    assert said.startswith(f'The secret {UNKNOWN} (option auth_encryption_key_id) could not be read from the key '
                           'manager (option [key_manager] backend = barbican): ')


def test_a_former_one_that_is_not_there(store, options):
    assert f'{UNKNOWN} (option auth_decryption_key_ids)' in refusal(options(store(KEY), [UNKNOWN]))


@pytest.mark.parametrize('text, found', [('short', 5), ('k' * 33, 33), (f'{KEY}\n', 33), ('é' * 32, 32)])
def test_a_text_that_is_no_key(store, options, text, found):
    secret_id = store(text)
    said = refusal(options(secret_id))
    assert said == (f'The secret {secret_id} of the key manager (option auth_encryption_key_id) has {found} '
                    'characters: a key has exactly 32 ASCII characters.')
    assert text not in said


@pytest.mark.parametrize('user', [{'password': 'wrong'}, {'auth_url': 'http://127.0.0.1:1/v3'}, {'auth_type': 'token'},
                                  {'backend': 'nowhere.Nothing'}])
def test_a_login_that_is_refused(store, options, user):
    said = refusal(options(store(KEY), user=user))
    assert 'could not be read from the key manager' in said
    assert 'secret' not in said.partition('): ')[2].replace('Secret', '')           # no password


def test_a_secret_of_another_project(store, options):
    said = refusal(options(store(KEY), user={'username': 'demo', 'project_name': 'demo'}))
    assert 'could not be read' in said


def test_a_key_manager_that_does_not_answer(store, options, sim):        # noqa: F811
    conf = options(store(KEY))
    sim.fault(kind='hang', service='key-manager', count=0)
    assert refusal(conf, timeout=1.0) == (
        'The key manager (option [key_manager] backend) has not answered within 1 seconds: the encryption keys could '
        'not be read.')


def test_a_key_and_an_id(store, options):
    assert refusal(options(store(KEY), auth_encryption_key=KEY)) == (
        'The options auth_encryption_key and auth_encryption_key_id are both set.')


# --- programs ----------------------------------------------------------------------------------------------

def ran(*arguments):
    return subprocess.run([sys.executable, '-W', 'ignore', '-m', *arguments], capture_output=True, text=True, cwd=ROOT,
                          timeout=120, check=False, env={**os.environ, 'PYTHONWARNINGS': 'ignore'})


@pytest.fixture
def file(sim, tmp_path):                # noqa: F811
    """file(id, ids): the path of the file of a program."""
    def made(current, others=()):
        path = tmp_path / 'heatlite.conf'
        write(path, {
            'DEFAULT': {'auth_encryption_key_id': current, 'auth_decryption_key_ids': ','.join(others)},
            'database': {'connection': f'sqlite:///{tmp_path}/db.sqlite'}, 'key_manager': login(sim.url)})
        return str(path)

    return made


def test_keys_are_rotated(store, file, tmp_path):
    """Both keys are secrets of the key manager: the present key encrypts, the former one decrypts."""
    former, new = store(FORMER), store(KEY)
    assert ran('heatlite.cmd.manage', '--config-file', file(former), 'db_sync').returncode == 0
    database = Database(f'sqlite:///{tmp_path}/db.sqlite')
    with database.writer() as tx:
        tx.execute(sa.insert(tables.software_config).values(
            rows.config(1, 'p', config=crypt.seal(json.dumps({'config': 'x'}), FORMER))))
    database.close()
    command = ['heatlite.cmd.manage', '--config-file', file(new, [former]), 'encryption_keys']
    assert ran(*command, 'list', '--unused', '1').returncode == 1
    assert ran(*command, 'reencrypt').returncode == 0
    listed = ran(*command, 'list', '--unused', '1')
    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert 'auth_decryption_keys 1' in listed.stdout
    assert KEY not in listed.stdout + listed.stderr


@pytest.mark.parametrize('program', ['engine', 'api', 'api_cfn', 'all_in_one'])
def test_a_program_does_not_start_without_its_key(file, tmp_path, program):
    more = ['--state-dir', str(tmp_path / 'state')] if program == 'all_in_one' else ['--workers', '1']
    ended = ran(f'heatlite.cmd.{program}', '--config-file', file(UNKNOWN), *more)
    assert ended.returncode != 0
    assert f'The secret {UNKNOWN} (option auth_encryption_key_id) could not be read' in ended.stderr
    assert 'Traceback' not in ended.stderr


def test_a_program_serves_with_its_key(store, file, tmp_path):
    """heatlite-all makes no key of its own then; what it stores is encrypted with that of the key manager."""
    path, state = file(store(KEY)), tmp_path / 'state'
    program = Program(tmp_path / 'log', '--config-file', path, '--state-dir', state, '--port', '0', '--set',
                      f'database.connection=sqlite:///{state}/heatlite.sqlite', module='heatlite.cmd.all_in_one')
    try:
        said = program.process.stdout.readline().split()
        assert said, program.log.read_text()
        status, _body = ask('POST', f'{said[-1]}/v1/admin/stacks', {
            'stack_name': 'a', 'template': {'heat_template_version': '2018-08-31'}})
        assert status == 201
    finally:
        program.kill()
    assert not (state / 'encryption-key').exists()
    database = Database(f'sqlite:///{state}/heatlite.sqlite')
    sealing.check_keys(database, crypt.Keyring(KEY))
    with pytest.raises(exception.InvalidEncryptionKey):
        sealing.check_keys(database, crypt.Keyring(FORMER))
    database.close()
    assert KEY not in program.log.read_text()


@pytest.mark.parametrize('is_there, status', [(True, 'ok'), (False, 'FAILED')])
def test_the_doctor_asks_the_key_manager(store, file, is_there, status):
    ended = ran('heatlite.cmd.manage', '--config-file', file(store(KEY) if is_there else UNKNOWN), 'doctor', '--only',
                'key-manager', '--only', 'encryption-key', '--format', 'json')
    outcomes = {each['name']: each['status'] for each in json.loads(ended.stdout)['checks']}
    assert outcomes == {'key-manager': status, 'encryption-key': 'ok' if is_there else 'left out'}
    assert KEY not in ended.stdout + ended.stderr
