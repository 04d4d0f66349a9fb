"""Custom constraints without a service: a cost in proportion to the value, and messages of bounded length."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from heatlite.common import turns
from heatlite.language import custom_constraints
from heatlite.language.constraints import MOST_SHOWN, CustomConstraint
from tests.steps import is_linear

BUILTIN = custom_constraints.builtin(lambda: datetime(2030, 1, 1, tzinfo=UTC), ZoneInfo)
UNITS = ('1', '1,', '1 ', 'a.', 'a/', '../', '1:', ':', '0-', 'é', '[', '"', '{"a":', '-a', '*', '\n', '9e')
LONG = 400_000
LONGEST_MESSAGE = 5 * MOST_SHOWN


def answer(name: str, value: object) -> str:
    """The error of a constraint; empty without one."""
    try:
        CustomConstraint(name).validate(value, lookup=lambda name: BUILTIN[name]())
    except ValueError as error:
        return str(error)
    return ''


@pytest.mark.parametrize('unit', UNITS)
@pytest.mark.parametrize('name', BUILTIN)
def test_long_texts_get_short_answers(name, unit):
    assert len(answer(name, unit * (LONG // len(unit)))) <= LONGEST_MESSAGE


@pytest.mark.parametrize('unit', UNITS)
@pytest.mark.parametrize('name', BUILTIN)
def test_the_cost_is_in_proportion_to_the_text(name, unit):
    assert is_linear(lambda size: answer(name, unit * size), 2000)


@pytest.mark.parametrize('name, text', [
    ('cron_expression', '1,' * 5000 + '1 * * * *'), ('cron_expression', '* ' * 4 + '1,' * 5000 + '1'),
    ('timezone', 'a/' * 5000), ('timezone', 'a.' * 5000)])
def test_long_expressions_are_refused_by_their_length(name, text):
    assert 'more than 255 characters' in answer(name, text)


@pytest.mark.parametrize('name', BUILTIN)
def test_lists_cost_their_items_and_spend_turns(name, monkeypatch):
    assert is_linear(lambda size: answer(name, [f'1{number}' for number in range(size)]), 1000)
    taken = []
    monkeypatch.setattr(turns, '_turn', lambda *owners: taken.append(owners))
    if not answer(name, [''] * 10_000):                     # valid: all items are looked at
        assert len(taken) >= 10_000 // turns.EVERY


def test_a_message_is_built_for_what_is_wrong_only():
    assert answer('cron_expression', '1,2,3 0 1 jan mon') == ''
    assert '[1,99 * * * *] is not acceptable: 99 for minute' in answer('cron_expression', '1,99 * * * *')


@pytest.mark.parametrize('text', ['2031-01-01T00:00:00Z', ' 2031-01-01T00:00:00Z\n', ''])
def test_blanks_around_an_expiration_are_ignored(text):
    assert answer('expiration', text) == ''


@pytest.mark.parametrize('text, is_valid', [
    ('10.0.0.0/24', True), ('10.0.0.5/24', True), ('2001:db8::/32', True), ('10.0.0.0/255.255.255.0', False),
    ('10.0.0.0/024', False), ('10.0.0.0', False), ('2001:db8::', False), ('10.0.0.0/', False)])
def test_a_network_has_the_length_of_its_prefix(text, is_valid):
    assert (answer('net_cidr', text) == '') == is_valid
    assert (answer('ip_or_cidr', text) == '') == (is_valid or '/' not in text)
