"""OS::Heat::WaitConditionHandle and OS::Heat::UpdateWaitConditionHandle.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common.exception import UpdateReplace
from heatlite.engine import resource
from heatlite.engine.resources import catalogue, signal_responder, wait_condition
from heatlite.engine.resources.aws.cfn.wait_condition_handle import WaitConditionHandle

if TYPE_CHECKING:
    from heatlite.engine.properties import Properties
    from heatlite.engine.resource_update import Updates

NAME, UPDATED = 'OS::Heat::WaitConditionHandle', 'OS::Heat::UpdateWaitConditionHandle'


class HeatWaitConditionHandle(wait_condition.BaseWaitConditionHandle):
    """Receives signals for a wait condition. All parts of a signal are optional."""

    METADATA_KEYS = (DATA, REASON, STATUS, UNIQUE_ID) = ('data', 'reason', 'status', 'id')
    PROPERTIES = (SIGNAL_TRANSPORT,) = ('signal_transport',)
    ATTRIBUTES = (TOKEN, ENDPOINT, CURL_CLI, SIGNAL_ATTR) = ('token', 'endpoint', 'curl_cli', 'signal')

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def handle_create(self) -> None:
        """Everything that attributes tell is made now: reading changes nothing."""
        if self._transport() in (self.TOKEN_SIGNAL, self.HEAT_SIGNAL, self.ZAQAR_SIGNAL):
            self.password = self._new_password()            # the guest logs in with it
        super().handle_create()
        if self._transport() == self.TOKEN_SIGNAL:
            if self.has_identity:
                self.data_set('token', self._user_token(), redact=True)
            endpoint = self._get_heat_signal_url(self.stack.stack_user_project_id)
            if endpoint is not None:
                self.data_set('endpoint', endpoint)
        else:
            self._get_signal(signal_type=signal_responder.WAITCONDITION, multiple_signals=True)
        self.resource_id_set(self._get_user_id())

    def get_status(self) -> list[str]:
        """Return the statuses of the signals. If no signal can arrive, each call counts as one."""
        if self._transport() == self.NO_SIGNAL:
            self.handle_signal()
        self._service_signal()
        return super().get_status()

    def normalise_signal_data(self, signal_data: object, latest_metadata: Mapping[str, object]) -> object:
        if signal_data is not None and not isinstance(signal_data, Mapping):
            return signal_data
        number = len(latest_metadata) + 1
        return {self.STATUS: self.STATUS_SUCCESS, self.REASON: f'Signal {number} received', self.DATA: None,
                self.UNIQUE_ID: number, **(signal_data or {})}

    # --- attributes ---------------------------------------------------------------------------------------

    def _resolve_attribute(self, name: str) -> object:
        if self.resource_id is None:
            return None
        match name:
            case 'token' | 'endpoint':
                return self.data().get(name)
            case 'curl_cli':
                return self._curl()
            case 'signal':
                found = self._get_signal(signal_type=signal_responder.WAITCONDITION, multiple_signals=True)
                return json.dumps(found)
        return None

    def _curl(self) -> str | None:
        token, endpoint = self.data().get('token'), self.data().get('endpoint')
        if endpoint is None:
            return None
        insecure = '--insecure ' if self.client_plugin('heat').get_insecure_option() else ''
        return (f"curl {insecure}-i -X POST -H 'X-Auth-Token: {token}' -H 'Content-Type: application/json' "
                f"-H 'Accept: application/json' {endpoint}")


class UpdateWaitConditionHandle(WaitConditionHandle):
    """A handle that each update of the stack replaces, so that its wait condition waits again."""

    properties_schema = catalogue.properties(UPDATED)
    attributes_schema = catalogue.attribute_schemata(UPDATED)
    support_status = catalogue.status(UPDATED)
    always_inspected = True

    def _needs_update(self, after: object, before: object, after_props: Properties, before_props: Properties,
                      prev_resource: Updates, check_init_complete: bool = True) -> bool:
        raise UpdateReplace(self.name)


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {NAME: HeatWaitConditionHandle, UPDATED: UpdateWaitConditionHandle}
