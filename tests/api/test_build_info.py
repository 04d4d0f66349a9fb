"""The build writes the revision of the source where it is known, and the API shows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile

import pytest

from heatlite.common import build, release
from tests.api import in_process
from tests.architecture.source import ROOT

PLACE = os.path.join('heatlite', 'common', build.FILE)
CONFIG = '[metadata]\nname = heatlite\nversion = 1.0\n[options]\npackages = heatlite.common\n'
IDENTITY = ('-c', 'user.name=a', '-c', 'user.email=a@example.org')


@pytest.fixture
def project(tmp_path):
    """A small project with the setup.py of this one."""
    folder = tmp_path / 'project'
    (folder / 'heatlite' / 'common').mkdir(parents=True)
    (folder / 'heatlite' / 'common' / '__init__.py').touch()
    (folder / 'setup.cfg').write_text(CONFIG)
    (folder / 'MANIFEST.in').write_text('graft heatlite\n')
    shutil.copy(ROOT / 'setup.py', folder)
    return folder


def run(folder, *command, **environment):
    known = {name: value for name, value in os.environ.items() if name != 'HEATLITE_REVISION'}
    return subprocess.run([sys.executable, 'setup.py', '-q', *map(str, command)], cwd=folder, check=True, timeout=120,
                          env={**known, **environment}, capture_output=True)


def built(folder, target, **environment):
    """What the built package says of its revision."""
    run(folder, 'build_py', '--build-lib', target, **environment)
    return build.source_revision(target / 'heatlite' / 'common')


def git(folder, *command):
    return subprocess.run(['git', *IDENTITY, *command], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_build_that_knows_no_revision(project, tmp_path):
    assert built(project, tmp_path / 'out') == ''
    assert not (tmp_path / 'out' / PLACE).exists()


def test_a_revision_that_the_packager_sets(project, tmp_path):
    assert built(project, tmp_path / 'out', HEATLITE_REVISION='4.2-debian1') == '4.2-debian1'


def test_the_revision_of_a_checkout_reaches_the_wheel_by_the_source_distribution(project, tmp_path):
    git(project, 'init', '-q')
    git(project, 'add', '.')
    git(project, 'commit', '-q', '-m', 'all')
    revision = git(project, 'rev-parse', '--short=12', 'HEAD').strip()
    assert built(project, tmp_path / 'out') == revision
    run(project, 'sdist', '--dist-dir', tmp_path)
    with tarfile.open(tmp_path / 'heatlite-1.0.tar.gz') as archive:
        archive.extractall(tmp_path, filter='data')
    assert built(tmp_path / 'heatlite-1.0', tmp_path / 'again') == revision
    assert git(project, 'status', '--short', '--', PLACE) == ''         # nothing is written into the checkout


@pytest.mark.parametrize('known, shown', [('', release.version()), ('abc\n', f'{release.version()}+abc')])
def test_what_is_shown(known, shown, tmp_path):
    if known:
        (tmp_path / build.FILE).write_text(known)
    assert build.revision(tmp_path) == shown


@pytest.mark.parametrize('option, shown', [(None, build.revision()), ('queens-7', 'queens-7')])
def test_build_info(option, shown, database):
    app = in_process.build(in_process.options(**({'revision__heat_revision': option} if option else {})), database,
                           in_process.NoEngine())
    found = in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/build_info').json
    assert found == {'api': {'revision': shown}, 'engine': {'revision': shown}}
