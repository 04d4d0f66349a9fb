"""Sets a stack to FAILED that must not be driven on: it has ended several engines, or defects of this one stop it.

Loads neither its definition nor any resource type: only its rows change. A later request of its user, such as a
delete, is driven as for any failed stack, and has its own number of tries (db.leases.strike).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from heatlite.common.i18n import _
from heatlite.db import leases, resources, signals, stacks
from heatlite.db.leases import Lease
from heatlite.engine.durability import request_ids
from heatlite.engine.durability.journal import Journal, Superseded
from heatlite.engine.reconcile import stack_events
from heatlite.engine.reconcile.action_ends import ActionEnds
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.planning.states import Change, Status

LOG = logging.getLogger(__name__)

MOST_DEFECTS = 5            # consecutive defects while driving one request of a stack before the stack is given up


@dataclass(frozen=True)
class _Defects:
    """The defects in a row of one request of a stack. `last`: the type of the last one; the error itself would hold all
    that its runner had."""

    generation: int
    count: int
    last: str


class GivenUpStacks:
    """Gives stacks up in the threads that load them; counts defects in those of runners."""

    def __init__(self, core: EngineCore, journal: Journal, ends: ActionEnds) -> None:
        self._engine_id = core.engine_id
        self._runtime = core.runtime
        self._database = core.database
        self._journal = journal
        self._ends = ends
        self._defects: dict[str, _Defects] = {}     # stack -> those since its runner last ended without one

    def note_end(self, row: stacks.StoredStack, defect: Exception | None) -> bool:
        """Note that the runner of a stack has ended. `defect`: of the engine, that has stopped it, or None. Return
        whether the stack is given up when it is loaded next."""
        before = self._defects.pop(row.id, None)
        if defect is None:
            return False
        count = before.count + 1 if before is not None and before.generation == row.generation else 1
        self._defects[row.id] = _Defects(row.generation, count, type(defect).__name__)
        return count >= MOST_DEFECTS

    def give_up(self, lease: Lease) -> bool:
        """Give up the stack of `lease` if it has too many strikes or defects. Return whether it did. Raises LeaseLost
        and DatabaseUnavailable."""
        defects = self._hopeless(lease.stack_id)
        if not lease.strikes and defects is None:
            return False
        with self._database.reader() as tx:
            ended_engines = leases.excessive_strikes(tx, lease.stack_id) if lease.strikes else 0
            row = stacks.get(tx, lease.stack_id) if ended_engines or defects is not None else None
        if row is None:
            return False
        if ended_engines:
            return self.fail(lease, row, _(
                '%(count)d engines ended while they drove this stack (%(action)s); it was given up. A resource type or '
                'the template stops them: see their logs.') % {'count': ended_engines, 'action': row.action})
        if defects is None or defects.generation != row.generation:
            return False                            # the newer request has its own number of tries
        is_given_up = self.fail(lease, row, f'Internal error: {defects.last}; the log of engine {self._engine_id} has '
                                            f'the details')
        self._defects.pop(row.id, None)
        return is_given_up

    def _hopeless(self, stack_id: str) -> _Defects | None:
        """Return the defects of a stack if they are too many."""
        found = self._defects.get(stack_id)
        return found if found is not None and found.count >= MOST_DEFECTS else None

    def fail(self, lease: Lease, row: stacks.StoredStack, reason: str) -> bool:
        """Set the stack of `lease` to FAILED, with its resources in progress, drop its pending signals, and release the
        lease. Returns False if a newer request was accepted meanwhile. Raises LeaseLost and DatabaseUnavailable.

        `row`: of the stack, as it was just read."""
        with self._database.reader() as tx:
            busy = [each for each in resources.light(tx, row.id) if each.status == Status.IN_PROGRESS]
            waiting = tuple(signals.numbers(tx, row.id))
        for each in busy:
            failed = each._replace(status=Status.FAILED, reason=reason)
            self._journal.submit(Change(row.id, lease.epoch, row=failed, events=(
                stack_events.of_resource(self._runtime, failed, failed.physical_id or ''),)))
        given_up = replace(row, status=Status.FAILED, reason=reason)
        self._ends.end_snapshot(given_up, lease.epoch)
        try:
            self._journal.write(self._ends.change(given_up, lease.epoch, signals=waiting, release=True))
        except Superseded:
            return False
        request_ids.bind_to(row)
        LOG.error('Stack %s [%s] was given up: %s', row.name, row.id, reason)
        self._ends.report_given_up(given_up)
        return True
