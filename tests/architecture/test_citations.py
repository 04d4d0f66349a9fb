"""What comments and docstrings cite exists: pages, sections of pages, files. Citations by number do not come back."""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest

from tests.architecture import source

FOLDERS = ('heatlite', 'cloudsim', 'tests', 'contrib', 'tools')
FOR_READERS = ('docs', 'README.rst', 'CONTRIBUTING.rst')    # numbers of versions and of checks are allowed there
# Paths in pages that no checkout has: made by `make docs`, of the key manager, of Heat.
ELSEWHERE = {'docs/_build/html', 'docs/users/api-reference.rst', 'docs/users/types', 'heatlite/key',
             'contrib/heat_gnocchi'}
PAGES = source.ROOT / 'docs/spec'
SELF = 'tests/architecture/test_citations.py'       # its examples are wrong on purpose

QUOTED = r'"([^"]+)"'
CITATION = re.compile(rf'(?P<page>docs/[\w/.-]+\.rst), (?P<sections>{QUOTED}(?:(?:,| and|, and) {QUOTED})*)')
# A path from the root of the repository; `*` stands for any part of a name.
PATH = re.compile(r'(?<![\w/.$%~{<>-])(?:docs|heatlite|cloudsim|tests|contrib|tools)/[\w./*-]*[\w*](?![\w{<])')
RETIRED = re.compile('|'.join([
    r'\bspec(?:ification)?s?,? (?:section )?§? ?\d',        # engine specification 3.4
    r'\bspecifications?, section\b',
    r'\b(?:engine|REST|templates?|plug-ins?|plugins?|cfn|design),? (?:§ ?)?\d+\.\d+\b',
    r'\b(?:design|specification), section \d',
    r'\bsections? \d+(?:\.\d+)*\b',
    r'§',
    r'(?<!\w)\(\d+\.\d+(?:(?:,| and) \d+\.\d+)*\)',      # (4.3)
    r'\bchecks? \d+(?:\.\d+)?\b(?! (?:seconds|minutes|times))',
    r'^-+ \d+(?:, \d+)* -+$',                               # --- 9, 10 ---
    r'\b[\w-]+\.md\b']), re.MULTILINE)


class Text(NamedTuple):
    """A comment or a docstring, in one line, without the marks of comments."""

    path: str
    line: int
    text: str
    is_prose: bool = True               # False: another string of the program


# --- the rules ----------------------------------------------------------------------------------------------------

def missing_sections(text: str) -> list[str]:
    """Pages and sections that `text` cites and that do not exist."""
    missing = []
    for cited in CITATION.finditer(text):
        page = source.ROOT / cited['page']
        if not page.is_file():
            missing.append(cited['page'])
            continue
        known = set(titles(page.read_text()))
        missing += [f'{cited["page"]}, "{name}"' for name in re.findall(QUOTED, cited['sections']) if name not in known]
    return missing


def missing_paths(text: str) -> list[str]:
    """Paths in `text` at which there is neither a file nor a folder."""
    return [path for path in PATH.findall(text) if not any(source.ROOT.glob(path.rstrip('.')))]


def titles(page: str) -> list[str]:
    """The titles of a page: lines with an underline as long as themselves."""
    lines = page.splitlines()
    return [line for line, under in itertools.pairwise(lines)
            if re.fullmatch(r'([=~^-])\1*', under) and len(under) == len(line) and line[:1].strip()]


# --- what is searched ---------------------------------------------------------------------------------------------

# A comment, or a string with its quotes. A regular expression, as the tokenizer takes half a minute for all files.
TOKEN = re.compile(r'''(?P<comment>\#[^\n]*)|(?P<string>(?P<quotes>"""|\'{3})(?P<long>(?:\\.|[^\\])*?)(?P=quotes)
                       |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')''', re.DOTALL | re.VERBOSE)


@functools.cache
def texts() -> list[Text]:
    found: list[Text] = []
    for path in source.tracked():
        if path.parts[0] not in FOLDERS + FOR_READERS or str(path) == SELF:
            continue
        try:
            content = (source.ROOT / path).read_text()
        except UnicodeDecodeError:
            continue
        found += of_file(str(path), content)
    return found


def of_file(path: str, content: str) -> Iterator[Text]:
    if path.endswith('.py') or content.startswith('#!/usr/bin/env python'):
        yield from of_python(path, content)
    elif path.endswith('.rst'):
        yield Text(path, 1, joined(content))
    else:
        yield from of_comments(path, ((number, line.partition('#')[2] if line.lstrip().startswith('#')
                                       else line.partition(' # ')[2])
                                      for number, line in enumerate(content.splitlines(), 1)))


def of_python(path: str, content: str) -> Iterator[Text]:
    """Docstrings are strings in three quotes at the beginning of a line."""
    comments, number, counted = [], 1, 0
    for token in TOKEN.finditer(content):
        number += content.count('\n', counted, token.start())
        counted = token.start()
        if token['comment']:
            comments.append((number, token['comment'].lstrip('#')))
        else:
            before = content[content.rfind('\n', 0, token.start()) + 1:token.start()]
            is_docstring = token['long'] is not None and not before.strip()
            yield Text(path, number, joined(token['long'] or token['string'][1:-1]), is_docstring)
    yield from of_comments(path, comments)


