"""Reports the begin and the end of actions: to metrics, traces, the message bus, plug-ins and parents of stacks."""

from __future__ import annotations

import logging

from heatlite.common import defects, exception, metrics
from heatlite.common.runtime import Runtime
from heatlite.db import stacks
from heatlite.engine.lifecycle_plugin import LifecyclePlugins
from heatlite.engine.notify.notifications import Notify
from heatlite.engine.reconcile import action_spans
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.runners import Runners
from heatlite.planning.states import Status

LOG = logging.getLogger(__name__)


class StackReporter:
    """Called in threads of runners, and in those that load stacks. Stores nothing."""

    def __init__(self, runtime: Runtime, notify: Notify, plugins: LifecyclePlugins, runners: Runners) -> None:
        self._runtime = runtime
        self._notify = notify
        self._plugins = plugins
        self._runners = runners

    def refusal(self, runner: Runner) -> str | None:
        """Ask the lifecycle plug-ins of the operator whether an action may begin. Return why one refuses it, or None.
        Raises DatabaseUnavailable: the action begins once the database is there again."""
        if not self._plugins:
            return None
        leased = runner.leased
        try:
            self._plugins.before(leased.context, runner.executor.facade, None, leased.row.action)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            defects.log(LOG, error, 'A lifecycle plug-in refused %s of stack %s', leased.row.action, leased.id)
            return str(error.args[0]) if error.args else f'Failed stack pre-ops: {error}'
        return None

    def begun(self, row: stacks.StoredStack) -> None:
        """Report the begin of an action that no request has begun: of a rollback."""
        self._notify(row, row.action, row.status, row.reason)

    def ended(self, runner: Runner, status: Status, reason: str) -> None:
        """Report the end of the action of a stack that this engine drives."""
        leased = runner.leased
        row = leased.row
        self._count(row, status)
        action_spans.ended(leased, status, reason)
        self._notify(row, row.action, status, reason)
        LOG.info('Stack %s [%s] %s_%s: %s', row.name, leased.id, row.action, status, reason)
        if self._plugins:
            self._plugins.after(leased.context, runner.executor.facade, None, row.action,
                                is_stack_failure=status is Status.FAILED)

    def given_up(self, row: stacks.StoredStack) -> None:
        """Report a stack that was set to FAILED without being loaded. Plug-ins are not called: there is no facade."""
        metrics.stacks_given_up.inc()
        self._count(row, Status.FAILED)
        action_spans.send(row, Status.FAILED, row.reason)
        self._notify(row, row.action, Status.FAILED, row.reason)
        self.poll_parent(row)

    def poll_parent(self, row: stacks.StoredStack) -> None:
        """As `Runners.poll_parent`, once the end of an action is stored."""
        self._runners.poll_parent(row)

    def _count(self, row: stacks.StoredStack, status: Status) -> None:
        metrics.stacks.labels(row.action, status).inc()
        metrics.stack_seconds.labels(row.action, status).observe(
            (self._runtime.now() - action_spans.begin_of(row)).total_seconds())
