"""Converts types to templates and templates to types: properties to parameters, attributes to outputs, and back.

Source: docs/spec/templates.rst, "Properties from parameters" and "Generated templates".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import attributes, support
from heatlite.language.constraints import AllowedPattern, AllowedValues, CustomConstraint, Length, Range
from heatlite.language.schema import Schema

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource
    from heatlite.language.parameter_schema import ParameterSchema

CFN, HOT = 'cfn', 'hot'
STACK_ID = 'OS::stack_id'
KIND_OF_PROPERTY = {                        # kind of a parameter -> type of the corresponding property
    'string': Schema.STRING, 'number': Schema.NUMBER, 'boolean': Schema.BOOLEAN, 'list': Schema.LIST,
    'map': Schema.MAP}
PARAMETER_TYPES = {                         # type of a property -> (HOT, CFN) type of its parameter
    Schema.STRING: ('string', 'String'), Schema.NUMBER: ('number', 'Number'), Schema.INTEGER: ('number', 'Number'),
    Schema.BOOLEAN: ('boolean', 'Boolean'), Schema.MAP: ('json', 'Json'),
    Schema.LIST: ('comma_delimited_list', 'CommaDelimitedList')}
CFN_BOOLEANS = ['True', 'true', 'False', 'false']


def schema_of_parameter(parameter: ParameterSchema) -> Schema:
    """Return the property schema for a template's parameter (a `ParameterSchema`)."""
    kind = KIND_OF_PROPERTY[parameter.kind]
    return Schema(kind, description=parameter.description, required=parameter.default is None,
                  constraints=parameter.constraints, update_allowed=True,
                  allow_conversion=kind in (Schema.LIST, Schema.MAP))


def parameters_and_properties(schemas: Mapping[str, Schema],
                              template_type: str) -> tuple[dict[str, object], dict[str, object]]:
    """Return a parameter for each property that is implemented and not hidden, and the properties that use them.

    Raises NotSupported for a property of any type: there is no corresponding parameter type.
    """
    parameters: dict[str, object] = {}
    readers: dict[str, object] = {}
    for name, schema in schemas.items():
        if not schema.implemented or schema.support_status.status == support.HIDDEN:
            continue
        if schema.type not in PARAMETER_TYPES:
            raise exception.NotSupported(
                feature=_('A template for a type with a property of any type (%s)') % name)
        if template_type == HOT:
            parameters[name], readers[name] = _hot_parameter(schema), {'get_param': name}
        else:
            parameters[name] = _cfn_parameter(schema)
            readers[name] = ({'Fn::Split': [',', {'Ref': name}]} if schema.type == Schema.LIST else {'Ref': name})
    return parameters, readers


def _hot_parameter(schema: Schema) -> dict[str, object]:
    found: dict[str, object] = {'type': PARAMETER_TYPES[schema.type][0]}
    if schema.description is not None:
        found['description'] = schema.description
    if schema.default is not None:
        found['default'] = _default(schema)
    # Parameters of this template version do not support other constraints.
    limits = [dict(limit) for limit in schema.constraints
              if isinstance(limit, Length | Range | AllowedValues | AllowedPattern | CustomConstraint)]
    if limits:
        found['constraints'] = limits
    return found


def _cfn_parameter(schema: Schema) -> dict[str, object]:
    found: dict[str, object] = {'Type': PARAMETER_TYPES[schema.type][1]}
    if schema.description is not None:
        found['Description'] = schema.description
    if schema.default is not None:
        found['Default'] = _default(schema)
    for limit in schema.constraints:
        match limit:
            case Length():
                found.update(_bounds('Length', limit))
            case Range():
                found.update(_bounds('Value', limit))
            case AllowedValues():
                found['AllowedValues'] = list(limit.allowed)
            case AllowedPattern():
                found['AllowedPattern'] = limit.pattern
    if schema.type == Schema.BOOLEAN:
        found['AllowedValues'] = CFN_BOOLEANS
    return found


def _bounds(what: str, limit: Length | Range) -> dict[str, object]:
    pairs = ((f'Min{what}', limit.min), (f'Max{what}', limit.max))
    return {key: bound for key, bound in pairs if bound is not None}


def _default(schema: Schema) -> object:
    """Return the default; a list of plain values as comma-delimited text."""
    default = schema.default
    if schema.type == Schema.LIST and isinstance(default, list | tuple) and all(
            isinstance(item, str | int | float) for item in default):
        return ','.join(str(item) for item in default)
    return default


def template_of(resource_class: type[Resource], resource_type: str, template_type: str) -> dict[str, object]:
    """Return a template with one resource of the type."""
    from heatlite.engine import properties  # it imports this module
    parameters, readers = parameters_and_properties(properties.schemata(resource_class.properties_schema),
                                                    template_type)
    name = resource_class.__name__
    outputs = attributes.Attributes.as_outputs(name, resource_class, template_type)
    description = f'Initial template of {name}'
    if template_type == HOT:
        outputs[STACK_ID] = {'value': {'get_resource': name}}
        return {'heat_template_version': '2016-10-14', 'description': description, 'parameters': parameters,
                'resources': {name: {'type': resource_type, 'properties': readers}}, 'outputs': outputs}
    outputs[STACK_ID] = {'Value': {'Ref': name}}
    return {'HeatTemplateFormatVersion': '2012-12-12', 'Description': description, 'Parameters': parameters,
            'Resources': {name: {'Type': resource_type, 'Properties': readers}}, 'Outputs': outputs}
