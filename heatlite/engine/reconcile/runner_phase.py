"""The phase of one runner: whether it may begin and take work, and which defect has stopped it."""

from __future__ import annotations

from enum import IntEnum

from heatlite.common.runtime import Flag, Runtime


class Phase(IntEnum):
    """A runner passes through them in this order, and may leave some out."""

    DRIVING = 0
    DRAINING = 1            # begins no step and no signal; takes the results of what it has begun
    STOPPED = 2             # takes nothing: it was stopped, has failed, has lost or released its lease
    ENDED = 3               # its thread has ended; calls of it may still be under way


class RunnerPhase:
    """Any thread may read it and call its methods, none of which waits; nothing else changes it.

    `defect`: the first error of the engine that has stopped the runner, or None. The other attributes are computed at
    each change, since they are read for each command."""

    def __init__(self, runtime: Runtime, changed: Flag) -> None:
        """`changed`: set at each change that the runner's thread has not made itself."""
        self._runtime = runtime
        self._changed = changed
        self._begins_until = 0.0
        self.defect: Exception | None = None
        self._enter(Phase.DRIVING)

    def _enter(self, phase: Phase) -> None:
        self.begins_nothing = phase > Phase.DRIVING
        self.is_draining = phase == Phase.DRAINING
        self.is_stopped = phase >= Phase.STOPPED
        self.has_ended = phase == Phase.ENDED

    def may_begin(self, is_stored: bool) -> bool:
        """Whether a call into a type may begin now. `is_stored`: it is that of a handler, and its intent is stored."""
        return not self.begins_nothing or (
            is_stored and self.is_draining and self._runtime.monotonic() < self._begins_until)

    def drain(self, begins_until: float) -> None:
        """See `Runner.drain`."""
        if not self.is_stopped:
            self._begins_until = begins_until
            self._enter(Phase.DRAINING)
            self._changed.set()

    def stop(self, defect: Exception | None = None) -> None:
        """`defect`: the error that stops the runner, if any. Does nothing once that has ended."""
        if not self.has_ended:
            self.defect = self.defect or defect
            self._enter(Phase.STOPPED)
            self._changed.set()

    def end(self) -> None:
        """The runner's thread calls it, as its last."""
        self._enter(Phase.ENDED)
