"""Names of resources in templates."""

import pytest

from heatlite.language.renaming import renamed, renamed_registry
from heatlite.language.template import from_mapping

HOT = {'heat_template_version': '2021-04-16', 'parameters': {'a': {'type': 'string'}}}


@pytest.mark.parametrize('before, after', [
    ({'get_resource': 'a'}, {'get_resource': 'x'}),
    ({'get_attr': ['a', 'show', {'get_attr': ['b', 'y']}]}, {'get_attr': ['x', 'show', {'get_attr': ['b', 'y']}]}),
    ({'list_join': [',', [{'get_resource': 'a'}, 'a', {'get_param': 'a'}]]},
     {'list_join': [',', [{'get_resource': 'x'}, 'a', {'get_param': 'a'}]]}),
    ({'get_resource': {'get_param': 'a'}}, {'get_resource': {'get_param': 'a'}}),
    ({'a': 'a', 'get_resource': 'a'}, {'a': 'a', 'get_resource': 'a'}),
    ('a', 'a')])
def test_references(before, after):
    def document(name, value):
        return {**HOT, 'resources': {name: {'type': 'T'}, 'b': {'type': 'T', 'properties': {'v': value}}},
                'outputs': {'a': {'value': value}}}

    assert renamed(from_mapping(document('a', before)), {'a': 'x'}) == document('x', after)


@pytest.mark.parametrize('before, after', [('a', 'b'), (['a', 'b', 'c'], ['b', 'a', 'c']), ([1], [1])])
def test_dependencies_of_names_that_are_swapped(before, after):
    found = renamed(from_mapping({**HOT, 'resources': {
        'a': {'type': 'A'}, 'b': {'type': 'B'}, 'c': {'type': 'C', 'depends_on': before}}}), {'a': 'b', 'b': 'a'})
    assert found['resources'] == {'b': {'type': 'A'}, 'a': {'type': 'B'}, 'c': {'type': 'C', 'depends_on': after}}


def test_cfn():
    document = {'AWSTemplateFormatVersion': '2010-09-09', 'Resources': {
        'a': {'Type': 'T'}, 'b': {'Type': 'T', 'DependsOn': 'a', 'Properties': {'v': {'Fn::GetAtt': ['a', 'c']}}}},
        'Outputs': {'o': {'Value': {'Ref': 'a'}}}}
    assert renamed(from_mapping(document), {'a': 'x'}) == {**document, 'Resources': {
        'x': {'Type': 'T'}, 'b': {'Type': 'T', 'DependsOn': 'x', 'Properties': {'v': {'Fn::GetAtt': ['x', 'c']}}}},
        'Outputs': {'o': {'Value': {'Ref': 'x'}}}}


def test_without_resources():
    assert renamed(from_mapping(HOT), {'a': 'x'}) == HOT


def test_the_entries_of_an_environment():
    assert renamed_registry({'A': 'B', 'resources': {'a': {'hooks': 'pre-update'}, 'b': {}}}, {'a': 'x'}) == {
        'A': 'B', 'resources': {'a': None, 'x': {'hooks': 'pre-update'}, 'b': {}}}
    assert renamed_registry({'A': 'B'}, {'a': 'x'}) == {'A': 'B'}
