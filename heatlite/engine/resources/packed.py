"""The packed facts of all known resource types, parsed one type at a time.

The file is made by `tools/pack_facts.py`. Reading it costs one pass over its lines, a type's facts are parsed when
they are first asked for.
"""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from heatlite.language import constraints as constraint_kinds
from heatlite.language import support
from heatlite.language.schema import Schema

FILE = pathlib.Path(__file__).with_name('facts.jsonl')
DATA_TYPES = {name.lower(): name for name in Schema.TYPES}


@functools.cache
def _lines() -> Mapping[str, str]:
    return dict(line.split('\t', 1) for line in FILE.read_text(encoding='utf-8').splitlines())  # type: ignore[misc]


def names() -> Iterator[str]:
    """Names of all types, hidden ones too, sorted."""
    return (name for name in _lines() if name)


@functools.cache
def aliases() -> Mapping[str, str]:
    """Old name (or prefix with `*`) -> the name it stands for."""
    found: Mapping[str, str] = json.loads(_lines()[''])['aliases']
    return found


@functools.cache
def facts(type_name: str) -> Mapping[str, Any]:
    """As the facts' README describes them. Raises KeyError."""
    found: Mapping[str, Any] = json.loads(_lines()[type_name])
    return found


@functools.cache
def properties(type_name: str) -> Mapping[str, Schema]:
    return {name: schema(body) for name, body in facts(type_name).get('properties', {}).items()}


@functools.cache
def update_policy(type_name: str) -> Mapping[str, Schema]:
    return {name: schema(body) for name, body in facts(type_name).get('update_policy', {}).items()}


def schema(body: Mapping[str, Any]) -> Schema:
    """The Schema of one packed property."""
    children = body.get('schema')
    if children is not None:
        children = (schema(children['*']) if body['type'] == 'list'
                    else {name: schema(child) for name, child in children.items()})
    default = body.get('default')
    if body['type'] == 'list' and default == {}:        # one type declares an empty map for its list
        default = []
    return Schema(
        DATA_TYPES[body['type']], default=default, schema=children,
        required=body.get('required', False), constraints=[constraint(item) for item in body.get('constraints', ())],
        implemented=body.get('implemented', True), update_allowed=body.get('update_allowed', False),
        immutable=body.get('immutable', False), support_status=status(body.get('support_status')))


def constraint(body: Mapping[str, Any]) -> constraint_kinds.Constraint:
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
    return constraint_kinds.CustomConstraint(value)


def status(body: Mapping[str, Any] | None) -> support.SupportStatus:
    """The status with its older ones behind it."""
    if body is None:
        return support.SupportStatus()
    older: support.SupportStatus | None = None
    for previous in reversed(body.get('previous', ())):
        older = support.SupportStatus(previous['status'], version=previous.get('version'), previous_status=older)
    return support.SupportStatus(body['status'], version=body.get('version'), previous_status=older)