def of_comments(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[Text]:
    """Comments in lines one after the other are one text."""
    block: list[str] = []
    last = first = 0
    for number, comment in [*lines, (-1, '')]:
        if block and (number != last + 1 or not comment.strip()):
            yield Text(path, first, joined(' '.join(block)))
            block = []
        if comment.strip():
            first = first if block else number
            block.append(comment)
        last = number


def joined(text: str) -> str:
    return ' '.join(text.split())


def where(each: Text, wrong: str) -> str:
    return f'{each.path}:{each.line}: {wrong}'


# --- the tests of the repository ----------------------------------------------------------------------------------

def test_cited_pages_and_sections_exist():
    assert [where(each, wrong) for each in texts() for wrong in missing_sections(each.text)] == []
    assert sum(len(CITATION.findall(each.text)) for each in texts()) > 40


def test_named_files_exist():
    assert [where(each, wrong) for each in texts() if each.is_prose for wrong in missing_paths(each.text)
            if wrong not in ELSEWHERE] == []
    assert sum(len(PATH.findall(each.text)) for each in texts() if each.is_prose) > 100


def test_nothing_is_cited_by_number():
    assert [where(each, found.group()) for each in texts() if each.is_prose and each.path.startswith(FOLDERS)
            for found in RETIRED.finditer(each.text)] == []


@pytest.mark.parametrize('page', sorted(PAGES.glob('*.rst')), ids=lambda page: page.stem)
def test_sections_of_the_pages_have_labels_and_names_of_their_own(page):
    text = page.read_text()
    sections = titles(text)
    assert len(set(sections)) == len(sections)
    assert sections[:1]
    for name in sections:
        label = re.search(rf'^\.\. _(?P<label>[a-z-]+):\n\n{re.escape(name)}\n[=~^-]+$', text, re.MULTILINE)
        assert label, f'{page.name}, "{name}" has no label in words before it'


# --- the tests of the rules ---------------------------------------------------------------------------------------

@pytest.mark.parametrize('text, missing', [
    ('docs/spec/engine.rst, "Retries"', []),
    ('see docs/spec/engine.rst, "Retries" and "Signed URLs".', []),
    ('(docs/spec/engine.rst, "Retries", "Signed URLs" and "Cooldown").', []),
    ('docs/spec/engine.rst, "Signed URLs"; docs/spec/rest.rst, "Answers"', []),
    ('docs/spec/engine.rst, "Retry"', ['docs/spec/engine.rst, "Retry"']),
    ('docs/spec/engine.rst, "Retries" and "Tries"', ['docs/spec/engine.rst, "Tries"']),
    ('docs/spec/engine.rst, "Retries", "A", and "B"', ['docs/spec/engine.rst, "A"', 'docs/spec/engine.rst, "B"']),
    ('docs/spec/engine.rst, "retries"', ['docs/spec/engine.rst, "retries"']),
    ('docs/spec/motor.rst, "Retries"', ['docs/spec/motor.rst']),
    ('docs/developers/leases.rst, "Nothing"', ['docs/developers/leases.rst, "Nothing"']),
])
def test_the_rule_for_sections(text, missing):
    assert missing_sections(text) == missing


@pytest.mark.parametrize('text, missing', [
    ('`tests/architecture/source.py`', []),
    ('see docs/spec/engine.rst.', []),
    ('the folder heatlite/engine/, or tests/gabbi/*.yaml', []),
    ('https://example.net/docs/nothing.html, /usr/share/docs/nothing, contrib/{name}/x', []),
    ('`tests/architecture/sauce.py`', ['tests/architecture/sauce.py']),
    ('docs/spec/motor.rst.', ['docs/spec/motor.rst']),
    ('(heatlite/motor/*.py)', ['heatlite/motor/*.py']),
])
def test_the_rule_for_files(text, missing):
    assert missing_paths(text) == missing


@pytest.mark.parametrize('text', [
    'in this order (engine specification 3.4)', 'engine spec 7.4, 7.5', 'REST specification 8.3', 'REST 6.20',
    'template specification, 2.3', 'plug-in specification 14', 'the plug-in specification, section 3',
    'see section 4.2', '(design, section 6)', 'sync points (4.3)', 'as said above (4.3, 4.4)', 'at check 5',
    '--- 9, 10 ---', 'at the top of templates.md', 'see §3'])
def test_retired_forms_are_found(text):
    assert RETIRED.search(text)


@pytest.mark.parametrize('text', [
    'OpenAPI 3.1', 'from microversion 2.89 on', 'extra specs of 2 types', 'with Python 3.11 (3.11 or newer)',
    'docs/spec/engine.rst, "Retries"', 'a check 3 times a day', 'checks 2 seconds later', 'sections with 3 lines'])
def test_other_numbers_are_allowed(text):
    assert not RETIRED.search(text)


@pytest.mark.parametrize('path, content, found', [
    ('a.py', '# one (engine\n# specification 3.4)\n\nx = 1  # two\n', ['one (engine specification 3.4)', 'two']),
    ('a.py', "x = '# no comment'\n", ['# no comment']),
    ('a.py', 'def f():\n    """One\n    two."""\n', ['One two.']),
    ('a.yaml', '# one\n#  two\nkey: value # three\nother: "#four"\n', ['one two three']),
    ('a.rst', 'One\n===\ntwo\n', ['One === two']),
])
def test_what_is_searched(path, content, found):
    assert [each.text for each in of_file(path, content)] == found
