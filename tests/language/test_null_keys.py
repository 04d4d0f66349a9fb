"""Keys of a resource whose function gives null, or nothing: as if the key was not there."""

import pytest

from heatlite.language import definition, template
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import Environment
from tests.language import run_cases

NOTHING = [{'if': [False, 'x', None]}, {'if': [False, 'x']}, {'get_param': ['data', 'none']}]


def definition_of(**parts):
    document = template.from_mapping({
        'heat_template_version': '2021-04-16', 'parameters': {'data': {'type': 'json', 'default': {'none': None}}},
        'resources': {'q': {'type': 'OS::Heat::Value', 'properties': {'value': 'q'}},
                      'r': {'type': 'OS::Heat::Value', **parts,
                            'properties': {'value': {'get_attr': ['q', 'value']}}}}})
    return definition.build(document, Environment(), {}, StackIdentity('s', None, 'p')).resources['r']


@pytest.mark.parametrize('nothing', NOTHING, ids=['null', 'no second value', 'null in a parameter'])
def test_a_resource_without_an_external_id_is_an_ordinary_one(nothing):
    resource = definition_of(external_id=nothing)
    assert not resource.is_external and resource.deletion_policy == 'Delete' and resource.requires == {'q'}


def test_a_resource_with_an_external_id_from_a_function_is_external():
    resource = definition_of(external_id={'if': [True, 'x']})
    assert resource.is_external and resource.deletion_policy == 'Retain' and not resource.requires
    assert resource.external_id() == 'x'


@pytest.mark.parametrize('expression', [{'get_resource': 'q'}, {'str_split': ['', 'x', 0]}])
def test_an_external_id_that_is_not_known_counts_as_one(expression):
    assert definition_of(external_id=expression).is_external


@pytest.mark.parametrize('nothing', NOTHING, ids=['null', 'no second value', 'null in a parameter'])
def test_a_deletion_policy_of_null_is_the_usual_one(nothing):
    assert definition_of(deletion_policy=nothing).deletion_policy == 'Delete'


@pytest.mark.parametrize('key', ['external_id', 'deletion_policy', 'metadata'])
def test_a_stack_is_created_with_a_key_that_is_null(key):
    template = {
        'heat_template_version': '2016-10-14', 'outputs': {'o': {'value': {'get_attr': ['r', 'value']}}},
        'resources': {'r': {'type': 'OS::Heat::Value', 'properties': {'value': 'a'}, key: {'if': [False, 'x', None]}}}}
    found = run_cases.OPERATIONS['create']({'name': key, 'op': 'create', 'template': template})
    assert (found['state'], found['result']) == ('CREATE_COMPLETE', {'o': 'a'})
