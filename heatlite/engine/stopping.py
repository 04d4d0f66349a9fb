"""The planned stop of an engine, as at each step of a rolling upgrade: no call is repeated that returns in time.

Stacks without a call under way go to other engines at once. For the others nothing further begins; the results of their
calls are stored, and then they follow. What has not returned when the time is over is ended, behind a fence that lets
no request pass any more, and only then the last leases are given up: for these calls the stop is a crash.
"""

from __future__ import annotations

import logging

from heatlite.common import exception
from heatlite.common.runtime import Runtime
from heatlite.engine.durability.journal import Journal
from heatlite.engine.durability.lease_manager import LeaseManager
from heatlite.engine.reconcile.controller import StackController

LOG = logging.getLogger(__name__)

LOOK = 0.05                         # seconds between two looks for stacks that can be handed over
FLUSH = 2.0                         # seconds in which changes are still written when the time is over


def stop(runtime: Runtime, controller: StackController, lease_manager: LeaseManager, journal: Journal,
         seconds: float) -> None:
    """Hand over all stacks of an engine. `seconds`: the time for calls to return. It takes no longer, but for FLUSH
    and while the database does not answer the statements that free leases."""
    began = runtime.monotonic()
    end = began + seconds
    controller.drain(begins_until=began + seconds / 2)     # the rest is for these calls to return
    known: frozenset[str] = frozenset()             # the stacks that were driven when others were handed over
    while controller.driven and runtime.monotonic() < end:
        runtime.sleep(LOOK)
        driven = controller.driven
        if driven and driven != known and _hand_over(driven, lease_manager, journal, end - runtime.monotonic()):
            known = driven
    lease_manager.close()
    ended = controller.stop()
    if ended:
        LOG.warning('%d calls did not return within %.0f s; the next owners of their stacks find out what they did',
                    ended, seconds)
    if not journal.flush(max(FLUSH, end - runtime.monotonic())):
        LOG.warning('Some changes could not be written before the engine stopped; others begin from what was')
    lease_manager.stop()


def _hand_over(driven: frozenset[str], lease_manager: LeaseManager, journal: Journal, timeout: float) -> bool:
    """Free the leases of all stacks but `driven`. Returns whether the database has done so.

    What their runners have stored is written before: a runner that ends meanwhile is among `driven`, and its last
    changes may still wait."""
    if not journal.flush(timeout):
        return False
    try:
        lease_manager.hand_over(driven)
    except exception.DatabaseUnavailable as error:
        LOG.debug('Stacks are handed over later: %s', error)
        return False
    return True
