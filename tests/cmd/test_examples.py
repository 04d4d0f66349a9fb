"""Every example is without fault, and says what it shows."""

import pytest
import yaml

from heatlite.cmd import lint
from tests.architecture import source

EXAMPLES = sorted((source.ROOT / 'examples').glob('*.yaml'))


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.name)
def test_an_example_has_no_fault(path, capsys):
    assert lint.main([str(path)]) == 0, capsys.readouterr()
    said = yaml.safe_load(path.read_text())
    assert len(said.get('description') or said['Description']) > 20


def test_all_are_listed_for_users():
    listed = (source.ROOT / 'docs' / 'users' / 'index.rst').read_text()
    assert [path.name for path in EXAMPLES if f'examples/{path.name}' not in listed] == []
