"""The timeouts of actions: when one is due, the calls under way are aborted and the action fails."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from heatlite.common.runtime import Runtime
from heatlite.engine.durability.timers import Timers
from heatlite.engine.reconcile.runner import Runner
from heatlite.planning import commands
from heatlite.planning.states import Status
from heatlite.planning.timeouts import action_seconds


class Timeouts:
    """Starts a timer for each action, in threads of runners and of loading; the runner handles what is due. It has one
    timer, for its present action, and cancels it at its end."""

    def __init__(self, runtime: Runtime, timers: Timers, default: int) -> None:
        """`default`: seconds, for stacks without a timeout of their own."""
        self._runtime = runtime
        self._timers = timers
        self._default = default

    def watch(self, runner: Runner, started: datetime | None = None) -> None:
        """Start the timer of the action's timeout. `started`: when a cancelled action began that is still running."""
        row = runner.leased.row
        length = timedelta(seconds=action_seconds(row.timeout_mins, self._default))
        started = started or row.started_at or row.created_at
        left = (started + length - self._runtime.now()).total_seconds()
        generation = row.generation
        runner.limit(self._timers.after(max(left, 0), lambda: runner.ask(lambda: self._time_is_up(runner, generation))))

    def _time_is_up(self, runner: Runner, generation: int) -> Iterable[commands.Command]:
        leased = runner.leased
        busy = leased.traversal.busy_rows()
        if leased.row.generation != generation or (leased.row.status != Status.IN_PROGRESS and not busy):
            return []
        why = {}
        for row in busy:
            kind = runner.executor.objects.class_name(row)
            shown = f'{kind} "{row.name}"' + (f' [{row.physical_id}]' if row.physical_id else '')
            why[row.id] = (f'Task {row.action.lower()} from {shown} Stack "{leased.row.name}" '
                           f'[{leased.id}] Timed out')
        return leased.traversal.handle(commands.TimedOut(why), self._runtime.now())
