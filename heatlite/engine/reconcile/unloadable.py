"""Stacks that an engine cannot load, as when a package that their template needs is no longer installed.

Each is tried again, ever more rarely, by any engine. Its reason says so to its users meanwhile. When the time of its
action is over, it is set to FAILED.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from heatlite.common import defects, exception
from heatlite.common.backoff import backoff
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import stacks
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine.durability.journal import Journal, StopsDriving, Superseded
from heatlite.planning.states import Change, StackChange, Status
from heatlite.planning.timeouts import action_seconds

LOG = logging.getLogger(__name__)

LONGEST_PAUSE = 60.0            # seconds between two tries of one engine
LONGEST_REASON = 300            # characters of the error, in the reason of a stack
MOST_REMEMBERED = 10_000        # stacks whose tries are counted; another engine may have loaded one meanwhile


class Unloadable:
    """Remembers which stacks could not be loaded, and how often. Called in the threads that load stacks."""

    def __init__(self, runtime: Runtime, database: Database, journal: Journal, timeout: int,
                 fail: Callable[[Lease, stacks.StoredStack, str], bool]) -> None:
        """`timeout`: seconds, of stacks without one of their own; `fail`: see `given_up_stacks.GivenUpStacks`."""
        self._runtime = runtime
        self._database = database
        self._journal = journal
        self._timeout = timeout
        self._fail = fail
        self._tries: dict[str, int] = {}

    def loaded(self, stack_id: str) -> None:
        """Note that a stack was loaded, or is gone."""
        self._tries.pop(stack_id, None)

    def failed(self, lease: Lease, error: Exception) -> float | None:
        """Note that a stack cannot be loaded. Return the seconds to wait before it is tried again; None: it has no
        lease any more, as it was given up."""
        stack_id = lease.stack_id
        tries = self._count(stack_id)
        if tries == 1:
            LOG.warning('Stack %s cannot be loaded, and is tried again from time to time: %s: %s', stack_id,
                        type(error).__name__, error, exc_info=error if defects.is_defect(error) else None)
        try:
            is_ended = self._is_ended(lease, error)
        except (StopsDriving, Superseded, exception.DatabaseUnavailable):
            return 0.0                              # a newer request, or another owner, tries by itself
        except Exception as second:                 # its own row cannot be read, perhaps
            defects.log(LOG, second, 'The reason of stack %s, which cannot be loaded, was not stored', stack_id)
            is_ended = False
        return None if is_ended else backoff(tries, LONGEST_PAUSE)

    def _count(self, stack_id: str) -> int:
        """Count a try of a stack and return the number. Beyond MOST_REMEMBERED stacks, forget the one whose last try is
        the oldest."""
        tries = self._tries.pop(stack_id, 0) + 1
        while len(self._tries) >= MOST_REMEMBERED:
            self._tries.pop(next(iter(self._tries)), None)
        self._tries[stack_id] = tries
        return tries

    def _is_ended(self, lease: Lease, error: Exception) -> bool:
        """Whether the time of the action was over, and the stack is FAILED now. Else its reason says what it waits
        for."""
        with self._database.reader() as tx:
            row = stacks.get(tx, lease.stack_id)
        if row is None or row.status != Status.IN_PROGRESS:
            return False
        why = f'{type(error).__name__}: {error}'[:LONGEST_REASON]
        length = timedelta(seconds=action_seconds(row.timeout_mins, self._timeout))
        if self._runtime.now() >= (row.started_at or row.created_at) + length:
            self.loaded(row.id)
            return self._fail(lease, row, _('The stack could not be loaded until the timeout of its action: %s') % why)
        reason = _('The action waits until the stack can be loaded: %s') % why
        if reason != row.reason:
            self._journal.write(Change(row.id, lease.epoch, stack=StackChange(row.generation, reason=reason)))
        return False
