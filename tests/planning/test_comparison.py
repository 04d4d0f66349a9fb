"""The comparison of two definitions names what differs, hides what is hidden, and has bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.language.hiding import HIDDEN_TEXT
from heatlite.planning import comparison, text_diff
from heatlite.planning.comparison import LISTS, ComparedDefinition, compare
from tests import steps


def hot(**sections):
    return {'heat_template_version': '2018-08-31', **sections}


def resource(kind='OS::Heat::Value', **values):
    return {'type': kind, 'properties': values}


def entries(found):
    """(list, name, change) of everything that differs."""
    return [(name, each['name'], each['change']) for name in LISTS for each in found[name]]


def values(found, section, name):
    entry, = [each for each in found[section] if each['name'] == name]
    return [(each['path'], each['before'], each['after']) for each in entry['values']]


BEFORE = ComparedDefinition(
    hot(description='old', parameters={'a': {'type': 'string'}}, conditions={'on': {'equals': [1, 1]}}, resources={
        'same': resource(value=1), 'other': resource(value={'x': [1, 2], 'y': 1}), 'gone': resource('A::B::C')},
        outputs={'o': {'value': 1}}),
    {'parameters': {'a': '1'}, 'resource_registry': {'x': 'y'}}, {'f': 'one\ntwo\n', 'g': 'x'},
    {'a': '1', 'b': '2', 'OS::stack_id': 'i'})
AFTER = ComparedDefinition(
    hot(description='new', parameters={'a': {'type': 'string', 'default': 'd'}}, resources={
        'same': resource(value=1), 'other': resource(value={'x': [1, 3], 'y': 1}), 'new': resource('D::E::F', q=1)},
        outputs={'o': {'value': 2}}),
    {'parameters': {'a': '2'}, 'resource_registry': {'x': 'z'}}, {'f': 'one\n2\n', 'h': 'x'},
    {'a': '2', 'c': '3', 'OS::stack_id': 'j'})


def test_what_differs_is_named():
    found = compare(BEFORE, AFTER)
    assert entries(found) == [
        ('resources', 'other', 'changed'), ('resources', 'gone', 'removed'), ('resources', 'new', 'added'),
        ('parameters', 'a', 'changed'), ('parameters', 'b', 'removed'), ('parameters', 'c', 'added'),
        ('outputs', 'o', 'changed'), ('conditions', 'on', 'removed'), ('parameter_definitions', 'a', 'changed'),
        ('template', 'description', 'changed'), ('environment', 'resource_registry', 'changed'),
        ('files', 'f', 'changed'), ('files', 'g', 'removed'), ('files', 'h', 'added')]
    assert values(found, 'resources', 'other') == [(['properties', 'value', 'x', 1], 2, 3)]
    assert values(found, 'environment', 'resource_registry') == [(['x'], 'y', 'z')]
    assert values(found, 'resources', 'new') == [(['type'], None, 'D::E::F'), (['properties'], None, {'q': 1})]
    assert values(found, 'parameters', 'b') == [([], '2', None)]
    assert [each['type'] for each in found['resources']] == ['OS::Heat::Value', 'A::B::C', 'D::E::F']
    assert found['files'][0]['diff'].splitlines() == ['@@ -1,2 +1,2 @@', ' one', '-two', '+2']
    assert not found['is_empty'] and not found['truncated']


def test_equal_definitions_do_not_differ():
    found = compare(BEFORE, BEFORE)
    assert entries(found) == [] and found['is_empty']


@pytest.mark.parametrize('value', [None, {}, '', []])
def test_what_says_nothing_is_named_when_it_comes_and_goes(value):
    one = ComparedDefinition(hot(outputs={'o': value}))
    assert entries(compare(ComparedDefinition(hot()), one)) == [('outputs', 'o', 'added')]
    assert entries(compare(one, ComparedDefinition(hot()))) == [('outputs', 'o', 'removed')]
    assert compare(one, one)['is_empty']


def test_templates_of_cloudformation():
    def cfn(value):
        return ComparedDefinition({'HeatTemplateFormatVersion': '2012-12-12', 'Resources': {
            'a': {'Type': 'OS::Heat::Value', 'Properties': {'value': value}}}})
    found = compare(cfn(1), cfn(2))
    assert entries(found) == [('resources', 'a', 'changed')] and found['resources'][0]['type'] == 'OS::Heat::Value'


def secret(value, text, **parameters):
    return ComparedDefinition(hot(parameters={'word': {'type': 'string', 'hidden': True}},
                                  resources={'thing': resource(value=f'{text} {value}')}),
                              {'parameters': {'word': value, **parameters}},
                              {'f': f'{text}={value}\n', 'g': f'{value}\n'},
                              {'word': HIDDEN_TEXT, **parameters})


def test_hidden_values_are_masked_in_both_and_their_change_is_named():
    found = compare(secret('open-sesame', 'old'), secret('shut-sesame', 'new'))
    assert 'sesame' not in str(found)
    assert values(found, 'resources', 'thing') == [
        (['properties', 'value'], f'old {HIDDEN_TEXT}', f'new {HIDDEN_TEXT}')]
    assert found['parameters'] == [{'name': 'word', 'change': 'changed', 'values': [
        {'path': [], 'before': HIDDEN_TEXT, 'after': HIDDEN_TEXT, 'hidden': True}]}]
    assert [(each['name'], each['hidden']) for each in found['files']] == [('f', False), ('g', True)]


def test_what_one_definition_hides_is_masked_in_the_other():
    """A parameter may become hidden; its value is the same."""
    plain = ComparedDefinition(hot(resources={'thing': resource(value='old open-sesame')}))
    found = compare(plain, secret('open-sesame', 'new'))
    assert 'sesame' not in str(found)


@pytest.mark.parametrize('hidden', [{'parameters': {'n': 17}}, {'parameter_defaults': {'n': True}}])
def test_hidden_values_that_are_no_texts(hidden):
    document = hot(parameters={'n': {'type': 'number', 'hidden': True}})
    before = ComparedDefinition(document, {'parameters': {'n': 16}}, {}, {'n': HIDDEN_TEXT})
    found = compare(before, ComparedDefinition(document, hidden, {}, {'n': HIDDEN_TEXT}))
    assert entries(found) == [('parameters', 'n', 'changed')] and found['parameters'][0]['values'][0]['hidden']


def test_the_number_of_values_is_bounded(monkeypatch):
    monkeypatch.setattr(comparison, 'MOST_VALUES', 3)
    def many(value):
        return ComparedDefinition(hot(resources={f'r{number}': resource(value=value) for number in range(5)}))
    found = compare(many(1), many(2))
    assert len(found['resources']) == 3 and found['truncated']
    assert not compare(many(1), many(1))['truncated']


def test_the_number_of_compared_files_is_bounded():
    found = compare(ComparedDefinition(),
                    ComparedDefinition(files={f'f{number:02}': 'x\n' for number in range(12)}))['files']
    assert [each['diff'] is None for each in found] == [False] * 10 + [True] * 2


def test_long_texts():
    text = [str(number) for number in range(50_000)]
    changed = [*text[:40_000], 'new', *text[40_001:]]
    found, truncated = text_diff.unified('\n'.join(text), '\n'.join(changed), 1000)
    assert found.splitlines() == ['@@ -39998,7 +39998,7 @@', ' 39997', ' 39998', ' 39999', '-40000', '+new', ' 40001',
                                  ' 40002', ' 40003']
    assert not truncated
    assert text_diff.unified('\n'.join(text), '\n'.join(text[::-1]), 1000) == (None, True)
    found, truncated = text_diff.unified('', 'x' * 400 + '\n' + 'y' * 400, 500)
    assert len(found) < 500 and truncated and 'y' not in found


def repeated(*texts, times):
    return '\n'.join(texts * times)


@pytest.mark.parametrize('before, after', [
    (repeated('x', 'y', times=500), repeated('x', 'z', times=500)),
    (repeated('1', '2', '3', times=66), repeated('3', '2', '1', times=66)),
    (repeated(*map(str, range(500)), times=2), repeated(*map(str, range(499, -1, -1)), times=2))])
def test_comparing_repeated_lines_takes_bounded_work(before, after):
    steps.calls(lambda: text_diff.unified(before, after, 100_000), most=1_000_000)


def test_usual_files_with_repeated_lines_are_compared():
    before = [line for number in range(200) for line in (f'  p{number}:', '    type: string', '    default: x')]
    after = [line.replace('default: x', f'default: {place % 7}') for place, line in enumerate(before)]
    found, truncated = text_diff.unified('\n'.join(before), '\n'.join(after), 100_000)
    assert not truncated and apply(before, found.splitlines()) == after


def test_a_file_of_which_every_second_line_differs_is_compared():
    before = [f'line {number}' for number in range(1000)]
    after = [f'{line} is new' if place % 2 else line for place, line in enumerate(before)]
    found, truncated = text_diff.unified('\n'.join(before), '\n'.join(after), 100_000)
    assert not truncated and apply(before, found.splitlines()) == after


lines = st.lists(st.sampled_from('abcd'), max_size=12).map('\n'.join)


@given(lines, lines)
def test_the_diff_leads_from_one_text_to_the_other(before, after):
    found, truncated = text_diff.unified(before, after, 10_000)
    assert not truncated
    assert apply(before.splitlines(), found.splitlines()) == after.splitlines()


def apply(lines, diff):
    """The text after the diff."""
    made, place = [], 0
    for line in diff:
        if line.startswith('@@'):
            first, count = line.split()[1][1:].split(',')
            start = int(first) - (1 if int(count) else 0)
            made += lines[place:start]
            place = start
        elif line.startswith('+'):
            made.append(line[1:])
        else:
            assert lines[place] == line[1:]
            place += 1
            if line.startswith(' '):
                made.append(line[1:])
    return made + lines[place:]
