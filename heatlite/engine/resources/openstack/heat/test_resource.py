"""OS::Heat::TestResource, and the custom constraint that belongs to it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from oslo_log import log

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import attributes, constraints, properties, resource, support

LOG = log.getLogger(__name__)


class TestResource(resource.Resource):
    """Waits, fails, or asks to be replaced, as its properties say: for trying out templates and the service itself.

    What a handler returns is plain JSON, so that checking goes on after the engine was killed.
    """

    __test__ = False                        # pytest: not a test
    support_status = support.SupportStatus(version='5.0.0')
    idempotent_create = True

    PROPERTIES = (VALUE, UPDATE_REPLACE, FAIL, WAIT_SECS, ACTION_WAIT_SECS, CLIENT_NAME, ENTITY_NAME,
                  CONSTRAINT_PROP_SECS, UPDATE_REPLACE_VALUE, ATTR_WAIT_SECS) = (
        'value', 'update_replace', 'fail', 'wait_secs', 'action_wait_secs', 'client_name', 'entity_name',
        'constraint_prop_secs', 'update_replace_value', 'attr_wait_secs')
    WAITING_ACTIONS = ('create', 'update', 'delete')
    ATTRIBUTES = (OUTPUT,) = ('output',)

    properties_schema = {
        VALUE: properties.Schema(
            properties.Schema.STRING, _('What the attribute gives.'), default='test_string', update_allowed=True),
        FAIL: properties.Schema(
            properties.Schema.BOOLEAN, _('Whether every action but the deletion fails.'), default=False,
            update_allowed=True),
        UPDATE_REPLACE: properties.Schema(
            properties.Schema.BOOLEAN, _('Whether a change of this property replaces the resource.'), default=False,
            update_allowed=True),
        UPDATE_REPLACE_VALUE: properties.Schema(
            properties.Schema.STRING, _('Any text; a change of it replaces the resource.'),
            support_status=support.SupportStatus(version='7.0.0')),
        WAIT_SECS: properties.Schema(
            properties.Schema.NUMBER, _('Seconds every action takes; negative: for ever.'), default=0,
            update_allowed=True),
        ACTION_WAIT_SECS: properties.Schema(
            properties.Schema.MAP, _('Seconds one action takes, instead of wait_secs.'), update_allowed=True,
            schema={action: properties.Schema(
                properties.Schema.NUMBER, _('Seconds of %s.') % action, update_allowed=True)
                for action in WAITING_ACTIONS}),
        CLIENT_NAME: properties.Schema(
            properties.Schema.STRING, _('Client to ask while waiting.'), default='', update_allowed=True),
        ENTITY_NAME: properties.Schema(
            properties.Schema.STRING, _('What to ask that client for.'), default='', update_allowed=True),
        CONSTRAINT_PROP_SECS: properties.Schema(
            properties.Schema.NUMBER, _('Seconds that checking this very property takes.'), default=0,
            update_allowed=True, constraints=[constraints.CustomConstraint('test_constr')],
            support_status=support.SupportStatus(version='6.0.0')),
        ATTR_WAIT_SECS: properties.Schema(
            properties.Schema.NUMBER, _('Seconds that reading the attribute takes.'), default=0, update_allowed=True,
            support_status=support.SupportStatus(version='6.0.0')),
    }
    attributes_schema = {
        OUTPUT: attributes.Schema(_('The value.'), cache_mode=attributes.Schema.CACHE_NONE),
    }

    def needs_replace_with_prop_diff(self, changed_properties_set: set[str], after_props: Any,
                                     before_props: Any) -> bool:
        return self.UPDATE_REPLACE in changed_properties_set and bool(after_props[self.UPDATE_REPLACE])

    # --- life ---------------------------------------------------------------------------------------------

    def handle_create(self) -> dict[str, Any]:
        if not self.properties[self.FAIL]:
            self.data_set('value', self.properties[self.VALUE])
            self.resource_id_set(self.physical_resource_name())
        return self._begin(self.properties)

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: Any) -> dict[str, Any]:
        wanted = json_snippet.properties(self.properties_schema, self.context)
        if prop_diff.get(self.VALUE) is not None and not wanted[self.FAIL]:
            self.data_set('value', wanted[self.VALUE])
        return self._begin(wanted)

    def handle_delete(self) -> dict[str, Any]:
        return self._begin(self.properties, may_fail=False)

    def handle_check(self) -> None:
        """It is there once it was made."""
        if self.resource_id is None:
            raise exception.Error(_('Can not check %s, resource not created yet.') % self.name)

    def check_create_complete(self, progress: dict[str, Any]) -> bool:
        return self._is_over(progress)

    def check_update_complete(self, progress: dict[str, Any]) -> bool:
        return self._is_over(progress)

    def check_delete_complete(self, progress: dict[str, Any]) -> bool:
        return self._is_over(progress)

    # --- waiting ------------------------------------------------------------------------------------------

    def _begin(self, wanted: Any, may_fail: bool = True) -> dict[str, Any]:
        seconds = (wanted[self.ACTION_WAIT_SECS] or {}).get(self.action.lower())
        if seconds is None:
            seconds = wanted[self.WAIT_SECS]
        until = (self.runtime.now() + timedelta(seconds=seconds)).isoformat() if seconds >= 0 else None
        return {'until': until, 'fail': may_fail and wanted[self.FAIL],
                'ask': [wanted[self.CLIENT_NAME], wanted[self.ENTITY_NAME]]}

    def _is_over(self, progress: dict[str, Any]) -> bool:
        until = progress['until']
        if until is not None and self.runtime.now() >= datetime.fromisoformat(until):
            if progress['fail']:
                raise ValueError(f'Test Resource failed {self.name}')
            return True
        self._ask_somebody(*progress['ask'])
        return False

    def _ask_somebody(self, client_name: str, entity_name: str) -> None:
        """The value, if there is one, is taken for the id of something real. Only the effort counts."""
        if not client_name or not entity_name:
            return
        wanted = self.data().get('value') or self.resource_id
        try:
            getattr(self.client(client_name), entity_name).get(wanted)
        except Exception as error:
            LOG.debug('%s.%s(%s): %s', client_name, entity_name, wanted, error)

    def _resolve_attribute(self, name: str) -> str | None:
        seconds = self.properties[self.ATTR_WAIT_SECS]
        if seconds:
            self.runtime.sleep(seconds)
        return self.data().get('value') if name == self.OUTPUT else None


class TestConstraintDelay(constraints.BaseCustomConstraint):
    """Every number is right, after so many seconds."""

    __test__ = False

    def validate_with_client(self, client: Any, value: Any) -> None:
        from heatlite.common import runtime
        if value:
            runtime.current().sleep(value)

    def validate(self, value: Any, context: Any) -> bool:
        self.validate_with_client(None, value)
        return True


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {'OS::Heat::TestResource': TestResource}


def constraint_mapping() -> dict[str, type[constraints.BaseCustomConstraint]]:
    return {'test_constr': TestConstraintDelay}
