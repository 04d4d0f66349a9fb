"""Functions for the types in octavia.yaml that a description cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

KEYED = ('HEADER', 'COOKIE')


@hook
def key_where_it_counts(resource: DescribedResource, wanted: Mapping[str, object],
                        found: Mapping[str, object]) -> dict[str, object]:
    """Octavia takes the key away from an updated rule of a type that has no use for it."""
    return {} if wanted.get('key') is None or wanted.get('type') in KEYED else {'key': wanted['key']}
