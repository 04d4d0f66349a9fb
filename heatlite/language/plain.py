"""Finds the resources of a definition whose check depends on nothing but their own text and the facts of their type.

Such a resource was found right before, is defined as then, and cannot be wrong now. All others are checked with every
definition: a function may use what has changed, and a type may ask a service.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from heatlite.common import turns
from heatlite.language import constraints
from heatlite.language.definition import StackDefinition
from heatlite.language.facts import TypeFacts
from heatlite.language.schema import Schema

PURE = frozenset({constraints.Range, constraints.Length, constraints.Modulo, constraints.AllowedValues,
                  constraints.AllowedPattern})
LARGEST = 512               # characters and items of the text of one resource; larger ones count in the budget of all
RESOURCES_A_STEP = 4        # that are looked at in one step of `turns`


def find(definition: StackDefinition, names: Iterable[str], is_plain: Callable[[str], bool]) -> frozenset[str]:
    """Return which of the resources `names` are plain. `is_plain(type name)`: whether `is_plain_type` holds for it."""
    if definition.environment.registry.is_by_resource:
        return frozenset()
    keys, snippets, functions = definition.keys, definition.snippets, definition.edition.functions
    allowed = {keys.type, keys.properties, keys.metadata, keys.depends_on}
    types: dict[str, bool] = {}
    found = set()
    for number, name in enumerate(names):
        if not number % RESOURCES_A_STEP:
            turns.spend(1)
        snippet = snippets.get(name)
        if not isinstance(snippet, dict):
            continue
        type_name = snippet.get(keys.type)
        if not isinstance(type_name, str):
            continue
        is_of_plain_type = types.get(type_name)
        if is_of_plain_type is None:
            is_of_plain_type = types[type_name] = is_plain(type_name)
        if is_of_plain_type and (len(snippet) == 1 or (
                snippet.keys() <= allowed and _are_known(snippet.get(keys.depends_on, ()), snippets)
                and _size(snippet, functions) <= LARGEST)):
            found.add(name)
    return frozenset(found)


def is_plain_type(facts: TypeFacts) -> bool:
    """Whether the check of a resource of the type asks nothing but the schemas of its properties."""
    asked = (facts.rules, facts.nested, facts.nested_at, facts.needs, facts.available)
    return (not any(asked) and (facts.own_check is None or facts.own_check_is_pure) and facts.strict_dependency
            and not facts.update_policy and all(_is_pure(schema) for schema in facts.properties.values()))


def _is_pure(schema: Schema) -> bool:
    inside = schema.schema
    return all(type(each) in PURE for each in schema.constraints) and (
        inside is None or (_is_pure(inside) if isinstance(inside, Schema) else all(map(_is_pure, inside.values()))))


def _are_known(names: Iterable[str], snippets: Mapping[str, object]) -> bool:
    """Whether all resources that `depends_on` names are there."""
    return all(name in snippets for name in ((names,) if isinstance(names, str) else names))


def _size(value: object, functions: Collection[str]) -> int:
    """Return the number of characters and items of a value; more than `LARGEST` if it has a function."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        if any(key in functions for key in value):
            return LARGEST + 1
        return sum((_size(each, functions) for each in value.values()), 2 * len(value))
    if isinstance(value, list):
        return sum((_size(each, functions) for each in value), len(value))
    return 1
