"""What functions and checks take from the budget of an evaluation: it must grow as their cost does.

No test measures time. Each counts steps, turns or operations, or gives a value that could never be computed.
"""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import exception
from heatlite.common.limits import Limits
from heatlite.language import budget as budgets
from heatlite.language import constraints
from heatlite.language.functions import key_search, query_bounds
from tests.counted_texts import CountedText
from tests.language.test_functions import value_of


def steps_of(expression):
    """The steps that the evaluation of an expression takes from its budget."""
    with budgets.own(budgets.Budget(Limits())) as budget:
        value_of(expression)
        return Limits().max_evaluation_steps - budget.steps


def yaql(expression, data=None):
    return query_bounds.evaluate(query_bounds.parsed(expression, 200, 10_000), data, 50_000)


# --- yaql -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize('quote', ['"', "'", '`'])
def test_a_quote_without_its_partner_is_read_once(quote):
    tokens = query_bounds.TOKEN.findall(quote + f'\\{quote}' * 4990)
    assert len(tokens) == 1


@pytest.mark.parametrize('expression', [
    '"' + '\\"' * 4990, '"\\\n' * 3000, '1' * 9000 + 'a', 'a1' * 4000, '$' * 5000, '`\\' * 4000, '1.' * 4000,
    '"a\\" \'b\\\' `c` $1a 1.5 x'])
def test_every_character_of_an_expression_is_in_one_token(expression):
    """The tokens are consecutive, and no alternative is tried that does not end in one: the work is linear."""
    end = 0
    for token in query_bounds.TOKEN.finditer(expression):
        assert not expression[end:token.start()].strip()
        end = token.end()
    assert not expression[end:].strip()


@pytest.mark.parametrize('expression, place', [
    ('1' * 9000 + 'a', 0), ('1' * 4000 + '.' + '2' * 4000 + '_', 4001), ('$.x + 1y', 6)])
def test_a_number_that_goes_on_as_a_word_does_not_reach_the_lexer(expression, place, monkeypatch):
    """Its lexer tries all ways to divide the digits: seconds for thousands of them."""
    monkeypatch.setattr(query_bounds, 'engine', None)
    with pytest.raises(query_bounds.exceptions.YaqlLexicalException, match=f'position {place}$'):
        query_bounds.parsed(expression, 200, 10_000)


@pytest.mark.parametrize('expression', [
    "'1a'", "$.select($ + '2b').len() and $1c = null", '"a\\"1b" + `3c`', '1.5 + 2.0'])
def test_what_only_looks_like_a_wrong_number_is_read(expression):
    assert query_bounds.parsed(expression, 200, 10_000)


@pytest.mark.parametrize('base, exponent, modulus', [(4299, 4299, 4299), (10, 4299, 1300), (600, 600, 4299)])
def test_a_power_with_a_modulus_is_refused_before_it_is_computed(base, exponent, modulus, monkeypatch):
    yaql('1')                           # loads the library, which has this function too
    monkeypatch.setattr(query_bounds.arithmetic, 'pow_', None)
    data = dict(zip('abc', (10 ** base - 1, 10 ** exponent - 1, 10 ** modulus - 1), strict=True))
    with pytest.raises(ValueError, match='bits takes too long'):
        yaql('pow($.a, $.b, $.c)', data)


@pytest.mark.parametrize('expression, value', [
    ('pow(3, 200, 7)', 2), ('pow($.x, 65537, $.y)', pow(3 ** 1200, 65537, 7 ** 700)), ('pow(2.0, 3)', 8.0),
    ('round(5, -1000000000000000)', 0), ('round(15, -1)', 20), ('round(12.52, 1)', 12.5), ('round(12)', 12),
    ('[1, 2] * 2', [1, 2, 1, 2]), ('2 * [1]', [1, 1]), ('[1] * -1', []), ('[] * 1000000000000', []),
    ('range(1000).len()', 1000), ('len(range(5))', 5), ('{a => 1}.len() + [1].len() + len(abc)', 5)])
def test_bounded_arithmetic_gives_what_yaql_gives(expression, value):
    assert yaql(expression, {'x': 3 ** 1200, 'y': 7 ** 700}) == value


@pytest.mark.parametrize('expression', ['[1, 2] * 1000000000000', '1000000000000 * [1, 2]'])
def test_a_repeated_sequence_is_refused_before_it_is_made(expression):
    with pytest.raises(query_bounds.exceptions.MemoryQuotaExceededException):
        yaql(expression)


