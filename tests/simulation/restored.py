"""Random histories with a disaster: the database is copied at some moment, work goes on, everything is lost, the copy
is restored, and engines start from it while the cloud is as it is. `run(seed)` replays one.

    python -m tests.simulation.restored [FIRST [COUNT]]
"""

from __future__ import annotations

import copy
import random
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing

import sqlalchemy as sa

from heatlite.common import short_id
from heatlite.db import restoring
from heatlite.db.tables import resource, stack
from heatlite.planning import identities
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, wait
from tests.simulation.histories import NAMES, NOT_NOW, REFUSED, definition

EVENTS = ('update', 'update', 'cancel', 'check', 'suspend', 'resume', 'signal', 'wait', 'create', 'delete')
PAUSES = (0.0, 0.01, 0.5, 1.5, 3.0, 20.0)


class Copy:
    """A backup of the database of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._copied = sqlite3.connect(':memory:')
        with closing(sqlite3.connect(self._file)) as source:
            source.backup(self._copied)

    @property
    def _file(self) -> str:
        return str(sa.make_url(self._cluster.storage.url).database)

    def restore(self) -> restoring.Prepared:
        """All engines are killed; the database is as it was; other engines start."""
        cluster = self._cluster
        for runtime, _service in cluster.engines:
            runtime.kill()
        cluster.engines.clear()
        wait(cluster, 10.0)
        with closing(sqlite3.connect(self._file)) as target:
            self._copied.backup(target)
        with cluster.database.writer() as tx:
            found = restoring.prepare(tx, None, cluster.user.now())
        cluster.start_engine()
        cluster.start_engine()
        return found


class Story:
    def __init__(self, seed: int) -> None:
        self.randomness = random.Random(seed)
        self.cluster = Cluster(seed, engines=2)
        self.cluster.cloud.lose_creates = self.randomness.random() < 0.3
        self.cluster.chaos.enabled = True
        self.lines: list[str] = []
        self.stacks: list[str] = []

    def tell(self, what: str) -> None:
        self.lines.append(f'{self.cluster.universe.time:8.1f} {what}')

    def create(self) -> None:
        name = f's{len(self.stacks)}'
        self.tell(f'create {name}')
        self.stacks.append(self.cluster.create(name, definition(self.randomness, may_fail=True)))

    def happen(self) -> None:
        cluster, randomness = self.cluster, self.randomness
        what, stack_id = randomness.choice(EVENTS), randomness.choice(self.stacks)
        self.tell(f'{what} {stack_id[:8]}')
        match what:
            case 'update':
                cluster.ask(messages.UpdateStack(
                    stack_id=stack_id, environment={}, template=definition(randomness, may_fail=True),
                    disable_rollback=randomness.random() < 0.5), allowed=REFUSED)
            case 'cancel':
                cluster.ask(messages.CancelStack(stack_id, rollback=True), allowed=REFUSED)
            case 'check' | 'suspend' | 'resume':
                cluster.ask(messages.StackAction(stack_id, what), allowed=NOT_NOW)
            case 'signal':
                cluster.ask(messages.SignalResource(stack_id, randomness.choice(['r0', 'r1']), {'word': 'w'}),
                            allowed=NOT_NOW)
            case 'create' if len(self.stacks) < 3:
                self.create()
            case 'delete':
                cluster.delete(stack_id)
        wait(cluster, randomness.choice(PAUSES))

    def run(self) -> None:
        cluster = self.cluster
        self.create()
        for _ in range(self.randomness.randrange(4)):
            self.happen()
        if self.randomness.random() < 0.5:                      # in the middle of a create or update
            self.create()
            wait(cluster, self.randomness.choice(PAUSES[:4]))
        self.tell('backup')
        saved = Copy(cluster)
        with cluster.database.reader() as tx:
            known = dict(tx.execute(sa.select(stack.c.id, stack.c.generation).where(stack.c.live == 1)).tuples().all())
        ours = {short_id.get_id(uuid) for uuid in rows_in(cluster, known)}
        for _ in range(self.randomness.randrange(5)):
            self.happen()
        wait(cluster, self.randomness.choice(PAUSES))
        self.tell('restore')
        cluster.cloud.lose_creates = False
        saved.restore()
        for stack_id in known:
            if cluster.row(stack_id).action == 'CREATE' and self.randomness.random() < 0.3:
                self.tell(f'delete {stack_id[:8]} at once')
                cluster.delete(stack_id)
            row = cluster.settle(stack_id)
            assert row.status != 'IN_PROGRESS', row
        assert_nothing_twice(cluster)
        self.reach(known, ours)

    def reach(self, known: Iterable[str], ours: set[str]) -> None:
        """Each known stack can be brought to a definition and deleted; what is left comes from requests that the backup
        does not have. `ours`: the ends of the names of objects that the backup explains."""
        cluster = self.cluster
        for stack_id in known:
            if cluster.row(stack_id).deleted_at is not None:
                continue
            if cluster.row(stack_id).action == 'DELETE':
                cluster.delete(stack_id)
                continue
            if cluster.row(stack_id).action == 'SUSPEND':
                cluster.ask(messages.StackAction(stack_id, 'resume'))
                cluster.settle(stack_id)
            wanted = definition(self.randomness, may_fail=False)
            self.tell(f'last update of {stack_id[:8]}')
            cluster.update(stack_id, wanted, converge=True)
            row = cluster.settle(stack_id)
            if (row.action, row.status) != ('UPDATE', 'COMPLETE'):      # it found an object gone: the next one makes it
                cluster.update(stack_id, wanted, converge=True)
                row = cluster.settle(stack_id)
            assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
            states = cluster.states(stack_id)
            assert states.keys() == wanted['resources'].keys(), states
            for name, rows in states.items():
                assert len(rows) == 1 and rows[0][2] in cluster.cloud.objects, (name, rows)
        assert_nothing_twice(cluster)
        for stack_id in known:
            self.tell(f'delete {stack_id[:8]}')
            cluster.delete(stack_id)
            row = cluster.settle(stack_id)
            assert (row.action, row.status) == ('DELETE', 'COMPLETE'), row.reason
        left = [each['name'] for each in cluster.cloud.objects.values()]
        assert not [name for name in left if name.rpartition('-')[2] in ours], f'orphans: {left}'
        self.left = left


def rows_in(cluster: Cluster, generations: dict[str, int]) -> set[str]:
    """The ids of the rows in the database, and of all that their stacks' present requests can add. What an engine does
    for a request after a newer one was accepted is not among them: the database does not say that it will.

    `generations`: stack -> that of its present request."""
    with cluster.database.reader() as tx:
        rows = tx.execute(sa.select(resource.c.stack_id, resource.c.name, resource.c.uuid)).tuples().all()
    found = {uuid for _stack_id, _name, uuid in rows}
    for stack_id, generation in generations.items():
        newest = {name: {None, *(uuid for each, known, uuid in rows if (each, known) == (stack_id, name))}
                  for name in NAMES}
        for _ in range(3):                          # replaced, and again if that has failed
            for name, replaced in newest.items():
                replaced |= {identities.of_row(stack_id, generation, name, uuid) for uuid in replaced}
        found |= {uuid for replaced in newest.values() for uuid in replaced if uuid is not None}
    return found


def assert_nothing_twice(cluster: Cluster) -> None:
    """No two objects have one name, nor belong two resources to one object."""
    names = [each['name'] for each in cluster.cloud.objects.values()]
    assert len(names) == len(set(names)), f'made twice: {sorted(names)}'


def run(seed: int) -> list[str]:
    """The names of objects that are left. Raises AssertionError that tells what happened."""
    story = Story(seed)
    try:
        story.run()
        return copy.copy(story.left)
    except BaseException as error:
        lines = '\n'.join(story.lines)
        raise AssertionError(
            f'history {seed} (again: python -m tests.simulation.restored {seed}): {error}\n{lines}') from error
    finally:
        story.cluster.close()


def main(arguments: list[str]) -> int:
    first, count = (int(each) for each in [*arguments, '0', '1'][:2]) if len(arguments) != 1 else (int(arguments[0]), 1)
    failed = 0
    for seed in range(first, first + count):
        try:
            run(seed)
        except AssertionError as error:
            failed += 1
            print(error, flush=True)
    print(f'{count - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
