"""Who may not use a type learns that first: no value is judged, and no service asked, for such a request."""

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine.requests import validation
from heatlite.language import definition as definitions
from heatlite.language import template as templates
from heatlite.language.environment import Environment

FORBIDDEN = 'OS::Keystone::Project'
MEMBER = {'project_id': 'p', 'roles': ['member'], 'overwrite': False}
PROJECT = {'type': FORBIDDEN, 'properties': {'name': 'x'}}
FILES = {'child.yaml': 'heat_template_version: 2018-08-31\nresources: {inner: {type: "OS::Keystone::Project"}}\n'}


class Asked:
    """A constraint that notes what it was asked about."""

    values: list[object] = []

    def validate(self, value, context):
        self.values.append(value)
        raise ValueError('the service refuses')


WRONG = {
    'a parameter': {'parameters': {'p': {'type': 'string', 'default': 'x', 'constraints': [{'length': {'min': 5}}]}}},
    'a value that a service knows': {'parameters': {'p': {
        'type': 'string', 'default': 'x', 'constraints': [{'custom_constraint': 'test.asked'}]}}},
    'a missing parameter': {'parameters': {'p': {'type': 'string'}}},
    'more than are counted': {'parameters': {f'p{n}': {'type': 'string'} for n in range(200)}},
    'a property': {'resources': {'r': {'type': 'OS::Heat::RandomString', 'properties': {'length': 'BAD'}}}},
    'an unknown property': {'resources': {'r': {'type': 'OS::Heat::RandomString', 'properties': {'lenght': 5}}}},
    'a reference': {'resources': {'r': {'type': 'OS::Heat::Value', 'depends_on': 'nowhere'}}},
    'a cycle': {'resources': {'r': {'type': 'OS::Heat::Value', 'depends_on': 'r'}}},
    'an output': {'outputs': {'o': {}}},
    'nothing else': {},
}


def check(types, document, environment=None, **options):
    document = {'heat_template_version': '2018-08-31', **document}
    definition = definitions.build(templates.from_mapping(document), Environment(environment or {}, types.operator),
                                   FILES, definitions.StackIdentity('s', None, 'p'))
    validation.check_request(definition, types, RequestContext(**MEMBER), **options)


@pytest.mark.parametrize('resource, environment', [
    (PROJECT, {}), ({'type': 'My::P', 'properties': {'name': 'x'}}, {'resource_registry': {'My::P': FORBIDDEN}})])
@pytest.mark.parametrize('name', WRONG)
def test_rights_come_first(types, name, resource, environment):
    types.register_constraint('test.asked', Asked)
    Asked.values.clear()
    wrong = WRONG[name]
    document = {**wrong, 'resources': {**wrong.get('resources', {}), 'forbidden': resource}}
    for options in ({}, {'updating': True}):
        with pytest.raises(exception.Forbidden):
            check(types, document, environment, **options)
    assert not Asked.values


def test_a_type_that_may_be_used_is_no_obstacle(types):
    with pytest.raises(exception.StackValidationFailed, match='length'):
        check(types, WRONG['a property'])


def test_sections_that_cannot_be_read_come_before(types):
    """As in Heat: without resources there is nothing to have a right to."""
    for wrong in (['r'], {'r': 5}, {'r': {'type': 5}}, {'r': {'type': 'No::Such'}}):
        with pytest.raises(exception.StackValidationFailed):
            check(types, {'resources': wrong})


def test_inside_nested_stacks_rights_come_before_values(types):
    with pytest.raises(exception.Forbidden):
        check(types, {'resources': {'c': {'type': 'child.yaml'}}, **WRONG['a parameter']})
