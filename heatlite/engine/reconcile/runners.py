"""The runners of the stacks that this engine drives, by the id of their stack."""

from __future__ import annotations

import logging

from heatlite.common import metrics
from heatlite.db import stacks
from heatlite.db.errors import TakesNoWrites
from heatlite.engine.reconcile.runner import Runner

LOG = logging.getLogger(__name__)


class Runners:
    """A table without decisions: the controller adds and removes runners, others look one up to pass something on."""

    def __init__(self) -> None:
        self._runners: dict[str, Runner] = {}

    def __len__(self) -> int:
        return len(self._runners)

    def __contains__(self, stack_id: object) -> bool:
        return stack_id in self._runners

    def get(self, stack_id: str) -> Runner | None:
        return self._runners.get(stack_id)

    def owners(self, stack_id: str) -> tuple[str, str]:
        """Return the project and the root of a stack; '' for both if this engine does not drive it."""
        runner = self._runners.get(stack_id)
        return ('', '') if runner is None else runner.leased.owners

    def all(self) -> list[Runner]:
        return list(self._runners.values())

    def add(self, runner: Runner) -> None:
        self._runners[runner.leased.id] = runner
        metrics.stacks_owned.set(len(self._runners))

    def remove(self, runner: Runner) -> bool:
        """Remove a runner. Returns False if another one drives its stack already."""
        is_current = self._runners.get(runner.leased.id) is runner
        if is_current:
            del self._runners[runner.leased.id]
        metrics.stacks_owned.set(len(self._runners))
        return is_current

    def poll_parent(self, row: stacks.StoredStack) -> None:
        """Make the parent of a nested stack poll now, not at its next interval, if this engine drives it."""
        parent = self._runners.get(row.owner_id or '')
        if parent is not None and row.parent_resource is not None:
            parent.poll_now(row.parent_resource)

    def forget_row(self, stack_id: str, row: int) -> None:
        """Drop a row from the cache of its runner: a request has changed it."""
        runner = self._runners.get(stack_id)
        if runner is not None:
            runner.executor.stored_resources.forget(row)

    def stop_failed(self, stack_id: str, error: Exception) -> None:
        """Stop the runner of a stack whose change cannot be stored; the sweep resumes it from the stored state. It is
        no defect of the stack if the database has no space."""
        runner = self._runners.get(stack_id)
        if runner is not None:
            with runner.leased.bound():
                LOG.error('A change of stack %s cannot be stored', stack_id, exc_info=error)
            runner.stop(None if isinstance(error, TakesNoWrites) else error)
        else:
            LOG.error('A change of stack %s cannot be stored', stack_id, exc_info=error)
