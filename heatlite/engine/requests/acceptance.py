"""Accepts a request of a stack: stores it in one transaction, then drives the stack here or wakes up its owner.

If the engine dies after the commit, the sweep finds the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Protocol

from sqlalchemy import Connection

from heatlite.common import turns
from heatlite.common.context import RequestContext
from heatlite.db import credentials, events, leases, presence, resources, stacks, templates
from heatlite.db.leases import Lease
from heatlite.engine.durability import request_ids
from heatlite.engine.durability.group_commit import GroupCommit
from heatlite.engine.durability.journal import LeaseLost
from heatlite.engine.notify.in_order import InOrder
from heatlite.engine.reconcile import implicit_dependencies, loading, plan_references, stack_events
from heatlite.engine.reconcile.authority import context_of
from heatlite.engine.reconcile.controller import StackController
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.plan_references import PlanReference
from heatlite.engine.reconcile.revisions import Content, RevisionRecorder
from heatlite.language.definition import StackDefinition
from heatlite.planning import identities
from heatlite.planning.plan import EVERYTHING
from heatlite.planning.states import NO_REQUIREMENTS, ResourceState, Status

SMALL = 100                 # resources of a new stack that is stored together with others
MOST_SUPERSEDED = 5         # templates of a stack to which nothing refers: its engine may be about to read one
STEPS_PER_ROW = 5           # of `turns`, for the row of one resource

StackOwner = Lease | str | None
"""The lease if this engine has it, else the id of the engine that owns the stack, or None."""


class Applying(Protocol):
    """A plan that a request applies."""

    @property
    def reference(self) -> PlanReference: ...

    def accept(self, tx: Connection, stack_id: str, generation: int | None) -> None:
        """Mark the plan as applied, in the transaction of the request. `generation`: of the stack; None: a new one.

        Raises Conflict if the plan is no longer valid. May be called again, after a conflict of transactions."""


class Acceptance:
    """Stores accepted requests: in threads of requests, of the pool for nested stacks, and of forced deletes."""

    def __init__(self, core: EngineCore, controller: StackController, wake: Callable[[str, str | None], None],
                 recorder: RevisionRecorder, retry_limit: int, notify: InOrder, most_events: int) -> None:
        """`wake(stack_id, engine_id)`: wakes up the engine that owns a stack, or any engine (None); `most_events`: in
        the history of one stack; 0: no limit."""
        self._runtime = core.runtime
        self._database = core.database
        self._engine_id = core.engine_id
        self._controller = controller
        self._wake = wake
        self._recorder = recorder
        self._retry_limit = retry_limit
        self._notify = notify
        self._most_events = most_events
        self._new: GroupCommit[Lease | None] = GroupCommit(core.runtime, core.database)

    def claim(self, tx: Connection, stack_id: str, context: RequestContext | None = None,
              by: LeasedStack | None = None) -> StackOwner:
        """Claim the stack's lease, unless another engine has it or this one has no capacity. Locks the lease before the
        stack. Raises TooLate. `by`: see `check_owner`."""
        lease = self._controller.claim(tx, stack_id, by)
        if context is not None:
            context.check_in_time(self._runtime.now())
        return lease if lease is not None else leases.owner(tx, stack_id)

    @staticmethod
    def check_owner(tx: Connection, by: LeasedStack | None) -> None:
        """Raise LeaseLost if `by`, the stack that makes the request, has another owner; it gets none before the end of
        `tx`. None: a user makes it.

        An engine may stand still between its decision and this transaction. Its successor decides anew. A stack that is
        only read, as when a snapshot is deleted, has no owner."""
        if by is not None and by.lease.engine_id and not leases.lock_shared(tx, by.lease):
            raise LeaseLost(by.id)

    def limit_remains(self, tx: Connection, before: stacks.StoredStack) -> None:
        """Remove superseded templates but MOST_SUPERSEDED, and events beyond the limit, of a stack whose action is in
        progress: the end of the action removes the others, but until then there may be any number of requests. `tx`
        holds the lease; `before`: the row before the request that was just stored."""
        if before.status != Status.COMPLETE:
            templates.prune(tx, before.id, keep=MOST_SUPERSEDED)
            events.purge_over(tx, before.id, self._most_events)

    def hand_over(self, stack_id: str, owner: StackOwner, row: stacks.StoredStack | None = None) -> None:
        """Make the owner of a stack look at what was committed for it. `row`: the stack's, if it was read for that."""
        if isinstance(owner, Lease):
            self._controller.resume(owner, row)
        else:
            self._wake(stack_id, owner)

    def commit(self, accept: Callable[[Connection], tuple[StackOwner, stacks.StoredStack]],
               definition: StackDefinition | None = None) -> stacks.StoredStack:
        """Commit a request, then announce it and wake up the owner of the stack. Return the stack's row.

        `accept(tx)`: stores the request; returns the owner, from `claim`, and the row. `definition`: the accepted one,
        so that this engine need not load it.
        """
        with ExitStack() as held:

            def store(tx: Connection) -> tuple[StackOwner, stacks.StoredStack]:
                held.close()                    # what a former attempt has left
                owner, row = accept(tx)
                held.enter_context(self._notify.held(row))
                return owner, row

            owner, accepted = self._database.retry(store)
            if definition is not None and isinstance(owner, Lease):     # else another engine drives it, as it is stored
                self._controller.prime_definition(accepted.id, accepted.generation, definition)
            self._announce(accepted)
        self.hand_over(accepted.id, owner, accepted)
        return accepted

    def commit_new(self, context: RequestContext, row: stacks.StoredStack, definition: StackDefinition,
                   rows: list[ResourceState], now: datetime, authority: credentials.Credentials | None = None,
                   plan: Applying | None = None, path: Sequence[str] = (), by: LeasedStack | None = None,
                   check: Callable[[Connection], None] | None = None) -> None:
        """Commit a new stack with its resources `rows`, then drive it here or wake up another engine. `path`: see
        `LeasedStack`; `by`: see `check_owner`; `check(tx)`: raises to refuse it, before anything is stored."""
        permissions, acting = EVERYTHING, context
        content = Content.of(definition)

        def store(tx: Connection) -> Lease | None:
            nonlocal permissions, acting
            self.check_owner(tx, by)
            if check is not None:
                check(tx)
            acting = context if by is None else self._context_of_tree(tx, by, context)
            if row.owner_id is None:
                presence.enter(tx, row.project_id)
            if plan is not None:
                plan.accept(tx, row.id, None)
            permissions = plan_references.of_plan(tx, row)
            has_capacity = self._controller.has_capacity(lambda: row.project_id, by)
            lease = leases.insert(tx, row.id, self._engine_id if has_capacity else None)
            stacks.insert(tx, row)              # StackExists when another request was faster
            context.check_in_time(self._runtime.now())
            templates.insert(tx, row.template_id, content.document, content.environment, content.files, now,
                             stack_id=row.id, is_nested=row.owner_id is not None)
            self._recorder.record(tx, None, row, content, context, id_of(plan))
            if authority is not None:
                credentials.insert(tx, authority)
            resources.insert_many(tx, row.id, rows)
            events.insert_many(tx, row.id, [stack_events.of_stack(self._runtime, row)])
            return lease

        is_small = len(rows) <= SMALL and plan is None and by is None and check is None     # then it only inserts
        with self._notify.held(row):
            lease = self._new.commit(store) if is_small else self._database.retry(store)
            self._announce(row)
        context.deadline = context.call = None  # the request is over: the work that follows has no deadline
        if lease is None:
            self._wake(row.id, None)
        else:
            self._controller.adopt(LeasedStack(
                row, lease, definition, request_ids.following(acting, row),
                loading.traversal(self._runtime, row, loading.target(row, definition, permissions), rows,
                                  self._retry_limit), path))

    @staticmethod
    def _context_of_tree(tx: Connection, parent: LeasedStack, context: RequestContext) -> RequestContext:
        """Return the context for a new nested stack: `context`, that of its parent, unless another user owns the tree
        since the parent's action began. One statement, by primary keys."""
        present = credentials.of_tree(tx, parent.row.root_id)
        if present is None or present.created_at <= (parent.row.started_at or parent.row.created_at):
            return context
        return context_of(present)

    def new_resources(self, stack_id: str, definition: StackDefinition, template_id: str,
                      now: datetime) -> list[ResourceState]:
        """Return the rows of the resources of a new stack, before any action."""
        implicit_dependencies.complete(definition)
        numbers = {name: number for number, name in enumerate(definition.resources, 1)}
        return [ResourceState(id=numbers[name], name=name, uuid=identities.of_row(stack_id, 1, name),
                              type=resource.type,
                              requires={needed: numbers[needed] for needed in resource.requires} or NO_REQUIREMENTS,
                              template_id=template_id, created_at=now)
                for name, resource in turns.paced(definition.resources.items(), STEPS_PER_ROW)]

    def _announce(self, row: stacks.StoredStack) -> None:
        """Send the notification, after the commit."""
        self._notify(row, row.action, row.status, row.reason)


def id_of(plan: Applying | None) -> str | None:
    return None if plan is None else str(plan.reference['id'])
