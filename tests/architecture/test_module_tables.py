"""docs/developers/architecture.rst names each module of `engine.reconcile` and `engine.requests` once."""

import re
from collections import Counter

import pytest

from tests.architecture import source

PAGE = (source.ROOT / 'docs/developers/architecture.rst').read_text()
ROW = re.compile(r'^([a-z_]+) +\S.*$', re.MULTILINE)
TABLE = re.compile(r'^=+ =+\n(.*?)^=+ =+$', re.MULTILINE | re.DOTALL)


def named(package):
    """The first words of the rows of the tables in the section of a package."""
    title = f'Modules of {package}'
    section = re.search(rf'^{title}\n-+\n(.*?)(?=^[^\n]+\n-+\n)', PAGE, re.MULTILINE | re.DOTALL)
    assert section, f'the page has no section "{title}"'
    return Counter(name for rows in TABLE.findall(section[1]) for name in ROW.findall(rows))


def present(package):
    names = {path.stem for path in (source.ROOT / 'heatlite/engine' / package).glob('*.py')} - {'__init__'}
    assert len(names) > 40
    return Counter(names)


@pytest.mark.parametrize('package', ['reconcile', 'requests'])
def test_each_module_is_named_once(package):
    assert present(package) - named(package) == Counter(), 'add a row for these modules'
    assert named(package) - present(package) == Counter(), 'these are named twice, or do not exist'
