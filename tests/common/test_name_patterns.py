"""Patterns of names match as those of the standard library, at a cost in proportion to their length."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heatlite.common import name_patterns, turns
from heatlite.language import registry
from tests.steps import is_linear

SIGNS = st.sampled_from('**??[]!^-abc\\&|~\n.é')
PATTERNS = st.text(SIGNS, max_size=12) | st.lists(
    st.text(SIGNS, max_size=5).map('[{}]'.format) | SIGNS, max_size=4).map(''.join)


@given(PATTERNS, st.text(st.sampled_from('abc[]!^-\\&|~*?\n.é'), max_size=8))
@example('[!b-a]', 'x')
@example('[b-a]', 'x')
@example('[]-a]', '^')
@example('[a--b]', '-')
@example('[a-cb-a]', 'b')
@example('[!]a]', ']')
@example('[^a]', '^')
@example('[a', '[a')
@settings(max_examples=500, deadline=None)
def test_patterns_match_as_those_of_the_standard_library(pattern, name):
    assert name_patterns.matches(pattern, name) == fnmatch.fnmatchcase(name, pattern)


@given(st.text(st.sampled_from('**ab'), max_size=12), st.text(st.sampled_from('ab'), max_size=12))
def test_stars_alone_match_as_those_of_the_standard_library(pattern, name):
    assert name_patterns.matches_stars(pattern, name) == fnmatch.fnmatchcase(name, pattern)


@pytest.mark.parametrize('pattern', ['a?', '[a]', '[', 'a\\'])
def test_other_signs_are_themselves_beside_stars(pattern):
    assert name_patterns.matches_stars(pattern, pattern) and name_patterns.matches_stars('*' + pattern, 'x' + pattern)
    assert not name_patterns.matches_stars(pattern, 'ab')


@pytest.mark.parametrize('unit', ['a', '*a', '*a?', '*[ab]', '[', '[a-', '?*', '[!a-c]*b'])
def test_the_cost_is_in_proportion_to_the_lengths(unit):
    for match in (name_patterns.matches, name_patterns.matches_stars):
        assert is_linear(lambda size: match(unit * size, 'a' * 255), 2000)        # noqa: B023
        assert is_linear(lambda size: match(unit * 100 + 'b', 'a' * size), 2000)  # noqa: B023


def entries(size: int) -> dict[str, object]:
    return {'resources': {f'*{number}' + '*a' * 650: {'hooks': 'pre-create'} for number in range(size)},
            'drift': {f'*{number}' + '*a' * 650: 'report' for number in range(size)}}


def test_patterns_of_a_registry_are_not_compiled(monkeypatch):
    monkeypatch.setattr(fnmatch, '_compile_pattern', None)
    assert registry.words_of({'resources': {'a*': {'hooks': 'pre-create'}}}, 'ab', 'hooks') == ['pre-create']
    assert registry.drift_policy({'drift': {'OS::*': 'ignore'}}, 'ab', 'OS::Heat::None') == 'ignore'


@pytest.mark.parametrize('ask', [
    lambda of: registry.words_of(of, 'name', 'hooks'), lambda of: registry.drift_policy(of, 'name', 'OS::Heat::None')])
def test_patterns_of_a_registry_spend_turns_by_their_length(ask, monkeypatch):
    assert is_linear(lambda size: ask(entries(size)), 20)
    taken, large = [], entries(300)
    monkeypatch.setattr(turns, '_turn', lambda *owners: taken.append(owners))
    ask(large)
    assert len(taken) >= 300 * 1300 // name_patterns.CHARACTERS_A_STEP // turns.EVERY // 2
