"""Where the keys of a replacement are found: as if one key after the other was replaced, the longest first."""

import itertools
import random

import pytest

from heatlite.language.functions import key_search

CASES, SEED = 3000, 20261129


def one_after_the_other(text, keys):
    """What `places` must find, in the plainest way: each key in what lies between those before it."""
    pieces, found = [(0, text)], []
    for key in keys:
        rest = []
        for start, piece in pieces:
            parts = piece.split(key)
            for part in parts[:-1]:
                rest.append((start, part))
                found.append((start + len(part), key))
                start += len(part) + len(key)
            rest.append((start, parts[-1]))
        pieces = rest
    return sorted(found)


def ordered(words):
    return sorted(set(words), key=lambda key: (-len(key), key))


def found(text, keys):
    return list(key_search.places('str_replace', text, keys))


@pytest.mark.parametrize('text, words, places', [
    ('abcd', ['ab', 'bcd'], [(1, 'bcd')]), ('%b%a%', ['%a%', '%b%'], [(2, '%a%')]),
    ('abcde', ['ab', 'bc', 'cde'], [(0, 'ab'), (2, 'cde')]), ('aaaa', ['aa', 'aab'], [(0, 'aa'), (2, 'aa')]),
    ('xaxbxaxb', ['xax', 'xbx', 'xb'], [(0, 'xax'), (4, 'xax')]), ('', ['a'], []),
    ('€é€', ['é€', '€é'], [(1, 'é€')])])
def test_a_key_that_comes_first_is_found_though_another_begins_before_it(text, words, places):
    keys = ordered(words)
    assert found(text, keys) == places == one_after_the_other(text, keys)


@pytest.mark.parametrize('quick', [key_search.QUICK, 0], ids=['one pattern', 'key by key'])
@pytest.mark.parametrize('letters, longest', [('ab', 4), ('abc', 3), ('%xy', 5)])
def test_the_places_are_those_of_one_key_after_the_other(letters, longest, quick, monkeypatch):
    monkeypatch.setattr(key_search, 'QUICK', quick)
    drawn = random.Random(f'{SEED} {letters}')
    words = [''.join(each) for length in range(1, longest + 1) for each in itertools.product(letters, repeat=length)]
    overlapping = 0
    for _case in range(CASES):
        text = ''.join(drawn.choices(letters, k=drawn.randint(0, 30)))
        keys = ordered(drawn.sample(words, drawn.randint(1, 6)))
        expected = one_after_the_other(text, keys)
        assert found(text, keys) == expected, (text, keys)
        overlapping += bool(set(expected) - set(leftmost(text, keys)))
    assert overlapping > CASES // 100


def leftmost(text, keys):
    """The longest key at each position, from left to right."""
    start, places = 0, []
    while start < len(text):
        key = next((key for key in keys if text.startswith(key, start)), None)
        places += [] if key is None else [(start, key)]
        start += 1 if key is None else len(key)
    return places
