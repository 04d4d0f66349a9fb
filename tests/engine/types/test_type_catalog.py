"""Types as the language sees them: templates with built-in and third-party types are checked as a whole."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine import attributes, properties, resource, support
from heatlite.engine.requests import validation
from heatlite.engine.resources import packed, packed_types
from heatlite.engine.resources.openstack.nova import server
from heatlite.engine.types import catalog
from heatlite.language import definition as definitions
from heatlite.language import template as templates
from heatlite.language.environment import Environment
from heatlite.rpc import messages

CONTEXT = RequestContext(project_id='p', overwrite=False)


def check(types, resources, environment=None):
    document = {'heat_template_version': '2018-08-31', 'resources': resources}
    definition = definitions.build(templates.from_mapping(document), Environment(environment, types.operator), {},
                                   definitions.StackIdentity('s', None, 'p'))
    validation.check_request(definition, types, CONTEXT)


def one(type_name, **properties):
    return {'r': {'type': type_name, 'properties': properties}}


@pytest.mark.parametrize('resources', [
    one('OS::Heat::Delay', min_wait=3), one('OS::Heat::None', anything={'goes': 1}), one('OS::Heat::RandomString'),
    one('Vendor::Kilo::Lamp', old_bulb='b', tags=['a']), one('Vendor::Icehouse::Lamp', name='a'),
    one('OS::Heat::Value', value=[1], type='comma_delimited_list'),
    {'a': {'type': 'OS::Heat::None'},
     'b': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_attr': ['a', 'what', 'ever']}}}},
])
def test_right(vendors, resources):
    check(vendors, resources)


@pytest.mark.parametrize('resources, text', [
    (one('OS::Heat::Delay', min_wait=4000), 'OS::Heat::Delay maximum delay'),
    (one('OS::Heat::Delay', min_wait=-1), 'Property error: resources.r.properties.min_wait: -1.* is out of range'),
    (one('OS::Heat::RandomString', length=1, character_classes=[{'class': 'digits', 'min': 4}]),
     'Length property cannot be smaller'),
    (one('Vendor::Kilo::Lamp', bulb='broken'), "properties.bulb: Error validating value 'broken': No lamp broken."),
    (one('Vendor::Kilo::Lamp', bulb='a', old_bulb='b'), 'properties at the same time: bulb, old_bulb'),
    (one('Vendor::Kilo::Lamp', settings={'mode': 'night', 'level': 9}), 'Too bright for the night'),
    (one('Vendor::Icehouse::Lamp'), 'Property error: resources.r.properties: Property name not assigned'),
    (one('Vendor::None::Such'), r'The Resource Type \(Vendor::None::Such\) could not be found'),
    ({'a': {'type': 'OS::Heat::RandomString'},
      'b': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_attr': ['a', 'valeu']}}}},
     r'The Referenced Attribute \(a valeu\) is incorrect'),
    ({'r': {'type': 'OS::Heat::RandomString', 'deletion_policy': 'snapshot'}}, 'deletion policy not supported'),
])
def test_wrong(vendors, resources, text):
    with pytest.raises(exception.HeatException, match=text):
        check(vendors, resources)


def facts(types, name):
    known = catalog.Catalog(types, CONTEXT, lambda kind, wanted: None)
    return known.facts(name, 'r', Environment(None, types.operator))


class Fixed(resource.Resource):
    attributes_schema = {'colour': attributes.Schema('Its colour.')}


class Reading:
    def get_attribute(self, key, *path):
        return key


class OwnReading(Reading, Fixed):
    pass


class OldReading(Fixed):
    def FnGetAtt(self, key, *path):
        return key


class OwnServer(server.Server):
    pass


class OwnServerReading(OwnServer):
    get_attribute = Reading.get_attribute


class Exact(OwnReading):
    accepts_any_attribute = False


@pytest.mark.parametrize('kind, accepts', [
    (Fixed, False), (OwnReading, True), (OldReading, True), (OwnServer, False), (OwnServerReading, True),
    (Exact, False)])
def test_a_type_that_gives_its_attributes_itself_accepts_any_name_unless_it_says_otherwise(types, kind, accepts):
    assert kind.accepts_any_attribute is accepts
    types.register('Acme::Thing', kind)
    assert facts(types, 'Acme::Thing').has_attribute('shade') is accepts


@pytest.mark.parametrize('name', list(packed.names()))
def test_the_service_and_the_lint_command_agree_on_the_attributes_of_a_type(types, name):
    seen, packed_facts = facts(types, name), packed_types.facts_of(name)
    assert (seen.accepts_any_attribute, set(seen.attributes)) == (
        packed_facts.accepts_any_attribute, {'show', *packed_facts.attributes})


@pytest.mark.parametrize('name', [
    'OS::Nova::Server', 'AWS::RDS::DBInstance', 'AWS::ElasticLoadBalancing::LoadBalancer', 'OS::Heat::InstanceGroup',
    'AWS::AutoScaling::AutoScalingGroup'])
def test_an_unknown_attribute_is_refused_although_the_type_gives_some_itself(types, name):
    assert not facts(types, name).has_attribute('shade')


def test_the_users_environment_decides_first(vendors):
    mapped = {'resource_registry': {'Acme::*': 'OS::Heat::None', 'resources': {'r': {'Acme::X': 'OS::Heat::Value'}}}}
    check(vendors, {'other': {'type': 'Acme::X', 'properties': {'a': 1}}}, mapped)
    with pytest.raises(exception.StackValidationFailed, match='Unknown Property a'):
        check(vendors, one('Acme::X', a=1), mapped)


class MisplacedLamp(resource.Resource):
    """A lamp whose author took the second argument of schemas for the type, and a name for a status."""

    properties_schema = {'watts': properties.Schema(properties.Schema.INTEGER, support_status=support.DEPRECATED)}
    attributes_schema = {'colour': attributes.Schema('Its colour.', attributes.Schema.STRING),
                         'age': attributes.Schema('Its age.', support.HIDDEN),
                         'mood': attributes.Schema('Its mood.', 'good')}


def test_texts_in_place_of_a_support_status_do_no_harm(types):
    types.register('Acme::Lamp', MisplacedLamp)
    check(types, one('Acme::Lamp', watts=5))
    shown = types.schema(CONTEXT, messages.ResourceSchema(type_name='Acme::Lamp'))
    assert {name: schema.get('type') for name, schema in shown['attributes'].items()} == {
        'colour': 'string', 'mood': None, 'show': 'map'}
    assert MisplacedLamp.properties_schema['watts'].support_status.status == support.DEPRECATED
