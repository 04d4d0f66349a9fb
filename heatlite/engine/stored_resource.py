"""What is stored of one resource, and where a type's own writes go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from heatlite.planning.states import ResourceState


@dataclass
class StoredResource:
    """One row with its heavy columns, in memory. The resource bound to it keeps it up to date.

    `properties`: as last applied, functions resolved, not yet coerced. `definition`: `ResourceDefinition.to_stored`
    of the same moment. `metadata` None: the template's still applies. `attributes`: values kept, by name or by a
    JSON list of name and path.
    """

    state: ResourceState
    properties: dict[str, Any] | None = None
    definition: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    data: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    before: tuple[str, str] | None = None   # (action, status) before the action that is under way, where it matters


class ResourceWriter(Protocol):
    """Takes the writes of resources. What it was told is durable when the call returns, but for `data`,
    which may wait for the next `physical_id` or the end of the handler."""

    def physical_id(self, resource: Any, value: str | None) -> None: ...

    def data(self, resource: Any, key: str, value: str | None, redact: bool) -> None:
        """`value` None removes the entry; `redact`: keep it encrypted."""

    def metadata(self, resource: Any, value: dict[str, Any]) -> None: ...

    def event(self, resource: Any, action: str, status: str, reason: str) -> None: ...

    def state(self, resource: Any, action: str, status: str, reason: str) -> None: ...


class NullWriter:
    """The recorder of a resource that is only looked at: validation, preview."""

    def physical_id(self, resource: Any, value: str | None) -> None:
        pass

    def data(self, resource: Any, key: str, value: str | None, redact: bool) -> None:
        pass

    def metadata(self, resource: Any, value: dict[str, Any]) -> None:
        pass

    def event(self, resource: Any, action: str, status: str, reason: str) -> None:
        pass

    def state(self, resource: Any, action: str, status: str, reason: str) -> None:
        pass


NULL_WRITER = NullWriter()
