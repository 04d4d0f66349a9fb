"""What was built: the version of the package and, where the build knew it, the revision of its source."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

from heatlite.common import release

FILE = 'revision.txt'                   # beside this module; written by setup.py, absent in a checkout


def revision(folder: Traversable | None = None) -> str:
    """`VERSION`, or `VERSION+REVISION` of an installation whose build knew the revision. `folder`: as
    `source_revision`."""
    found = source_revision(folder)
    return f'{release.version()}+{found}' if found else release.version()


def source_revision(folder: Traversable | None = None) -> str:
    """Return the revision of the source, or ''. `folder`: that of this module unless said."""
    try:
        return (folder or resources.files(__package__)).joinpath(FILE).read_text(encoding='ascii').strip()
    except (OSError, UnicodeDecodeError):
        return ''
