"""A preview of a create shows what a resource will use: not what it was given under another name."""

import contextlib

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine.requests import preview_create, validation
from heatlite.language import definition as definitions
from heatlite.language import template as templates
from heatlite.language import translation
from heatlite.language.environment import Environment
from heatlite.rpc import messages

SAMPLES = {'String': 'text', 'List': [], 'Map': {}, 'Integer': 5, 'Number': 5, 'Boolean': True, 'Any': 'text'}


@pytest.fixture
def preview(types):
    """The properties of the only resource, of that type."""
    def properties(kind, given):
        definition = definitions.build(
            templates.from_mapping({'heat_template_version': '2018-08-31',
                                    'resources': {'r': {'type': kind, 'properties': given}}}),
            Environment({}, types.operator), {}, definitions.StackIdentity('s', None, 'p'))
        checker, catalog = validation.checker(definition, types, RequestContext(project_id='p', overwrite=False))
        message = messages.PreviewStack(stack_name='s', template=definition.template.document)
        shown, = preview_create.shown(checker, catalog, message, 'me', 'now', 100)['resources']
        return shown['properties']
    return properties


def translated(types):
    """(type, property that is given, property to which it moves as a whole), of all built-in types."""
    for name, _class in types.classes():
        definition = definitions.build(
            templates.from_mapping({'heat_template_version': '2018-08-31', 'resources': {'r': {'type': name}}}),
            Environment({}, types.operator), {}, definitions.StackIdentity('s', None, 'p'))
        _checker, catalog = validation.checker(definition, types, RequestContext(project_id='p', overwrite=False))
        facts = catalog.facts(name, 'r', definition.environment)
        rules = []
        if facts.rules is not None:
            with contextlib.suppress(exception.StackValidationFailed):      # the rules read a required property
                rules = facts.rules(definition.resources['r'], {})
        for rule in rules:
            source = rule.value_name or (rule.value_path[0] if len(rule.value_path or ()) == 1 else None)
            is_whole = len(rule.translation_path) == 1 and not rule.custom_value_path
            if rule.rule == translation.REPLACE and source and is_whole:
                yield name, source, rule.translation_path[0]


def test_a_value_is_shown_under_the_name_that_is_used(types, preview):
    """All types with such a rule."""
    wrong, found = [], list(translated(types))
    assert len(found) > 10
    for kind, source, target in found:
        schema = schemas_of(types, kind)[source]
        shown = preview(kind, {source: SAMPLES[schema.type]})
        if shown[source] is not None:
            wrong.append((kind, source, target))
    assert not wrong


def schemas_of(types, kind):
    return types.resolve(kind, '', Environment({}, types.operator)).properties_schema


@pytest.mark.parametrize('name, word', [('sequence', 'digits'), ('sequence', 'lettersdigits')])
def test_a_deprecated_sequence(preview, name, word):
    shown = preview('OS::Heat::RandomString', {name: word})
    assert shown['sequence'] is None
    assert shown['character_classes'] == [{'class': word, 'min': 1}]


def test_what_types_need_is_shown_as_required(types):
    """A port needs the subnets of its network, though its template does not name them."""
    definition = definitions.build(templates.from_mapping({'heat_template_version': '2018-08-31', 'resources': {
        'net': {'type': 'OS::Neutron::Net'},
        'subnet': {'type': 'OS::Neutron::Subnet', 'properties': {
            'network': {'get_resource': 'net'}, 'cidr': '10.0.0.0/24'}},
        'port': {'type': 'OS::Neutron::Port', 'properties': {'network': {'get_resource': 'net'}}}}}),
        Environment({}, types.operator), {}, definitions.StackIdentity('s', None, 'p'))
    checker, catalog = validation.checker(definition, types, RequestContext(project_id='p', overwrite=False))
    message = messages.PreviewStack(stack_name='s', template=definition.template.document)
    shown = preview_create.shown(checker, catalog, message, 'me', 'now', 100)['resources']
    assert {each['resource_name']: sorted(each['required_by']) for each in shown} == {
        'net': ['port', 'subnet'], 'subnet': ['port'], 'port': []}
