"""Sets a stack to FAILED that has ended several engines, before it ends the next one.

Loads neither its definition nor any resource type: only its rows change. A later request of its user, such as a
delete, is driven as for any failed stack, and has its own number of tries (db.leases.strike).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import leases, resources, signals, stacks
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine.durability import request_ids
from heatlite.engine.durability.journal import Journal, Superseded
from heatlite.engine.reconcile import stack_events
from heatlite.planning.states import Change, StackChange, Status

LOG = logging.getLogger(__name__)


def give_up(runtime: Runtime, database: Database, journal: Journal, lease: Lease,
            announce: Callable[[stacks.StoredStack], None]) -> bool:
    """Set the stack of `lease` to FAILED and release the lease, if it has too many strikes. Returns whether it did.

    Resources IN_PROGRESS become FAILED with the same reason; pending signals are dropped. `announce(row)`: called
    afterwards with the stack's row. Returns False as well if a newer request was accepted meanwhile. Raises LeaseLost.
    """
    with database.reader() as tx:
        count = leases.excessive_strikes(tx, lease.stack_id)
        row = stacks.get(tx, lease.stack_id) if count else None
    if row is None:
        return False
    reason = _('%(count)d engines ended while they drove this stack (%(action)s); it was given up. A resource type or '
               'the template stops them: see their logs.') % {'count': count, 'action': row.action}
    return fail(runtime, database, journal, lease, row, reason, announce)


def fail(runtime: Runtime, database: Database, journal: Journal, lease: Lease, row: stacks.StoredStack, reason: str,
         announce: Callable[[stacks.StoredStack], None]) -> bool:
    """As `give_up`, for any reason. `row`: of the stack, as it was just read."""
    with database.reader() as tx:
        busy = [each for each in resources.light(tx, row.id) if each.status == Status.IN_PROGRESS]
        waiting = tuple(signals.numbers(tx, row.id))
    for each in busy:
        failed = each._replace(status=Status.FAILED, reason=reason)
        journal.submit(Change(row.id, lease.epoch, row=failed, events=(
            stack_events.of_resource(runtime, failed, failed.physical_id or ''),)))
    given_up = replace(row, status=Status.FAILED, reason=reason)
    try:
        journal.write(Change(
            row.id, lease.epoch, stack=StackChange(row.generation, status=Status.FAILED, reason=reason, release=True),
            events=(stack_events.of_stack(runtime, given_up),), signals=waiting))
    except Superseded:
        return False                                # the newer request has its own number of tries
    request_ids.bind_to(row)
    LOG.error('Stack %s [%s] was given up: %s', row.name, row.id, reason)
    announce(given_up)
    return True
