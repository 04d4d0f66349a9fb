"""What templates of other tools rely on: flags as texts, empty sections, merged empty lists, keys of queries."""

import pytest

from heatlite.common import exception
from heatlite.language import merging, nested
from heatlite.language.parameter_schema import schema_of
from heatlite.language.versions import of
from tests.language import run_cases
from tests.language.test_functions import value_of

HOT = '2021-04-16'
EDITION = of({'heat_template_version': HOT})


def verdict(template, **more):
    try:
        return run_cases.OPERATIONS['validate']({'name': 'c', 'op': 'validate', 'template': template, **more})
    except exception.HeatException as error:
        return str(error)


@pytest.mark.parametrize('flag, is_set', [
    (True, True), ('true', True), ('yes', True), ('on', True), ('1', True), ('t', True), (1, True), ('certainly', True),
    (False, False), ('false', False), ('No', False), ('off', False), ('0', False), ('', False), (0, False),
    (None, False)])
def test_a_parameter_is_immutable_for_every_word_but_those_that_deny_it(flag, is_set):
    assert schema_of('p', {'type': 'string', 'immutable': flag}, EDITION).immutable is is_set


@pytest.mark.parametrize('wrong, complaint', [
    ({'type': 'comma_delimited_list', 'constraints': [{'allowed_pattern': '[a-z]+'}]}, 'AllowedPattern'),
    ({'type': 'strng'}, 'Invalid type (strng)'), ({'type': 'string', 'labl': 'x'}, 'labl')])
def test_the_value_of_a_parameter_with_a_wrong_definition_is_not_judged(wrong, complaint):
    text = verdict({'heat_template_version': HOT, 'parameters': {'p': wrong}, 'outputs': {'o': {'value': {
        'get_param': 'p'}}}}, params={'p': 'ab'})
    assert complaint in text and 'JSON' not in text


@pytest.mark.parametrize('section', ['parameters', 'resources', 'outputs', 'parameter_groups'])
@pytest.mark.parametrize('empty', [[], {}, '', None], ids=repr)
def test_an_empty_section_is_none(section, empty):
    assert verdict({'heat_template_version': HOT, section: empty}) == {'result': 'valid'}


@pytest.mark.parametrize('section', ['Parameters', 'Resources', 'Outputs', 'Mappings'])
def test_an_empty_section_of_a_cfn_template_is_none(section):
    assert verdict({'AWSTemplateFormatVersion': '2010-09-09', section: []}) == {'result': 'valid'}


@pytest.mark.parametrize('section', ['parameters', 'resources', 'outputs'])
def test_a_section_that_is_not_empty_must_be_a_map(section):
    assert 'must be' in verdict({'heat_template_version': HOT, section: ['x']})


@pytest.mark.parametrize('old, new, merged', [
    ('', 'b', 'b'), ('a', '', 'a'), ('', '', ''), ('a', 'b', 'a,b'), ('', ['b'], ['b']), (['a'], '', ['a']),
    (['a'], 'b', ['a', 'b'])])
def test_an_empty_list_adds_no_item(old, new, merged):
    files = {name: f'parameters: {{l: {value!r}}}\nparameter_merge_strategies: {{l: merge}}'
             for name, value in (('one', old), ('two', new))}
    assert merging.merge_files(['one', 'two'], files, {}, {'l': 'list'})['parameters']['l'] == merged


@pytest.mark.parametrize('keys, made', [
    ('$ > 1', {'false': 1, 'true': 2}), ('null', {'null': 2}), ('$ * 2', {'2': 1, '4': 2}),
    ('str($)', {'1': 1, '2': 2})])
def test_keys_that_a_query_makes_are_those_of_json(keys, made):
    query = {'yaql': {'expression': f'$.data.toDict({keys}, $)', 'data': [1, 2]}}
    assert value_of(query) == made


@pytest.mark.parametrize('items', [[{'a': 1}, 'x'], [{'a': 1}, None]])
def test_a_list_for_a_template_is_of_one_kind(items):
    with pytest.raises(TypeError, match='either maps or texts'):
        nested.list_text(items)
