"""A plug-in file that defines no resource type is listed with a hint at why."""

import subprocess
import sys

from tests.system.options import write
from tests.system.processes import ROOT


def test_a_file_without_resource_mapping_has_a_hint(tmp_path):
    folder = tmp_path / 'types'
    folder.mkdir()
    (folder / 'lamp.py').write_text('class Lamp:\n    pass\n')
    write(tmp_path / 'heatlite.conf', {'DEFAULT': {'auth_encryption_key': 'k' * 32, 'plugin_dirs': folder},
                                       'database': {'connection': f'sqlite:///{tmp_path}/x'}})
    command = ['heatlite.cmd.manage', '--config-file', str(tmp_path / 'heatlite.conf'), 'plugins']
    done = subprocess.run([sys.executable, '-m', *command], cwd=ROOT, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert f'note: {folder}/lamp.py defines no resource type: its function resource_mapping is missing' in done.stdout
