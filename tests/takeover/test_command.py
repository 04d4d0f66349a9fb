"""heatlite-manage import-heat, as an operator calls it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from heatlite.takeover import schema
from tests.takeover.heats import KEY, Heat

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """With the configuration of heatlite, and its tables."""
    made = tmp_path_factory.mktemp('heatlite')
    (made / 'heatlite.conf').write_text(f'[DEFAULT]\nauth_encryption_key = {"k" * 32}\n[database]\n'
                                        f'connection = sqlite:///{made}/heatlite.sqlite\n')
    assert run(made, 'db_sync')[0] == 0
    return made


def run(folder, *arguments):
    """(exit code, standard output, standard error)"""
    done = subprocess.run([sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file',
                           str(folder / 'heatlite.conf'), *map(str, arguments)], cwd=ROOT, text=True, check=False,
                          capture_output=True, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def heat(tmp_path):
    made = Heat(f'sqlite:///{tmp_path}/heat.sqlite')
    configure(tmp_path)
    yield made
    made.close()


def configure(folder, key=KEY, more=''):
    (folder / 'heat.conf').write_text(f'[DEFAULT]\nauth_encryption_key = {key}\n{more}\n[database]\n'
                                      f'connection = sqlite:///{folder}/heat.sqlite\n')


def test_a_report(folder, heat, tmp_path):
    heat.word('s1')
    heat.stack('s2', action='NONSENSE')
    configure(tmp_path, more='stack_user_domain_name = heat\nregion_name_for_shared_services = Shared\n'
              'shared_services_types = image')
    code, said, _progress = run(folder, 'import-heat', '--heat-config', tmp_path / 'heat.conf', '--dry-run')
    assert code == 1
    rows = [line.split() for line in said.splitlines()]
    assert [values[:2] for values in rows if values[:1] in (
        ['stack_user_domain_name'], ['region_name_for_shared_services'], ['shared_services_types'])] == [
            ['stack_user_domain_name', 'heat'], ['region_name_for_shared_services', 'Shared'],
            ['shared_services_types', 'image']]
    assert 'taken over                          1' in said
    assert 'its state NONSENSE, COMPLETE is unknown' in said
    code, said, _progress = run(folder, 'import-heat', '--heat-config', tmp_path / 'heat.conf')
    assert (code, 'taken over' in said) == (1, True)
    heat.change(schema.stack, 's2', action='CREATE', owner_id='gone', parent_resource_name='r')
    code, said, _progress = run(folder, 'import-heat', '--heat-config', tmp_path / 'heat.conf')
    assert (code, 'the stack that it is nested in is gone' in said) == (0, True)
    heat.remove(schema.stack, id='s2')
    code, said, _progress = run(folder, 'import-heat', '--heat-config', tmp_path / 'heat.conf')
    assert (code, 'unchanged' in said) == (0, True)
    heat.stack('s3', template=heat.template({'heat_template_version': '2018-08-31', 'resources': {
        'it': {'type': 'OS::Senlin::Cluster'}}}))
    heat.resource('s3', 'it', {})
    code, said, _progress = run(folder, 'import-heat', '--heat-config', tmp_path / 'heat.conf', '--dry-run')
    assert (code, '1 objects of a type that heatlite does not manage' in said) == (0, True)


def last_line(error):
    return error.strip().splitlines()[-1]


def test_what_cannot_be_read_is_one_line(folder, heat, tmp_path):
    heat.word('s1')
    code, _said, error = run(folder, 'import-heat', '--heat-config', tmp_path / 'nothing.conf')
    assert (code, 'nothing.conf, cannot be read' in last_line(error)) == (1, True)
    configure(tmp_path, key='x' * 32)
    code, _said, error = run(folder, 'import-heat', '--heat-config', tmp_path / 'heat.conf')
    assert (code, 'Traceback' in error) == (1, False)
    assert 'auth_encryption_key' in last_line(error)
    configure(tmp_path)
    schema.stack_tag.drop(heat.engine)
    code, _said, error = run(folder, 'import-heat', '--heat-config', tmp_path / 'heat.conf')
    assert (code, 'does not have the table stack_tag' in last_line(error)) == (1, True)
    (tmp_path / 'heat.conf').write_text('[DEFAULT]\n')
    code, _said, error = run(folder, 'import-heat', '--heat-config', tmp_path / 'heat.conf')
    assert (code, 'does not set [database] connection' in last_line(error)) == (1, True)
