"""Matching a text of a user, a guest or a service takes work that grows with its length, not with the square of it.

`re` neither gives way to other green threads nor can it be interrupted: one text of 50 KB ended an engine.
"""

import re
import sys

import pytest

from tests.architecture import regular_expressions

# Patterns whose work may grow faster: they are applied to short texts, or to those of operators or of heatlite only.
EXCEPTIONS = {
    'heatlite.api.audit_calls._PARAMETER': 'paths of the table of routes',
    'heatlite.api.openapi._PARAMETER': 'paths of the table of routes',
    'heatlite.cmd.doctor.database._GRANT': 'what the database answers to SHOW GRANTS',
    'heatlite.common.settings._ASSIGNMENT': 'lines of configuration files',
    'heatlite.editing.cursor.BEFORE': 'LONGEST_WORD characters',
}
# Modules that make one pattern where it is used.
MAKERS = {
    'heatlite.api.aws.signature': 'of a name of ours; nothing follows its repetition',
    'heatlite.api.cloudwatch.shapes': 'of a shape: they are examined one by one',
    'heatlite.authoring.running': "the author's own, on the author's machine",
    'heatlite.cmd.doctor.database': 'of a grant of the database, for the name of the database',
    'heatlite.language.diagnostics': 'of an escaped name of bounded length',
    'heatlite.language.hiding': 'of an escaped short text',
    'heatlite.testing.changes': 'of a number',
}


@pytest.fixture(scope='module')
def uses():
    before = sys.getrecursionlimit()            # a library that is imported raises it
    yield regular_expressions.uses()
    sys.setrecursionlimit(before)


def test_the_work_of_matching_is_proportional_to_the_text(uses):
    assert [found for use in uses.found if use.place not in EXCEPTIONS and (found := use.worst())] == []


def test_the_exceptions_are_needed(uses):
    places = {use.place: use for use in uses.found}
    assert [name for name in EXCEPTIONS if name not in places or places[name].worst() is None] == []


def test_patterns_that_are_made_when_they_are_used_are_known(uses):
    assert sorted(uses.makers) == sorted(MAKERS)


@pytest.mark.parametrize('pattern, method', [
    (r'type:[&!]\S+\s', 'findall'), (r'Maximum number of .* exceeded', 'search'), (r'\s+$', 'search'),
    (r'(a+)+b', 'match'), (r'(a|aa)*b', 'match'), (r'[0-9]+\.?[0-9]*', 'fullmatch'), (r'<[^>]*>', 'sub'),
    (r'\w{0,1000}x', 'search'), (r'(?:a*?b?)*c', 'match'), (r'(?i)stack .*(?=end)', 'search')])
def test_a_pattern_that_takes_more(pattern, method):
    assert regular_expressions.Matcher(pattern).worst(method) is not None


@pytest.mark.parametrize('pattern, method', [
    (r'type:[&!]\S{1,200}\s', 'findall'), (r'\w+', 'findall'), (r'"[^"]*"', 'findall'), (r'\s+$', 'match'),
    (r'(?>a+)b', 'match'), (r'a++b', 'match'), (r'(?:[^"\\]|\\.)*"', 'match'), (r'(a)(b)\2\1', 'search'),
    (r'[0-9]+(\.[0-9]*)?', 'fullmatch'), (r'<[^<>]*>', 'sub'), (r'(?<!x)\w{0,100}y', 'search')])
def test_a_pattern_that_does_not(pattern, method):
    assert regular_expressions.Matcher(pattern).worst(method) is None


@pytest.mark.parametrize('pattern', [
    'a|ab', '(?:a|ab)(c|bcd)(d*)', 'a*?b', 'a{2,}b', 'a{0,2}?b', '(?<!a)b+', '(a*)*b', '(?:a?b??)*c', '(a|b)\\1',
    '^a|b$'])
@pytest.mark.parametrize('text', ['', 'abcd', 'aaab', 'bb', 'cabab', 'abcdd'])
def test_the_matcher_finds_what_re_finds(pattern, text):
    matcher = regular_expressions.Matcher(pattern)
    for start in range(len(text) + 1):
        matcher.text, matcher.steps = text, 0
        found = re.compile(pattern).match(text, start)
        assert matcher.run(matcher.program, start) == (found and found.end())
