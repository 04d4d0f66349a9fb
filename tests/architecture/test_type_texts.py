"""Every property, inner property, part of an update policy and attribute of every type has a text for its users."""

from __future__ import annotations

import collections
import re

import pytest

from heatlite.engine.resources import packed
from heatlite.engine.resources.catalogue import texts

LONGEST = 330                               # characters: two sentences, or three short ones
SHORTEST = 2                                # words
LEAST = 1925                                # texts, of 204 types; more when types or properties are added


def described():
    return [(name, member, body['description']) for name in packed.names()
            for member, body in texts.members(packed.facts(name)) if 'description' in body]


@pytest.mark.parametrize('name', sorted(packed.names()))
def test_nothing_is_without_a_text(name):
    assert texts.missing(packed.facts(name)) == []


def test_there_are_as_many_as_before():
    assert len(described()) >= LEAST


def test_a_text_says_more_than_the_name():
    found = []
    for name, (section, path), text in described():
        said = re.sub(r'\W+', ' ', re.sub(r'^(The|A|An) ', '', text)).strip().lower()
        if said == path.rpartition('.')[2].replace('_', ' ').lower() and section != 'attributes':
            found.append(f'{name} {path}: {text}')
    assert found == []


def test_texts_are_sentences_of_a_fair_length():
    assert [(name, path, text) for name, (_section, path), text in described()
            if not (text[0].isupper() or not text[0].isalpha()) or '  ' in text or '\n' in text
            or len(text) > LONGEST or len(text.split()) < SHORTEST] == []


def test_what_is_refused_says_so():
    """A property that is not implemented has no effect to describe."""
    assert [(name, path, body['description']) for name in packed.names()
            for (_section, path), body in texts.members(packed.facts(name))
            if not body.get('implemented', True) and 'refused' not in body['description']] == []


def test_one_sentence_is_not_written_for_many_types():
    """What many types share stands in an entry for all of them, or in a word."""
    written = collections.Counter(
        text for path in texts.FOLDER.glob('*.yaml') for entry in texts.entries(path) for text in entry.texts.values())
    assert [(text, times) for text, times in written.items() if times > 4 and len(text) > 40] == []
