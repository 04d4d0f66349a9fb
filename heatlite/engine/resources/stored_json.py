"""Entries of a resource's data whose values are JSON.

An entry of what an action has begun, and no service shows, is stored by `note`: what follows a crash or a failure reads
it, and removes it once the action is complete.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource

Stored = TypeVar('Stored')


def read(resource: Resource, key: str, empty: Stored) -> Stored:
    """Return the value of an entry; `empty` if there is none."""
    text = resource.data().get(key)
    if text is None:
        return empty
    value: Stored = json.loads(text)
    return value


def write(resource: Resource, key: str, value: object) -> None:
    """Store a value with the next change, unless it is stored already. An empty one removes the entry."""
    text = json.dumps(value)
    if not value:
        resource.data_delete(key)
    elif resource.data().get(key) != text:
        resource.data_set(key, text)


def note(resource: Resource, key: str, value: object) -> None:
    """Store a value as `write` does, but durably before the requests that follow (`Resource.store_data`).

    An empty value, and one that is stored already, add no write to the database."""
    is_new = bool(value) and resource.data().get(key) != json.dumps(value)
    write(resource, key, value)
    if is_new:
        resource.store_data()
