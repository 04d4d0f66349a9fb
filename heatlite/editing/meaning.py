"""What stands at a path of a template: a section, a key of a resource, a property, the argument of a function ...

Both completion and hover ask here, so that they agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from heatlite.authoring import explaining
from heatlite.authoring.checking import OPERATOR
from heatlite.common import exception
from heatlite.editing.outline import (
    CONDITION,
    FILE_CALLS,
    NESTED_CONDITIONS,
    OUTPUT,
    PARAMETER,
    RESOURCE,
    ROLES,
    Outline,
)
from heatlite.editing.tree import MAP, Name, Path
from heatlite.engine.resources import packed
from heatlite.engine.resources.packed_types import BuiltIn
from heatlite.language.renaming import BY_FIRST
from heatlite.language.schema import Schema
from heatlite.language.template import is_template_name
from heatlite.language.usage import CONDITION_CALLS

SECTION, VERSION = 'section', 'version'
PARAMETER_KEY, PARAMETER_TYPE = 'parameter key', 'parameter type'
RESOURCE_KEY, OUTPUT_KEY, TYPE, DELETION_POLICY = 'resource key', 'output key', 'type', 'deletion policy'
PROPERTY, VALUE, CALL, NAME, ATTRIBUTE, FILE = 'property', 'value', 'call', 'name', 'attribute', 'file'
DECLARATION, OTHER = 'declaration', 'other'

MEMBERS: Final = frozenset({'resource_def', 'resource'})     # properties of groups that define a resource
TRANSPARENT: Final = frozenset(CONDITION_CALLS)              # functions that stand for one of their arguments


@dataclass(frozen=True)
class Meaning:
    """The meaning of one place.

    `name`: the key or function; `kinds`: of the names that fit; `type_name`, `path`, `schema`: of a property (the names
    of the maps around it, its own schema) or its value; `schemas`: what fits beside a key; `resource`: whose attribute
    or dependency it is.
    """

    what: str
    name: str = ''
    kinds: tuple[str, ...] = ()
    type_name: str | None = None
    path: tuple[str, ...] = ()
    schema: Schema | None = None
    schemas: Mapping[str, Schema] | None = None
    resource: str = ''
    may_call: bool = False                      # a function may stand here
    is_condition: bool = False                  # ... of those for conditions


def built_in(name: str | None) -> str | None:
    """Return the name of the built-in type that a name stands for; None for templates, types of plug-ins and wrong
    names."""
    if name is None or is_template_name(name):
        return None
    try:
        target = OPERATOR.find(name, None).target
    except exception.HeatException:
        return None
    return target.name if isinstance(target, BuiltIn) else None


def of(outline: Outline, path: Path, *, is_key: bool) -> Meaning:
    """Return the meaning of the key, or of the value, at a path."""
    if not path:
        return Meaning(OTHER)
    if len(path) == 1:
        if is_key:
            return Meaning(SECTION, str(path[0]))
        return Meaning(VERSION if path[0] == outline.edition.key else OTHER)
    section = outline.section_of(path[0])
    match section:
        case 'parameters':
            return _parameter(path, is_key)
        case 'parameter_groups':
            is_name = len(path) == 4 and path[2] == 'parameters' and not is_key
            return Meaning(NAME, kinds=(PARAMETER,)) if is_name else Meaning(OTHER)
        case 'resources' | 'outputs' | 'conditions':
            if len(path) == 2 and is_key:
                kind = {'resources': RESOURCE, 'outputs': OUTPUT, 'conditions': CONDITION}[section]
                return Meaning(DECLARATION, str(path[1]), (kind,))
            found = _in_call(outline, path, is_key)
            if found is not None:
                return found
            if section == 'resources':
                return _resource(outline, path, is_key)
            if section == 'outputs':
                return _output(outline, path, is_key)
            return Meaning(VALUE, is_condition=True, may_call=True)
    return Meaning(OTHER)


def _parameter(path: Path, is_key: bool) -> Meaning:
    if len(path) == 2 and is_key:
        return Meaning(DECLARATION, str(path[1]), (PARAMETER,))
    if len(path) == 3 and is_key:
        return Meaning(PARAMETER_KEY, str(path[2]))
    if len(path) == 3 and path[2] in ('type', 'Type'):
        return Meaning(PARAMETER_TYPE)
    return Meaning(VALUE, name=str(path[-1]))


def _output(outline: Outline, path: Path, is_key: bool) -> Meaning:
    keys = outline.edition.keys
    if len(path) == 3:
        if is_key:
            return Meaning(OUTPUT_KEY, str(path[2]))
        if path[2] == keys.condition:
            return Meaning(NAME, kinds=(CONDITION,), may_call=True, is_condition=True)
    return Meaning(VALUE, may_call=len(path) > 2 and path[2] == keys.output_value)


def _resource(outline: Outline, path: Path, is_key: bool) -> Meaning:
    keys = outline.edition.keys
    if len(path) < 3:
        return Meaning(OTHER)
    key = path[2]
    if len(path) == 3 and is_key:
        return Meaning(RESOURCE_KEY, str(key))
    type_name = built_in(outline.type_of(str(path[1])))
    if len(path) == 3 and key == keys.type:
        return Meaning(TYPE)
    if len(path) <= 4 and key == keys.depends_on and not is_key:
        return Meaning(NAME, kinds=(RESOURCE,), resource=str(path[1]))
    if len(path) == 3 and key == keys.condition:
        return Meaning(NAME, kinds=(CONDITION,), may_call=True, is_condition=True)
    if len(path) == 3 and key == keys.deletion_policy:
        return Meaning(DELETION_POLICY, type_name=type_name)
    if key in (keys.properties, keys.update_policy):
        return _property(outline, path, 3, type_name, is_key, is_policy=key == keys.update_policy)
    return Meaning(VALUE, may_call=key == keys.metadata)


def _property(outline: Outline, path: Path, begin: int, type_name: str | None, is_key: bool, *,
              is_policy: bool = False) -> Meaning:
    """`begin`: the place in `path` of the name of the property."""
    for place in range(begin + 1, len(path)):            # the definition of a member, in a group
        if path[place - 1] in MEMBERS and path[place] in ('type', 'properties') and place - 1 >= begin:
            if path[place] == 'type' and place == len(path) - 1:
                return Meaning(RESOURCE_KEY, 'type') if is_key else Meaning(TYPE)
            if place == len(path) - 1:
                continue
            inner = built_in(outline.tree.text_at(*path[:place], 'type'))
            return _property(outline, path, place + 1, inner, is_key)
    may_call = not is_key or len(path) > begin + 1
    if type_name is None:
        return Meaning(PROPERTY if is_key else VALUE, name=str(path[-1]), may_call=may_call)
    schemas = packed.update_policy(type_name) if is_policy else packed.properties(type_name)
    names = _names(path[begin:])
    if is_key:
        around = explaining.find(schemas, names[:-1]) if len(names) > 1 else None
        beside = explaining.inner(around) if len(names) > 1 else schemas
        return Meaning(PROPERTY, str(path[-1]), type_name=type_name, path=tuple(names), schema=beside.get(names[-1]),
                       schemas=beside, may_call=may_call)
    if not names:
        return Meaning(VALUE, type_name=type_name, schemas=schemas)
    schema = explaining.find(schemas, names)
    for _part in _items(path):
        schema = schema.of_items if schema is not None and schema.type == Schema.LIST else schema
    return Meaning(VALUE, names[-1], type_name=type_name, path=tuple(names), schema=schema, may_call=True)


def _names(path: Path) -> list[str]:
    """Return the names of the properties on a path, without places in lists and without functions that choose a
    value."""
    return [name for name in path if isinstance(name, str) and name not in TRANSPARENT]


def _items(path: Path) -> list[Name]:
    """Return the places in lists at the end of a path; those of a function that chooses are none."""
    found: list[Name] = []
    for place in range(len(path) - 1, 0, -1):
        if isinstance(path[place], int) and path[place - 1] not in TRANSPARENT:
            found.append(path[place])
        elif not (isinstance(path[place], int) or path[place] in TRANSPARENT):
            break
    return found


# --- functions ------------------------------------------------------------------------------------------------------

def _in_call(outline: Outline, path: Path, is_key: bool) -> Meaning | None:
    """Return the meaning of the name of a function, and of what is inside its argument; None outside of functions."""
    for place in range(len(path) - 1, 1, -1):
        name = path[place]
        if not isinstance(name, str) or name not in outline.functions or not _is_call(outline, path[:place]):
            continue
        inside = path[place + 1:]
        if is_key and not inside:
            return Meaning(CALL, name)
        if name in TRANSPARENT and inside and inside[0] != 0:
            return None if len(inside) == 1 or not _is_in_other_call(outline, path, place) else Meaning(
                VALUE, may_call=True)
        return _argument(outline, path, place, name, is_key)
    return None


def _is_call(outline: Outline, path: Path) -> bool:
    node = outline.tree.at(path)
    return node is not None and node.kind == MAP and len(node.entries) == 1


def _is_in_other_call(outline: Outline, path: Path, end: int) -> bool:
    return any(path[place] in outline.functions and path[place] not in TRANSPARENT and _is_call(outline, path[:place])
               for place in range(2, end))


def _argument(outline: Outline, path: Path, place: int, name: str, is_key: bool) -> Meaning:
    inside = path[place + 1:]
    if is_key:
        return Meaning(OTHER, may_call=True)
    if name in FILE_CALLS and not inside:
        return Meaning(FILE)
    if name in NESTED_CONDITIONS and len(inside) <= 1:
        return Meaning(NAME, name, (CONDITION,), may_call=True, is_condition=True)
    is_condition = path[0] == outline.edition.sections.get('conditions')
    if name in ROLES and inside in ((), (0,)):
        return Meaning(NAME, name, ROLES[name], may_call=name in CONDITION_CALLS, is_condition=name in CONDITION_CALLS)
    if name in BY_FIRST and inside == (1,):
        resource = outline.tree.text_at(*path[:place + 1], 0)
        return Meaning(ATTRIBUTE, name, resource=resource or '')
    return Meaning(VALUE, may_call=True, is_condition=is_condition)


def attributes(outline: Outline, resource: str) -> Mapping[str, packed.AttributeFacts]:
    """Name -> facts of the attributes of a resource; empty if its type is not built in."""
    type_name = built_in(outline.type_of(resource))
    return packed.facts(type_name).get('attributes', {}) if type_name else {}


