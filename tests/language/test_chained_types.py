"""Types that reach a template over further names: only the entry that names the template is left out inside of it."""

import pytest

from heatlite.language.environment import Environment
from heatlite.language.registry import Registry
from tests.language import run_cases

WRAPPER = '''
heat_template_version: 2018-08-31
parameters: {value: {type: string, default: x}}
resources: {v: {type: OS::Heat::Value, properties: {value: {list_join: ["", [wrapped-, {get_param: value}]]}}}}
outputs: {value: {value: {get_attr: [v, value]}}}
'''


@pytest.mark.parametrize('type_name, entries', [
    ('OS::Heat::Value', {'OS::Heat::Value': 'c.yaml'}),
    ('My::Value', {'My::Value': 'OS::Heat::Value', 'OS::Heat::Value': 'c.yaml'}),
    ('My::Value', {'My::*': 'OS::Heat::*', 'OS::Heat::Value': 'c.yaml'}),
    ('My::Value', {'My::Value': 'Other::Value', 'Other::Value': 'OS::Heat::Value', 'OS::Heat::Value': 'c.yaml'}),
    ('My::Value', {'resources': {'c': {'My::Value': 'OS::Heat::Value', 'OS::Heat::Value': 'c.yaml'}}}),
    ('My::Value', {'resources': {'c': {'My::Value': 'OS::Heat::Value'}}, 'OS::Heat::Value': 'c.yaml'})],
    ids=['direct', 'chain', 'wildcard', 'longer chain', 'of one resource', 'first of one resource'])
def test_a_wrapper_of_a_type_uses_the_type_inside(type_name, entries):
    template = {
        'heat_template_version': '2021-04-16', 'outputs': {'o': {'value': {'get_attr': ['c', 'value']}}},
        'resources': {'c': {'type': type_name, 'properties': {'value': 'a'}}}}
    case = {'name': type_name, 'op': 'create', 'template': template, 'files': {'c.yaml': WRAPPER},
            'env': {'resource_registry': entries}}
    assert run_cases.OPERATIONS['create'](case)['result'] == {'o': 'wrapped-a'}


@pytest.mark.parametrize('type_name, users, is_operators', [
    ('Op::Type', {}, True), ('My::X', {'My::X': 'Op::Type'}, True), ('My::Type', {'My::*': 'Op::*'}, True),
    ('My::X', {'My::X': 'file:///etc/heat/x.yaml'}, False),
    ('My::X', {'My::X': 'Op::Type', 'Op::Type': 'x.yaml'}, False),
    ('file:///etc/x.yaml', {'fi*': 'file:///etc/heat/x.yaml'}, False)])
def test_a_template_is_the_operators_if_their_entry_names_it(type_name, users, is_operators):
    operator = Registry({'Op::Type': 'file:///etc/heat/x.yaml', 'Op::Server': object})
    found = Environment({'resource_registry': users}, operator).find(type_name, 'r')
    assert found.is_template and found.by_operator is is_operators


def test_the_entry_of_a_user_that_leads_to_a_template_of_the_operator_is_left_out_inside_of_it():
    operator = Registry({'Op::Type': 'https://h/x.yaml', 'OS::Server': object})
    made = Environment({'resource_registry': {'OS::Server': 'Mine::Server', 'Mine::Server': 'Op::Type'}}, operator)
    found = made.find('OS::Server', 'r')
    assert found.by_operator and found.path == ('Mine::Server',) and found.first == ('OS::Server',)
    made = Environment({'resource_registry': {'OS::Server': 'Op::Type'}}, operator)
    inside = made.child({}, 'r', made.find('OS::Server', 'r').path)
    assert not inside.find('OS::Server', 'r').is_template


def test_an_object_that_a_user_maps_a_name_to_is_the_users_choice():
    operator = Registry({'Op::Server': object})
    found = Environment({'resource_registry': {'My::X': 'Op::Server'}}, operator).find('My::X', 'r')
    assert found.is_user and found.path == ('My::X',) and found.type_name == 'Op::Server'
