"""A plug-in file that defines no resource type is listed with a hint at why."""

import subprocess
import sys

from tests.system.options import write
from tests.system.processes import ROOT


def listed(tmp_path, folder):
    """(exit code, output) of `heatlite-manage plugins`."""
    write(tmp_path / 'heatlite.conf', {'DEFAULT': {'auth_encryption_key': 'k' * 32, 'plugin_dirs': folder},
                                       'database': {'connection': f'sqlite:///{tmp_path}/x'}})
    command = ['heatlite.cmd.manage', '--config-file', str(tmp_path / 'heatlite.conf'), 'plugins']
    done = subprocess.run([sys.executable, '-m', *command], cwd=ROOT, capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout


def test_a_file_without_resource_mapping_has_a_hint(tmp_path):
    folder = tmp_path / 'types'
    folder.mkdir()
    (folder / 'lamp.py').write_text('class Lamp:\n    pass\n')
    code, said = listed(tmp_path, folder)
    assert code == 0 and f'note: {folder}/lamp.py defines no resource type: its function resource_mapping' in said


def test_a_folder_that_does_not_exist_is_listed(tmp_path):
    code, said = listed(tmp_path, tmp_path / 'nowhere')
    assert code == 1 and f'{tmp_path}/nowhere' in said and 'there is no such folder' in said


def test_a_folder_that_is_no_package_is_named(tmp_path):
    inner = tmp_path / 'types' / 'lamps'
    inner.mkdir(parents=True)
    (inner / 'lamp.py').write_text('')
    code, said = listed(tmp_path, tmp_path / 'types')
    assert code == 0 and f'note: {inner} is no package (it has no __init__.py)' in said
