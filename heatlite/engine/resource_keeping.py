"""The persistent state of a resource (id, data, metadata), and its signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from heatlite.common import exception, limits
from heatlite.common.exception import NoActionRequired
from heatlite.common.i18n import _
from heatlite.db import codec
from heatlite.engine.resource_state import State
from heatlite.engine.rsrc_defn import Metadata


class Exported(TypedDict, total=False):
    """What is used of the entry of a resource in an export (`prepare_abandon`)."""

    resource_id: str | None
    metadata: Metadata | None
    resource_data: dict[str, str] | None


class Keeping(State):
    """A part of `Resource`. All writes go to the writer."""

    def resource_id_set(self, inst: object) -> None:
        """Store the physical id; it is durable when the call returns. Call it as soon as the object exists. Clients
        also give numbers and UUIDs as ids: they become text."""
        self.resource_id = None if inst is None else str(inst)
        self._writer.physical_id(self, self.resource_id)

    def data(self) -> dict[str, str]:
        return dict(self._data)

    def data_set(self, key: str, value: object, redact: bool = False) -> None:
        """Store one entry of data. `redact`: it is a secret, stored encrypted. Numbers become text; raises TypeError
        for other values."""
        if not isinstance(value, str | int | float):
            raise TypeError(_('Data "%(key)s" of a resource must be text, not %(kind)s')
                            % {'key': key, 'kind': type(value).__name__})
        self._data[key] = str(value)
        self._writer.data(self, key, str(value), redact)

    def data_delete(self, key: str) -> bool:
        """Remove one entry of data. Returns whether it existed."""
        if key not in self._data:
            return False
        del self._data[key]
        self._writer.data(self, key, None, False)
        return True

    def store_data(self) -> None:
        """Store the data that were set or removed, now: they are durable when the call returns, after which a crash
        does not lose them. Call it before a request of which only they tell; else the next change stores them.

        A create that is safe to repeat stores them with its end, and a signal handler with the end of the signal."""
        self._writer.store_data(self)

    def note_release(self) -> None:
        """Store the data, and that the next update has to look at the resource, even if its definition is the same.

        `prepare_for_replace` calls it before it releases or removes something. All is durable when it returns, so that
        an update which returns to the resource finds it, also after a crash or without a replacement."""
        self._writer.release(self)

    def metadata_get(self, refresh: bool = False) -> Metadata:
        """Return the stored metadata; if there is none, the template's."""
        if refresh and self._record is not None:
            self._metadata = self._record.metadata
        return self._metadata if self._metadata is not None else self.t.metadata()

    def metadata_set(self, metadata: Metadata | None,
                     merge_metadata: Callable[[Metadata, Metadata], Metadata] | None = None) -> None:
        """Store metadata, or the result of `merge_metadata(new, current)`. Raises ResourceNotAvailable before creation
        and during deletion, TypeError for a value that is no JSON, RequestLimitExceeded for one that is too large."""
        if self.action in (self.INIT, self.DELETE):
            raise exception.ResourceNotAvailable(resource_name=self.name)
        value = metadata if metadata is not None else {}
        if merge_metadata is not None:
            value = merge_metadata(value, self.metadata_get(refresh=True))
        size = len(codec.encode(value))             # checked here, not at the write, so that the caller gets the error
        if size > limits.MOST_METADATA:
            raise too_much_metadata(self.name, size)
        self._metadata = value
        if self._record is not None:
            self._record.metadata = value
        self._writer.metadata(self, value)

    def metadata_update(self, new_metadata: Any = None) -> None:
        """Called when metadata elsewhere changed, for types that follow it. None: the template's, resolved again."""

    def handle_metadata_reset(self) -> None:
        """Remove what signals have stored, before a replacement. For types to override."""

    def prepare_abandon(self) -> dict[str, object]:
        """Return its entry in an export."""
        return {'name': self.name, 'resource_id': self.resource_id, 'type': self.type(), 'action': str(self.action),
                'status': str(self.status), 'metadata': self.metadata_get(), 'resource_data': self.data()}

    def why_not_moved(self, to_other_stack: bool) -> str | None:
        """Return why the resource cannot get another name, or with `to_other_stack` another stack, without a change in
        the cloud; None if it can. For types that give their place to others."""
        return None

    # --- signals ------------------------------------------------------------------------------------------

    def signal(self, details: object = None, need_check: bool = True) -> bool:
        """Pass `details` to the type's handle_signal and add an event. `need_check` False: in any action.

        Returns whether other resources should refresh their metadata. Raises NotSupported during `no_signal_actions`,
        ResourceActionNotSupported without a handler.
        """
        if need_check and self.action in self.no_signal_actions:
            self._add_event(self.action, self.status, _('Cannot signal resource during %s') % self.action)
            raise exception.NotSupported(feature=_('Signal resource during %s') % self.action)
        handler = getattr(self, 'handle_signal', None)
        if not callable(handler):
            raise exception.ResourceActionNotSupported(action='signal')
        try:
            answer = handler(details)
        except NoActionRequired:
            return False
        text = _('Signal: %s') % answer if answer else signal_text(details)
        self._add_event('SIGNAL', self.status, text)
        return self.signal_needs_metadata_updates


def too_much_metadata(name: str, size: int) -> exception.RequestLimitExceeded:
    """The error for metadata of a resource with more characters than are kept."""
    return exception.RequestLimitExceeded(_('The metadata of %(name)s would have %(size)d characters, more than the '
                                            '%(limit)d that are kept.')
                                          % {'name': name, 'size': size, 'limit': limits.MOST_METADATA})


def signal_text(details: object) -> str:
    """Return the reason of a signal's event, if the handler returns none."""
    match details:
        case None:
            return _('No signal details provided')
        case str():
            return details
        case {'previous': previous, 'current': current, 'reason': reason}:
            return _('alarm state changed from %(previous)s to %(current)s (%(reason)s)') % {
                'previous': previous, 'current': current, 'reason': reason}
    return _('Unknown')
