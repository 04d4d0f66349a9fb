"""The page that leads authors to a first type shows the checks that there are."""

import re
from pathlib import Path

from heatlite.testing import kit

PAGE = Path(__file__).parents[2] / 'docs/authors/ten-minutes.rst'


def test_the_page_shows_all_checks():
    table = PAGE.read_text().partition('1 loading ')[2].partition('type  ')[0]
    shown = re.findall(r'(?<!\S)(\d+) ([a-z][a-z-]*(?: [a-z-]+)*)(?=\s{2}|\n)', f'1 loading {table}')
    assert [(int(number), name) for number, name in shown] == list(enumerate(kit.CHECKS, 1))
