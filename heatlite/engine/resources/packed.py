"""The facts of all built-in resource types, read from the packed file of the catalogue, one type at a time.

The packed file is made of `catalogue/*.yaml` by `make catalogue`. Opening it costs one pass over its lines; the facts
of a type are parsed when they are first asked for.
"""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Required, TypedDict

from heatlite.engine.resources.yaml_lines import Written
from heatlite.engine.types.class_options import OptionSchema
from heatlite.language import constraints as constraint_kinds
from heatlite.language import support
from heatlite.language.schema import Schema

FILE = pathlib.Path(__file__).with_name('catalogue') / 'packed.jsonl'
ALIASES, MODULES = 'aliases', 'modules'     # words of the first line
CONSTRAINTS = ('range', 'length', 'modulo', 'allowed_values', 'allowed_pattern', 'custom_constraint')
DATA_TYPES = {name.lower(): name for name in Schema.TYPES}


@functools.cache
def _head() -> Mapping[str, Mapping[str, str]]:
    found: Mapping[str, Mapping[str, str]] = json.loads(_lines()[0])
    return found


@functools.cache
def _lines() -> tuple[str, Mapping[str, str]]:
    """The first line, and the others by the name of their type, which is the first text of each."""
    head, *lines = FILE.read_text(encoding='utf-8').splitlines()
    return head, {line.split('"', 2)[1]: line for line in lines}


def names() -> Iterator[str]:
    """Names of all types, hidden ones too, sorted."""
    return iter(_lines()[1])


def aliases() -> Mapping[str, str]:
    """Old name (or prefix with `*`) -> the name it stands for."""
    return _head()[ALIASES]


def modules() -> Mapping[str, str]:
    """Type -> the module with its class; only types that have a class of their own."""
    return _head()[MODULES]


class StatusFacts(TypedDict, total=False):
    """A support status. `previous`: the older ones, newest first."""

    status: Required[str]
    message: str
    version: str | None
    hidden: bool
    previous: list[StatusFacts]


class ConstraintFacts(TypedDict):
    kind: str
    value: Any                              # its form depends on the kind


class AttributeFacts(TypedDict, total=False):
    """The facts of the catalogue about an attribute. `type`: absent if it may be anything."""

    type: str | None
    cache_mode: str
    description: str | None
    support_status: StatusFacts


class RuleFacts(TypedDict, total=False):
    """A translation rule. `conditional`: it holds for some values only, which the type itself knows."""

    rule: Required[str]
    path: Required[list[str]]
    finder: str
    entity: str
    client_plugin: str
    value_name: str
    value_path: list[str]
    conditional: bool


class ReferenceFacts(TypedDict, total=False):
    """The value of `get_resource`: `before_create` while there is no object."""

    kind: Required[str]
    before_create: str | None


class ClassFlags(TypedDict, total=False):
    """Attributes of the class of a type."""

    accepts_any_attribute: bool
    always_replace_on_check_failed: bool
    no_signal_actions: list[str]
    physical_resource_name_limit: int
    requires_deferred_auth: bool
    signal_needs_metadata_updates: bool
    strict_dependency: bool


class PackedFacts(TypedDict, total=False):
    """The facts of the catalogue about a type. `properties`, `update_policy`: the facts of each, in the form of the
    files of the catalogue."""

    class_name: Required[str]
    support_status: Required[StatusFacts]
    properties: Mapping[str, Written]
    update_policy: Mapping[str, Written]
    attributes: Mapping[str, AttributeFacts]
    translation_rules: Sequence[RuleFacts]
    family: str
    default_client_name: str | None
    entity: str | None
    required_service_extension: str | None
    reference: ReferenceFacts
    class_flags: ClassFlags
    description: str


@functools.cache
def facts(type_name: str) -> PackedFacts:
    """Return the facts of the catalogue about a type, see docs/developers/catalogue.rst. Raises KeyError."""
    found: PackedFacts = json.loads(_lines()[1][type_name])[1]
    return found


@functools.cache
def properties(type_name: str) -> Mapping[str, Schema]:
    return {name: schema(body) for name, body in facts(type_name).get('properties', {}).items()}


@functools.cache
def update_policy(type_name: str) -> Mapping[str, Schema]:
    return {name: schema(body) for name, body in facts(type_name).get('update_policy', {}).items()}


def schema(body: Written) -> Schema:
    """The Schema of one property from its facts, where `schema` has those of the children, that of a list's items under
    `*`; an OptionSchema if an option gives the default."""
    inner = body.get('schema')
    children: Schema | dict[str, Schema] | None = None
    if inner is not None:
        children = (schema(inner['*']) if body['type'] == 'list'
                    else {name: schema(child) for name, child in inner.items()})
    found = Schema(
        DATA_TYPES[body['type']], body.get('description'), default=body.get('default'), schema=children,
        required=body.get('required', False), constraints=[constraint(item) for item in body.get('constraints', ())],
        implemented=body.get('implemented', True), update_allowed=body.get('update_allowed', False),
        immutable=body.get('immutable', False), support_status=status(body.get('support_status')))
    return OptionSchema.of(found, body['default_from_config']) if 'default_from_config' in body else found


def constraint(body: ConstraintFacts) -> constraint_kinds.Constraint:
    """Raise ValueError for a kind that is not one of CONSTRAINTS, and InvalidSchemaError."""
    value = body['value']
    match body['kind']:
        case 'range':
            return constraint_kinds.Range(value.get('min'), value.get('max'))
        case 'length':
            return constraint_kinds.Length(value.get('min'), value.get('max'))
        case 'modulo':
            return constraint_kinds.Modulo(value['step'], value['offset'])
        case 'allowed_values':
            return constraint_kinds.AllowedValues(value)
        case 'allowed_pattern':
            return constraint_kinds.AllowedPattern(value)
        case 'custom_constraint':
            return constraint_kinds.CustomConstraint(value)
    raise ValueError(f'{body["kind"]} is no constraint; there are {", ".join(CONSTRAINTS)}')


def status(body: StatusFacts | None) -> support.SupportStatus:
    """The status with its older ones behind it."""
    if body is None:
        return support.SupportStatus()
    older: support.SupportStatus | None = None
    for previous in reversed(body.get('previous', ())):
        older = _status(previous, older)
    return _status(body, older)


def _status(body: StatusFacts, older: support.SupportStatus | None) -> support.SupportStatus:
    return support.SupportStatus(body['status'], body.get('message'), body.get('version'), older)
