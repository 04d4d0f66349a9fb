"""Programs print no advice of libraries to developers, and hide nothing else."""

import subprocess
import sys

import pytest

from tests.cmd.test_help import PROGRAMS
from tests.system.options import write
from tests.system.processes import ROOT

PATCHING = ('cloudsim',)            # calls `runtime.patch` before it imports anything


def complaints(folder, *command):
    """Standard error of a Python without options and variables that hide warnings."""
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=300,
                          env={'PATH': '/usr/bin:/bin', 'PYTHONPATH': str(ROOT), 'HOME': str(folder)}).stderr


@pytest.mark.parametrize('program', sorted(set(PROGRAMS) - set(PATCHING)))
def test_a_program_imports_the_library_without_its_advice(program, tmp_path):
    module = PROGRAMS[program].partition(':')[0]
    said = complaints(tmp_path, '-c', f'import {module}, warnings, eventlet; warnings.warn("of a plug-in")')
    assert 'Eventlet' not in said and 'of a plug-in' in said


@pytest.mark.parametrize('command', ['check-config', 'plugins', 'db_sync'])
def test_a_command_prints_what_it_finds_and_nothing_else(command, tmp_path):
    write(tmp_path / 'heatlite.conf', {'DEFAULT': {'auth_encryption_key': 'k' * 32},
                                       'database': {'connection': f'sqlite:///{tmp_path}/heatlite.sqlite'}})
    said = complaints(tmp_path, '-m', 'heatlite.cmd.manage', '--config-file', str(tmp_path / 'heatlite.conf'), command)
    assert 'Eventlet' not in said and 'ERROR' not in said, said
