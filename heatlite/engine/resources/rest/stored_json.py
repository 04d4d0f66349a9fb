"""Entries of a described resource's data whose values are JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

Stored = TypeVar('Stored', dict[str, object], dict[str, int], list[dict[str, object]])


def read(resource: DescribedResource, key: str, empty: Stored) -> Stored:
    """Return the value of an entry; `empty` if there is none."""
    text = resource.data().get(key)
    if text is None:
        return empty
    value: Stored = json.loads(text)
    return value


def write(resource: DescribedResource, key: str, value: Stored) -> None:
    """Store a value, unless it is stored already. An empty one removes the entry."""
    stored = resource.data().get(key)
    text = json.dumps(value)
    if not value and stored is not None:
        resource.data_delete(key)
    elif value and stored != text:
        resource.data_set(key, text)
