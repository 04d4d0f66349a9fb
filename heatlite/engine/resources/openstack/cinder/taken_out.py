"""Stores the servers from which an update takes a volume out, until it is back in them.

It is stored before the first request. If the update ends before the volume is back, nothing else says where it was: the
service shows the volume as the former definition wants it, so the next update takes it for unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from heatlite.engine.resources import stored_json

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource

DATA_KEY = 'taken_out'                      # list of places, as JSON


class FormerPlace(TypedDict):
    server: str
    device: str | None


def places(resource: Resource) -> list[FormerPlace]:
    """Return the servers that the volume has to be put back into."""
    return stored_json.read(resource, DATA_KEY, [])


def note(resource: Resource, wanted: Sequence[FormerPlace]) -> None:
    """Store the servers; they are durable when the call returns."""
    stored_json.note(resource, DATA_KEY, list(wanted))


def forget(resource: Resource, server: str) -> None:
    """Remove a server, as the volume is back in it or the server is gone."""
    note(resource, [place for place in places(resource) if place['server'] != server])
