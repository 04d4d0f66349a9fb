"""OS::Heat::WaitCondition.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.resources import catalogue
from heatlite.engine.resources import wait_condition as handles
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

if TYPE_CHECKING:
    from heatlite.engine.properties import Properties

NAME = 'OS::Heat::WaitCondition'



class WaitedSignals(TypedDict):
    """`until`: the end of the time for `count` signals."""

    until: str
    count: int


class HeatWaitCondition(resource.Resource):
    """Waits until its handle has received a number of signals."""

    looks_up_others = True

    PROPERTIES = (HANDLE, TIMEOUT, COUNT) = ('handle', 'timeout', 'count')
    ATTRIBUTES = (DATA,) = ('data',)

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)
    idempotent_create = True

    def _get_handle_resource(self) -> Any:
        return self.stack.resource_by_refid(self.properties[self.HANDLE])

    def _validate_handle_resource(self, handle: object) -> None:
        if not isinstance(handle, handles.BaseWaitConditionHandle):
            raise ValueError(_('%s is not a valid wait condition handle.') % self.properties[self.HANDLE])

    # --- life ---------------------------------------------------------------------------------------------

    def handle_create(self) -> WaitedSignals:
        self._validate_handle_resource(self._get_handle_resource())
        self.resource_id_set(self.physical_resource_name())
        return self._begin(self.properties)

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> WaitedSignals | None:
        """Wait again if the count has changed."""
        if not prop_diff:
            return None
        return self._begin(json_snippet.properties(self.properties_schema, self.context))

    def handle_delete(self) -> None:
        """The handle forgets its signals - unless it is another one by now, whose signals another condition needs."""
        handle = self._get_handle_resource()
        if (handle is not None and handle.action not in (self.INIT, self.DELETE)
                and handle.get_reference_id() == self.properties[self.HANDLE]):
            handle.metadata_set({})

    def _begin(self, wanted: Properties) -> WaitedSignals:
        until = self.runtime.now() + datetime.timedelta(seconds=wanted[self.TIMEOUT])
        return {'until': until.isoformat(), 'count': wanted[self.COUNT]}

    # --- waiting ------------------------------------------------------------------------------------------

    def check_create_complete(self, waiting: WaitedSignals | None) -> bool:
        return self._is_over(waiting)

    def check_update_complete(self, waiting: WaitedSignals | None) -> bool:
        return self._is_over(waiting)

    def _is_over(self, waiting: WaitedSignals | None) -> bool:
        """Raise WaitConditionFailure, WaitConditionTimeout."""
        if waiting is None:
            return True
        handle = self._get_handle_resource()
        self._validate_handle_resource(handle)
        received = handle.get_status()
        if any(status != handle.STATUS_SUCCESS for status in received):
            raise handles.WaitConditionFailure(self, handle)
        if len(received) >= waiting['count']:
            return True
        if self.runtime.now() > datetime.datetime.fromisoformat(waiting['until']):
            raise handles.WaitConditionTimeout(self, handle)
        return False

    # --- attributes ---------------------------------------------------------------------------------------

    def _resolve_attribute(self, name: str) -> str | None:
        handle = self._get_handle_resource()
        if handle is None or name not in self.attributes_schema:
            return None
        found = handle.metadata_get(refresh=True) or {}
        return json.dumps({key: each[handle.DATA] for key, each in found.items()
                           if isinstance(each, dict) and handle.DATA in each})


def resource_mapping() -> dict[str, type[HeatWaitCondition]]:
    return {NAME: HeatWaitCondition}
