"""Patterns of users: the same meaning whichever module matches them, and a bound of time for all of them."""

import contextlib
import gc
import random
import re
import time

import pytest

from heatlite.common import exception
from heatlite.common.limits import MOST_PATTERN, Limits
from heatlite.language import budget, constraints, patterns
from heatlite.language.patterns import Pattern

# What users write, and what the two modules read differently when they are handed the same text.
WRITTEN = (
    r'[a-z]+', r'^[A-Za-z][A-Za-z0-9-]*$', r'(\d{1,3})\.(\d+)', r'(?i)ABC', r'\s+', r'[^\s]+', r'\S+', r'[\S]',
    r'[^\W_]+', r'[\W]', r'\w+', r'\W', r'[\w.-]+@[\w.-]+', r'\bb\b', r'\Ba', r'\Aa.*\Z', r'a$', r'(?m)^b$',
    r'(?s)a.b', r'a.b', r'(?x) a b # c', r'(a)|(b)', r'(?P<n>a)(?P=n)', r'(a)?(?(1)b|c)', r'(?:a|b)*?c', r'a{2}',
    r'a{,2}', r'a{2,}', r'a{e}', r'a{i<=1}', r'(?:abc){e<=1}', r'[[:alpha:]]', r'[[a]', r'[a&&b]', r'[a||b]',
    r'[a~~b]', r'[]a]', r'[^]a]', r'\.', r'[\]\-]', r'\x61', r'\u00e9', r'\N{LATIN SMALL LETTER E WITH ACUTE}',
    r'(?=a)a', r'(?!a).', r'(?<=a)b', r'(?<!a)b', r'a*+b', r'(?>a*)b', r'a++', r'(?i:A)b', r'(?-i:a)',
    r'(?i)(?-i:a)B', r'(?a)\w+', r'(?a:\w)\w', r'(?a)\s', r'', r'x*', r'(?:)', r'(a*)*', r'(a|b)*', r'(?i)[a-c]',
    r'(?i)straße', r'[\d\D]', r'[^\d\s]', r'(?i)é', r'\t', r'\n', r'\0', r'(?i)[^A]', r'.', r'\\', r'$', r'^',
    r'(?:a(b)?)+', r'~', r'a|', r'|a', r'(?i)\u0130', r'\s', r'\d')
TEXTS = (
    '', 'a', 'b', 'ab', 'aab', 'abc', 'ABC', 'a b', 'a\nb\n', 'b\n', '\x1c', 'a\x1fb', '\u0301e', 'é', 'É', 'ß',
    'a{e}', 'a{i<=1}', 'abx', '[:alp]', 'a&b', 'a-b', '10.1', 'x@y.z', 'aaaa', '²', '٣', '_', 'Ⅷ', '\u200d', 'İ',
    'a.b', 'caab c')


def spans(pattern, text):
    return [(found.span(), found.groups(), [found.span(number) for number in range(len(found.groups()) + 1)])
            for found in pattern.finditer(text)]


@pytest.mark.parametrize('written', WRITTEN)
@pytest.mark.filterwarnings('ignore::FutureWarning')
def test_both_modules_read_a_pattern_alike(written):
    quick, slow = re.compile(written), patterns._slow(written, 0)
    for text in TEXTS:
        assert spans(slow, text) == spans(quick, text), text
        found, expected = slow.match(text), quick.match(text)
        assert (found and found.span()) == (expected and expected.span()), text


def written_by_chance(rng, depth=0):
    kind = rng.randrange(9 if depth < 4 else 4)
    if kind < 2:
        return rng.choice(['a', 'b', r'\.', '.', 'ab', 'é', ' '])
    if kind == 2:
        return rng.choice([r'\w', r'\s', r'\S', '[ab]', '[^a]', r'[^\s]', r'[\W]', r'\b', '^', '$', r'\d'])
    if kind == 3:
        return rng.choice(['a?', 'b*', 'a+', 'a{1,2}', '.*?', 'b+?', '[ab]{2}'])
    inner = written_by_chance(rng, depth + 1)
    return {4: f'({inner})', 5: f'(?:{inner}){rng.choice(["*", "?", "+", "{1,2}", "*?"])}',
            6: f'(?:{inner}|{written_by_chance(rng, depth + 1)})', 7: inner + written_by_chance(rng, depth + 1),
            8: f'(?{rng.choice("=!")}{inner})'}[kind]


@pytest.mark.parametrize('first', range(0, 1500, 500))
def test_both_modules_read_any_pattern_alike(first):
    for seed in range(first, first + 500):
        rng = random.Random(seed)
        written = written_by_chance(rng)
        quick, slow = re.compile(written), patterns._slow(written, 0)
        for _time in range(5):
            text = ''.join(rng.choice('ab é.\n') for _place in range(rng.randrange(8)))
            assert [found.span() for found in slow.finditer(text)] == [
                found.span() for found in quick.finditer(text)], (seed, written, text)


