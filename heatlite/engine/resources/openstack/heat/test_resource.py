"""OS::Heat::TestResource, and the custom constraint that belongs to it.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypedDict

from oslo_log import log

from heatlite.common import runtime
from heatlite.common.context import RequestContext
from heatlite.engine import constraints, resource
from heatlite.engine.properties import Properties
from heatlite.engine.resources import catalogue
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

LOG = log.getLogger(__name__)

TYPE = 'OS::Heat::TestResource'
MOST_SECONDS = 1.0              # that reading an attribute and the constraint take: both are done within requests


class SimulatedProgress(TypedDict):
    """`until`: when it is over, None: never; `ask`: client and entity."""

    until: str | None
    fail: bool
    ask: list[str]


class TestResource(resource.Resource):
    """Waits, fails, or asks to be replaced, as its properties say: for trying out templates and the service itself.

    What a handler returns is plain JSON, so that checking goes on after the engine was killed.
    """

    __test__ = False                        # pytest: not a test
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)
    idempotent_create = True

    PROPERTIES = (VALUE, UPDATE_REPLACE, FAIL, WAIT_SECS, ACTION_WAIT_SECS, CLIENT_NAME, ENTITY_NAME,
                  CONSTRAINT_PROP_SECS, UPDATE_REPLACE_VALUE, ATTR_WAIT_SECS) = (
        'value', 'update_replace', 'fail', 'wait_secs', 'action_wait_secs', 'client_name', 'entity_name',
        'constraint_prop_secs', 'update_replace_value', 'attr_wait_secs')
    ATTRIBUTES = (OUTPUT,) = ('output',)

    def needs_replace_with_prop_diff(self, changed_properties_set: set[str], after_props: Properties,
                                     before_props: Properties) -> bool:
        return self.VALUE in changed_properties_set and bool(after_props[self.UPDATE_REPLACE])

    # --- life ---------------------------------------------------------------------------------------------

    def handle_create(self) -> SimulatedProgress:
        if not self.properties[self.FAIL]:
            self.data_set('value', self.properties[self.VALUE])
            self.resource_id_set(self.physical_resource_name())
        return self._begin(self.properties)

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> SimulatedProgress:
        wanted = json_snippet.properties(self.properties_schema, self.context)
        if not prop_diff.get(self.VALUE):
            return self._begin(wanted, waits=False)
        if not wanted[self.FAIL]:
            self.data_set('value', wanted[self.VALUE])
        return self._begin(wanted)

    def handle_delete(self) -> SimulatedProgress:
        return self._begin(self.properties, may_fail=False)

    def handle_check(self) -> None:
        """Check that the object was created."""
        self._check_created()

    def check_create_complete(self, progress: SimulatedProgress) -> bool:
        return self._is_over(progress)

    def check_update_complete(self, progress: SimulatedProgress) -> bool:
        return self._is_over(progress)

    def check_delete_complete(self, progress: SimulatedProgress) -> bool:
        return self._is_over(progress)

    # --- waiting ------------------------------------------------------------------------------------------

    def _begin(self, wanted: Properties, may_fail: bool = True, waits: bool = True) -> SimulatedProgress:
        seconds = (wanted[self.ACTION_WAIT_SECS] or {}).get(self.action.lower())
        if seconds is None:
            seconds = wanted[self.WAIT_SECS]
        if not waits:
            seconds = 0
        until = (self.runtime.now() + timedelta(seconds=seconds)).isoformat() if seconds >= 0 else None
        return {'until': until, 'fail': may_fail and wanted[self.FAIL],
                'ask': [wanted[self.CLIENT_NAME], wanted[self.ENTITY_NAME]]}

    def _is_over(self, progress: SimulatedProgress) -> bool:
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
            self.runtime.sleep(min(seconds, MOST_SECONDS))
        return self.data().get('value') if name == self.OUTPUT else None


class TestConstraintDelay(constraints.BaseCustomConstraint):
    """Every number is right, after so many seconds, at most MOST_SECONDS: it is asked within requests."""

    __test__ = False

    def validate_with_client(self, client: object, value: object) -> None:
        if value:
            runtime.current().sleep(min(float(str(value)), MOST_SECONDS))

    def validate(self, value: object, context: RequestContext) -> bool:
        self.validate_with_client(None, value)
        return True


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: TestResource}


def constraint_mapping() -> dict[str, type[constraints.BaseCustomConstraint]]:
    return {'test_constr': TestConstraintDelay}
