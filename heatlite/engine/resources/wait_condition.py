"""The base class of handles of wait conditions: signals are gathered in the metadata of the handle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeGuard

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources import signal_responder

if TYPE_CHECKING:
    from heatlite.engine.properties import Properties
    from heatlite.engine.resource import Resource


class InvalidMetadata(exception.HTTPBadRequest, ValueError):
    """The sender's mistake: answered with a 400. Also the ValueError that plug-ins know."""


class BaseWaitConditionHandle(signal_responder.SignalResponder):
    """Its metadata: {id of the signal: {status, reason, data}}. The same id again takes the place of the former."""

    properties_schema: Mapping[str, object] = {}
    WAIT_STATUSES = (STATUS_FAILURE, STATUS_SUCCESS) = ('FAILURE', 'SUCCESS')
    METADATA_KEYS = (DATA, REASON, STATUS, UNIQUE_ID) = ('Data', 'Reason', 'Status', 'UniqueId')

    def handle_create(self) -> None:
        super().handle_create()
        self.resource_id_set(self._get_user_id())

    def normalise_signal_data(self, signal_data: object, latest_metadata: Mapping[str, object]) -> object:
        """Return a signal in the form of the metadata. For types whose signals have another form."""
        return signal_data

    def _status_ok(self, status: object) -> bool:
        return status in self.WAIT_STATUSES

    def _metadata_format_ok(self, metadata: object) -> TypeGuard[Mapping[str, object]]:
        return (isinstance(metadata, Mapping) and sorted(metadata) == sorted(self.METADATA_KEYS)
                and self._status_ok(metadata[self.STATUS]))

    def handle_signal(self, details: object = None) -> str:
        """Raise InvalidMetadata for what is no signal of a wait condition."""
        gathered = dict(self.metadata_get(refresh=True))
        signal = self.normalise_signal_data(details, gathered)
        if not self._metadata_format_ok(signal):
            raise InvalidMetadata(_('Metadata format invalid'))
        gathered[str(signal[self.UNIQUE_ID])] = {
            key: signal[key] for key in (self.DATA, self.REASON, self.STATUS)}
        self.metadata_set(gathered)
        return _('status:%(status)s reason:%(reason)s') % {
            'status': signal[self.STATUS], 'reason': signal[self.REASON]}

    def get_status(self) -> list[str]:
        """The status of every signal."""
        return [str(each[self.STATUS]) for each in self._gathered()]

    def get_status_reason(self, status: str) -> list[str]:
        """The reasons of all signals of a status."""
        return [str(each[self.REASON]) for each in self._gathered() if each[self.STATUS] == status]

    def _gathered(self) -> list[Mapping[str, object]]:
        found = self.metadata_get(refresh=True) or {}
        return [each for each in found.values() if isinstance(each, Mapping) and self.STATUS in each]


class WaitConditionFailure(exception.Error):
    def __init__(self, wait_condition: Resource, handle: BaseWaitConditionHandle) -> None:
        super().__init__(';'.join(handle.get_status_reason(handle.STATUS_FAILURE)))


class CountedCondition(Protocol):
    """A wait condition, as far as its error looks at it. `COUNT`: the property with the number of signals."""

    COUNT: str

    @property
    def properties(self) -> Properties: ...


class WaitConditionTimeout(exception.Error):
    def __init__(self, wait_condition: CountedCondition, handle: BaseWaitConditionHandle) -> None:
        reasons = ';'.join(handle.get_status_reason(handle.STATUS_SUCCESS))
        wanted = wait_condition.properties[wait_condition.COUNT]
        text = _('%(got)d of %(wanted)d received') % {'got': len(handle.get_status()), 'wanted': wanted}
        super().__init__(f'{text} - {reasons}' if reasons else text)
