"""A stored resource, and the interface for the writes of a resource type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from heatlite.planning.states import ResourceState

if TYPE_CHECKING:
    from heatlite.engine.resource_state import State
    from heatlite.engine.rsrc_defn import Metadata
    from heatlite.planning.replacement import ReplacementDocument


@dataclass
class StoredResource:
    """One row with its large columns, in memory. The resource bound to it updates it.

    `properties`: as last applied, functions resolved, not yet coerced. `definition`: `ResourceDefinition.to_stored`
    of the same moment. `metadata` None: the template's still applies. `attributes`: cached values, by name or by a
    JSON list of name and path.
    """

    state: ResourceState
    properties: dict[str, object] | None = None
    definition: dict[str, object] | None = None
    metadata: Metadata | None = None
    data: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, object] = field(default_factory=dict)
    before: tuple[str, str] | None = None   # (action, status) before the current action, if it matters
    cause: dict[str, ReplacementDocument] | None = None     # planning.replacement: MADE or MARKED -> a ReplacementCause


class ResourceWriter(Protocol):
    """Stores the writes of resources. A write is durable when the call returns, except `data`, which may wait for
    the next other write or the end of the handler."""

    def physical_id(self, resource: State, value: str | None) -> None: ...

    def data(self, resource: State, key: str, value: str | None, redact: bool) -> None:
        """Store one entry of data; `value` None removes it; `redact`: store it encrypted."""

    def store_data(self, resource: State) -> None:
        """Store what `data` was called with: what the resource is about to send is known after a crash."""

    def release(self, resource: State) -> None:
        """Store the data, and that the next update has to look at the resource: something of it is about to be
        released for a replacement."""

    def metadata(self, resource: State, value: dict[str, object]) -> None: ...

    def event(self, resource: State, action: str, status: str, reason: str) -> None: ...

    def state(self, resource: State, action: str, status: str, reason: str) -> None: ...


class NullWriter:
    """Ignores all writes, for resources that are only read: validation, previews."""

    def physical_id(self, resource: State, value: str | None) -> None:
        pass

    def data(self, resource: State, key: str, value: str | None, redact: bool) -> None:
        pass

    def store_data(self, resource: State) -> None:
        pass

    def release(self, resource: State) -> None:
        pass

    def metadata(self, resource: State, value: dict[str, object]) -> None:
        pass

    def event(self, resource: State, action: str, status: str, reason: str) -> None:
        pass

    def state(self, resource: State, action: str, status: str, reason: str) -> None:
        pass


NULL_WRITER = NullWriter()
