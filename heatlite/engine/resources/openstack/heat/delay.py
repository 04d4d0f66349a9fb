"""OS::Heat::Delay.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from datetime import datetime, timedelta

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.resources import catalogue

TYPE = 'OS::Heat::Delay'


class Delay(resource.Resource):
    """Waits at chosen actions: a fixed time and a random one, so that many stacks do not go on at the same moment.

    What a handler returns is plain JSON, so that waiting goes on after the engine was killed.
    """

    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)
    idempotent_create = True

    PROPERTIES = (MIN_WAIT_SECS, MAX_JITTER_SECS, JITTER_MULTIPLIER_SECS, DELAY_ACTIONS) = (
        'min_wait', 'max_jitter', 'jitter_multiplier', 'actions')

    def validate(self) -> None:
        super().validate()
        if not getattr(self.stack, 'strict_validate', True):
            return
        parts = [self.properties[name] for name in
                 (self.MIN_WAIT_SECS, self.MAX_JITTER_SECS, self.JITTER_MULTIPLIER_SECS)]
        if not all(isinstance(part, int | float) for part in parts):
            return                          # not known yet
        longest, limit = parts[0] + parts[1] * parts[2], self.stack.timeout_secs()
        if longest > limit:
            raise exception.StackValidationFailed(
                message=_('%(type)s maximum delay %(longest)ss exceeds stack timeout %(limit)ss.')
                % {'type': self.type(), 'longest': longest, 'limit': limit})

    def handle_create(self) -> str | None:
        self.resource_id_set(self.physical_resource_name())
        return self._until(self.CREATE)

    def handle_delete(self) -> str | None:
        return self._until(self.DELETE)

    def handle_suspend(self) -> str | None:
        return self._until(self.SUSPEND)

    def handle_resume(self) -> str | None:
        return self._until(self.RESUME)

    def check_create_complete(self, until: str | None) -> bool:
        return self._is_over(until)

    def check_delete_complete(self, until: str | None) -> bool:
        return self._is_over(until)

    def check_suspend_complete(self, until: str | None) -> bool:
        return self._is_over(until)

    def check_resume_complete(self, until: str | None) -> bool:
        return self._is_over(until)

    def _until(self, action: str) -> str | None:
        """The moment the wait is over, ISO 8601 in UTC; None when `action` does not wait."""
        if action not in self.properties[self.DELAY_ACTIONS]:
            return None
        jitter = self.properties[self.MAX_JITTER_SECS] * self.properties[self.JITTER_MULTIPLIER_SECS]
        seconds = self.properties[self.MIN_WAIT_SECS] + self.runtime.random() * jitter
        return (self.runtime.now() + timedelta(seconds=seconds)).isoformat()

    def _is_over(self, until: str | None) -> bool:
        return until is None or self.runtime.now() >= datetime.fromisoformat(until)


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: Delay}
