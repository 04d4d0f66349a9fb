"""What is wrong inside nested stacks is told before a stack is accepted, however the inside is written."""

from __future__ import annotations

import json

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine import properties, resource
from heatlite.engine.requests import validation
from heatlite.language import definition as definitions
from heatlite.language import template as templates
from heatlite.language.environment import Environment
from heatlite.rpc import messages

CHILD = '''
heat_template_version: 2018-08-31
parameters:
  length: {type: string, default: 8}
resources:
  inner: {type: "OS::Heat::RandomString", properties: {length: {get_param: length}}}
'''
FILES = {'child.yaml': CHILD, 'literal.yaml': CHILD.replace('{get_param: length}', 'BAD'),
         'outer.yaml': '''
heat_template_version: 2018-08-31
parameters: {length: {type: string}}
resources: {c: {type: child.yaml, properties: {length: {get_param: length}}}}
''', 'tight.yaml': CHILD.replace('{length: {get_param: length}}',
                                 '{length: {get_param: length}, character_classes: [{class: digits, min: 5}]}'),
         'http://here/child.yaml': CHILD}


def member(kind, length):
    return {'type': kind, 'properties': {'length': length}}


def group(kind, length):
    return {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 2, 'resource_def': member(kind, length)}}


def scaling(kind, length):
    return {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
        'min_size': 1, 'max_size': 2, 'resource': member(kind, length)}}


def at_address(length, url='http://here/child.yaml'):
    return {'type': 'AWS::CloudFormation::Stack', 'properties': {'TemplateURL': url, 'Parameters': {'length': length}}}


FORMS = {
    'a file': lambda length: member('child.yaml', length), 'deeper': lambda length: member('outer.yaml', length),
    'an alias': lambda length: member('My::Child', length),
    'a member': lambda length: group('OS::Heat::RandomString', length),
    'a member that is a file': lambda length: group('child.yaml', length),
    'a chain': lambda length: {'type': 'OS::Heat::ResourceChain', 'properties': {
        'resources': ['OS::Heat::RandomString'], 'resource_properties': {'length': length}}},
    'a scaled member': lambda length: scaling('OS::Heat::RandomString', length),
    'an address': at_address,
}


def check(types, resource, updating=False):
    document = {'heat_template_version': '2018-08-31', 'parameters': {'p': {'type': 'string', 'default': 'BAD'}},
                'resources': {'a': {'type': 'OS::Heat::Value', 'properties': {'value': 5}}, 'r': resource}}
    environment = Environment({'resource_registry': {'My::Child': 'child.yaml'}}, types.operator)
    definition = definitions.build(templates.from_mapping(document), environment, FILES,
                                   definitions.StackIdentity('s', None, 'p'))
    validation.check_request(definition, types, RequestContext(project_id='p', overwrite=False), updating=updating)


@pytest.mark.parametrize('updating', [False, True])
@pytest.mark.parametrize('value', ['BAD', {'get_param': 'p'}, '-1'])
@pytest.mark.parametrize('form', sorted(FORMS))
def test_a_wrong_value(types, form, value, updating):
    with pytest.raises(exception.StackValidationFailed, match=r'(?i)resources\.r<.*length') as raised:
        check(types, FORMS[form](value), updating)
    assert 'BAD' in str(raised.value) or 'range' in str(raised.value) or 'smaller' in str(raised.value)


@pytest.mark.parametrize('value', ['9', {'get_attr': ['a', 'value']}, {'get_resource': 'a'}])
@pytest.mark.parametrize('form', sorted(FORMS))
def test_what_is_right_or_not_known_yet(types, form, value):
    check(types, FORMS[form](value))


def test_a_literal(types):
    with pytest.raises(exception.StackValidationFailed, match='BAD'):
        check(types, {'type': 'literal.yaml'})


@pytest.mark.parametrize('resource, text', [
    (at_address('5', 'http://127.0.0.1:9/none.yaml'), 'Could not fetch remote template'),
    ({'type': 'AWS::CloudFormation::Stack', 'properties': {
        'TemplateURL': 'http://here/child.yaml', 'Parameters': {'lenth': '5'}}}, 'lenth')])
def test_an_address_is_looked_into(types, resource, text):
    with pytest.raises(exception.HeatException, match=text):
        check(types, resource)


def test_an_unknown_address_waits(types):
    check(types, at_address('5', {'get_attr': ['a', 'value']}))


@pytest.mark.parametrize('policy', ['Delete', 'Retain', 'Snapshot'])
def test_what_stands_for_any_type_takes_every_deletion_policy(types, policy):
    check(types, {'type': 'OS::Heat::None', 'deletion_policy': policy, 'properties': json.loads('{"any": 1}')})


class FarLamp(resource.Resource):
    """A lamp of a service for which there is no client."""

    default_client_name = 'lighthouse'
    properties_schema = {'watts': properties.Schema(properties.Schema.INTEGER)}


def test_an_external_resource_needs_no_service(types):
    """It is only referred to; whether it is there is found out when the stack is made."""
    types.register('Acme::FarLamp', FarLamp)
    check(types, {'type': 'Acme::FarLamp', 'external_id': 'abc'})
    with pytest.raises(exception.ResourceTypeUnavailable):
        check(types, {'type': 'Acme::FarLamp', 'properties': {'watts': 5}})


GROUPS = {'min_size': 3, 'max_size': 1, 'resource': {'type': 'OS::Heat::RandomString'}}


@pytest.mark.parametrize('resource, text', [
    ({'type': 'OS::Heat::AutoScalingGroup', 'properties': GROUPS}, 'MinSize can not be greater than MaxSize'),
    ({'type': 'OS::Heat::RandomString', 'properties': {
        'length': 1, 'character_classes': [{'class': 'digits', 'min': 5}]}}, 'Length property cannot be smaller'),
    (member('tight.yaml', 1), r'resources\.r<tight\.yaml>.*: Length property cannot be smaller')])
def test_what_a_type_finds_wrong_names_its_resource(types, resource, text):
    """The first line is Heat's: the types' own words say what is wrong, and not where; the next one says where."""
    with pytest.raises(exception.StackValidationFailed, match=f'^{text}') as caught:
        check(types, resource)
    assert 'resources.r' in str(caught.value)


@pytest.mark.parametrize('resource', [
    {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 0, 'resource_def': {'type': 'OS::Heat::None'}}},
    {'type': 'OS::Heat::InstanceGroup', 'properties': {
        'AvailabilityZones': ['a'], 'Size': 0, 'LaunchConfigurationName': 'c'}},
    {'type': 'OS::Heat::SoftwareDeploymentGroup', 'properties': {'config': 'c', 'servers': {}}}])
def test_a_group_without_members_is_shown(types, resource):
    definition = definitions.build(
        templates.from_mapping({'heat_template_version': '2018-08-31', 'resources': {'r': resource}}),
        Environment({}, types.operator), {}, definitions.StackIdentity('dummy', None, 'p'))
    context = RequestContext(project_id='p', overwrite=False)
    message = messages.ValidateTemplate(show_nested=True, ignore_errors=('99001',))
    assert validation.described(definition, types, context, message, 100)['NestedParameters'] == {
        'r': {'Type': resource['type'], 'Description': 'No description', 'Parameters': {}}}
