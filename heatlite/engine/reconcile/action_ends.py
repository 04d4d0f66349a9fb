"""The ends of actions: what is stored with an end, and what is reported once it is stored.

Each action ends in one of these ways:

- All its steps have ended (`lifecycle.finish`). The outputs are stored with its state, and the lease is released.
- A step has failed (`lifecycle.report_failure`). Work in flight goes on, or a rollback begins in the same change.
- The stack is given up (`given_up_stacks`). Its resources in progress fail first; its pending signals are dropped.
- Its own request ends it, in the transaction that accepts it (`requests.unchanged`, `requests.refactor_store`).
- A newer request takes its place (`lifecycle.begin`, `catch_up`): that request has stored, and reported, what follows.

The state of the stack and the event of the end are one change. The snapshot that the action makes ends before it, or
with the work in flight of an action that has failed: an engine that dies in between leaves an action that ends again.
An end is reported after its commit, at most once: to the metrics, the log, the trace, the message bus with the audit
trail, the lifecycle plug-ins, and the step of the parent.
"""

from __future__ import annotations

import logging
from datetime import datetime

from heatlite.common import metrics
from heatlite.common.runtime import Runtime
from heatlite.db.stacks import StoredStack
from heatlite.engine.durability.journal import Journal
from heatlite.engine.lifecycle_plugin import LifecyclePlugins
from heatlite.engine.notify.notifications import Notify
from heatlite.engine.reconcile import action_spans, request_keys, stack_events
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.runners import Runners
from heatlite.engine.reconcile.use_cases import Provider
from heatlite.planning import text
from heatlite.planning.states import Action, Change, StackChange, Status

LOG = logging.getLogger(__name__)


class ActionEnds:
    """Called in threads of runners, of requests, and in those that load stacks. `ended`: the row of a stack with the
    state in which its action ends."""

    def __init__(self, runtime: Runtime, journal: Journal, notify: Notify, plugins: LifecyclePlugins, runners: Runners,
                 use_cases: Provider) -> None:
        self._runtime = runtime
        self._journal = journal
        self._notify = notify
        self._plugins = plugins
        self._runners = runners
        self._use_cases = use_cases

    # --- what is stored ---------------------------------------------------------------------------------

    def end_snapshot(self, row: StoredStack, epoch: int) -> None:
        """Store the end of the snapshot that the action in `row` makes, once that has ended; or of the one that the
        action before it was making. Waits for the database. Raises LeaseLost, and NotStored if a change of the stack is
        missing. `epoch`: of the lease. Costs nothing if there is no snapshot."""
        if not (row.request or {}).get(request_keys.SNAPSHOT):
            return
        is_own = row.action == Action.SNAPSHOT
        if is_own and row.status == Status.IN_PROGRESS:
            return
        self._journal.check(row.id, epoch)
        self._use_cases().snapshots.finished(row, row.status if is_own else Status.FAILED,
                                             row.reason if is_own else text.cancelled(Action.SNAPSHOT))

    def change(self, ended: StoredStack, epoch: int, *, outputs: str | None = None, settled: str | None = None,
               deleted_at: datetime | None = None, signals: tuple[int, ...] = (), release: bool = False) -> Change:
        """Return the change that stores the end. `epoch`: of the lease; `signals`: those that are dropped; others: see
        `StackChange`."""
        return Change(ended.id, epoch, events=(stack_events.of_stack(self._runtime, ended),), signals=signals,
                      stack=StackChange(ended.generation, status=ended.status, reason=ended.reason, outputs=outputs,
                                        settled=settled, deleted_at=deleted_at, release=release))

    # --- what is reported -------------------------------------------------------------------------------

    def report(self, ended: StoredStack, runner: Runner) -> None:
        """Report an end that is stored, of the stack of `runner`."""
        self._count(ended)
        action_spans.ended(runner.leased, ended.status, ended.reason)
        self._publish(ended)
        if self._plugins:
            self._plugins.after(runner.leased.context, runner.executor.facade, None, ended.action,
                                is_stack_failure=ended.status is Status.FAILED)

    def report_given_up(self, ended: StoredStack) -> None:
        """Report an end that is stored, of a stack that no runner drives. Plug-ins are not called: there is no
        facade."""
        metrics.stacks_given_up.inc()
        self._count(ended)
        action_spans.send(ended, ended.status, ended.reason)
        self._publish(ended)

    def report_at_once(self, begun: StoredStack, ended: StoredStack) -> None:
        """Report an action whose request has stored its end with it. Its duration is not counted: it has none."""
        metrics.stacks.labels(ended.action, ended.status).inc()
        self.report_begin(begun)
        self._publish(ended)

    def report_begin(self, begun: StoredStack) -> None:
        """Report the begin of an action that is stored, and that no request reports (`requests.acceptance`)."""
        self._notify(begun, begun.action, begun.status, begun.reason)

    def _publish(self, ended: StoredStack) -> None:
        self._notify(ended, ended.action, ended.status, ended.reason)
        LOG.info('Stack %s [%s] %s_%s: %s', ended.name, ended.id, ended.action, ended.status, ended.reason)
        self._runners.poll_parent(ended)

    def _count(self, ended: StoredStack) -> None:
        metrics.stacks.labels(ended.action, ended.status).inc()
        metrics.stack_seconds.labels(ended.action, ended.status).observe(
            (self._runtime.now() - action_spans.begin_of(ended)).total_seconds())
