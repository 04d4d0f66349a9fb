"""Makes the events of a stack's history: of the stack itself, and of its resources."""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.common.runtime import Runtime
from heatlite.db.stacks import StoredStack
from heatlite.planning.states import Event, ResourceState

STACK_TYPE = 'OS::Heat::Stack'


def of_stack(runtime: Runtime, row: StoredStack) -> Event:
    """Make the event of the state in a stack's own row. Clients recognise it by the name and by the physical id, the
    stack's id."""
    return Event(runtime.uuid(), runtime.now(), row.name, STACK_TYPE, row.id, row.action, row.status, row.reason)


def of_resource(runtime: Runtime, row: ResourceState, physical_id: str | None,
                properties: Mapping[str, object] | None = None) -> Event:
    """Make the event of the state in a resource's row. `physical_id`: as users see it; `properties`: without hidden
    values, if they have changed since the last event."""
    return Event(runtime.uuid(), runtime.now(), row.name, row.type, physical_id, row.action, row.status, row.reason,
                 resource_id=row.id, properties=properties)
