"""What can happen to processes and servers, one thing after the other, and how long until stacks move again."""

from __future__ import annotations

import random
import re
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tests.system.chaos.deck import Deck, Decks
from tests.system.chaos.front import Front
from tests.system.chaos.members import Keystone
from tests.system.chaos.records import Lease, Ledger, Rows
from tests.system.chaos.servers import Servers
from tests.system.cluster import Cluster
from tests.system.processes import Program, ask

TTL = 3.0               # [engine] lease_ttl
PATIENCE = 60.0
WHOLE = 600.0           # seconds; a run that lasts as long goes on until each kind of fault has happened
Kind = Callable[['Event'], None]


@dataclass
class Event:
    """`moved`: seconds until work that was touched went on, for each stack or, for servers, once. `back`: until the
    node of a cluster that was away is what it was before.

    `during`: calls into types while the thing was away; `wrong`: what must not have happened.
    """

    what: str
    began: float                # seconds since the faults began
    touched: int = 0
    moved: list[float] = field(default_factory=list)
    back: list[float] = field(default_factory=list)
    during: int = 0
    wrong: list[str] = field(default_factory=list)


class Faults(threading.Thread):
    def __init__(self, cluster: Cluster, servers: Servers, seed: int, seconds: float, pause: float = 3.0,
                 front: Front | None = None, only: Sequence[str] = ()) -> None:
        """`only`: kinds whose names have one of these words."""
        super().__init__(name='faults', daemon=True)
        self._cluster = cluster
        self._servers = servers
        self._only = only
        self._front = front
        self._visitor = front.member() if front else None
        self._ask = self._visitor.ask if self._visitor else ask
        self._dice = random.Random(f'{seed}/faults')
        self._decks = Decks(self._dice)
        self._seconds = seconds
        self._pause = pause
        self._rows = Rows(*cluster.database_urls)
        self._ledger = Ledger(cluster.ledger)
        self._began = time.monotonic()
        self.events: list[Event] = []
        self.unreached: list[str] = []          # kinds of faults that did not happen
        self.problem: BaseException | None = None

    def run(self) -> None:
        kinds = [kind for kind in self.kinds() if not self._only or any(word in words(kind) for word in self._only)]
        deck = Deck(kinds, self._dice, often=[] if self._only else [self.kill_an_engine] * 2)
        try:
            while time.monotonic() < self._began + self._seconds or (self._seconds >= WHOLE and deck.unseen):
                self.unreached = list(map(words, deck.unseen))
                time.sleep(self._dice.random() * self._pause * 2)
                kind = deck.deal()
                event = Event(words(kind), time.monotonic() - self._began)
                kind(event)
                self.events.append(event)
                self.unreached = list(map(words, deck.unseen))
        except BaseException as error:
            self.problem = error
        finally:
            self._rows.close()

    def kinds(self) -> list[Kind]:
        return [self.kill_an_engine, self.stop_an_engine_for_a_while, self.restart_the_broker, self.kill_the_broker,
                self.kill_the_database, self.roll_all_engines, self.kill_everything]

    # --- engines ------------------------------------------------------------------------------------------

    def kill_an_engine(self, event: Event) -> None:
        victim = self._victim()
        leased = self._leased(victim)
        victim.kill()
        self._cluster.engines.remove(victim)
        self._watch(event, identity(victim), leased)
        time.sleep(self._dice.random() * 2)
        self._cluster.start_engine()

    def stop_an_engine_for_a_while(self, event: Event) -> None:
        """Longer than its lease: it wakes up as a zombie."""
        victim = self._victim()
        leased = self._leased(victim)
        victim.signal(signal.SIGSTOP)
        waking = threading.Timer(TTL + 3 + self._dice.random() * 5, victim.signal, (signal.SIGCONT,))
        waking.start()
        self._watch(event, identity(victim), leased)
        waking.join()
        time.sleep(1)
        if victim.process.poll() is not None:
            event.wrong.append(f'{victim.log.name} ended when it was woken')

    def roll_all_engines(self, event: Event) -> None:
        """As an upgrade would: each is told to stop and followed by a new one."""
        for old in list(self._cluster.engines):
            leased = self._leased(old)
            old.process.send_signal(signal.SIGTERM)
            self._cluster.engines.remove(old)
            self._watch(event, identity(old), leased)
            code = old.ended()
            if code != 0:
                event.wrong.append(f'{old.log.name} ended with {code}')
            self._up(self._cluster.start_engine())

    # --- servers ------------------------------------------------------------------------------------------

    def restart_the_broker(self, event: Event) -> None:
        self._break_the_broker(event, self._servers.stop)

    def kill_the_broker(self, event: Event) -> None:
        self._break_the_broker(event, self._servers.kill)

    def _break_the_broker(self, event: Event, end: Callable[[str], None]) -> None:
        begin = time.time()
        end('rabbit')
        time.sleep(self._dice.random() * 4)
        self._servers.start('rabbit')
        event.during = self._ledger.between(begin, time.time())
        self._until(event, self._is_answered, 'a request is answered')

    def kill_the_database(self, event: Event) -> None:
        busy = self._busy()
        self._without_database(event, self._decks.deal(event.what, (0.0, 1.0, TTL + 2.0)))
        if busy:
            self._until(event, self._goes_on(time.time(), busy), 'work goes on')

    def kill_everything(self, event: Event) -> None:
        """The machine room lost its power."""
        for engine in self._cluster.engines:
            engine.kill()
        busy = self._busy()
        count = len(self._cluster.engines)
        self._cluster.engines.clear()
        self._servers.kill('rabbit')
        self._servers.kill('mariadb')
        for _ in range(count):                  # they start before what they need, and wait for it
            self._cluster.start_engine()
        time.sleep(1 + self._dice.random() * 3)
        self._servers.start('mariadb')
        if busy:
            self._until(event, self._goes_on(time.time(), busy), 'work goes on')
        self._servers.start('rabbit')
        self._until(event, self._is_answered, 'a request is answered')

    def _without_database(self, event: Event, seconds: float) -> None:
        begin = time.time()
        self._servers.kill('mariadb')
        down = time.time()
        time.sleep(seconds)
        up = time.time()
        self._servers.start('mariadb')
        event.during = self._ledger.between(begin, up)
        late = self._ledger.between(down + TTL, up)
        if late:
            event.wrong.append(f'{late} calls into types under leases that had run out')

    @property
    def _keystone(self) -> Keystone:
        assert self._front is not None
        return self._front.keystone

    # --- looking ------------------------------------------------------------------------------------------

    def _victim(self) -> Program:
        return self._dice.choice(self._cluster.engines)

    def _busy(self) -> dict[str, int]:
        """Stacks that somebody works on, or shall: {id: epoch}. Without any it cannot be seen whether work goes on."""
        return {each.stack_id: each.epoch for each in self._leases().values() if each.wanted}

    def _leases(self) -> dict[str, Lease]:
        while (leases := self._rows.leases()) is None:
            time.sleep(0.1)
        return leases

    def _leased(self, engine: Program) -> dict[str, int]:
        """Stacks it is working on: {id: epoch}."""
        mine = identity(engine)
        return {each.stack_id: each.epoch for each in self._leases().values()
                if each.engine_id == mine and each.wanted}

    def _watch(self, event: Event, gone: str | None, leased: dict[str, int]) -> None:
        """Waits until each of the stacks has another owner, or none because its work is done."""
        began = time.monotonic()
        event.touched += len(leased)
        left = dict(leased)
        while left and time.monotonic() < began + PATIENCE:
            leases = self._rows.leases() or {}
            for stack_id in list(left):
                lease = leases.get(stack_id)
                if lease is None:
                    continue
                if not lease.wanted or (lease.engine_id is not None and lease.epoch > left[stack_id]):
                    del left[stack_id]
                    event.moved.append(time.monotonic() - began)
            time.sleep(0.05)
        if left:
            event.wrong.append(f'nobody took {len(left)} stacks of {gone}: {sorted(left)[:3]}')

    def _until(self, event: Event, done: Callable[[], bool], what: str, patience: float = PATIENCE,
               report: Callable[[], str] = str, taken: list[float] | None = None) -> None:
        """`report`: what is known when it is not done in time. `taken`: gets the seconds; by default those of the event
        until work goes on."""
        began = time.monotonic()
        while not done():
            if time.monotonic() > began + patience:
                event.wrong.append(f'not within {patience:.0f} s: {what}\n{report()}'.rstrip())
                return
            time.sleep(0.05)
        (event.moved if taken is None else taken).append(time.monotonic() - began)

    def _is_answered(self) -> bool:
        """A request that needs an engine is answered by one of the APIs."""
        template = {'heat_template_version': '2018-08-31'}
        for url in self._cluster.urls:
            with suppress(OSError):
                if self._ask('POST', f'{url}/validate', {'template': template})[0] == 200:
                    return True
        return False

    def _goes_on(self, since: float, busy: dict[str, int]) -> Callable[[], bool]:
        def goes_on() -> bool:
            return self._ledger.between(since, time.time()) > 0 or any(
                each.stack_id in busy and (not each.wanted or each.epoch > busy[each.stack_id])
                for each in (self._rows.leases() or {}).values())
        return goes_on

    def _up(self, engine: Program) -> None:
        end = time.monotonic() + PATIENCE
        while identity(engine) is None and time.monotonic() < end:
            time.sleep(0.05)


def words(kind: Kind) -> str:
    """What a kind of fault is called."""
    return kind.__name__.replace('_', ' ')


def identity(engine: Program) -> str | None:
    """The id under which an engine holds leases; None until it says so."""
    found = re.search(r'Engine (\S+) is up', engine.log.read_text())
    return found.group(1) if found else None
