"""What a type with code of its own looks like: its schemas from the packed facts, ready for a class body."""

from __future__ import annotations

from typing import Any

from heatlite.engine import attributes
from heatlite.engine.resources import packed
from heatlite.language import support
from heatlite.language.schema import Schema

ATTRIBUTE_TYPES = {str(kind).lower(): kind for kind in attributes.Schema.TYPES if kind}


def properties(type_name: str, **replaced: Schema) -> dict[str, Schema]:
    """A dictionary of its own for each caller. `replaced`: schemas of properties that depend on the options."""
    return {**packed.properties(type_name), **replaced}


def attribute_schemata(type_name: str) -> dict[str, attributes.Schema]:
    """Without `show`, which every type has."""
    return {name: attributes.Schema(type=ATTRIBUTE_TYPES.get(body.get('type') or ''),
                                    cache_mode=body.get('cache_mode', attributes.CACHE_LOCAL),
                                    support_status=packed.status(body.get('support_status')))
            for name, body in packed.facts(type_name).get('attributes', {}).items() if name != attributes.SHOW_ATTR}


def status(type_name: str) -> support.SupportStatus:
    return packed.status(packed.facts(type_name).get('support_status'))


def is_known(value: Any) -> bool:
    """A value that is there, as opposed to one that depends on what does not exist yet."""
    from heatlite.language.unknown import UNKNOWN
    return value is not None and value is not UNKNOWN
