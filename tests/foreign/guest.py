"""The file system of a server, for programs that only know absolute paths: they see `/etc` and `/var` of their own.

Needs no rights: it is a user namespace with mounts of its own (`unshare`), an overlay over /etc, a folder for /var.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.foreign.conftest import run

INSIDE = """
root=$1; shift
mount -t overlay overlay -o lowerdir=/etc,upperdir=$root/etc,workdir=$root/etc.work /etc
mount --bind $root/var /var
exec "$@"
"""


class Guest:
    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ('etc', 'etc.work', 'var/log', 'var/lib', 'var/cache'):
            (root / name).mkdir(parents=True)

    def write(self, path: str, text: str) -> None:
        """Writes the file that programs see at the absolute `path`."""
        file = self.root / path.lstrip('/')
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def read(self, path: str) -> str:
        return (self.root / path.lstrip('/')).read_text()

    def run(self, *command: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        return run('unshare', '--mount', '--map-root-user', 'sh', '-ec', INSIDE, 'sh', self.root, *command, code=code)


def is_possible(root: Path) -> bool:
    """Whether this machine lets us have such namespaces."""
    if not shutil.which('unshare'):
        return False
    try:
        Guest(root).run('true')
    except AssertionError:
        return False
    return True
