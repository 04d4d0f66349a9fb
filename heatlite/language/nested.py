"""Template resources: a template as a resource type, and its nested stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.limits import Limits
from heatlite.common.template_files import Files
from heatlite.language import masking
from heatlite.language import parameters as parameter_definitions
from heatlite.language import template as templates
from heatlite.language.definition import DefinedResource, Facade, StackDefinition, StackIdentity, build
from heatlite.language.document import DocumentError, check_size
from heatlite.language.environment import Environment
from heatlite.language.expression import PLACEHOLDERS, Scope
from heatlite.language.facts import TypeFacts
from heatlite.language.masking import Mask
from heatlite.language.parameters import ParameterSchema
from heatlite.language.schema import Schema
from heatlite.language.template import Template
from heatlite.language.unknown import UNKNOWN, is_known

MEMBERS = 'nested_stack'                # the name of a group's template in error paths
PROPERTY_TYPES = {'string': Schema.STRING, 'number': Schema.NUMBER, 'list': Schema.LIST, 'map': Schema.MAP,
                  'boolean': Schema.BOOLEAN}
FACADE_PAIRS = {Schema.INTEGER: Schema.NUMBER}


def parse_child(text: str, name: str, limits: Limits) -> Template:
    """Parse a template file. Raises StackValidationFailed, InvalidTemplateVersion, RequestLimitExceeded."""
    try:
        document = templates.parse(text, name, limits)
    except DocumentError as error:
        raise exception.StackValidationFailed(message=str(error)) from None
    return Template(document, source=name, text=text)


def template_among(name: str, files: Files, limits: Limits) -> Template | None:
    """Return the template of that name, parsed once for all stacks that use it; None if it is not among the files.

    Raises as `parse_child`.
    """
    if name not in files.templates and isinstance(files.get(name), str):
        files.templates[name] = parse_child(files[name], name, limits)
    found = files.templates.get(name)
    return found if isinstance(found, Template) else None


def schema_from_parameter(parameter: ParameterSchema, defaults: Mapping[str, object]) -> Schema:
    """Return the property that corresponds to a parameter."""
    schema = Schema(PROPERTY_TYPES[parameter.kind], description=parameter.description,
                    required=parameter.default is None and defaults.get(parameter.name) is None,
                    update_allowed=True, allow_conversion=parameter.kind in ('list', 'map'))
    schema.constraints = list(parameter.constraints)
    return schema


def template_schemas(template: Template, defaults: Mapping[str, object]) -> dict[str, Schema]:
    """Return the properties of a template resource. Raises InvalidSchemaError."""
    section = parameter_definitions.schemata(template.section('parameters'), template.edition)
    return {name: schema_from_parameter(parameter, defaults) for name, parameter in section.items()}


def template_facts(template: Template, name: str, environment: Environment) -> TypeFacts:
    """Return the facts of a template as a resource type."""
    outputs = template.section('outputs')
    attributes = {str(key): None for key in outputs} if isinstance(outputs, Mapping) else {}
    return TypeFacts(
        name=name, properties=template_schemas(template, environment.parameter_defaults), attributes=attributes,
        class_name='TemplateResource', accepts_any_attribute=True)


def check_against_facade(facts: TypeFacts, original: TypeFacts) -> None:
    """Check that a template which replaces an existing type has its properties. Raises StackValidationFailed."""
    def wrong(text: str, **names: object) -> exception.StackValidationFailed:
        return exception.StackValidationFailed(message=text % {'type': original.name, **names})

    for name, schema in original.properties.items():
        mine = facts.properties.get(name)
        if mine is None:
            if schema.required:
                raise wrong(_('Required property %(name)s for facade %(type)s missing in provider'), name=name)
            continue
        if schema.type not in (mine.type, Schema.ANY) and FACADE_PAIRS.get(schema.type) != mine.type:
            raise wrong(_('Property %(name)s type mismatch between facade %(type)s (%(theirs)s) and provider '
                          '(%(mine)s)'), name=name, theirs=schema.type, mine=mine.type)
    for name, mine in facts.properties.items():
        if mine.required and name not in original.properties:
            raise wrong(_('Provider requires property %(name)s unknown in facade %(type)s'), name=name)
    for name in original.attributes:
        if name != 'show' and name not in facts.attributes:
            raise wrong(_('Attribute %(name)s for facade %(type)s missing in provider'), name=name)


def child_parameters(schemas: Mapping[str, Schema], given: Mapping[str, object],
                     values: Mapping[str, object]) -> dict[str, object]:
    """Return the values of the child's parameters from the given properties. Raises TypeError as `list_text`."""
    received = {}
    for name in given:
        if name not in schemas:
            continue
        value = values.get(name)
        if value is None:               # an attribute of a resource that does not exist yet: treated as null
            value = schemas[name].empty()
        received[name] = list_text(value) if schemas[name].type == Schema.LIST else value
    return received


def files_named(template: Template) -> set[str]:
    """Return the templates that resources of this one use as their type."""
    resources = template.section('resources')
    types = (snippet.get(template.edition.keys.type) for snippet in resources.values()
             if isinstance(snippet, Mapping)) if isinstance(resources, Mapping) else ()
    return {name for name in types if isinstance(name, str) and templates.is_template_name(name)}


def list_text(items: Any) -> object:
    """Convert a list to the text that a child's parameter takes; maps are flattened into `.member.` texts."""
    if isinstance(items, str) or not is_known(items):
        return items if isinstance(items, str) else UNKNOWN
    if items and isinstance(items[0], Mapping):
        if not all(isinstance(item, Mapping) for item in items):
            raise TypeError(_('A list for a parameter of a template has either maps or texts as items'))
        return ','.join(f'.member.{place}.{key}={value}' for place, item in enumerate(items)
                        for key, value in item.items())
    return ','.join(['' if item is None else item for item in items])


def child_definition(parent: StackDefinition, resource: DefinedResource | None, template: Template,
                     parameters: Mapping[str, object], used: tuple[str, ...] = (), *,
                     identity: StackIdentity | None = None, scope: Scope = PLACEHOLDERS,
                     facade: Facade | None = None, name: str = '', files: Files | None = None,
                     secrets: Mask = masking.NOTHING) -> StackDefinition:
    """Return the definition of the nested stack of a resource. Raises RequestLimitExceeded for a template that a type
    has made too large; the parser refuses those that are texts.

    `used`: `Found.path` of its type; `identity`: of the child, which before it exists is named after its parent.
    `facade` and `name` replace a resource that the parent's definition no longer has; `files` those of the parent.
    `secrets`: hidden values of the parent's resources, in addition to those of its parameters.
    """
    name = resource.name if resource is not None else name
    if facade is None and resource is not None:
        facade = Facade(resource, scope)
    limits = parent.limits.of_later
    if template.text is None:
        check_size(template.document, limits)
    mask = parent.mask | secrets
    inherited = masking.inherited(mask, parent.parameters.hidden, template.document, parameters,
                                  parent.environment.parameter_defaults) if mask else None
    return build(
        template, parent.environment.child(parameters, name, used, inherited), parent.files if files is None else files,
        identity or StackIdentity(f'{parent.identity.name}-{name}', None, parent.identity.project_id,
                                  parent.identity.region),
        facade=facade, limits=limits, assume_unknown=parent.assume_unknown)
