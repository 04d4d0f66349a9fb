"""The context of one step of a traversal, and the definitions of resources that steps use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from heatlite.engine import rsrc_defn
from heatlite.engine.reconcile import diff
from heatlite.engine.resource import Resource
from heatlite.engine.stored_resource import StoredResource
from heatlite.planning.replacement import ReplacementCause
from heatlite.planning.states import NO_HANDLE, Datum
from heatlite.planning.waiting import Wait

CANONICAL = json.JSONEncoder(sort_keys=True, default=str, separators=(',', ':'))     # made once: runs for each resource


class StepContext:
    """The context of one step: the resolved definition, the object of the resource type, data to store."""

    __slots__ = ('as_stored', 'away_since', 'cause', 'columns', 'data', 'definition', 'difference', 'error',
                 'fingerprint', 'first_check', 'handle', 'metadata', 'resource', 'row_id', 'undoing', 'waits',
                 'was_sent')

    def __init__(self) -> None:
        self.definition: rsrc_defn.ResourceDefinition | None = None     # to be applied, functions resolved
        self.as_stored = False                          # `definition` is the stored one
        self.fingerprint = ''                           # of `definition`
        self.columns: dict[str, object] = {}            # large columns to store with the intent or the completion
        self.resource: Resource | None = None
        self.row_id = 0                                 # the row of the object that was called last; 0: none yet
        self.error: Exception | None = None             # why the definition could not be resolved
        self.data: list[Datum] = []                     # data of the type that are not in a change yet
        self.difference: diff.UpdateArguments | None = None    # of an update
        self.handle: object = NO_HANDLE                    # return value of the handler, plain JSON or not
        self.undoing = False
        self.away_since: datetime | None = None         # since then the service has answered no call
        self.was_sent = False                           # a request that creates its object may have been sent
        self.metadata: Any = None
        self.first_check: datetime | None = None        # when a check first found that it is not done
        self.waits: Wait | None = None                  # as noted last
        self.cause: ReplacementCause | None = None      # of the replacement that this step makes

    def wanted(self) -> rsrc_defn.ResourceDefinition:
        """Return the definition to be applied. Raises the error of resolving it."""
        if self.error is not None:
            raise self.error
        assert self.definition is not None, 'the step applies no definition'
        return self.definition

    def take_row(self, number: int) -> None:
        """Note the row that the step works on: what the step waited for at a row that it replaces is over."""
        if self.row_id not in (0, number):
            self.away_since = self.first_check = self.waits = None
            self.was_sent = False
        self.row_id = number

    def take_data(self) -> tuple[Datum, ...]:
        taken, self.data = tuple(self.data), []
        return taken


def fingerprint(resolved: Mapping[str, object]) -> str:
    """Return the hash of a resolved definition; equal for equal definitions, independent of the order of keys."""
    filled = {name: value for name, value in resolved.items() if value}     # empty sections are not stored either
    return hashlib.blake2b(CANONICAL.encode(filled).encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()


def definition_of(name: str, resolved: Mapping[str, Any]) -> rsrc_defn.ResourceDefinition:
    return rsrc_defn.ResourceDefinition(
        name, resolved['type'], resolved.get('properties') or {}, resolved.get('metadata') or {},
        resolved.get('depends_on'), resolved.get('deletion_policy'), resolved.get('update_policy') or {},
        resolved.get('description'), resolved.get('external_id'), evaluate=as_it_is)


def stored_definition(record: StoredResource) -> rsrc_defn.ResourceDefinition:
    return definition_of(record.state.name, {**(record.definition or {}), 'type': record.state.type,
                                             'properties': record.properties})


def as_it_is(part: object) -> object:
    return part


def plain(handle: object) -> object:
    """Return `handle` if JSON stores it unchanged; else NO_HANDLE, and the handler is called again after a crash."""
    try:
        return handle if json.loads(json.dumps(handle)) == handle else NO_HANDLE
    except (TypeError, ValueError):
        return NO_HANDLE
