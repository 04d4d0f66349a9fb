"""OS::Heat::SwiftSignalHandle and OS::Heat::SwiftSignal: wait conditions over an object store.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.resources import catalogue

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Fields
    from heatlite.engine.clients.os.swift import StoredSignal

HANDLE, SIGNAL = 'OS::Heat::SwiftSignalHandle', 'OS::Heat::SwiftSignal'
FAILURE, SUCCESS = WAIT_STATUSES = ('FAILURE', 'SUCCESS')
STATUS, REASON, DATA, UNIQUE_ID = METADATA_KEYS = ('status', 'reason', 'data', 'id')


class SwiftSignalFailure(exception.Error):
    """Some signal said FAILURE."""


class SwiftSignalTimeout(exception.Error):
    """Too few signals came in time."""


class SwiftSignalHandle(resource.Resource):
    """A URL to which signals are sent with PUT; each is stored as a version of an object."""

    default_client_name = 'swift'
    ATTRIBUTES = (TOKEN, ENDPOINT, CURL_CLI) = ('token', 'endpoint', 'curl_cli')

    properties_schema = catalogue.properties(HANDLE)
    attributes_schema = catalogue.attribute_schemata(HANDLE)
    support_status = catalogue.status(HANDLE)

    def handle_create(self) -> str:
        """The object has a name of its own, so that making it twice makes one."""
        name = str(self.physical_resource_name())
        url = str(self.client_plugin().get_signal_url(self.stack.id, name))
        self.data_set(self.ENDPOINT, url, redact=True)
        self.resource_id_set(name)
        return url

    def find_existing(self) -> None:
        """Delete the versions of the object that an interrupted create has left: each would count as a signal."""
        self.client_plugin().delete_versions(self.stack.id, str(self.physical_resource_name()))

    def handle_delete(self) -> None:
        """Delete the object with all versions, and with the last handle of the stack the container, also if this handle
        was not created."""
        name = self.resource_id or str(self.physical_resource_name())
        self.client_plugin().delete_versions(self.stack.id, name)

    def why_not_moved(self, to_other_stack: bool) -> str | None:
        return _('its signals are in a container with the id of its stack') if to_other_stack else None

    def get_reference_id(self) -> str:
        return self.data().get(self.ENDPOINT) or str(self.name)

    def _resolve_attribute(self, name: str) -> str | None:
        url = self.data().get(self.ENDPOINT)
        match name:
            case 'token':
                return ''               # the address is enough
            case 'endpoint':
                return url
            case 'curl_cli':
                return f"curl -i -X PUT '{url}'"
        return None


class SwiftSignal(resource.Resource):
    """Waits until a number of signals were sent to the URL of its handle."""

    default_client_name = 'swift'
    PROPERTIES = (HANDLE, TIMEOUT, COUNT) = ('handle', 'timeout', 'count')

    properties_schema = catalogue.properties(SIGNAL)
    attributes_schema = catalogue.attribute_schemata(SIGNAL)
    support_status = catalogue.status(SIGNAL)

    def handle_create(self) -> dict[str, str]:
        self.resource_id_set(self.physical_resource_name())
        until = self.runtime.now() + datetime.timedelta(seconds=self.properties[self.TIMEOUT])
        return {'until': until.isoformat()}

    def check_create_complete(self, waiting: dict[str, str]) -> bool:
        """Raise SwiftSignalFailure, SwiftSignalTimeout."""
        received = self.get_signals()
        if any(each[STATUS] == FAILURE for each in received):
            raise SwiftSignalFailure(';'.join(self.get_status_reason(FAILURE)))
        if len(received) >= self.properties[self.COUNT]:
            return True
        if self.runtime.now() > datetime.datetime.fromisoformat(waiting['until']):
            reasons = ';'.join(self.get_status_reason(SUCCESS))
            text = _('%(got)d of %(wanted)d received') % {'got': len(received), 'wanted': self.properties[self.COUNT]}
            raise SwiftSignalTimeout(f'{text} - {reasons}' if reasons else text)
        return False

    # --- signals ------------------------------------------------------------------------------------------

    def _object(self) -> tuple[str, str]:
        """(container, name) in the handle's address: its last parts. The account may be below a path of its own."""
        parts = urlsplit(self.properties[self.HANDLE]).path.split('/')
        if len(parts) < 5:
            raise ValueError(_('"%s" is not a valid SwiftSignalHandle. The Swift TempURL path is invalid')
                             % self.properties[self.HANDLE])
        return unquote(parts[-2]), unquote(parts[-1])

    def get_signals(self) -> list[Fields]:
        """Return the signals in the order of arrival; of several with the same id, the last one."""
        found: dict[object, dict[str, object]] = {}
        for number, stored in enumerate(self.client_plugin().signals(*self._object()), 1):
            signal = self._signal(stored, number)
            found.pop(signal[UNIQUE_ID], None)
            found[signal[UNIQUE_ID]] = signal
        return list(found.values())

    def _signal(self, stored: StoredSignal, number: int) -> dict[str, object]:
        """Return a signal; one without content means success. Unknown keys are ignored. Raises Error."""
        try:
            received = stored.details()
        except ValueError:
            received = None
        if not isinstance(received, dict):
            raise exception.Error(_('Failed to parse JSON data: %s') % stored.content.decode('utf-8', 'replace'))
        known = {key: received[key] for key in METADATA_KEYS if key in received}
        reason = _('Signal %s received') % known.get(UNIQUE_ID, number)
        signal = {STATUS: SUCCESS, REASON: reason, DATA: None, UNIQUE_ID: number, **known}
        if signal[STATUS] not in WAIT_STATUSES:
            raise exception.Error(_('Invalid status %s') % signal[STATUS])
        return signal

    def get_status(self) -> list[str]:
        return [each[STATUS] for each in self.get_signals()]

    def get_status_reason(self, status: str) -> list[str]:
        return [str(each[REASON]) for each in self.get_signals() if each[STATUS] == status]

    def _resolve_attribute(self, name: str) -> str | None:
        if self.resource_id is None or name != DATA:
            return None
        return json.dumps({str(each[UNIQUE_ID]): each[DATA] for each in self.get_signals()})


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {HANDLE: SwiftSignalHandle, SIGNAL: SwiftSignal}
