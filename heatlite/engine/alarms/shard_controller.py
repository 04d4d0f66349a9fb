"""Runs the shards whose leases this engine holds: one thread for each, and one for the upkeep of metrics.

The lease manager hands leases over as it does those of stacks. A shard without alarms has no thread and costs nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

from heatlite.common import defects, exception, outages
from heatlite.common.context import bind
from heatlite.common.runtime import Flag, Runtime, Thread
from heatlite.db import leases, shards
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine.alarms.settings import AlarmSettings
from heatlite.engine.alarms.shard_runner import ShardRunner
from heatlite.engine.alarms.transitions import Followed
from heatlite.engine.alarms.upkeep import Upkeep
from heatlite.engine.alarms.webhooks import Post, Webhooks
from heatlite.engine.durability.journal import LeaseLost

LOG = logging.getLogger(__name__)

PAUSE: Final = 1.0                          # seconds after an error


class Work(Protocol):
    """What is done under one lease."""

    lease: Lease

    def step(self) -> float | None:
        """Do what is due, and return the seconds until the next call; None: there is no work any more."""


class ShardController:
    def __init__(self, runtime: Runtime, database: Database, settings: AlarmSettings, post: Post,
                 may_act: Callable[[Lease], None], wake: Callable[[str, str | None], None]) -> None:
        """`wake(stack_id, engine_id)`: wakes up the engine that owns a stack, which may be this one, or any (None)."""
        self.webhooks = Webhooks(runtime, database, post, may_act)
        self._runtime = runtime
        self._database = database
        self._settings = settings
        self._wake = wake
        self._running: dict[str, tuple[Lease, Thread, Flag]] = {}
        self._stopping = False

    def acquire(self, lease: Lease) -> None:
        """Begin to work under a lease that was just claimed."""
        known = self._running.get(lease.stack_id)
        if self._stopping or (known is not None and known[0].epoch == lease.epoch):
            return
        if known is not None:                       # the database lost this engine's row, and the shard was reclaimed
            known[1].kill()
        wake_flag = self._runtime.flag()
        self._running[lease.stack_id] = lease, self._runtime.spawn(self._run, self._work(lease), wake_flag), wake_flag
        LOG.debug('Shard %s is driven here (epoch %d)', lease.stack_id, lease.epoch)

    def drives(self, lease_id: str) -> bool:
        """Whether a shard has a thread."""
        return lease_id in self._running

    def wake(self, lease_id: str) -> None:
        """Let a shard look for work at once, if this engine drives it."""
        known = self._running.get(lease_id)
        if known is not None:
            known[2].set()

    def tell(self, followed: Followed) -> None:
        """Wake up the engines that drive the stacks with new signals. Without it, sweeps would find them."""
        for stack_id in sorted(followed.stacks):
            with self._database.reader() as tx:
                owner = leases.owner(tx, stack_id)
            self._wake(stack_id, owner)

    def stop(self) -> None:
        """End all threads; the lease manager gives the leases up."""
        self._stopping = True
        for _lease, thread, _wake_flag in list(self._running.values()):
            thread.kill()
        self._running.clear()
        self.webhooks.stop()

    def _work(self, lease: Lease) -> Work:
        kept = replace(lease, is_new=False)
        if shards.number(lease.stack_id) is None:
            return Upkeep(self._runtime, self._database, kept, self._settings)
        return ShardRunner(self._runtime, self._database, kept, self._settings, self.webhooks, self.tell)

    def _run(self, work: Work, wake_flag: Flag) -> None:
        bind(None)
        try:
            while not self._stopping:
                seconds = self._step(work)
                if seconds is None:
                    return
                wake_flag.wait(seconds)
                wake_flag.clear()
        finally:
            if self._running.get(work.lease.stack_id, (None,))[0] == work.lease:
                del self._running[work.lease.stack_id]

    def _step(self, work: Work) -> float | None:
        try:
            return work.step()
        except LeaseLost:
            LOG.info('Shard %s is driven by another engine now', work.lease.stack_id)
            return None
        except exception.DatabaseUnavailable as error:
            outages.away(outages.DATABASE, error)
        except Exception as error:
            defects.log(LOG, error, 'Alarms of shard %s were not evaluated', work.lease.stack_id)
        return PAUSE
