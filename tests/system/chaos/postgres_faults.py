"""Faults of a PostgreSQL primary and its synchronous stand-by, and what Patroni or an operator does about them.

A primary that is away is followed by its stand-by, and comes back as the stand-by of that one. While the stand-by is
away, commits wait for it, until the primary goes on alone. Each waits some time before: that of who watches over them.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from tests.system.chaos.faults import TTL, Event
from tests.system.chaos.node_faults import STANDS_STILL, NodeFaults

NOTICED = (0.0, 2.0, 10.0)              # seconds until a server that is away is noticed


class PostgresFaults(NodeFaults):
    """Time to go on is counted from the promotion, or from where the primary goes on alone."""

    def database_kinds(self) -> list[Callable[[Event], None]]:
        return [self.kill_the_primary, self.stop_the_primary_for_a_while, self.restart_the_primary, self.switch_over,
                self.kill_the_standby, self.stop_the_standby_for_a_while]

    def kill_the_primary(self, event: Event) -> None:
        former = self._servers.primary
        self._servers.kill(former)
        time.sleep(self._dice.choice(NOTICED))
        self._follow(event, former)

    def stop_the_primary_for_a_while(self, event: Event) -> None:
        """It wakes up no more: a watchdog resets a host that could not say for a while that it is the primary."""
        former = self._servers.primary
        end = time.monotonic() + self._dice.choice(STANDS_STILL)
        self._servers.signal(former, signal.SIGSTOP)
        time.sleep(self._dice.choice(NOTICED))
        self._follow(event, former, end)

    def restart_the_primary(self, event: Event) -> None:
        """It is back before anybody promotes the stand-by."""
        primary = self._servers.primary
        self._servers.kill(primary)
        time.sleep(self._dice.choice((0.0, TTL + 2.0)))
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

    # --- helpers ------------------------------------------------------------------------------------------

    def _follow(self, event: Event, former: str, end: float = 0.0) -> None:
        """`end`: by the monotonic clock, when the former primary may come back at the earliest."""
        self._servers.promote(self._servers.standby)
        self._goes_on_meanwhile(event)
        time.sleep(max(self._dice.choice((0.0, TTL + 2.0)), end - time.monotonic()))
        self._servers.start(former)

    def _go_alone(self, event: Event, standby: str) -> None:
        time.sleep(self._dice.choice(NOTICED))
        self._servers.go_alone()
        self._goes_on_meanwhile(event)
        time.sleep(self._dice.choice((0.0, TTL + 2.0)))
        self._servers.start(standby)