@pytest.mark.parametrize('written', ['(', 'a**', '[', '(?P<n', r'\g', '(?<=a*)b', '*', '(?z)a', 'a{2,1}', '(' * 2000])
def test_what_is_no_pattern_is_refused(written):
    with pytest.raises(exception.InvalidSchemaError, match='not a regular expression'):
        constraints.AllowedPattern(written)


def test_a_pattern_has_a_length():
    constraints.AllowedPattern('a' * MOST_PATTERN)
    with pytest.raises(exception.InvalidSchemaError, match='more than 5000 characters'):
        constraints.AllowedPattern('a' * (MOST_PATTERN + 1))


LONG = 'a' * 100_000
BOMBS = {
    '^a*a*a*a*a*a*b$': LONG, '(a+)+$': LONG + 'b', '(a|aa)+$': LONG + 'b', '(a|a)*b': LONG, '(.*)*x': LONG,
    'a*[bc]': LONG, '(a*)*[bc]': LONG, r'(a*)(a*)\1[bc]': LONG, r'(?:(a*)\1)*[bc]': LONG, '(){100000000}': '',
    '(?:a{0,1000}){0,1000}[bc]': LONG, '(?:a{1000}){1000}': LONG, '(?:(?:a{100}){100}){100}': LONG,
    '(?i)(a|A|b)*[cd]': LONG,
    '(?:a?){20000}[bc]': LONG, '(?=(?:a|a)*[bc])x': LONG, '(?>(?:a|a)*)*[bc]': LONG, '(x+x+)+y': 'x' * 100_000,
    '(?i)' + '[a-z\\W\u0100-\uffff]' * 300: LONG,
    '|'.join(f'a{number}' for number in range(900)): LONG,
    '[ab]?' * 900 + 'c': LONG, '(a?){65535}b': LONG, '(?:(?:(?:a*)*)*)*b': LONG, '.*.*.*=.*': LONG,
    r'^(([a-z])+.)+[A-Z]([a-z])+$': LONG, '(?:a|b|ab)*?c': 'ab' * 50_000, '(a*?)*?[bc]': LONG,
    '(?:(a)|a)*(?(1)b|c)': LONG,
    '(?s:.)*?(?s:.)*?(?s:.)*?[bc]': LONG, r'\b\w*\b\w*\b[.]': LONG, '((a{0,5}){0,5}){0,5}[bc]': LONG}
WAYS = {'match': lambda pattern, text: pattern.match(text), 'search': lambda pattern, text: pattern.search(text),
        'all': lambda pattern, text: len(pattern.all(text)),
        'split': lambda pattern, text: sum(1 for _piece in pattern.split(text)),
        'replaced': lambda pattern, text: sum(1 for _piece in pattern.replaced(text, lambda found: 'b'))}


@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('written', BOMBS, ids=lambda written: written[:24])
def test_no_pattern_is_given_long(written, way):
    """One use is charged with no more than the time-outs of one match: all that `regex` is given."""
    for text in (BOMBS[written], BOMBS[written][:patterns.LONGEST], BOMBS[written][:patterns.LONGEST_LAZY]):
        with budget.own(budget.Budget(Limits(max_matching_time=sum(patterns.TRIES)))), contextlib.suppress(ValueError):
            WAYS[way](Pattern(written), text)


@pytest.mark.thorough
@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('written', BOMBS, ids=lambda written: written[:24])
def test_no_pattern_takes_long(written, way):
    """What `regex` makes of its time-outs, and whether a pattern that is given to `re` as cheap is so, can only be
    measured. CPU time with a factor for the machine: the bound of
    one match is 45 ms. Without the collector of garbage, whose time depends on the tests before."""
    for text in (BOMBS[written], BOMBS[written][:patterns.LONGEST], BOMBS[written][:patterns.LONGEST_LAZY]):
        gc.disable()
        began = time.process_time()
        with contextlib.suppress(ValueError, exception.RequestLimitExceeded):
            WAYS[way](Pattern(written), text)
        took = time.process_time() - began
        gc.enable()
        assert took < 0.4


def test_the_patterns_of_one_evaluation_share_their_time():
    pattern, done = Pattern('(a|aa)+$'), 0
    with (budget.own(budget.Budget(Limits(max_matching_time=200))),
          pytest.raises(exception.RequestLimitExceeded, match='max_matching_time')):
        for _time in range(100):
            with pytest.raises(ValueError, match='took longer'):
                pattern.match('a' * 1000 + 'b')
            done += 1
    assert done == 5     # of 39 milliseconds each


def test_cheap_patterns_take_no_time_of_the_evaluation():
    with budget.own(budget.Budget(Limits(max_matching_time=1))):
        for _time in range(1000):
            assert patterns.match_end('[a-z]([a-z0-9-]*[a-z0-9])?', 'some-name-0') == 11