@pytest.mark.parametrize('expression', [
    'sequence().len()', '1.repeat().len()', '[1].cycle().len()', 'range(0, 1000000000000000).len()'])
def test_counting_an_endless_iterator_ends_with_the_budget(expression):
    with pytest.raises(exception.RequestLimitExceeded, match='max_evaluation_steps'):
        yaql(expression)


# --- repeat ---------------------------------------------------------------------------------------------------

def repeated(template, **names):
    return {'repeat': {'template': template, 'for_each': names}}


def test_repeat_takes_steps_for_the_text_that_has_grown():
    """The first name makes a text of 200 000 characters, in which the others are looked for."""
    names = {f'aaaab{number}': ['z'] for number in range(50)}
    assert steps_of(repeated('X' * 200, X=['a' * 1000], **names)) >= 50 * 200_000 // 1000
    assert steps_of(repeated('X' * 200, X=['a'], **names)) < 100


def test_repeat_takes_steps_for_long_names_in_a_short_text():
    """Which are compared character by character."""
    assert steps_of(repeated('a' * 2400, **{'a' * 600 + 'b' + 'a' * 600: ['z']})) >= 2400 * 1200 // 3 // 1000


def test_repeat_stops_with_the_budget():
    names = {f'aaaab{number}': ['z'] for number in range(2000)}
    with pytest.raises(exception.RequestLimitExceeded, match='max_evaluation_steps'):
        value_of(repeated('X' * 2000, X=['a' * 1000], **names))


def test_repeat_takes_steps_for_copies_that_hold_no_text():
    copies = {'a': ['x'] * 100, 'b': ['x'] * 100}
    assert steps_of(repeated(1, **copies)) >= 10_000
    assert steps_of(repeated([1] * 16, **copies)) >= 40_000


# --- str_replace, make_url ------------------------------------------------------------------------------------

@pytest.mark.parametrize('text, params', [
    ('a' * 400_000, {'a' * 2450 + 'b': 'x', 'c' * 2400: 'y'}), ('ab' * 200_000, {'ab' * 24 + 'c': 'x'})],
    ids=['long keys', 'many places'])
def test_one_pattern_does_not_search_for_long_keys_in_a_long_text(text, params):
    keys = sorted(params, key=len, reverse=True)
    assert key_search.compared(text, keys) > key_search.QUICK > key_search.compared(text[:1000], keys)
    steps = steps_of({'str_replace': {'template': text, 'params': params}})
    assert steps >= text.count('a') // 2


@pytest.mark.parametrize('text, params, made', [
    ('$a-$b-' * 5000, {'$a': 'x', '$b': 'y', '$' * 900: 'z'}, 'x-y-' * 5000),
    ('aab' * 50_000, {'aa': 'x', 'a' * 6000: 'y', 'b': ''}, 'x' * 50_000),
    ('a' * 12_001, {'a' * 6000: 'y'}, 'yya')], ids=['few places', 'many', 'long key'])
def test_both_searches_find_the_same(text, params, made):
    assert value_of({'str_replace': {'template': text, 'params': params}}) == made


def test_a_text_in_which_keys_hardly_begin_takes_few_steps():
    params = {f'$name_{number}$': 'x' for number in range(20)}
    assert steps_of({'str_replace': {'template': 'some text $name_1$ ' * 1000, 'params': params}}) < 5_000


@pytest.mark.parametrize('value', [
    {'k' * 50_000: 1}, [10 ** 4000] * 12, ['\x01' * 10_000], {'a': {'b': {'k' * 50_000: 1}}}],
    ids=['keys', 'numbers', 'escapes', 'inner keys'])
def test_values_written_as_json_take_their_whole_size(value):
    with pytest.raises(exception.RequestLimitExceeded, match='max_evaluation_result'):
        value_of({'str_replace': {'template': '', 'params': {f'k{number}': value for number in range(200)}}})


def test_numbers_as_values_take_their_size():
    with pytest.raises(exception.RequestLimitExceeded, match='max_evaluation_result'):
        value_of({'str_replace': {'template': '', 'params': {f'k{number}': 10 ** 4200 for number in range(2100)}}})


def test_the_keys_of_a_query_take_their_size():
    url = {'make_url': {'host': 'h', 'query': {'k' * 100_000: 1}}}
    with pytest.raises(exception.RequestLimitExceeded, match='max_evaluation_result'):
        value_of([url] * 40)


