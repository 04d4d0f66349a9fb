"""What clients ask about resource types."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine import properties, resource, support
from heatlite.engine.properties import Properties, Schema
from heatlite.language import parameters
from heatlite.rpc import messages

MEMBER = RequestContext(project_id='p', roles=['member'], overwrite=False)
ADMIN = RequestContext(project_id='p', roles=['admin', 'member'], overwrite=False)


class Lamp(resource.Resource):
    """A lamp."""

    support_status = support.SupportStatus(version='9.9')
    properties_schema = {'watts': properties.Schema(properties.Schema.INTEGER, 'Power.', required=True)}


class HiddenLamp(Lamp):
    support_status = support.SupportStatus(status=support.HIDDEN)


class UndescribedLamp(Lamp):
    __doc__ = None
    support_status = support.SupportStatus(status=support.DEPRECATED, message='Buy another.')


class FarLamp(Lamp):
    default_client_name = 'lighthouse'


@pytest.fixture
def known(types):
    for name, kind in (('Acme::Lamp', Lamp), ('Acme::Hidden', HiddenLamp), ('Acme::Undescribed', UndescribedLamp),
                       ('Acme::Far', FarLamp), ('Acme::Alias', 'Acme::Lamp'), ('OS::Nova::Flavor', Lamp)):
        types.register(name, kind)
    return types


FIRST = ['OS::Heat::Delay', 'OS::Heat::None', 'OS::Heat::RandomString']


@pytest.mark.parametrize('asked, names', [
    ({'name': 'Acme|OS::Heat::(Delay|None|RandomString)$'}, [*FIRST, 'Acme::Lamp', 'Acme::Undescribed']),
    ({'name': 'Acme'}, ['Acme::Lamp', 'Acme::Undescribed']),
    ({'name': 'Lamp'}, []),
    ({'name': '.*Lamp$'}, ['Acme::Lamp']),
    ({'name': '['}, []),
    ({'version': '9.9'}, ['Acme::Lamp']),
    ({'support_status': 'DEPRECATED'}, ['Acme::Undescribed']),
    ({'support_status': 'HIDDEN'}, []),
])
def test_lists_leave_out_hidden_forbidden_unavailable_types_and_names_of_types(known, asked, names):
    assert known.list_types(MEMBER, messages.ListResourceTypes(**asked)) == names


def test_an_admin_sees_more(known):
    assert 'OS::Nova::Flavor' in known.list_types(ADMIN, messages.ListResourceTypes())


def test_descriptions(known):
    found = known.list_types(MEMBER, messages.ListResourceTypes(name='Acme', with_description=True))
    assert found == [{'resource_type': 'Acme::Lamp', 'description': 'A lamp.'},
                     {'resource_type': 'Acme::Undescribed', 'description': 'No description available'}]


def test_templates_of_the_operator_are_types(known, tmp_path):
    template = tmp_path / 'lamp.yaml'
    template.write_text('heat_template_version: 2018-08-31\ndescription: A lamp of parts.\n')
    known.load_environment({'resource_registry': {
        'Acme::Template': template.as_uri(), 'Acme::Lamp': template.as_uri(), 'Acme::Gone': 'file:///gone.yaml',
        'Acme::Alias2': 'Acme::Template', 'Acme::*': template.as_uri(), 'base_url': template.as_uri()}})
    asked = messages.ListResourceTypes(name='Acme|base')
    assert known.list_types(MEMBER, asked) == ['Acme::Lamp', 'Acme::Undescribed', 'Acme::Template', 'Acme::Gone']
    described = known.list_types(MEMBER, messages.ListResourceTypes(name='Acme', with_description=True))
    assert {each['resource_type']: each['description'] for each in described} == {
        'Acme::Lamp': 'A lamp of parts.', 'Acme::Template': 'A lamp of parts.',
        'Acme::Undescribed': 'No description available', 'Acme::Gone': 'No description available'}
    assert known.list_types(MEMBER, messages.ListResourceTypes(name='Acme', version='9.9')) == []
    assert 'Acme::Template' not in dict(known.classes())


def test_an_unknown_status_is_named(known):
    with pytest.raises(exception.Invalid) as error:
        known.list_types(MEMBER, messages.ListResourceTypes(support_status='GREAT'))
    assert str(error.value) == ('Data supplied was not valid: Invalid support status and should be one of '
                                "('UNKNOWN', 'SUPPORTED', 'DEPRECATED', 'UNSUPPORTED', 'HIDDEN')")


def test_the_schema_of_a_type(known):
    found = known.schema(MEMBER, messages.ResourceSchema('OS::Heat::RandomString'))
    assert list(found) == ['resource_type', 'properties', 'attributes', 'support_status']
    assert 'sequence' not in found['properties']
    length = found['properties']['length']
    assert {key: length[key] for key in length if key != 'description'} == {
        'type': 'integer', 'default': 32, 'required': False, 'constraints': [{'range': {'min': 1, 'max': 512}}],
        'update_allowed': False, 'immutable': False}
    classes = found['properties']['character_classes']['schema']['*']['schema']['class']
    assert classes['constraints'][0]['allowed_values'][0] == 'lettersdigits'
    assert found['attributes']['show'] == {'description': 'Detailed information about resource.', 'type': 'map'}
    assert found['support_status'] == {'status': 'SUPPORTED', 'message': None, 'version': '2014.1',
                                       'previous_status': None}
    described = known.schema(MEMBER, messages.ResourceSchema('Acme::Lamp', with_description=True))
    assert described['description'] == 'A lamp.'


@pytest.mark.parametrize('name, error, text', [
    ('Acme::Nothing', exception.EntityNotFound, 'The Resource Type (Acme::Nothing) could not be found.'),
    ('Acme::Hidden', exception.NotSupported, 'Acme::Hidden is not supported.'),
    ('Acme::Far', exception.ResourceTypeUnavailable,
     'HEAT-E99001 Service lighthouse is not available for resource type Acme::Far, reason: The client (lighthouse) '
     'is not available.'),
    ('OS::Nova::Flavor', exception.Forbidden, 'You are not authorized to use resource_types:OS::Nova::Flavor.'),
])
def test_types_without_a_schema_to_show(known, name, error, text):
    with pytest.raises(error) as found:
        known.schema(MEMBER, messages.ResourceSchema(name))
    assert str(found.value) == text


def test_a_hot_template_for_a_type(known):
    found = known.template(MEMBER, messages.GenerateTemplate('OS::Heat::Delay', 'HOT'))
    assert found['heat_template_version'] == '2016-10-14'
    assert found['description'] == 'Initial template of Delay'
    assert found['parameters']['actions'] == {
        'type': 'comma_delimited_list', 'default': 'CREATE', 'description': 'Actions during which the resource waits.',
        'constraints': [{'allowed_values': ['CREATE', 'DELETE', 'SUSPEND', 'RESUME']}]}
    assert found['resources'] == {'Delay': {'type': 'OS::Heat::Delay', 'properties': {
        name: {'get_param': name} for name in ('min_wait', 'max_jitter', 'jitter_multiplier', 'actions')}}}
    assert found['outputs']['show'] == {'value': {'get_attr': ['Delay', 'show']},
                                        'description': 'Detailed information about resource.'}
    assert found['outputs']['OS::stack_id'] == {'value': {'get_resource': 'Delay'}}


def test_a_cfn_template_for_a_type(known):
    found = known.template(MEMBER, messages.GenerateTemplate('OS::Heat::TestResource'))
    assert found['HeatTemplateFormatVersion'] == '2012-12-12'
    assert found['Parameters']['fail'] == {
        'Type': 'Boolean', 'Default': False, 'AllowedValues': ['True', 'true', 'False', 'false'],
        'Description': 'Whether each action except the deletion fails.'}
    assert found['Resources']['TestResource']['Properties']['value'] == {'Ref': 'value'}
    assert found['Outputs']['OS::stack_id'] == {'Value': {'Ref': 'TestResource'}}
    delay = known.template(MEMBER, messages.GenerateTemplate('OS::Heat::Delay', 'cfn'))
    assert delay['Parameters']['min_wait']['MinValue'] == 0
    assert delay['Resources']['Delay']['Properties']['actions'] == {'Fn::Split': [',', {'Ref': 'actions'}]}


def test_templates_need_no_service(known):
    assert known.template(MEMBER, messages.GenerateTemplate('Acme::Far', 'hot'))['resources']['FarLamp']


@pytest.mark.parametrize('name, kind, error, text', [
    ('Acme::Nothing', 'hot', exception.EntityNotFound, 'could not be found'),
    ('Acme::Hidden', 'hot', exception.NotSupported, 'Acme::Hidden is not supported'),
    ('OS::Heat::Value', 'hot', exception.NotSupported, 'property of any type'),
    ('Acme::Lamp', 'json', exception.BadRequest,
     'Template type is not supported: Invalid template type "json", valid types are: cfn, hot.'),
])
def test_templates_that_cannot_be(known, name, kind, error, text):
    with pytest.raises(error, match=text) as found:
        known.template(MEMBER, messages.GenerateTemplate(name, kind))
    assert found.value.http_code in (400, 404)


def test_parameters_as_properties():
    given = {'size': parameters.ParameterSchema('size', 'number', 'number', default=3, description='How many.'),
             'names': parameters.ParameterSchema('names', 'comma_delimited_list', 'list'),
             'extra': parameters.ParameterSchema('extra', 'json', 'map')}
    schemas = Properties.schema_from_params(given)
    assert {name: (schema.type, schema.required, schema.update_allowed) for name, schema in schemas.items()} == {
        'size': (Schema.NUMBER, False, True), 'names': (Schema.LIST, True, True), 'extra': (Schema.MAP, True, True)}
    values = Properties(schemas, {'names': 'a,b', 'extra': [1]})
    assert (values['names'], values['extra']) == (['a', 'b'], '[1]')
