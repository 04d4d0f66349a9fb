"""What one step of a traversal is about while it lasts, and the definitions it works with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from heatlite.engine import rsrc_defn
from heatlite.engine.reconcile import diff
from heatlite.engine.resource import Resource
from heatlite.engine.stored_resource import StoredResource
from heatlite.planning.states import NO_HANDLE, Datum

CANONICAL = json.JSONEncoder(sort_keys=True, default=str, separators=(',', ':'))     # made once: runs for each resource


class StepContext:
    """What one step is about while it lasts: the wanted definition resolved, the object of the type, its notes."""

    __slots__ = ('columns', 'data', 'definition', 'difference', 'error', 'handle', 'metadata',
                 'resource', 'storing', 'undoing')

    def __init__(self) -> None:
        self.definition: rsrc_defn.ResourceDefinition | None = None     # wanted, functions resolved
        self.columns: dict[str, Any] = {}               # to be stored once the definition is applied
        self.resource: Resource | None = None
        self.error: Exception | None = None             # why the definition could not be resolved
        self.data: list[Datum] = []                     # notes of the type that no change has carried yet
        self.difference: diff.UpdateArguments | None = None    # what an update is about
        self.handle: Any = NO_HANDLE                    # what the handler returned, plain JSON or not
        self.undoing = False
        self.storing = False                            # its intent is on the way to the disk
        self.metadata: Any = None

    def take_data(self) -> tuple[Datum, ...]:
        taken, self.data = tuple(self.data), []
        return taken


def fingerprint(resolved: Mapping[str, Any]) -> str:
    """Of a definition with its functions resolved; equal for equal definitions, whatever the order of keys."""
    told = {name: value for name, value in resolved.items() if value}     # what is empty is not stored either
    return hashlib.blake2b(CANONICAL.encode(told).encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()


def definition_of(name: str, resolved: Mapping[str, Any]) -> rsrc_defn.ResourceDefinition:
    return rsrc_defn.ResourceDefinition(
        name, resolved['type'], resolved.get('properties') or {}, resolved.get('metadata') or {},
        resolved.get('depends_on'), resolved.get('deletion_policy'), resolved.get('update_policy') or {},
        resolved.get('description'), resolved.get('external_id'), evaluate=as_it_is)


def stored_definition(record: StoredResource) -> rsrc_defn.ResourceDefinition:
    return definition_of(record.state.name, {**(record.definition or {}), 'type': record.state.type,
                                             'properties': record.properties})


def as_it_is(part: Any) -> Any:
    return part


def plain(handle: Any) -> Any:
    """`handle` if it can be stored and read back as it is; else NO_HANDLE, and a crash makes it anew."""
    try:
        return handle if json.loads(json.dumps(handle)) == handle else NO_HANDLE
    except (TypeError, ValueError):
        return NO_HANDLE
