"""How the traversal of one target ends: completed, failed, stopped by a request, or rolled back."""

from __future__ import annotations

from heatlite.planning import text
from heatlite.planning.commands import Command, Finish, Leave, ReportFailure
from heatlite.planning.states import Action, Status

ROLLED_BACK = frozenset({Action.CREATE, Action.UPDATE, Action.RESTORE, Action.ADOPT})
GOES_ON = frozenset({Action.CHECK, Action.DELETE})      # after a failure, with the other resources


class Ending:
    """`is_stopped`: nothing new starts; `is_over`: the end was reported; `unsupported`: a type does not support the
    action; `tolerated`: resources that failed within the tolerance of the request."""

    def __init__(self, action: Action, rollback: bool) -> None:
        """`rollback`: roll back after a failure, if the action can be rolled back."""
        self._action = action
        self._rollback = rollback and action in ROLLED_BACK
        self.is_stopped = False
        self.is_over = False
        self.unsupported = False
        self.tolerated = 0
        self._failure_reported = False              # the stack's failure has been reported
        self._unwinding = False                     # a rollback was asked for and has not begun
        self._failures: list[tuple[str, str, str]] = []         # name, action, failure

    def stop(self) -> None:
        """Start nothing new. The caller reports the stack's state."""
        self.is_stopped = self._failure_reported = True
        self.is_over = self._unwinding = False      # overrides an end or a rollback that was just reached

    def refuse(self, name: str, action: Action, why: str) -> list[Command]:
        """Note that an action was refused before it began."""
        self._failures.append((name, action, why))
        self.is_stopped = True
        return self._report()

    def fail(self, name: str, action: Action, why: str) -> list[Command]:
        """Note that an action has failed."""
        self._failures.append((name, action, why))
        if self._action not in GOES_ON:
            self.is_stopped = True
        return self._report()

    def _report(self) -> list[Command]:
        """Report the stack's failure immediately, and only once. A rollback may follow."""
        if self._failure_reported or self._action in GOES_ON:
            return []
        _, action, failure = self._failures[0]
        return self._report_as(text.failed(action, failure))

    def time_out(self) -> list[Command]:
        """Note that the time of the action is up; nothing if its end was reported."""
        if self.is_over:
            return []
        self.is_stopped = True
        return [] if self._failure_reported else self._report_as(text.TIMED_OUT)

    def _report_as(self, reason: str) -> list[Command]:
        self._failure_reported = True
        self._unwinding = self._rollback
        return [ReportFailure(reason, rollback=self._rollback)]

    def reached(self, is_walk_finished: bool) -> list[Command]:
        """Return the end of the traversal. Call it while no step is under way. `is_walk_finished`: no step is left."""
        if self.is_over or self._unwinding:
            return []
        if self._failure_reported:
            self.is_over = True
            return [Leave()]
        if self._failures:
            self.is_over = True
            return [Finish(Status.FAILED, self._failure_reason())]
        if self.is_stopped or is_walk_finished:
            self.is_over = True
            return [Finish(Status.COMPLETE, text.completed(
                self._action, self.unsupported, self.tolerated))]
        return []

    def _failure_reason(self) -> str:
        if self._action is Action.CHECK:
            return text.check_failed([(name, why) for name, _, why in self._failures], self.unsupported)
        _, action, failure = self._failures[0]
        return text.failed(action, failure)
