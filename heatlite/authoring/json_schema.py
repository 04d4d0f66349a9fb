"""A JSON Schema (2020-12) of HOT templates with the properties of all built-in types, for editors and validators.

It accepts what the service accepts and refuses wrong structure: unknown sections and keys, unknown, missing and
misshapen properties. References, custom constraints and what types check themselves are left to the linter. Types that
are not built in are accepted: an environment may define them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from heatlite.engine.resources import packed
from heatlite.language import parameter_schema, versions
from heatlite.language.constraints import AllowedValues, Length, Range
from heatlite.language.schema import Schema

DIALECT: Final = 'https://json-schema.org/draft/2020-12/schema'
FUNCTION: Final = {'$ref': '#/$defs/function'}
ANYTHING: Final = 'OS::Heat::None'              # a type that accepts all properties
KINDS: Final[Mapping[str, list[str]]] = {       # type of a property -> JSON types that are converted to it
    Schema.STRING: ['string', 'number', 'boolean'], Schema.INTEGER: ['integer', 'string', 'boolean', 'number'],
    Schema.NUMBER: ['number', 'string', 'boolean'], Schema.BOOLEAN: ['boolean', 'string'], Schema.MAP: ['object'],
    Schema.LIST: ['array']}
Json = dict[str, object]


def document() -> Json:
    """Return the schema. It is made from the facts of types, in about a second."""
    names = [name for name in packed.names() if not packed.facts(name)['support_status'].get('hidden')]
    return {
        '$schema': DIALECT, 'title': 'Heat Orchestration Template', 'type': 'object',
        'required': [versions.HOT_KEY], 'additionalProperties': False,
        'properties': {
            versions.HOT_KEY: {'enum': [*versions.HOT_DATES, *versions.ALIASES]},
            'description': {}, versions.IGNORED_SECTION: {},
            'parameter_groups': {'type': ['array', 'null']},
            'parameters': _map_of('#/$defs/parameter'), 'conditions': {'type': ['object', 'null']},
            'resources': _map_of('#/$defs/resource'), 'outputs': _map_of('#/$defs/output')},
        '$defs': {
            'function': {'type': 'object', 'minProperties': 1, 'maxProperties': 1, 'propertyNames': {
                'enum': sorted({row.name for row in versions.FUNCTIONS})}},
            'parameter': {
                'type': 'object', 'required': ['type'], 'additionalProperties': False,
                'properties': {key: {} for key in sorted(parameter_schema.HOT_DEFINITION | {'tags'})} | {
                    'type': {'enum': sorted(parameter_schema.HOT_KINDS)},
                    'constraints': {'type': ['array', 'null'], 'items': {'type': 'object'}}}},
            'output': {'type': 'object', 'required': ['value']},
            'resource': _resource(names),
            **{name: properties_of(name) for name in names}}}


def _map_of(reference: str) -> Json:
    return {'type': ['object', 'null'], 'additionalProperties': {'$ref': reference}}


def _resource(names: list[str]) -> Json:
    keys = versions.HOT_KEYS
    return {
        'type': 'object', 'required': [keys.type], 'additionalProperties': False,
        'properties': {key: {} for key in sorted(keys.of_resources)} | {
            keys.type: {'type': 'string', 'minLength': 1, 'examples': names},
            keys.depends_on: {'type': ['string', 'array', 'null'], 'items': {'type': 'string'}}},
        'allOf': [{'if': {'properties': {keys.type: {'const': name}, 'external_id': False}},
                   'then': _with_properties(name)} for name in names if name != ANYTHING]}


def _with_properties(name: str) -> Json:
    found: Json = {'properties': {'properties': {'anyOf': [{'type': 'null'}, FUNCTION, {'$ref': f'#/$defs/{name}'}]}}}
    return {**found, 'required': ['properties']} if _required(name) else found


def _required(name: str) -> list[str]:
    """Return required properties, except those that a translation may fill from another one."""
    rules = packed.facts(name).get('translation_rules', ())
    filled = {str(rule['path'][0]) for rule in rules}
    return [key for key, schema in packed.properties(name).items()
            if schema.required and schema.default is None and key not in filled]


def properties_of(name: str) -> Json:
    """Return the schema of the map of properties of one type."""
    if name == ANYTHING:
        return {'type': 'object'}
    described = packed.facts(name).get('description')
    found: Json = {'type': 'object', 'additionalProperties': False, 'properties': {
        key: of_property(schema) for key, schema in packed.properties(name).items()}}
    if _required(name):
        found['required'] = _required(name)
    return {'description': described, **found} if described else found


def of_property(schema: Schema) -> Json:
    """Return the schema of one value: a function, null, or what is converted to the property's type."""
    found: Json = {'description': schema.description} if schema.description else {}
    if schema.support_status.status == 'DEPRECATED':
        found['deprecated'] = True
    if schema.default is not None:
        found['default'] = schema.default
    return found if schema.type == Schema.ANY else {**found, 'anyOf': [{'type': 'null'}, FUNCTION, _plain(schema)]}


def _plain(schema: Schema) -> Json:
    found: Json = {'type': KINDS[schema.type]}
    if schema.allow_conversion:
        return {'type': ['string', 'object', 'array']}
    if schema.of_items is not None:
        found['items'] = of_property(schema.of_items)
    elif schema.schema is not None:
        found |= {'additionalProperties': False,
                  'properties': {key: of_property(each) for key, each in schema.of_children.items()}}
        required = [key for key, each in schema.of_children.items() if each.required and each.default is None]
        if required:
            found['required'] = required
    for constraint in schema.constraints:
        found |= _limits(schema, constraint)
    return found


def _limits(schema: Schema, constraint: object) -> Json:
    match constraint:
        case Range():
            pairs = (('minimum', constraint.min), ('maximum', constraint.max))
        case Length() if schema.type in (Schema.STRING, Schema.LIST):
            what = 'Length' if schema.type == Schema.STRING else 'Items'
            pairs = ((f'min{what}', constraint.min), (f'max{what}', constraint.max))
        case AllowedValues() if schema.type == Schema.STRING:
            return {'enum': [*constraint.allowed]}
        case _:
            return {}
    return {key: bound for key, bound in pairs if bound is not None}
