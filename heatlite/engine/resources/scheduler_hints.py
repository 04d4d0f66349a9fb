"""Hints for the schedulers of other services about which stack a thing belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oslo_config import cfg

if TYPE_CHECKING:
    from heatlite.engine.resource_stack import OwnStack


class SchedulerHintsMixin:
    """A part of types whose service takes scheduler hints. [DEFAULT] stack_scheduler_hints adds those of the engine."""

    _SCHEDULER_HINT_KEYS = (HEAT_ROOT_STACK_ID, HEAT_STACK_ID, HEAT_STACK_NAME, HEAT_PATH_IN_STACK, HEAT_RESOURCE_NAME,
                            HEAT_RESOURCE_UUID) = (
        'heat_root_stack_id', 'heat_stack_id', 'heat_stack_name', 'heat_path_in_stack', 'heat_resource_name',
        'heat_resource_uuid')

    def _scheduler_hints(self, scheduler_hints: dict[str, object] | None) -> dict[str, object] | None:
        if not cfg.CONF.stack_scheduler_hints:
            return scheduler_hints
        stack: OwnStack = self.stack        # type: ignore[attr-defined]
        path = [','.join(str(part) for part in entry if part) for entry in stack.path_in_stack()]
        return {**(scheduler_hints or {}), self.HEAT_ROOT_STACK_ID: stack.root_stack_id(),
                self.HEAT_STACK_ID: stack.id, self.HEAT_STACK_NAME: stack.name, self.HEAT_PATH_IN_STACK: path,
                self.HEAT_RESOURCE_NAME: self.name,     # type: ignore[attr-defined]
                self.HEAT_RESOURCE_UUID: self.uuid}     # type: ignore[attr-defined]
