"""What heatlite imports a plain install brings along: setup.cfg's requirements, and what those require."""

import configparser
import importlib.metadata
import re
import sys

from packaging.requirements import Requirement

from tests.house import source

CHECKED_FOR = frozenset({'pytest', 'psycopg2'})     # imported only by those who asked for them


def installed(names):
    """Distributions by normal name, with all that they require."""
    found, wanted = set(), list(names)
    while wanted:
        name = normal(wanted.pop())
        if name in found:
            continue
        found.add(name)
        try:
            needs = [Requirement(text) for text in importlib.metadata.requires(name) or ()]
        except importlib.metadata.PackageNotFoundError:
            continue                        # for another platform
        wanted += [need.name for need in needs if need.marker is None or need.marker.evaluate({'extra': ''})]
    return found


def normal(name):
    return re.sub(r'[-_.]+', '-', name).lower()


def required():
    setup = configparser.ConfigParser()
    setup.read(source.ROOT / 'setup.cfg')
    return [Requirement(line).name for line in setup['options']['install_requires'].strip().splitlines()
            if not line.startswith('#')]


def test_every_import_is_of_something_that_is_required():
    brought, owners = installed(required()), importlib.metadata.packages_distributions()
    missing = set()
    for name, path in source.modules().items():
        for each in source.imports(name, path):
            top = each.imported.partition('.')[0]
            if top in sys.stdlib_module_names or top in (source.PACKAGE, 'heat', '__future__') or top in CHECKED_FOR:
                continue
            if not brought & {normal(owner) for owner in owners.get(top, ())}:
                missing.add(str(each))
    assert not missing
