"""A key that is none, or that of another database, is one line at the start of every program that would use it."""

import os
import re
import stat
import subprocess
import sys

import pytest

from heatlite.common import crypt
from heatlite.db import stacks, sync
from heatlite.db.connection import Database
from tests.db.rows import stack
from tests.system.processes import ROOT, Program, free_port

KEY, OTHER = 'k' * 32, 'o' * 32
SERVICES = ('heatlite.cmd.engine', 'heatlite.cmd.api', 'heatlite.cmd.api_cfn', 'heatlite.cmd.api_cloudwatch')


def written(folder, key, **heat_api):
    file = folder / 'heatlite.conf'
    file.write_text('\n'.join([
        '[DEFAULT]', *([f'auth_encryption_key = {key}'] if key else []), 'transport_url = rabbit://127.0.0.1:1/',
        '[database]', f'connection = sqlite:///{folder}/heatlite.sqlite', '[paste_deploy]', 'flavor = noauth',
        '[ec2authtoken]', 'auth_uri = http://127.0.0.1:1/v3',
        *(line for group in ('heat_api', 'heat_api_cfn', 'heat_api_cloudwatch') for line in (
            f'[{group}]', 'bind_host = 127.0.0.1', f'bind_port = {free_port()}')), '']))
    return file


def run(module, *arguments):
    """(exit code, lines on standard error)."""
    ended = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', module, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True,
        timeout=60, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    return ended.returncode, ended.stderr.strip().splitlines()


@pytest.mark.parametrize('key', [None, 'short', 'k' * 33])
@pytest.mark.parametrize('module', [*SERVICES, 'heatlite.cmd.all_in_one', 'heatlite.cmd.manage'])
def test_a_key_of_the_wrong_length(tmp_path, module, key):
    if module == 'heatlite.cmd.all_in_one' and key is None:
        pytest.skip('it makes one')
    arguments = ['--config-file', written(tmp_path, key)]
    if module == 'heatlite.cmd.all_in_one':
        arguments += ['--state-dir', tmp_path / 'state', '--port', '0']
    elif module == 'heatlite.cmd.manage':
        assert run(module, *arguments, 'db_sync')[0] == 0       # the tables need no key
        arguments += ['update_params', 'encrypt']
    code, lines = run(module, *arguments)
    assert code == (1 if module == 'heatlite.cmd.manage' else os.EX_CONFIG)
    assert len(lines) == 1, lines
    assert re.search('auth_encryption_key .*exactly 32', lines[0])
    assert key is None or key not in lines[0]


def database_of(folder, key):
    """A database in which something was sealed."""
    database = Database(f'sqlite:///{folder}/heatlite.sqlite', seal=lambda text: crypt.seal(text, key))
    sync.up(database)
    with database.writer() as tx:
        stacks.insert(tx, stack('s1', parameters={'a': 'b'}))
    database.close()


@pytest.mark.parametrize('module', SERVICES)
def test_the_database_of_heat(tmp_path, module):
    database = Database(f'sqlite:///{tmp_path}/heatlite.sqlite')
    with database.writer() as tx:
        sync.VERSION_TABLE.create(tx)
        tx.execute(sync.VERSION_TABLE.insert().values(version_num='97b2a986f922'))
    database.close()
    code, lines = run(module, '--config-file', written(tmp_path, KEY), '--workers', '1')
    assert code == os.EX_CONFIG
    assert any('belongs to something else, such as Heat' in line for line in lines), lines
    assert not any('Traceback' in line for line in lines)


@pytest.mark.parametrize('workers', ['1', '2'])
@pytest.mark.parametrize('module', SERVICES)
def test_the_key_of_another_database(tmp_path, module, workers):
    database_of(tmp_path, OTHER)
    code, lines = run(module, '--config-file', written(tmp_path, KEY), '--workers', workers)
    assert code == os.EX_CONFIG
    said = [line for line in lines if 'auth_encryption_key is not the key of this database' in line]
    assert len(said) in range(1, int(workers) + 1), lines
    assert not any('Traceback' in line for line in lines)


def test_heatlite_all_with_the_key_of_another_database(tmp_path):
    (tmp_path / 'state').mkdir()
    database_of(tmp_path / 'state', OTHER)
    code, lines = run('heatlite.cmd.all_in_one', '--state-dir', tmp_path / 'state', '--port', '0')
    assert code == os.EX_CONFIG
    assert 'encryption-key is not the key of this database' in lines[-1]


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.is_file()}


def test_what_programs_write_is_for_their_user_alone(tmp_path):
    before = os.umask(0o022)
    try:
        file = written(tmp_path, KEY)
        log = tmp_path / 'manage.log'
        assert run('heatlite.cmd.manage', '--config-file', file, '--log-file', log, 'db_sync')[0] == 0
        program = Program(tmp_path / 'output', '--state-dir', tmp_path / 'state', '--port', '0', '--log-file',
                          tmp_path / 'all.log', module='heatlite.cmd.all_in_one')
        assert program.process.stdout.readline()
        running = modes(tmp_path / 'state')
        assert running.pop('heatlite.sqlite-wal') == running.pop('heatlite.sqlite-shm') == 0o600
        assert set(running.values()) == {0o600}
        assert program.stop() == 0
        found = modes(tmp_path)
        assert {found[name] for name in ('heatlite.sqlite', 'manage.log', 'all.log')} == {0o600}
    finally:
        os.umask(before)


def test_a_database_that_others_could_read_is_closed_to_them(tmp_path):
    path = tmp_path / 'heatlite.sqlite'
    path.touch()
    path.chmod(0o644)
    database_of(tmp_path, KEY)
    assert modes(tmp_path) == {'heatlite.sqlite': 0o600}


def test_after_a_clean_end_the_one_file_is_complete(tmp_path):
    database = Database(f'sqlite:///{tmp_path}/heatlite.sqlite')
    sync.up(database)
    reading = database._reading.connect()               # somebody has not let go yet
    with database.writer() as tx:
        stacks.insert(tx, stack('s1'))
    assert (tmp_path / 'heatlite.sqlite-wal').stat().st_size
    database.close()
    (tmp_path / 'copy').mkdir()
    (tmp_path / 'copy' / 'heatlite.sqlite').write_bytes((tmp_path / 'heatlite.sqlite').read_bytes())
    reading.close()
    with Database(f'sqlite:///{tmp_path}/copy/heatlite.sqlite').reader() as tx:
        assert stacks.show(tx, 's1') is not None
