"""Makes the events of a stack itself."""

from __future__ import annotations

from heatlite.common.runtime import Runtime
from heatlite.planning.states import Event

STACK_TYPE = 'OS::Heat::Stack'


def new(runtime: Runtime, stack_id: str, name: str, action: str, status: str, reason: str) -> Event:
    """Make an event of the stack itself. Clients recognise it by the name and by the physical id, the stack's id."""
    return Event(runtime.uuid(), runtime.now(), name, STACK_TYPE, stack_id, action, status, reason)