# --- values as members of sets --------------------------------------------------------------------------------

PRIME = 2 ** 61 - 1                     # the hash of an integer is its remainder


@pytest.mark.parametrize('values', [
    [number * PRIME + 7 for number in range(50)], [float(2 ** (61 * number)) for number in range(16)],
    [[-1 - (number >> bit & 1) for bit in range(6)] for number in range(64)],
    [{'a': -1 - (number >> 1), 'b': -1 - (number & 1)} for number in range(4)],
    [[number * PRIME] for number in range(50)]], ids=['integers', 'floats', 'lists', 'maps', 'single'])
def test_users_cannot_choose_hashes(values):
    assert len({hash(budgets.frozen(value)) for value in values}) == len(values)


def plain_data():
    leaves = (st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([10 ** 30, 2 ** 70, -2 ** 70])
              | st.sampled_from([-0.0, 0.0, 1.0, 0.5, -1.0, 1e30, 2.0 ** 70, 1e-05]) | st.sampled_from(
                  ['', '1', '-1', 'map', 'list', 'null', '0.5', 'None']))
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['', '1', 'a', 'map']), inner, max_size=2), max_leaves=5)


@given(plain_data(), plain_data())
def test_frozen_values_are_equal_as_their_values_are(one, other):
    assert (budgets.frozen(one) == budgets.frozen(other)) == (one == other)
    assert budgets.frozen(one) == budgets.frozen(copy.deepcopy(one))


def test_keys_that_were_replaced_are_texts():
    """As JSON would make them: a map whose keys are numbers of one hash takes the square of their number."""
    names = {f'k{number}': number * PRIME + 7 for number in range(3)}
    assert list(value_of({'map_replace': [dict.fromkeys(names, 1), {'keys': names}]})) == [
        str(number) for number in names.values()]
    assert value_of({'map_replace': [{'a': 1}, {'keys': {'a': True}}]}) == {'true': 1}


# --- allowed values -------------------------------------------------------------------------------------------

def test_a_list_is_not_compared_with_each_allowed_value():
    allowed = constraints.AllowedValues([f'v{number}' for number in range(500)])
    CountedText.compared = 0
    with budgets.own(budgets.Budget(Limits())) as budget:
        assert allowed.is_valid([CountedText('v499')] * 500, None)
        assert budget.steps <= Limits().max_evaluation_steps - 1000
    assert CountedText.compared <= 2000


def test_a_value_takes_steps_for_the_allowed_values():
    allowed = constraints.AllowedValues(range(16_000))
    with budgets.own(budgets.Budget(Limits(max_evaluation_steps=1500))):
        assert allowed.is_valid(15_999, None)
        with pytest.raises(exception.RequestLimitExceeded, match='allowed_values'):
            allowed.is_valid(1, None)


@given(st.lists(plain_data(), max_size=4), st.lists(plain_data(), max_size=4))
def test_allowed_values_are_equal_as_values_are(values, allowed):
    long = constraints.AllowedValues(allowed + ['filler'] * constraints.FEW_COMPARISONS)
    assert long.is_valid(values, None) == all(value in allowed for value in values)


def test_allowed_values_of_plug_ins_may_be_no_plain_data():
    allowed = constraints.AllowedValues([{'a'}, *range(constraints.FEW_COMPARISONS)])
    assert allowed.is_valid([{'a'}, 1.0], None)
    assert not allowed.is_valid([{'b'}], None)


def test_a_reason_lists_few_of_many_allowed_values():
    allowed = constraints.AllowedValues(range(100_000))
    assert len(allowed.reason(-1)) < 2 * constraints.MOST_LISTED
    assert constraints.AllowedValues([1, 'a']).reason(2) == '2 is not an allowed value [1, "a"]'


def test_words_as_keys_in_long_texts_take_few_steps():
    """Ordinary user data: 64 kB, 30 keys that are words. One pattern finds them, and many resources may do so."""
    text = 'server_name hostname port password user mount device #!/bin/sh echo setting\n' * 850
    keys = {f'{word}_{number}': 'value' for number in range(3) for word in (
        'server', 'host', 'port', 'password', 'user', 'mount', 'device', 'shell', 'echo', 'setting')}
    assert steps_of({'str_replace': {'template': text, 'params': keys}}) < 10_000
