"""Types are asked about resources whose values nobody knows yet: each property unknown as a whole and in its leaves."""

from __future__ import annotations

import builtins
import contextlib

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine import properties, resource
from heatlite.engine.resources import packed
from heatlite.engine.resources.rest import rules
from heatlite.engine.types import catalog
from heatlite.engine.types.draft import DraftStack
from heatlite.language import definition as definitions
from heatlite.language import lint, property_checks
from heatlite.language import template as templates
from heatlite.language.environment import Environment
from heatlite.language.schema import Schema
from heatlite.language.unknown import UNKNOWN

NAMES = sorted(packed.names())
SOURCES = {'a parameter': {'get_param': 'p'}, 'an attribute': {'get_attr': ['v', 'value']}}
DEFECTS = {name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, Exception)}


class Catalog(catalog.Catalog):
    """With every service there, and no questions to any."""

    def _available(self, kind, type_name):
        return lambda: None


class Careless(resource.Resource):
    """As others write types: it takes every value for what its schema says."""

    properties_schema = {'items': properties.Schema(properties.Schema.LIST)}

    def validate(self):
        super().validate()
        if len(self.properties['items']) > 2:
            raise ValueError('too many')


@pytest.mark.parametrize('items, wrong', [({'get_param': 'p'}, []), ([1], []), ([1, 2, 3], ['ValueError'])])
def test_a_careless_type_is_blamed_for_known_values_only(types, items, wrong):
    types.register('Careless', Careless)
    definition = definitions.build(templates.from_mapping({
        'heat_template_version': '2018-08-31', 'parameters': {'p': {'type': 'json'}},
        'resources': {'r': {'type': 'Careless', 'properties': {'items': items}}}}), Environment({}, types.operator), {},
        definitions.StackIdentity('s', None, 'p'), assume_unknown=True)
    context = RequestContext(project_id='p', overwrite=False)
    catalog = Catalog(types, context, DraftStack(definition, context, types).make)
    assert [each.error.error for each in lint.check(definition, catalog)] == wrong


class Exclusive(resource.Resource):
    """As others write types: it asks whether there is a value."""

    properties_schema = {name: properties.Schema(properties.Schema.STRING) for name in 'ab'}

    def validate(self):
        super().validate()
        if self.properties['a'] and self.properties['b']:
            raise exception.ResourcePropertyConflict('a', 'b')


@pytest.mark.parametrize('a, b, wrong', [
    ({'get_param': 'p'}, {'get_param': 'p'}, False), ({'get_attr': ['r', 'show']}, {'get_param': 'p'}, False),
    ('x', {'get_param': 'p'}, False), ('x', 'y', True)])
def test_what_may_be_empty_is_no_conflict(types, a, b, wrong):
    types.register('Exclusive', Exclusive)
    definition = definitions.build(templates.from_mapping({
        'heat_template_version': '2018-08-31', 'parameters': {'p': {'type': 'string'}},
        'resources': {'r': {'type': 'Exclusive'}, 'e': {'type': 'Exclusive', 'properties': {'a': a, 'b': b}}}}),
        Environment({}, types.operator), {}, definitions.StackIdentity('s', None, 'p'), assume_unknown=True)
    context = RequestContext(project_id='p', overwrite=False)
    found = lint.check(definition, Catalog(types, context, DraftStack(definition, context, types).make))
    assert [type(each.error).__name__ for each in found] == ['ResourcePropertyConflict'] * wrong


@pytest.mark.parametrize('a, b, wrong', [
    (rules.PERHAPS, rules.PERHAPS, False), (rules.PERHAPS, True, False), (rules.PERHAPS, rules.SOMETHING, False),
    (rules.SOMETHING, rules.SOMETHING, True), (True, True, True)])
def test_nor_is_it_one_for_the_rules_of_a_description(a, b, wrong):
    with pytest.raises(exception.ResourcePropertyConflict) if wrong else contextlib.nullcontext():
        rules.check([{'exactly_one': ['a', 'b']}], {'a': a, 'b': b}.get)


def whole(schema, unknown):
    return unknown


def leaves(schema, unknown):
    """The least that shows the shape: lists of one, maps with all their keys."""
    if schema.type == Schema.LIST:
        return [leaves(schema.schema['*'] if isinstance(schema.schema, dict) else schema.schema, unknown)
                if schema.schema else unknown]
    if schema.type == Schema.MAP and schema.schema:
        return {str(name): leaves(child, unknown) for name, child in schema.schema.items()}
    return unknown


def document(order, shape, unknown):
    """All types in one stack, each needing those before it: what looks at its neighbours finds all kinds of them."""
    resources = {'v': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'p'}}}}
    for number, name in enumerate(order):
        schemas = properties.schemata(packed.properties(name))
        resources[f'r{number}'] = {
            'type': name, 'depends_on': [f'r{before}' for before in range(number)],
            'properties': {key: shape(schema, unknown) for key, schema in schemas.items() if schema.implemented}}
    return {'heat_template_version': '2018-08-31', 'parameters': {'p': {'type': 'json'}}, 'resources': resources}


@pytest.mark.parametrize('depth', [0, 1])
@pytest.mark.parametrize('shape', [whole, leaves])
@pytest.mark.parametrize('source', sorted(SOURCES))
@pytest.mark.parametrize('order', [NAMES, NAMES[::-1]], ids=['forwards', 'backwards'])
def test_no_type_stumbles_over_what_is_not_known_yet(types, monkeypatch, order, source, shape, depth):
    """`depth` 1: as the checks of nested stacks ask, whose values are guesses. What would forgive the types of others
    is taken away here."""
    monkeypatch.setattr(property_checks, 'is_known', lambda value: True)
    definition = definitions.build(
        templates.from_mapping(document(order, shape, SOURCES[source])), Environment({}, types.operator), {},
        definitions.StackIdentity('s', None, 'p'), assume_unknown=True)
    context = RequestContext(project_id='p', overwrite=False)
    catalog = Catalog(types, context, DraftStack(definition, context, types, strict=not depth).make)
    checker = lint.Checker(definition, catalog, values=not depth, depth=depth)
    stumbled = {f'{definition.resources[diagnostic.path[1]].type}: {diagnostic.error}'
                for diagnostic in checker.diagnostics() if getattr(diagnostic.error, 'error', '') in DEFECTS
                or repr(UNKNOWN) in str(diagnostic.error)}
    assert stumbled == set()
