"""Faults of what stands before the APIs. Engines need none of it: work goes on meanwhile, requests do afterwards."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from tests.system.chaos.faults import TTL, Event, Faults, Kind
from tests.system.chaos.front import CACHE, PROXY

STANDS_STILL = (2.0, 8.0, 30.0)         # seconds; the other nodes of a cluster evict one after five


class FrontFaults(Faults):
    def front_kinds(self) -> list[Kind]:
        if self._front is None:
            return []
        return [self.kill_haproxy, self.stop_haproxy_for_a_while, self.kill_a_keystone_worker, self.kill_keystone,
                self.stop_keystone_for_a_while, self.kill_memcached, self.stop_memcached_for_a_while]

    def kill_haproxy(self, event: Event) -> None:
        self._servers.kill(PROXY)
        self._work_goes_on(event)
        time.sleep(self._decks.deal(event.what, (0.0, TTL + 2.0)))
        self._servers.start(PROXY)
        self._until(event, self._is_answered, 'a request is answered')

    def stop_haproxy_for_a_while(self, event: Event) -> None:
        self._without(event, lambda number: self._servers.signal(PROXY, number))
        self._until(event, self._is_answered, 'a request is answered')

    def kill_a_keystone_worker(self, event: Event) -> None:
        self._keystone.kill_a_worker(self._dice)
        self._until(event, self._is_anybody_answered, 'a request with another token is answered')

    def kill_keystone(self, event: Event) -> None:
        self._keystone.signal(signal.SIGKILL)
        self._work_goes_on(event)
        time.sleep(self._decks.deal(event.what, (0.0, TTL + 2.0)))
        self._keystone.start()
        self._until(event, self._is_anybody_answered, 'a request with another token is answered')

    def stop_keystone_for_a_while(self, event: Event) -> None:
        self._without(event, self._keystone.signal)
        self._until(event, self._is_anybody_answered, 'a request with another token is answered')

    def kill_memcached(self, event: Event) -> None:
        self._servers.kill(CACHE)
        self._until(event, self._is_anybody_answered, 'a request with another token is answered')
        self._work_goes_on(event)
        time.sleep(self._decks.deal(event.what, (0.0, TTL + 2.0)))
        self._servers.start(CACHE)

    def stop_memcached_for_a_while(self, event: Event) -> None:
        """It is needed by none: each process asks Keystone instead."""
        end = time.monotonic() + self._decks.deal(event.what, STANDS_STILL)
        self._servers.signal(CACHE, signal.SIGSTOP)
        try:
            self._until(event, self._is_anybody_answered, 'a request with another token is answered')
            self._work_goes_on(event)
            time.sleep(max(0.0, end - time.monotonic()))
        finally:
            self._servers.signal(CACHE, signal.SIGCONT)

    # --- helpers ------------------------------------------------------------------------------------------

    def _without(self, event: Event, send: Callable[[int], None]) -> None:
        """`send`: a signal to what shall stand still for a while."""
        end = time.monotonic() + self._decks.deal(event.what, STANDS_STILL)
        send(signal.SIGSTOP)
        try:
            self._work_goes_on(event)
            time.sleep(max(0.0, end - time.monotonic()))
        finally:
            send(signal.SIGCONT)

    def _work_goes_on(self, event: Event) -> None:
        busy = self._busy()
        if busy:
            self._until(event, self._goes_on(time.time(), busy), 'work goes on')

    def _is_anybody_answered(self) -> bool:
        """Also who has no token yet."""
        if self._visitor is not None:
            self._visitor.forget()
        return self._is_answered()
