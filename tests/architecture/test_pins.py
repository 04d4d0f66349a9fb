"""constraints.txt can be installed: no pin is outside of what setup.cfg or an installed distribution requires.

Needs no network: requirements of distributions are read from their installed metadata, so that of those which are not
installed here nothing is known.
"""

import configparser
import importlib.metadata

from packaging.requirements import Requirement

from tests.architecture import source
from tests.architecture.test_requirements import normal

ROOT_NAME = 'heatlite'


def pins():
    """{distribution: version}"""
    found = {}
    for line in (source.ROOT / 'constraints.txt').read_text().splitlines():
        if line.strip() and not line.startswith('#'):
            wanted = Requirement(line)
            (version,) = (each.version for each in wanted.specifier)
            found[normal(wanted.name)] = version
    return found


def own():
    """All requirements of setup.cfg: those of the service, and those of each extra."""
    setup = configparser.ConfigParser()
    setup.read(source.ROOT / 'setup.cfg')
    for text in (setup['options']['install_requires'], *setup['options.extras_require'].values()):
        for line in text.strip().splitlines():
            if line.strip() and not line.startswith('#'):
                yield Requirement(line)


def conflicts(pinned):
    """[(who requires, what, the pin that it excludes)], for setup.cfg and all that its requirements lead to."""
    found, seen, waiting = [], set(), [(ROOT_NAME, wanted) for wanted in own()]
    while waiting:
        who, wanted = waiting.pop()
        name = normal(wanted.name)
        version = pinned.get(name)
        if version is not None and not wanted.specifier.contains(version, prereleases=True):
            found.append((who, str(wanted), version))
        for extra in (*sorted(wanted.extras), ''):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                required = importlib.metadata.requires(name) or ()
            except importlib.metadata.PackageNotFoundError:
                continue
            for each in map(Requirement, required):
                if each.marker is None or each.marker.evaluate({'extra': extra}):
                    waiting.append((name, each))
    return sorted(found)


def test_every_pin_is_allowed_by_all_who_require_it():
    assert conflicts(pins()) == []


def test_a_pin_that_a_client_library_excludes_is_found():
    found = conflicts({**pins(), 'python-dateutil': '4.0.0'})
    assert any(who == 'botocore' for who, _wanted, _pin in found), found
