"""Faults of a PostgreSQL primary and its synchronous stand-by, and what Patroni or an operator does about them.

A primary that is away is followed by its stand-by, and comes back as the stand-by of that one. While the stand-by is
away, commits wait for it, until the primary goes on alone. Each waits some time before: that of who watches over them.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.system.chaos.faults import TTL, Event, Kind
from tests.system.chaos.front_faults import STANDS_STILL
from tests.system.chaos.node_faults import NodeFaults

NOTICED = (0.0, 2.0, 10.0)              # seconds until a server that is away is noticed


class PostgresFaults(NodeFaults):
    """Time to go on is counted from the promotion, or from where the primary goes on alone."""

    def database_kinds(self) -> list[Kind]:
        return [self.kill_the_primary, self.stop_the_primary_for_a_while, self.restart_the_primary, self.switch_over,
                self.kill_the_standby, self.stop_the_standby_for_a_while,
                *([self.fill_the_disk_of_the_standby, self.fill_the_disk_of_the_primary]
                  if self._servers.on_small_disk else [])]

    def kill_the_primary(self, event: Event) -> None:
        former = self._servers.primary
        self._servers.kill(former)
        time.sleep(self._decks.deal(event.what, NOTICED))
        self._follow(event, former)

    def stop_the_primary_for_a_while(self, event: Event) -> None:
        """It wakes up no more: a watchdog resets a host that could not say for a while that it is the primary."""
        former = self._servers.primary
        end = time.monotonic() + self._decks.deal(event.what, STANDS_STILL)
        self._servers.signal(former, signal.SIGSTOP)
        time.sleep(self._decks.deal(event.what, NOTICED))
        self._follow(event, former, end)

    def restart_the_primary(self, event: Event) -> None:
        """It is back before anybody promotes the stand-by."""
        primary = self._servers.primary
        self._servers.kill(primary)
        time.sleep(self._decks.deal(event.what, (0.0, TTL + 2.0)))
        self._servers.start(primary)
        self._goes_on_meanwhile(event)

    def switch_over(self, event: Event) -> None:
        """As before maintenance of the primary's host."""
        self._follow(event, self._servers.primary)

    def kill_the_standby(self, event: Event) -> None:
        standby = self._servers.standby
        self._servers.kill(standby)
        self._go_alone(event, standby)

    def stop_the_standby_for_a_while(self, event: Event) -> None:
        standby = self._servers.standby
        self._servers.signal(standby, signal.SIGSTOP)
        self._go_alone(event, standby)

    def fill_the_disk_of_the_standby(self, event: Event) -> None:
        """It cannot write what it is sent, and commits wait for it."""
        standby = self._servers.on_small_disk
        if standby == self._servers.primary:
            self._follow(event, standby)
        with self._full_disk():
            self._go_alone_without(event)
        self._servers.start(standby)

    def fill_the_disk_of_the_primary(self, event: Event) -> None:
        former = self._servers.on_small_disk
        if former != self._servers.primary:
            self._follow(event, self._servers.primary)
        with self._full_disk():
            time.sleep(self._decks.deal(event.what, NOTICED))
            self._servers.promote(self._servers.standby)
            self._goes_on_meanwhile(event)
        self._servers.start(former)

    # --- helpers ------------------------------------------------------------------------------------------

    def _follow(self, event: Event, former: str, end: float = 0.0) -> None:
        """`end`: by the monotonic clock, when the former primary may come back at the earliest."""
        self._servers.promote(self._servers.standby)
        self._goes_on_meanwhile(event)
        time.sleep(max(self._decks.deal(event.what, (0.0, TTL + 2.0)), end - time.monotonic()))
        self._servers.start(former)

    def _go_alone(self, event: Event, standby: str) -> None:
        self._go_alone_without(event)
        self._servers.start(standby)

    def _go_alone_without(self, event: Event) -> None:
        time.sleep(self._decks.deal(event.what, NOTICED))
        self._servers.go_alone()
        self._goes_on_meanwhile(event)
        time.sleep(self._decks.deal(event.what, (0.0, TTL + 2.0)))

    @contextmanager
    def _full_disk(self) -> Iterator[None]:
        self._servers.fill_disk()
        try:
            yield
        finally:
            self._servers.empty_disk()
