"""Functions: values for arguments, what is refused and when, and what is not known yet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import exception
from heatlite.common.limits import Limits
from heatlite.language import definition as definitions
from heatlite.language import template, versions
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.expression import PLACEHOLDERS, UNKNOWNS
from heatlite.language.functions.references import select
from heatlite.language.unknown import UNKNOWN, is_known
from tests.language import run_cases

PARAMETERS = {
    'text': {'type': 'string', 'default': 'text'}, 'number': {'type': 'number', 'default': 7},
    'words': {'type': 'comma_delimited_list', 'default': 'a,b,c'},
    'data': {'type': 'json', 'default': {'k': [1, {'m': 'n'}], 'null': None}}}


def stack(value, version='2021-04-16', limits=Limits(), **sections):
    document = {'heat_template_version': version, 'parameters': PARAMETERS,
                'resources': {'r': {'type': 'OS::Heat::None'}}, 'outputs': {'o': {'value': value}}, **sections}
    if version >= versions.NEWTON:
        document.setdefault('conditions', {'true': True, 'false': False})
    return definitions.build(template.from_mapping(document), Environment(), {'f': 'content'},
                             StackIdentity('stack', None, 'project'), limits=limits)


def value_of(value, scope=PLACEHOLDERS, **options):
    return stack(value, **options).outputs['o'].resolve(scope)


@pytest.mark.parametrize('expression, value', [
    ({'get_param': 'text'}, 'text'), ({'get_param': ['data', 'k', 1, 'm']}, 'n'),
    ({'get_param': ['data', 'k', '-1', 'm']}, 'n'), ({'get_param': ['data', 'nope', 'x']}, ''),
    ({'get_param': ['data', 'null']}, None), ({'get_param': ['number', 0]}, ''), ({'get_param': ['text', 1]}, 'e'),
    ({'get_file': 'f'}, 'content'), ({'get_resource': 'r'}, 'r'), ({'get_attr': ['r', 'a', 0]}, None),
    ({'list_join': ['-', ['a', None], '', ['b', {'c': 1}]]}, 'a--b-{"c": 1}'),
    ({'str_replace': {'template': 'aab', 'params': {'a': 'b', 'aa': 'a', 'b': True}}}, 'aTrue'),
    ({'str_split': [',', 'a,b', '-1']}, 'b'), ({'str_split': [',', '']}, ['']), ({'str_split': ['x', None]}, None),
    ({'map_merge': [{'a': 1}, None, {'b': {'get_param': 'number'}}]}, {'a': 1, 'b': 7}),
    ({'map_replace': [{'a': 'b', 'c': 1}, {'keys': {'a': 'z'}, 'values': {'b': None, '1': 2}}]}, {'z': None, 'c': 1}),
    ({'list_concat': [[1], None, {'get_param': 'words'}]}, [1, 'a', 'b', 'c']),
    ({'list_concat_unique': [[1, True, {'a': 1}], [1.0, {'a': 1}, 'b']]}, [1, {'a': 1}, 'b']),
    ({'filter': [[1], [1, '1', True]]}, ['1']), ({'contains': ['b', {'get_param': 'words'}]}, True),
    ({'contains': ['ex', 'text']}, True), ({'digest': ['MD5', 'a']}, '0cc175b9c0f1b6a831c399e269772661'),
    ({'make_url': {'scheme': 'http', 'host': '::1', 'port': '80', 'path': 'a b', 'query': {'q': 'x y'}}},
     'http://[::1]:80/a%20b?q=x+y'),
    ({'yaql': {'expression': '$.data.select($ * 2)', 'data': [1, 2]}}, [2, 4]),
    ({'repeat': {'template': {'%x%': '%x%%y%'}, 'for_each': {'%x%': ['a', 'b'], '%y%': {'1': 2}}}},
     [{'a': 'a1'}, {'b': 'b1'}]),
    ({'repeat': {'template': 'xy', 'for_each': {'x': ['a', 'b'], 'y': ['c', 'd']}, 'permutations': False}},
     ['ac', 'bd']),
    (['a', {'if': ['false', 'b']}, 'c'], ['a', 'c']), ({'k': {'if': [True, {'get_param': 'number'}, 1]}}, {'k': 7}),
    ({'two': 1, 'keys': {'get_param': 'text'}}, {'two': 1, 'keys': 'text'}), ({'get_parm': 'text'},
        {'get_parm': 'text'})])
def test_values(expression, value):
    assert value_of(expression) == value


@pytest.mark.parametrize('expression, text', [
    ({'get_param': 'nope'}, 'The Parameter (nope) was not provided.'),
    ({'get_file': 'nope'}, 'No content found in the "files" section for get_file path: nope'),
    ({'list_join': ['-', [1]]}, 'Items to join must be string, map or list not 1'),
    ({'str_replace_strict': {'template': 'ab', 'params': {'a': 1, 'ab': 2, 'c': 3}}},
     'The following params were not found in the template: a,c'),
    ({'map_replace': [{'a': 1, 'b': 2}, {'keys': {'a': 'b'}}]},
     'key replacement b collides with a key in the input map'),
    ({'yaql': {'expression': '$.data.x', 'data': {}}}, "'x'"),
    ({'yaql': {'expression': 'nope()'}}, 'Unknown function "nope"')])
def test_errors_of_evaluation(expression, text):
    value, error = stack(expression).outputs['o'].evaluated(PLACEHOLDERS)
    assert value is None
    assert text in error


@pytest.mark.parametrize('expression, path, text', [
    ({'list_join': ['-']}, 'outputs.o.value.list_join', 'Incorrect arguments to "list_join"'),
    ([0, {'k': {'filter': [[1]]}}], 'outputs.o.value[1].k.filter', 'expected 2 arguments'),
    ({'if': ['nope', 1, 2]}, 'outputs.o.value.if', 'Invalid condition "nope"'),
    ({'if': [{'get_attr': ['r', 'x']}, 1, 2]}, 'outputs.o.value.if.get_attr', 'invalid in this context')])
def test_errors_of_parsing_have_the_path(expression, path, text):
    with pytest.raises(exception.StackValidationFailed) as caught:
        value_of(expression)
    assert str(caught.value).startswith(f'{path}: ')
    assert text in str(caught.value)


def test_the_branch_not_taken_may_hold_anything():
    assert value_of({'if': ['true', 'a', {'list_join': 5}]}) == 'a'


@pytest.mark.parametrize('function, args', [
    ('list_join', ['-', [{'get_attr': ['r', 'a']}]]), ('str_split', [',', {'get_attr': ['r', 'a']}]),
    ('digest', ['md5', {'get_resource': 'r'}]), ('yaql', {'expression': '$.data.len()', 'data': {'get_attr': ['r']}}),
    ('str_replace', {'template': 'x', 'params': {'x': [{'get_attr': ['r', 'a']}]}}),
    ('repeat', {'template': 'x', 'for_each': {'x': {'get_attr': ['r', 'a']}}}),
    ('map_merge', [{'a': 1}, {'get_attr': ['r', 'a']}]), ('contains', ['a', {'get_attr': ['r', 'a']}])])
def test_what_is_not_known_stays_unknown(function, args):
    assert value_of({function: args}, UNKNOWNS) is UNKNOWN
    assert value_of(['known', {function: args}], UNKNOWNS) == ['known', UNKNOWN]


def test_values_are_not_shared():
    made = stack({'a': {'get_param': 'data'}, 'b': ['x']})
    first = made.outputs['o'].resolve(PLACEHOLDERS)
    first['b'].append('y')
    assert made.outputs['o'].resolve(PLACEHOLDERS)['b'] == ['x']


def test_arguments_are_not_consumed():
    expression = [{'str_split': {'get_param': 'words'}}] * 2
    with pytest.raises(ValueError, match='Incorrect index'):
        value_of(expression)
    assert value_of([{'get_param': 'words'}, {'filter': [['a'], {'get_param': 'words'}]}, {'get_param': 'words'}]) == [
        ['a', 'b', 'c'], ['b', 'c'], ['a', 'b', 'c']]


@pytest.mark.parametrize('expression', [
    {'repeat': {'template': 'abcd', 'for_each': {name: {'get_param': 'long'} for name in 'abcd'}}},
    {'str_replace': {'template': {'get_param': 'wide'}, 'params': {'x': {'get_param': 'wide'}}}},
    {'list_join': [{'get_param': 'wide'}, {'get_param': 'long'}]},
    {'yaql': {'expression': "range(200).select(range(200).select(range(200).len()).sum()).sum()"}}])
def test_nothing_grows_without_bound(expression):
    parameters = {'long': {'type': 'comma_delimited_list', 'default': ['item'] * 1000},
                  'wide': {'type': 'string', 'default': 'x' * 10_000}}
    with pytest.raises(exception.RequestLimitExceeded, match='option '):
        value_of(expression, parameters=parameters, limits=Limits(yaql_calls=1000))


@pytest.mark.parametrize('shared', [{'k' * 40_000: 1}, ['t' * 40_000], ['é' * 10_000], [int('7' * 4000)] * 20])
def test_long_texts_and_keys_count_in_values_of_yaql(shared):
    expression = {'yaql': {'expression': 'let(x => $.data) -> range(100).select($x).toList()', 'data': shared}}
    with pytest.raises(exception.RequestLimitExceeded, match='holds more values'):
        value_of(expression)


@pytest.mark.parametrize('expression, text', [
    ("$.data =~ '^(a|aa)+$'", 'took longer than'), ("regex('^(a|aa)+$').matches($.data)", 'took longer than'),
    ('pow(10, 100000000)', 'more than 10000 bits'), ('shiftBitsLeft(1, 1000000000)', 'more than 10000 bits'),
    ("'a' * 1000000000", 'too much memory')])
def test_yaql_has_bounds_of_its_own(expression, text):
    made = stack({'yaql': {'expression': expression, 'data': 'a' * 4000 + 'b'}})
    _value, error = made.outputs['o'].evaluated(PLACEHOLDERS)
    assert text in error


@pytest.mark.parametrize('expression, value', [
    ("$.data =~ 'a+' and not $.data !~ 'a'", True), ("regex('a(.)').search($.data, $2.value)", 'b'),
    ("$.data.matches('a')", True), ('pow(2, 10) + pow(2, 3, 5) + shiftBitsLeft(1, 3)', 1035),
    ("$.data.replace('b', 'c')", 'ac'), ('[3, 1, 2].orderBy($)', [1, 2, 3]), ('7 / 2', 3), ('$.data.len()', 2)])
def test_yaql_is_otherwise_the_language_of_its_package(expression, value):
    assert value_of({'yaql': {'expression': expression, 'data': 'ab'}}) == value


def test_many_nested_calls():
    expression = 'x'
    for _level in range(1000):
        expression = {'list_join': ['', [expression, 'y']]}
    assert value_of(expression) == 'x' + 'y' * 1000


@pytest.mark.parametrize('version, known, unknown', [
    ('2013-05-23', {'Ref', 'Fn::Join', 'get_param'}, {'repeat', 'if'}),
    ('2014-10-16', {'Fn::Select', 'list_join'}, {'Fn::Join', 'digest'}),
    ('2015-10-15', {'str_split', 'repeat'}, {'Fn::Select', 'map_merge'}),
    ('2016-10-14', {'if', 'yaql', 'map_replace'}, {'filter', 'contains'}),
    ('2021-04-16', {'contains', 'make_url', 'if'}, {'Ref', 'equals'})])
def test_functions_of_versions(version, known, unknown):
    listed = {row['functions'] for row in versions.listed_functions(f'heat_template_version.{version}')}
    assert known <= listed
    assert not unknown & listed


def test_lists_of_versions_and_functions():
    rows = versions.listed()
    assert [row['version'] for row in rows] == sorted(row['version'] for row in rows)
    assert {'version': 'heat_template_version.2018-08-31', 'type': 'hot',
            'aliases': ['heat_template_version.rocky']} in rows
    described = {row['functions']: row['description']
                 for row in versions.listed_functions('heat_template_version.2016-04-08')}
    assert described['get_file'] == 'A function for including a file inline.'
    with_conditions = versions.listed_functions('heat_template_version.newton', True)
    assert [row['functions'] for row in with_conditions][-4:] == ['equals', 'not', 'and', 'or']
    with pytest.raises(exception.NotFound, match='Template with version nope not found'):
        versions.listed_functions('nope')


def test_refused_functions_are_named():
    made = stack({'Ref': 'text'})
    assert 'The function Ref is not supported in this version of HOT' in made.outputs['o'].evaluated(PLACEHOLDERS)[1]


LEAF = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(['', 'a', 'text', 'r', ',', 'words'])
DATA = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
    st.sampled_from(['a', 'b', 'template', 'params', 'for_each', 'data', 'expression', 'host', 'keys']), inner,
    max_size=3), max_leaves=8)
NAMES = st.sampled_from(sorted(versions.named('heat_template_version.wallaby').functions))
CALLS = st.recursive(DATA, lambda inner: st.builds(lambda name, args: {name: args}, NAMES, inner)
                     | st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from('xyz'), inner, max_size=2),
                     max_leaves=6)


@given(CALLS)
def test_whatever_is_written_gives_a_value_or_a_clear_error(expression):
    made = stack(expression)
    for scope in (PLACEHOLDERS, UNKNOWNS):
        try:
            value, error = made.outputs['o'].evaluated(scope)
        except exception.StackValidationFailed:
            return
        assert error is None or isinstance(error, str)
        assert error or scope is UNKNOWNS or is_known(value)


@given(CALLS)
def test_what_is_known_does_not_depend_on_guesses(expression):
    """What comes out without any guess comes out with placeholders too."""
    made = stack(expression)
    try:
        sure, error = made.outputs['o'].evaluated(UNKNOWNS)
    except exception.StackValidationFailed:
        return
    if error is None and is_known(sure):
        assert made.outputs['o'].evaluated(PLACEHOLDERS) == (sure, None)


@given(DATA, st.lists(st.sampled_from(['a', 0, -1, 'keys', '0']), max_size=3))
def test_paths_into_attributes_never_fail(value, path):
    assert select(UNKNOWN, (*path, 'x')) is UNKNOWN
    select(value, tuple(path))


@pytest.mark.parametrize('items, found', [
    (['foo=bar', '.member.0.Name=a', '.member.0.Value='], {'a': ''}),
    (['Foo.member.1.Name=a', 'member.1.Value=v', '.member.x.Name=a'], {}),
    (['.member.1.Name=a', '.member.01.Value=b=c', '.member.1.More.words=d'], {'a': 'b=c'}),
    (['.member.0.Name=a', '.member.00.Value=b'], {'a': 'b'})])
def test_other_items_beside_a_member_list_are_ignored(items, found):
    got = run_cases.OPERATIONS['resolve']({'name': 'm', 'op': 'resolve', 'template': {
        'AWSTemplateFormatVersion': '2010-09-09',
        'Outputs': {'o': {'Value': {'Fn::MemberListToMap': ['Name', 'Value', items]}}}}})
    assert got == {'result': {'o': found}}
