"""setup.cfg requires every distribution that heatlite imports from, and no other."""

import configparser
import importlib.metadata
import re
import sys

from packaging.requirements import Requirement

from tests.architecture import source

# Of extras, for those who asked for them.
OPTIONAL = frozenset({'_pytest', 'castellan', 'cel_expr_python', 'cliff', 'heatclient', 'lsprotocol', 'opentelemetry',
                      'osc_lib', 'psycopg2', 'pygls', 'pytest'})
FOR_CHECKERS = frozenset({'_typeshed'})     # comes with type checkers, and is imported by nothing else
OWN = frozenset({source.PACKAGE, 'cloudsim', 'heat'})
BY_NAME = {'pymysql': 'the driver in URLs of databases'}


def normal(name):
    return re.sub(r'[-_.]+', '-', name).lower()


def required():
    setup = configparser.ConfigParser()
    setup.read(source.ROOT / 'setup.cfg')
    return {normal(Requirement(line).name) for line in setup['options']['install_requires'].strip().splitlines()
            if not line.startswith('#')}


def imported():
    """{distribution: an import from it}"""
    owners, found = importlib.metadata.packages_distributions(), {}
    for name, path in {**source.modules(), **source.modules('cloudsim')}.items():
        for each in source.imports(name, path):
            top = each.imported.partition('.')[0]
            if top in sys.stdlib_module_names or top in OWN | OPTIONAL | FOR_CHECKERS:
                continue
            for owner in owners.get(top) or [f'{top}, which nobody installs']:
                found.setdefault(normal(owner), str(each))
    return found


def test_every_import_is_of_something_that_is_required():
    assert {name: where for name, where in imported().items() if name not in required()} == {}


def test_everything_required_is_imported():
    assert required() - imported().keys() - BY_NAME.keys() == set()
