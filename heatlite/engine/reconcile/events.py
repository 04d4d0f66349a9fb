"""Lines of a stack's history."""

from __future__ import annotations

from heatlite.common.runtime import Runtime
from heatlite.planning.states import Event

STACK_TYPE = 'OS::Heat::Stack'


def of_stack(runtime: Runtime, stack_id: str, name: str, action: str, status: str, reason: str) -> Event:
    """Clients know a stack's own events by the name and by the physical id, which is the stack's."""
    return Event(runtime.uuid(), runtime.now(), name, STACK_TYPE, stack_id, action, status, reason)
