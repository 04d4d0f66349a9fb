"""The catalogue of resource types: a YAML file for each service says what its types look like.

A class reads its schemata here. Change a type in its YAML file, then run `make catalogue`: the service reads the
packed file, not the YAML files. docs/developers/catalogue.rst explains the words.
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.engine import attributes
from heatlite.engine.resources import packed
from heatlite.language import support
from heatlite.language.schema import Schema

ATTRIBUTE_TYPES = {str(kind).lower(): kind for kind in attributes.Schema.TYPES if kind}


def properties(type_name: str) -> dict[str, Schema]:
    """A new dictionary for each caller."""
    return dict(packed.properties(type_name))


def update_policy(type_name: str) -> Mapping[str, Schema]:
    return packed.update_policy(type_name)


def attribute_schemata(type_name: str) -> dict[str, attributes.Schema]:
    """Return the attributes of a type, without `show`, which every type has."""
    return attributes_of(packed.facts(type_name))


def attributes_of(facts: packed.PackedFacts) -> dict[str, attributes.Schema]:
    """The same for `facts` that need not be packed."""
    return {name: attributes.Schema(body.get('description'), packed.status(body.get('support_status')),
                                    body.get('cache_mode', attributes.CACHE_LOCAL),
                                    ATTRIBUTE_TYPES.get(body.get('type') or ''))
            for name, body in facts.get('attributes', {}).items() if name != attributes.SHOW_ATTR}


def status(type_name: str) -> support.SupportStatus:
    return packed.status(packed.facts(type_name).get('support_status'))
