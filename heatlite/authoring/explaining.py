"""Explains a type, a property, or an attribute from the facts of the catalogue: `OS::Nova::Server.networks.port`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import yaml

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources import packed
from heatlite.language.constraints import AllowedValues, CustomConstraint, Length, Modulo, Range
from heatlite.language.diagnostics import did_you_mean
from heatlite.language.schema import Schema

PLAIN: Final[Mapping[str, object]] = {
    Schema.STRING: 'text', Schema.INTEGER: 1, Schema.NUMBER: 1, Schema.BOOLEAN: True, Schema.MAP: {},
    Schema.LIST: [], Schema.ANY: 'text'}
EXAMPLES: Final[Mapping[str, object]] = {      # of values for custom constraints
    'ip_addr': '192.0.2.10', 'net_cidr': '192.0.2.0/24', 'ip_or_cidr': '192.0.2.10', 'mac_addr': '02:00:00:00:00:01',
    'dns_name': 'www.example.org', 'rel_dns_name': 'www', 'dns_domain': 'example.org.',
    'iso_8601': '2030-01-01T00:00:00Z', 'cron_expression': '0 4 * * *', 'json_string': '{}', 'timezone': 'UTC',
    'expiration': '2130-01-01T00:00:00Z'}


class UnknownName(exception.HeatException):
    """Nothing has this name. The text has a hint."""

    msg_fmt = '%(what)s'


def explain(name: str) -> str:
    """Return the text about a type, one of its properties (nested ones after further dots) or attributes. Raises
    Unknown."""
    type_name, _dot, rest = name.partition('.')
    if type_name not in set(packed.names()):
        raise _unknown(_('There is no resource type "%s"') % type_name, type_name, packed.names())
    lines = _member(type_name, rest.split('.')) if rest else _type(type_name)
    return '\n'.join(lines) + '\n'


def _unknown(text: str, found: str, known: Iterable[str]) -> UnknownName:
    hint = did_you_mean(found, list(known))
    return UnknownName(what=text + (f'; {hint}' if hint else ''))


def _type(name: str) -> Iterator[str]:
    from heatlite.engine.types import registry
    facts = packed.facts(name)
    yield name
    purpose = facts.get('description') or registry.create().resolve(name, '').getdoc()
    if purpose:
        yield from ('', purpose)
    for title, bodies in ((_('Properties'), packed.properties(name)), (_('Update policy'), packed.update_policy(name))):
        if bodies:
            yield from ('', f'{title}:')
            yield from (f'  {key} ({", ".join(_traits(schema))})' + _summary(schema.description)
                        for key, schema in bodies.items() if schema.implemented)
    if facts.get('attributes'):
        yield from ('', f'{_("Attributes")}:')
        yield from (f'  {key}' + _summary(body.get('description')) for key, body in facts['attributes'].items())
    yield from ('', f'{_("Example")}:', *example(name))


def _traits(schema: Schema) -> Iterator[str]:
    """Yield the type of a property, whether it is required, its default, and whether a change replaces the resource."""
    yield kind(schema)
    if schema.required:
        yield _('required')
    elif schema.default is not None:
        yield _('default %s') % json.dumps(schema.default)
    if not schema.update_allowed:
        yield _('a change is refused') if schema.immutable else _('a change replaces')


def _summary(description: str | None) -> str:
    """Return ': ' and the first sentence of a description; '' without one."""
    text = ' '.join((description or '').split())
    return f': {re.split(r"(?<=[.]) (?=[A-Z])", text, maxsplit=1)[0]}' if text else ''


def _member(type_name: str, path: list[str]) -> Iterator[str]:
    schemas: Mapping[str, Schema] = packed.properties(type_name)
    attributes = packed.facts(type_name).get('attributes', {})
    if path[0] not in schemas and len(path) == 1 and path[0] in attributes:
        yield from _attribute(type_name, path[0], attributes[path[0]])
        return
    schema = find(schemas, path)
    if schema is None:
        known = {*schemas, *attributes} if len(path) == 1 else inner(find(schemas, path[:-1]))
        raise _unknown(_('%(type)s has neither a property nor an attribute "%(name)s"') % {
            'type': type_name, 'name': '.'.join(path)}, path[-1], known)
    yield from (f'{type_name}.{".".join(path)}', '', *about(schema, type_name, path))
    if len(path) == 1:
        yield from ('', f'{_("Example")}:', *example(type_name, path[0]))
        if path[0] in attributes:
            yield ''
            yield from _attribute(type_name, path[0], attributes[path[0]])


def about(schema: Schema, type_name: str, path: list[str]) -> Iterator[str]:
    """Yield description, type, default, constraints, behaviour of updates, and names inside."""
    if schema.description:
        yield from (schema.description, '')
    yield f'{_("Type")}: {kind(schema)}'
    if schema.required:
        yield _('Required')
    elif schema.default is not None:
        yield f'{_("Default")}: {json.dumps(schema.default)}'
    yield from (f'{_("Constraint")}: {text}' for text in constraints(schema))
    top = packed.properties(type_name)[path[0]]
    update = (_('a change is refused') if top.immutable else _('in place') if top.update_allowed
              else _('a change replaces the resource'))
    yield f'{_("Update")}: {update}'
    status = schema.support_status
    if status.status != 'SUPPORTED':
        yield f'{_("Status")}: {status.status}' + (f'; {status.message}' if status.message else '')
    inside = inner(schema)
    if inside:
        yield f'{_("Inside")}: {", ".join(inside)}'


def _attribute(type_name: str, name: str, body: packed.AttributeFacts) -> Iterator[str]:
    yield from (f'{type_name}.{name} ({_("attribute")})', '')
    description = body.get('description')
    if description:
        yield from (description, '')
    yield f'{_("Type")}: {body.get("type") or _("any")}'
    yield from ('', f'{_("Example")}:', f'  {{get_attr: [my_resource, {name}]}}')


def find(schemas: Mapping[str, Schema], path: list[str]) -> Schema | None:
    """Return the schema of a property; the names after the first are those inside maps and inside maps of lists."""
    found: Schema | None = None
    for name in path:
        found = schemas.get(name)
        if found is None:
            return None
        schemas = inner(found)
    return found


def inner(schema: Schema | None) -> Mapping[str, Schema]:
    """Return the properties inside a map, or inside the maps of a list; empty for other types."""
    while schema is not None and schema.type == Schema.LIST:
        schema = schema.of_items
    return schema.of_children if schema is not None else {}


def kind(schema: Schema) -> str:
    word = schema.type.lower()
    return f'{word} of {kind(schema.of_items)}' if schema.of_items is not None else word


def constraints(schema: Schema) -> Iterator[str]:
    """One sentence for each constraint, those of a list's items too."""
    for each in schema.constraints:
        yield str(each.description or json.dumps(dict(each), default=str))
    if schema.of_items is not None:
        yield from (f'{_("each item")}: {text}' for text in constraints(schema.of_items))


