"""Each whole template in a page for users has no fault."""

import re
import textwrap

import pytest

from heatlite.cmd import lint
from tests.architecture import source

PAGES = source.ROOT / 'docs/users'
BLOCK = re.compile(r'^\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)', re.MULTILINE)
WAITING = PAGES / 'waiting.rst'
WRONG = ('errors', 'lint')                      # pages about faults, which tests of their own compare


def templates_of(page):
    """The blocks of YAML that say which version of the format they have."""
    return [text for block in BLOCK.findall(page.read_text())
            if (text := textwrap.dedent(block)).startswith('heat_template_version:')]


TEMPLATES = [pytest.param(text, id=f'{page.stem}-{number}') for page in sorted(PAGES.glob('*.rst'))
             if page.stem not in WRONG for number, text in enumerate(templates_of(page), 1)]


def test_there_are_templates():
    assert len(templates_of(WAITING)) == 2


@pytest.mark.parametrize('text', TEMPLATES)
def test_a_template_in_a_page_has_no_fault(text, tmp_path, capsys):
    (tmp_path / 'template.yaml').write_text(text)
    assert lint.main([str(tmp_path / 'template.yaml')]) == 0, capsys.readouterr()
