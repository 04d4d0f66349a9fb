"""Ends updates at once that change nothing, in the transaction that accepts them: no engine loads the stack for them.

Clients see what they see of any update: the state, the times and both events of the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection

from heatlite.db import events, leases, settled_stacks, stacks
from heatlite.engine.lifecycle_plugin import LifecyclePlugins
from heatlite.engine.reconcile import stack_events
from heatlite.engine.reconcile.action_ends import ActionEnds
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.revisions import Content, RevisionRecorder
from heatlite.engine.reconcile.settled import inputs_of_root
from heatlite.language.definition import NOTHING_SHARED, SharedText, StackDefinition
from heatlite.planning import text
from heatlite.planning.states import Action, Status


class UnchangedUpdates:
    """Ends updates that change nothing, in the threads and transactions of their requests."""

    def __init__(self, core: EngineCore, recorder: RevisionRecorder, observes: bool, most_events: int,
                 plugins: LifecyclePlugins, ends: ActionEnds) -> None:
        """`observes`: whether every update compares resources with the cloud; `most_events`: in the history of one
        stack, 0: no limit; `plugins`: must be called for each action."""
        self._runtime = core.runtime
        self._database = core.database
        self._engine_id = core.engine_id
        self._recorder = recorder
        self._is_off = observes or bool(plugins)
        self._most_events = most_events
        self._ends = ends

    def settled(self, row: stacks.StoredStack, definition: StackDefinition, content: Content) -> str | None:
        """Return the digest of the influences on a stack that an update with this definition would not change; else
        None. At most two statements."""
        if self._is_off or row.owner_id is not None or row.status != Status.COMPLETE:
            return None
        with self._database.reader() as tx:
            if not self._recorder.is_present(tx, row, content):
                return None
        digest = inputs_of_root(definition, self._recorder.key)
        with self._database.reader() as tx:
            return digest if digest is not None and self._is_settled(tx, row, digest) else None

    def as_applied(self, row: stacks.StoredStack, before: StackDefinition, definition: StackDefinition) -> SharedText:
        """Return which resources an update with `definition` need not compare: they are defined as in `before`, which
        was applied. It holds while the stack has the generation of `row`. One statement."""
        with self._database.reader() as tx:
            if not settled_stacks.is_settled(tx, row.id):
                return NOTHING_SHARED
        return definition.shared_with(before)

    @staticmethod
    def check_as_applied(tx: Connection, row: stacks.StoredStack, current: stacks.StoredStack,
                         definition: StackDefinition) -> None:
        """Forget what `as_applied` has found with `row` if something has happened to the stack since. One statement at
        most. `current`: its row, locked in `tx`."""
        if definition.as_applied and (current.generation != row.generation
                                      or not settled_stacks.is_settled(tx, row.id)):        # a signal was handled
            definition.as_applied = NOTHING_SHARED

    def accept(self, row: stacks.StoredStack, digest: str,
               requested: Callable[[Connection, stacks.StoredStack], stacks.Requested],
               ) -> stacks.StoredStack | None:
        """Accept and end an update of a stack; None if something has happened to it meanwhile, then nothing is stored.

        `digest`: from `settled`, for the same row; `requested(tx, row)`: checks the request, and returns the columns
        that it changes; it may store more.
        """
        def end(tx: Connection) -> tuple[stacks.StoredStack, stacks.StoredStack] | None:
            if not leases.is_idle(tx, row.id):
                return None
            current = stacks.get(tx, row.id, for_update=True)
            if current is None or current.generation != row.generation or not self._is_settled(tx, current, digest):
                return None
            lease = leases.claim(tx, row.id, self._engine_id)
            if lease is None:
                return None
            now = self._runtime.now()
            ended = stacks.accept(tx, row.id, action=Action.UPDATE, status=Status.COMPLETE,
                                  reason=text.completed(Action.UPDATE), now=now, **requested(tx, current))
            begun = replace(ended, status=Status.IN_PROGRESS, reason=text.started(Action.UPDATE))
            settled_stacks.keep_settled(tx, row.id, ended.generation)
            events.insert_many(tx, row.id, [stack_events.of_stack(self._runtime, each) for each in (begun, ended)])
            events.purge_over(tx, row.id, self._most_events)
            leases.release(tx, row.id, self._engine_id, lease.epoch)
            return begun, ended

        stored = self._database.retry(end)
        if stored is None:
            return None
        self._ends.report_at_once(*stored)
        return stored[1]

    @staticmethod
    def _is_settled(tx: Connection, row: stacks.StoredStack, digest: str) -> bool:
        return settled_stacks.settled_below(tx, row.id, None).get(row.id) == digest