# --- examples -------------------------------------------------------------------------------------------------------

def example(type_name: str, *names: str) -> Iterator[str]:
    """Lines of a resource with its required properties and the named ones."""
    given = {name: value_of(schema) for name, schema in packed.properties(type_name).items()
             if schema.required or name in names}
    body: dict[str, object] = {'type': type_name} | ({'properties': given} if given else {})
    text = yaml.safe_dump({'my_resource': body}, sort_keys=False)
    yield from (f'  {line}' for line in text.splitlines())


def value_of(schema: Schema) -> object:
    """Return a value of the right form that satisfies all constraints but patterns and those that ask a service."""
    if schema.default not in (None, '', [], {}):
        return schema.default
    if schema.type == Schema.LIST:
        least = max([each.min or 0 for each in schema.constraints if isinstance(each, Length)], default=0)
        item = value_of(schema.of_items) if schema.of_items is not None else 'text'
        return [item] * max(1, least)
    if schema.type == Schema.MAP:
        inside = schema.of_children
        return {name: value_of(each) for name, each in inside.items() if each.required} or (
            {name: value_of(each) for name, each in list(inside.items())[:1]} if inside else {})
    value = PLAIN[schema.type]
    for each in schema.constraints:
        match each:
            case AllowedValues():
                return next(iter(each.allowed))
            case Range():
                value = each.min if each.min is not None else _at_most(value, each.max)
            case Length() if schema.type == Schema.STRING and isinstance(value, str):
                value = (value * (each.min or 1))[:each.max] if each.min else value[:each.max]
            case Modulo():
                value = each.offset + each.step
            case CustomConstraint():
                value = EXAMPLES.get(each.name, value)
    return value


def _at_most(value: object, most: float | None) -> object:
    return min(value, most) if isinstance(value, int | float) and most is not None else value
