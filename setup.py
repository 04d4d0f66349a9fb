"""Everything is in setup.cfg, but one thing that only a build knows: the revision of the source.

It is HEATLITE_REVISION of the environment, or else what git says of the checkout; the source distribution has it in a
file, from which the wheel gets it. A build that does not know it leaves the file out.
"""

import os
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
FILE = Path('heatlite', 'common', 'revision.txt')


def revision():
    """The revision, or '' if it is not known."""
    if 'HEATLITE_REVISION' in os.environ:
        return os.environ['HEATLITE_REVISION'].strip()
    if not (ROOT / '.git').exists():        # git may know a repository around this folder, which is another one
        written = ROOT / FILE
        return written.read_text(encoding='ascii').strip() if written.exists() else ''
    try:
        return subprocess.run(['git', 'rev-parse', '--short=12', 'HEAD'], cwd=ROOT, capture_output=True, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ''


def write(folder):
    found = revision()
    if found:
        target = Path(folder, FILE)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            target.unlink()                 # it may be a link to a file of the checkout
        target.write_text(f'{found}\n', encoding='ascii')


class BuildWithRevision(build_py):
    def run(self):
        super().run()
        if not getattr(self, 'editable_mode', False):
            write(self.build_lib)


class SourceWithRevision(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        write(base_dir)


setup(cmdclass={'build_py': BuildWithRevision, 'sdist': SourceWithRevision})
