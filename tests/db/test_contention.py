"""Engines, users and signals all at once: nothing is lost, nothing is done twice, nobody hangs."""

import random
import threading

from heatlite.common import exception
from heatlite.db import changes, engines, events, leases, resources, signals, stacks
from heatlite.planning.states import StackChange, Status
from tests.db.rows import NOW, Wanted, change, engine, event, later, leased, stack, state

STACKS = [f's{number}' for number in range(6)]
ROUNDS = 25


class Engine:
    """Takes what is left, counts up a row of each stack it has, finishes some, and now and then falls silent."""

    def __init__(self, db, clock, name, written):
        self.db, self.clock, self.name, self.written = db, clock, name, written
        self.random = random.Random(name)
        self.held = {}

    def run(self):
        for turn in range(ROUNDS):
            for lease in self.db.retry(lambda tx: leases.claim_expired(tx, self.name, 3)):
                self.held[lease.stack_id] = lease
            if self.held:
                self.work(turn)
            if self.random.random() < 0.2:          # silent for longer than its leases last; the others go on
                self.clock.seconds += 6
            else:
                assert self.db.retry(lambda tx: engines.renew(tx, self.name, 5, NOW))

    def work(self, turn):
        batch = []
        with self.db.reader() as tx:
            for stack_id, lease in self.held.items():
                row = stacks.get(tx, stack_id)
                count = {each.id: each for each in resources.light(tx, stack_id)}.get(1, state(1, fingerprint='0'))
                batch.append(change(stack_id, lease.epoch, row=state(1, fingerprint=str(int(count.fingerprint) + 1)),
                                    columns={'properties': {'by': self.name}},
                                    events=(event(f'{self.name}-{turn}-{stack_id}'),)))
                if row.status == 'IN_PROGRESS' and self.random.random() < 0.5:
                    batch.append(change(
                        stack_id, lease.epoch, events=(event(f'{self.name}-{turn}-{stack_id}-end', None),),
                        stack=StackChange(row.generation, status=Status.COMPLETE, release=True)))
        done = self.db.retry(lambda tx: changes.write(tx, batch))
        for each in batch:
            if done.is_refused(each):
                self.held.pop(each.stack_id, None)
            elif each.row is not None:
                self.written.append((each.stack_id, each.epoch))
            elif not done.is_superseded(each):
                del self.held[each.stack_id]


class User:
    """Asks for updates and sends signals."""

    def __init__(self, db):
        self.db, self.random, self.accepted = db, random.Random('user'), dict.fromkeys(STACKS, 1)

    def run(self):
        for turn in range(ROUNDS * 2):
            stack_id = self.random.choice(STACKS)
            if turn % 3:
                self.db.retry(lambda tx, stack_id=stack_id, turn=turn: stacks.accept(
                    tx, stack_id, action='UPDATE', reason='', now=later(turn), tags=[f't{turn}']))
                self.accepted[stack_id] += 1
            else:
                self.db.retry(lambda tx, stack_id=stack_id: signals.insert(tx, stack_id, 'r1', {}, NOW))


def test_all_at_once(db, places, clock):
    written, errors = [], []
    parties = [Engine(place, clock, f'e{number}', written) for number, place in enumerate(places)]
    with db.writer() as tx:
        for each in parties:
            engine(tx, each.name, host=each.name)
        leased(tx, *(stack(stack_id) for stack_id in STACKS), by=None)
    user = User(places[0])

    def guarded(run):
        try:
            run()
        except BaseException as error:              # a thread's error would be lost
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(each.run,)) for each in (*parties, user)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    with db.reader() as tx:
        for stack_id in STACKS:
            own = [epoch for each, epoch in written if each == stack_id]
            rows = resources.light(tx, stack_id)
            told = [each.uuid for each in events.page(tx, [stack_id], Wanted()) if each.resource_id]
            # Each write counted up what it had read: one that got between would show.
            assert [int(row.fingerprint) for row in rows] == ([len(own)] if own else [])
            assert len(told) == len(set(told)) == len(own)
            assert stacks.get(tx, stack_id).generation == user.accepted[stack_id]
    assert written


def test_contention_is_an_unavailable_database():
    """So that whoever waits for the database waits for its locks too."""
    from heatlite.db.errors import Contention
    assert issubclass(Contention, exception.DatabaseUnavailable)
