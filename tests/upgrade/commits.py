"""Older commits of this repository as folders, from which programs of them are started with the same libraries."""

from __future__ import annotations

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

from tests.system.processes import ROOT

# The last commits that need these revisions of the schema.
FORMER = 'adc3e6e6fc3d55b2cdb2fc207092a50bc3e7d776'         # 0015
# What its last maintenance release has mended: a late preemption ended a newer update of a nested stack.
MENDS = {FORMER: Path(__file__).with_name('former.patch')}
EARLIER = '28a4c0ef1ef599e03e3e4431b52c760fcd709c44'        # 0013: the release before it is skipped


def is_here(commit: str) -> bool:
    """A shallow clone, or an export, has no older commits."""
    return subprocess.run(['git', 'cat-file', '-e', f'{commit}^{{commit}}'], cwd=ROOT, capture_output=True
                          ).returncode == 0


def extract(commit: str, folder: Path) -> Path:
    """Writes the packages of a commit into a new folder, which it returns, with what was mended in them later."""
    found = subprocess.run(['git', 'archive', commit, 'heatlite', 'etc'], cwd=ROOT, check=True, capture_output=True)
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=BytesIO(found.stdout)) as archive:
        archive.extractall(folder, filter='data')
    if commit in MENDS:
        subprocess.run(['git', 'apply', MENDS[commit]], cwd=folder, check=True)
    return folder
