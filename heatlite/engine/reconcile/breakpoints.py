"""The breakpoints of users (hooks) that hold steps of one stack: stored with their resource, cleared by a signal."""

from __future__ import annotations

from heatlite.db import resource_data
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.inbox import RunnerInbox
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.step_store import StepStore
from heatlite.planning import commands, text
from heatlite.planning.states import ResourceState
from heatlite.planning.steps import Step


class StoredBreakpoints:
    """Called in the runner's thread, but for `clear`, which threads that handle signals call."""

    def __init__(self, leased: LeasedStack, executor: StepExecutor, inbox: RunnerInbox, store: StepStore) -> None:
        self._leased = leased
        self._executor = executor
        self._inbox = inbox
        self._store = store
        self._held: dict[tuple[str, str], tuple[Step, int]] = {}    # (resource, hook) -> the step held there, its row

    def pause(self, step: Step, row: ResourceState, hook: str) -> None:
        """Hold the step until the breakpoint is cleared."""
        self._held[row.name, hook] = held = step, row.id
        noted = self._executor.stored_resources.get(row).data.get(hook)
        if self._held.get((row.name, hook)) is not held:
            return                                  # cleared during the read
        if noted == self._cleared():                # cleared before the previous owner died
            if self._held.pop((row.name, hook), None) is not None:
                self._inbox.post(commands.Cleared(step))
        elif noted != resource_data.HELD:                         # else it was held already before the takeover
            self._store.note_hook(row, hook, resource_data.HELD, text.paused(hook.partition('-')[2].upper(), hook))

    def clear(self, row: ResourceState, hook: str) -> None:
        """Clear a breakpoint. A resource that has not reached it again since a takeover will not be held."""
        held = self._held.pop((row.name, hook), None)
        if held is not None:
            step, number = held
            row = self._leased.rows[number]
            self._inbox.post(commands.Cleared(step))
        self._store.note_hook(row, hook, self._cleared(), text.cleared(hook))

    def release(self, row: ResourceState, hook: str, why: str) -> None:
        """Remove a breakpoint whose request is over."""
        self._held.pop((row.name, hook), None)
        self._store.note_hook(row, hook, None, why)

    def _cleared(self) -> str:
        """Return the marker stored when a hook was cleared; it is valid for this generation only."""
        return f'cleared in {self._leased.row.generation}'
