"""Public texts speak of the project: no machine of ours, no tool that wrote them, no host of a package registry."""

import re

from tests.architecture import source

# In two halves, so that this file may stand among those that are searched.
WORDS = [first + second for first, second in [
    ('/wo', 'rk/'), ('/tmp/', r'hl\b'), (r'/ro', 'ot/'), ('/opt/', 'pypi'), ('/opt/', 'wheels'),
    ('cla', r'ude\b'), ('anthro', 'pic'), ('chat', 'gpt'), ('open', r'ai\b'), ('co', r'pilot\b'),
    ('pypi', r'\.org'), ('python', r'hosted\.org')]]
FORBIDDEN = re.compile('|'.join(f'(?:{word})' for word in WORDS), re.IGNORECASE)


def test_the_search_finds_what_it_should():
    assert FORBIDDEN.search('see /wo' 'rk/main')
    assert not FORBIDDEN.search('a network of works, /usr/share')


def test_no_forbidden_words():
    found = []
    for path in source.tracked():
        try:
            lines = (source.ROOT / path).read_text().splitlines()
        except UnicodeDecodeError:
            continue
        found += [f'{path}:{number}: {line.strip()[:100]}' for number, line in enumerate(lines, 1)
                  if FORBIDDEN.search(line)]
    assert found == []
