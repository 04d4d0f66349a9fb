"""The contracts in pyproject.toml say which package may import which. Here they hold, and a violation is found."""

import shutil
import subprocess
import sys

import pytest

from tests.architecture import source

# (file, import that a contract forbids, what the report names)
FORBIDDEN = [
    ('heatlite/planning/walk.py', 'import heatlite.db.stacks', 'heatlite.planning.walk -> heatlite.db.stacks'),
    ('heatlite/engine/durability/journal.py', 'from heatlite.engine.requests import stacks',
     'heatlite.engine.durability.journal -> heatlite.engine.requests.stacks'),
    ('cloudsim/store.py', 'from heatlite.engine import service', 'cloudsim.store -> heatlite.engine.service'),
    ('heatlite/db/stacks.py', 'import greenlet', 'heatlite.db.stacks -> greenlet'),
]


def lint(folder):
    return subprocess.run([sys.executable, '-c', 'from importlinter.cli import lint_imports_command as run; run()',
                           '--no-cache', '--no-logo'], cwd=folder, env={'COLUMNS': '200', 'PYTHONPATH': str(folder)},
                          capture_output=True, text=True)


def test_imports_keep_to_the_contracts():
    done = lint(source.ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope='module')
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp('copy')
    shutil.copy(source.ROOT / 'pyproject.toml', folder)
    for package in ('cloudsim', 'heatlite'):
        shutil.copytree(source.ROOT / package, folder / package, ignore=shutil.ignore_patterns('__pycache__'))
    return folder


@pytest.mark.parametrize('path, line, named', FORBIDDEN)
def test_a_forbidden_import_is_named(copy, path, line, named):
    kept = (copy / path).read_text()
    (copy / path).write_text(f'{kept}\n{line}\n')
    done = lint(copy)
    (copy / path).write_text(kept)
    assert done.returncode == 1
    assert named in done.stdout
