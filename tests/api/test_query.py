"""What query keys and body fields accept, and the words of the refusals."""

import pytest

from heatlite.api import query, schemas
from heatlite.common import exception, limits


@pytest.mark.parametrize('text, value', [
    ('true', True), ('TRUE', True), ('False', False), (True, True), (False, False)])
def test_booleans(text, value):
    assert query.boolean('converge', text) is value


@pytest.mark.parametrize('text', ['1', 'yes', '', 1, None, 'tru', ' true'])
def test_what_is_no_boolean_is_named(text):
    with pytest.raises(exception.HTTPBadRequest) as refused:
        query.boolean('converge', text)
    assert str(refused.value) == f'Unrecognized value "{text}" for "converge", acceptable values are: true, false.'


@pytest.mark.parametrize('text, value', [('0', 0), ('7', 7), (7, 7), (0, 0), ('2147483647', 2147483647)])
def test_natural_numbers(text, value):
    assert query.natural('limit', text) == value


@pytest.mark.parametrize('text, words', [
    ('x', "Only integer is acceptable by 'limit'."),
    ('', "Only integer is acceptable by 'limit'."),
    ('01', "Only integer is acceptable by 'limit'."),
    ('+1', "Only integer is acceptable by 'limit'."),
    (' 1', "Only integer is acceptable by 'limit'."),
    ('1\n', "Only integer is acceptable by 'limit'."),
    ('٣', "Only integer is acceptable by 'limit'."),
    (True, "Only integer is acceptable by 'limit'."),
    (1.5, "Only integer is acceptable by 'limit'."),
    ('-1', "Value '-1' is invalid for 'limit' which only accepts non-negative integer."),
    (-1, "Value '-1' is invalid for 'limit' which only accepts non-negative integer."),
    ('2147483648', "Value '2147483648' is too large for 'limit', which is at most 2147483647."),
    ('9' * 5000, f"Value '{'9' * 40}' is too large for 'limit', which is at most 2147483647."),
])
def test_what_is_no_natural_number_is_named(text, words):
    with pytest.raises(exception.HTTPBadRequest) as refused:
        query.natural('limit', text)
    assert str(refused.value) == words


@pytest.mark.parametrize('given, found', [
    ('a,b', ('a', 'b')), ('', ()), (['a', 'b'], ('a', 'b')), ([], ()), ('a,a', ('a',)), ('a, b', ('a', ' b')),
    ('a,a  ,b ', ('a', 'b'))])
def test_tags(given, found):
    assert query.tags(given) == found


@pytest.mark.parametrize('given', ['x' * 81, 5, {'a': 1}, ['a,b'], [1]])
def test_what_are_no_tags(given):
    with pytest.raises(exception.HTTPBadRequest):
        query.tags(given)


def test_a_long_tag_is_quoted():
    with pytest.raises(exception.HTTPBadRequest, match=f'Invalid tag, "{"x" * 81}" is longer than 80 characters'):
        query.tags('x' * 81)


@pytest.mark.parametrize('given', [
    [str(number) for number in range(limits.MOST_TAGS + 1)], ','.join(map(str, range(limits.MOST_TAGS + 1)))])
def test_a_stack_has_a_bounded_number_of_tags(given):
    with pytest.raises(exception.HTTPBadRequest, match='"tags" has 201 tags, more than the 200 that a stack may have.'):
        query.tags(given)
    assert len(query.tags([str(number) for number in range(limits.MOST_TAGS)])) == limits.MOST_TAGS


def test_the_last_value_of_a_key_counts():
    assert query.Query({'limit': ['5', '6']}).natural('limit') == 6


@pytest.mark.parametrize('columns, split', [
    ({}, {}),
    ({'status': ('COMPLETE',)}, {'status': ('COMPLETE',)}),
    ({'status': ('CREATE_COMPLETE',)}, {'status': ('COMPLETE',), 'action': ('CREATE',)}),
    ({'status': ('CREATE_COMPLETE', 'DELETE_FAILED')},
     {'status': ('COMPLETE', 'FAILED'), 'action': ('CREATE', 'DELETE')}),
    ({'status': ('CREATE_IN_PROGRESS',), 'action': ('UPDATE',)},
     {'status': ('IN_PROGRESS',), 'action': ('UPDATE', 'CREATE')}),
    ({'status': ('nonsense',)}, {'status': ()}),
    ({'status': ('complete',)}, {'status': ()}),
])
def test_joined_states_are_split(columns, split):
    assert schemas.split_states(columns) == split


def parsed(**values):
    return schemas.ListStacks.parse(query.Query({key: value if isinstance(value, list) else [value]
                                                 for key, value in values.items()}))


def test_unknown_keys_and_empty_values_are_ignored():
    assert parsed(sort_key='created_at', limit='', marker='', show_deleted='', tags='') == schemas.ListStacks()


def test_sort_keys_are_columns_and_unknown_ones_dropped():
    assert parsed(sort_keys=['stack_name', 'nonsense', 'creation_time', 'stack_name,id']).sort_keys == (
        'name', 'created_at')


def test_filters_are_columns():
    wanted = parsed(stack_name=['a', 'b'], name='c', disable_rollback='true', timeout_mins=['5', 'x'], tenant='p')
    assert wanted.filters == {'name': ('c', 'a', 'b'), 'disable_rollback': (True,), 'timeout_mins': (5,),
                              'project_id': ('p',)}


@pytest.mark.parametrize('digits', [11, 5000])
def test_a_number_with_too_many_digits_is_refused(digits):
    with pytest.raises(exception.HTTPBadRequest, match='is too large for .timeout_mins., which is at most 2147483647'):
        parsed(timeout_mins='9' * digits)


def test_a_wrong_direction_is_refused_with_words():
    with pytest.raises(exception.HTTPBadRequest, match='sort_dir'):
        parsed(sort_dir='bad')


def test_resources_refuse_unknown_keys():
    with pytest.raises(exception.HTTPBadRequest) as refused:
        schemas.ListResources.parse(query.Query({'limit': ['1']}), deepest=5)
    assert str(refused.value) == "Invalid filter parameters ['limit']"


def test_depth_is_capped():
    assert schemas.ListResources.parse(query.Query({'nested_depth': ['50']}), deepest=5).nested_depth == 5
    assert schemas.ListEvents.parse(query.Query({'nested_depth': ['50']}), deepest=5).nested_depth == 5


@pytest.mark.parametrize('kind', [schemas.ListResources, schemas.ListEvents])
@pytest.mark.parametrize('depth', ['2147483648', '99999999999999', '9' * 5000])
def test_a_depth_beyond_any_number_is_the_deepest(kind, depth):
    assert kind.parse(query.Query({'nested_depth': [depth]}), deepest=5).nested_depth == 5


@pytest.mark.parametrize('depth', ['-99999999999999', '099999999999999', '9x'])
def test_a_depth_that_is_no_number_is_refused(depth):
    with pytest.raises(exception.HTTPBadRequest, match='nested_depth'):
        schemas.ListResources.parse(query.Query({'nested_depth': [depth]}), deepest=5)
