"""What goes into nested stacks and comes out of them: null properties of members, an output with the name `show`."""

from __future__ import annotations

import json

import pytest

from tests.language import run_cases

VERSION = '2021-04-16'
MEMBER = {'heat_template_version': VERSION, 'parameters': {'p': {'type': 'string', 'default': 'default'}},
          'outputs': {'m': {'value': {'get_param': 'p'}}}}
NO_VALUE = {'if': ['no', 'x', None]}


def created(template: dict, files: dict) -> object:
    return run_cases.OPERATIONS['create']({
        'name': 'n', 'op': 'create', 'template': {'heat_template_version': VERSION, **template},
        'files': {name: json.dumps(text) for name, text in files.items()}})


def member_of(kind: str, value: object) -> tuple[dict, list[str]]:
    """(a resource that gives one member a property, the path of its value or of the members' values)"""
    if kind == 'resource':
        return {'type': 'w.yaml', 'properties': {'p': value}}, ['m']
    if kind == 'chain':
        return {'type': 'OS::Heat::ResourceChain', 'properties': {
            'resources': ['w.yaml'], 'resource_properties': {'p': value}}}, ['m']
    return {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
        'min_size': 1, 'max_size': 1, 'resource': {'type': 'w.yaml', 'properties': {'p': value}}}}, [
        'outputs_list', 'm']


@pytest.mark.parametrize('value', [None, NO_VALUE])
@pytest.mark.parametrize('kind', ['resource', 'chain', 'scaling group'])
def test_null_for_a_member_is_the_empty_value_and_not_the_default(kind, value):
    member, path = member_of(kind, value)
    found = created({'conditions': {'no': False}, 'resources': {'g': member},
                     'outputs': {'o': {'value': {'get_attr': ['g', *path]}}}}, {'w.yaml': MEMBER})
    assert (found['state'], found['result']) == ('CREATE_COMPLETE', {'o': '' if kind == 'resource' else ['']})


SHOWING = {'heat_template_version': VERSION, 'outputs': {'show': {'value': {'real': 'thing'}}, 'm': {'value': 1}}}


@pytest.mark.parametrize('asked, given', [
    (['g', 'show'], {'real': 'thing'}), (['g', 'show', 'real'], 'thing'),
    (['g'], {'show': {'real': 'thing'}, 'm': 1})])
def test_an_output_named_show_is_an_attribute(asked, given):
    found = created({'resources': {
        'g': {'type': 'w.yaml'}, 'v': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_attr': asked}}}},
        'outputs': {'o': {'value': {'get_attr': asked}}, 'p': {'value': {'get_attr': ['v', 'value']}}}},
        {'w.yaml': SHOWING})
    assert (found['state'], found['result']) == ('CREATE_COMPLETE', {'o': given, 'p': given})


def test_without_such_an_output_show_is_no_attribute():
    found = created({'resources': {
        'g': {'type': 'w.yaml'},
        'v': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_attr': ['g', 'show']}}}}}, {'w.yaml': MEMBER})
    assert found['state'] == 'CREATE_FAILED'
    assert 'The Referenced Attribute (g show) is incorrect.' in found['reason']


DEFAULTS = [
    ('comma_delimited_list', '', {'length': {'min': 1}}, 'a', ['a']),
    ('comma_delimited_list', '', {'allowed_values': ['a', '']}, 'a', ['a']),
    ('json', '{}', {'length': {'min': 1}}, {'a': 1}, {'a': 1}),
    ('json', '{"a": 1}', {'length': {'max': 1}}, {'b': 1}, {'b': 1})]


@pytest.mark.parametrize('kind, default, constraint, value, found', DEFAULTS)
def test_a_default_may_fit_as_text_or_as_value(kind, default, constraint, value, found):
    assert resolved(kind, default, constraint, {'p': value})['result'] == {'o': found}


@pytest.mark.parametrize('kind, default', [('comma_delimited_list', ''), ('json', '{}')])
def test_a_default_that_fits_as_text_only_is_refused_where_it_is_used(kind, default):
    found = resolved(kind, default, {'length': {'min': 1}}, {})
    assert 'length (0) is out of range' in str(found)


@pytest.mark.parametrize('kind, default', [('comma_delimited_list', 'a'), ('json', {}), ('json', ''), ('string', '')])
def test_other_defaults_are_refused_at_once(kind, default):
    found = resolved(kind, default, {'length': {'min': 2}}, {'p': {'a': 1, 'b': 2} if kind == 'json' else 'a,b'})
    assert 'Invalid default' in str(found)


def resolved(kind: str, default: object, constraint: dict, given: dict) -> dict:
    return run_cases.run({
        'name': 'd', 'op': 'resolve', 'params': given, 'expect': {}, 'template': {
            'heat_template_version': VERSION,
            'parameters': {'p': {'type': kind, 'default': default, 'constraints': [constraint]}},
            'outputs': {'o': {'value': {'get_param': 'p'}}}}}).got
