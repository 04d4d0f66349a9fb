"""Faults of a deployment with several nodes of each server: one of them at a time, and an API or engines besides."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import closing

import pymysql
import sqlalchemy as sa

from tests.system.chaos.faults import PATIENCE, TTL, Event, Kind
from tests.system.chaos.front_faults import STANDS_STILL, FrontFaults

DATABASES = ('galera1', 'galera2', 'galera3')
BROKERS = ('rabbit1', 'rabbit2', 'rabbit3')
JOINS = 180.0               # seconds; a node of RabbitMQ may wait for sixty until it tries again to join


class NodeFaults(FrontFaults):
    """Most faults take no server away as a whole: then a request must be answered, and work goes on, meanwhile."""

    def kinds(self) -> list[Kind]:
        return [*self.database_kinds(), self.kill_an_engine, self.stop_an_engine_for_a_while, self.roll_all_engines,
                self.kill_an_api, self.kill_a_broker_node, self.restart_a_broker_node,
                self.stop_a_broker_node_for_a_while, self.kill_all_engines_for_a_while,
                self.stop_all_broker_nodes_for_a_while, self.fill_the_disk_of_the_broker, *self.front_kinds()]

    def database_kinds(self) -> list[Kind]:
        full = [self.fill_the_disk_of_a_database_node] if self._servers.on_small_disk else []
        return [*full, self.kill_a_database_node, self.stop_a_database_node_for_a_while, self.isolate_a_database_node]

    # --- faults -------------------------------------------------------------------------------------------

    def kill_an_api(self, event: Event) -> None:
        number = self._dice.randrange(len(self._cluster.apis))
        self._cluster.apis[number].kill()
        self._goes_on_meanwhile(event)
        self._cluster.restart_api(number)

    def kill_a_database_node(self, event: Event) -> None:
        name = self._a_database_node(event)
        self._servers.kill(name)
        self._goes_on_meanwhile(event)
        time.sleep(self._decks.deal(event.what, (0.0, TTL + 2.0)))
        self._servers.start(name)               # it takes what it missed, or everything, from another one

    def stop_a_database_node_for_a_while(self, event: Event) -> None:
        name = self._a_database_node(event)
        self._stand_still(event, name)
        self._until(event, lambda: self._is_synced(name), 'the node is back', taken=event.back)

    def isolate_a_database_node(self, event: Event) -> None:
        """The network is split: the node sees no other one, but its clients see it."""
        name = self._a_database_node(event)
        self._set(name, "wsrep_provider_options = 'gmcast.isolate=1'")
        try:
            self._goes_on_meanwhile(event)
            time.sleep(self._decks.deal(event.what, STANDS_STILL))
        finally:
            self._set(name, "wsrep_provider_options = 'gmcast.isolate=0'")
        self._until(event, lambda: self._is_synced(name), 'the node is back', taken=event.back)

    def kill_a_broker_node(self, event: Event) -> None:
        self._without_a_broker_node(event, self._servers.kill)

    def restart_a_broker_node(self, event: Event) -> None:
        self._without_a_broker_node(event, self._servers.stop)

    def stop_a_broker_node_for_a_while(self, event: Event) -> None:
        name = self._a_broker_node(event)
        self._stand_still(event, name)
        self._await_broker(event, f'{name} is back', event.back)

    def fill_the_disk_of_a_database_node(self, event: Event) -> None:
        """It ends when it cannot write what the others have accepted."""
        self._a_database_node(event)
        self._servers.fill_disk()
        try:
            self._goes_on_meanwhile(event)
            time.sleep(self._decks.deal(event.what, STANDS_STILL))
        finally:
            self._servers.empty_disk()
        self._servers.start(self._servers.on_small_disk)
        self._until(event, lambda: self._is_synced(self._servers.on_small_disk), 'the node is back', taken=event.back)

    # --- faults that nothing can go on under: how soon it does afterwards -----------------------------------

    def kill_all_engines_for_a_while(self, event: Event) -> None:
        engines = list(self._cluster.engines)
        for engine in engines:
            engine.kill()
        self._cluster.engines.clear()
        busy = self._busy()
        time.sleep(self._decks.deal(event.what, (0.0, 10.0, 60.0)))
        for _ in engines:
            self._cluster.start_engine()
        if busy:
            self._until(event, self._goes_on(time.time(), busy), 'work goes on')
        self._until(event, self._is_answered, 'a request is answered')

    def stop_all_broker_nodes_for_a_while(self, event: Event) -> None:
        """Nothing is refused and nothing is answered."""
        for name in BROKERS:
            self._servers.signal(name, signal.SIGSTOP)
        try:
            time.sleep(self._decks.deal(event.what, STANDS_STILL))
        finally:
            for name in BROKERS:
                self._servers.signal(name, signal.SIGCONT)
        self._until(event, self._is_answered, 'a request is answered')

    def fill_the_disk_of_the_broker(self, event: Event) -> None:
        """A node with a full disk makes all of them take no messages."""
        name = self._dice.choice(BROKERS)
        self._servers.fill_broker(name, True)
        try:
            time.sleep(self._decks.deal(event.what, STANDS_STILL))
        finally:
            self._servers.fill_broker(name, False)
        self._until(event, self._is_answered, 'a request is answered')

    # --- helpers ------------------------------------------------------------------------------------------

    def _without_a_broker_node(self, event: Event, end: Callable[[str], None]) -> None:
        name = self._a_broker_node(event)
        end(name)
        self._goes_on_meanwhile(event)
        self._servers.start(name)

    def _a_broker_node(self, event: Event) -> str:
        """One of a broker that has got over what happened before: with a second one away there is no majority."""
        self._await_broker(event, 'all nodes of the broker work together', [])
        return self._dice.choice(BROKERS)

    def _await_broker(self, event: Event, what: str, taken: list[float]) -> None:
        self._until(event, self._servers.is_broker_whole, what, JOINS, self._servers.broker_report, taken)

    def _stand_still(self, event: Event, name: str) -> None:
        end = time.monotonic() + self._decks.deal(event.what, STANDS_STILL)
        self._servers.signal(name, signal.SIGSTOP)
        try:
            self._goes_on_meanwhile(event)
            time.sleep(max(0.0, end - time.monotonic()))
        finally:
            self._servers.signal(name, signal.SIGCONT)

    def _goes_on_meanwhile(self, event: Event) -> None:
        self._until(event, self._is_answered, 'a request is answered')
        self._work_goes_on(event)

    def _a_database_node(self, event: Event) -> str:
        """One of three that have all data: without a second one, the others would not be the majority any more. On a
        busy machine they also evict each other by themselves."""
        self._until(event, lambda: all(map(self._is_synced, DATABASES)), 'all nodes of the database are synced',
                    taken=[])
        return self._dice.choice(DATABASES)

    def _is_synced(self, name: str) -> bool:
        try:
            return self._asked(name, "SHOW STATUS LIKE 'wsrep_local_state'")[1] == '4'
        except pymysql.MySQLError:
            return False

    def _set(self, name: str, setting: str) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._asked(name, f'SET GLOBAL {setting}')
                return
            except pymysql.MySQLError:           # too many connections wait for it
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    def _asked(self, name: str, statement: str) -> tuple[str, ...]:
        """One row that a node returns; empty for a statement without."""
        url = sa.make_url(self._servers.nodes[DATABASES.index(name)])
        # Without SQLAlchemy, which asks questions of its own first: a node outside the cluster answers none.
        with closing(pymysql.connect(host=url.host, port=url.port, user=url.username, password=url.password,
                                     connect_timeout=5, read_timeout=10)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return tuple(cursor.fetchone() or ()) if cursor.description else ()
