"""Prevents that signals scale a group twice at a time, or again before its cooldown has ended.

Source: docs/spec/engine.rst, "Adjusting a group" and "Cooldown".
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TypeAlias

from heatlite.common.exception import NoActionRequired
from heatlite.common.i18n import _

Seconds: TypeAlias = float | str | None       # as a property or a signal gives them
END, IN_PROGRESS, OLD = 'cooldown_end', 'scaling_in_progress', 'cooldown'


class CooldownMixin:
    """Kept in the metadata of the resource it is mixed into: `{cooldown_end: {time: why}, scaling_in_progress}`."""

    def _sanitize_cooldown(self, cooldown: Seconds) -> float:
        """Seconds; none given is none."""
        return 0 if cooldown is None else max(float(cooldown), 0)

    def _check_scaling_allowed(self, cooldown: Seconds) -> None:
        """Notes that scaling is in progress. Raises NoActionRequired when it already is, or it is too soon."""
        metadata = dict(self.metadata_get(refresh=True))        # type: ignore[attr-defined]
        self._refuse_scaling(metadata, cooldown)
        self.metadata_set({**metadata, IN_PROGRESS: True})      # type: ignore[attr-defined]

    def _refuse_scaling(self, metadata: Mapping[str, object], cooldown: Seconds) -> None:
        name = self.name                                        # type: ignore[attr-defined]
        if metadata.get(IN_PROGRESS):
            raise NoActionRequired(name, _('scaling activity'))
        end = cooldown_end(metadata, self._sanitize_cooldown(cooldown))
        if end is not None and self.runtime.now() < end:          # type: ignore[attr-defined]
            raise NoActionRequired(name, _('cooling down'))

    def _finished_scaling(self, cooldown: Seconds, cooldown_reason: str, size_changed: bool = True) -> None:
        """Begin the cooldown if the size of the group has changed. Never shortens a cooldown in progress."""
        metadata = dict(self.metadata_get(refresh=True))        # type: ignore[attr-defined]
        if size_changed:
            end = self.runtime.now() + datetime.timedelta(        # type: ignore[attr-defined]
                seconds=self._sanitize_cooldown(cooldown))
            known = cooldown_end(metadata, 0) if END in metadata else None
            metadata = {END: {max(end, known or end).isoformat(): cooldown_reason}}
        self.metadata_set({**metadata, IN_PROGRESS: False})     # type: ignore[attr-defined]

    def handle_metadata_reset(self) -> None:
        """End the scaling in progress: the group was found unhealthy, so it would not end by itself."""
        metadata = dict(self.metadata_get())                    # type: ignore[attr-defined]
        if IN_PROGRESS in metadata:
            self.metadata_set({**metadata, IN_PROGRESS: False})     # type: ignore[attr-defined]


def cooldown_end(metadata: Mapping[str, object], cooldown: float) -> datetime.datetime | None:
    """UTC. Stacks of former releases note when they were scaled last, instead of until when to wait."""
    ends, old = metadata.get(END), metadata.get(OLD)
    if isinstance(ends, Mapping):
        times = [moment(text) for text in ends]
        return max([time for time in times if time is not None], default=None)
    times = [moment(text) for text in (old if isinstance(old, Mapping) else metadata) if text != IN_PROGRESS]
    last = max([time for time in times if time is not None], default=None)
    return None if last is None else last + datetime.timedelta(seconds=cooldown)


def moment(text: object) -> datetime.datetime | None:
    """None for what is no time."""
    try:
        found = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo is None else found.astimezone(datetime.UTC).replace(tzinfo=None)
