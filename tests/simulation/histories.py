"""Random histories: what users, clouds and machines may do to a stack, in any order. `run(seed)` replays one.

    python -m tests.simulation.histories [FIRST [COUNT [STORE]]]        on all cores

STORE: sqlite, or mariadb or postgresql, whose servers tools/services starts.
"""

from __future__ import annotations

import logging
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from heatlite.common import exception
from heatlite.engine.reconcile.request_keys import is_suspended
from heatlite.planning import schedule
from heatlite.rpc import messages
from tests.simulation import stores
from tests.simulation.cluster import Cluster, wait

REFUSED = (exception.NotSupported, exception.EntityNotFound)
NOT_NOW = (*REFUSED, exception.ActionInProgress, exception.ResourceNotAvailable)
EVENTS = ('update', 'update', 'update', 'cancel', 'stop', 'check', 'suspend', 'resume', 'freeze', 'signal', 'signal',
          'unhealthy', 'clock', 'database', 'wait')
NAMES = [f'r{n}' for n in range(6)]
WINDOWS = (schedule.MOST_UNANSWERED, 1, 3)        # steps that may wait for their first call, by seed


def definition(randomness: random.Random, may_fail: bool, users: float = 0.0):
    """`users`: how many of the resources have a user in the project of the stack."""
    names = NAMES[:randomness.randrange(1, 7)]
    randomness.shuffle(names)
    resources = {}
    for place, name in enumerate(names):
        needed = names[randomness.randrange(place)] if place and randomness.random() < 0.7 else None
        value = {'get_resource': needed} if needed and randomness.random() < 0.6 else randomness.choice('xyz')
        resources[name] = {'type': 'Sim::Thing', 'properties': {
            'value': value, 'fixed': randomness.choice(['', '', 'f']),
            'fail': may_fail and randomness.random() < 0.15, 'user': randomness.random() < users}}
        if needed:
            resources[name]['depends_on'] = [needed]
    return {'heat_template_version': '2018-08-31', 'resources': resources}


class History:
    def __init__(self, seed: int, store: str = stores.SQLITE) -> None:
        self.randomness = random.Random(seed)
        kills = [self.randomness.randrange(1, 120) for _ in range(self.randomness.randrange(4))]
        self.cluster = Cluster(seed, kills, engines=self.randomness.randrange(1, 4), storage=stores.storage(store))
        self.cluster.cloud.lose_creates = self.randomness.random() < 0.3
        self.cluster.chaos.enabled = True
        self.users = self.randomness.choice([0.0, 0.5, 1.0])
        self.told: list[str] = []

    def definition(self, may_fail: bool):
        return definition(self.randomness, may_fail, self.users)

    def tell(self, what: str) -> None:
        self.told.append(f'{self.cluster.universe.time:8.1f} {what}')

    def wait(self) -> None:
        wait(self.cluster, self.randomness.choice([0.0, 0.01, 0.5, 3.0, 20.0]))

    def happen(self, stack_id: str) -> None:
        """One thing that may happen."""
        cluster, randomness = self.cluster, self.randomness
        match randomness.choice(EVENTS):
            case 'update':
                self.tell('update')
                cluster.ask(messages.UpdateStack(stack_id=stack_id, environment={},
                                               template=self.definition(may_fail=True),
                                               disable_rollback=randomness.random() < 0.5), allowed=REFUSED)
            case 'cancel' | 'stop' as how:
                self.tell(how)
                cluster.ask(messages.CancelStack(stack_id, rollback=how == 'cancel'), allowed=REFUSED)
            case 'check' | 'suspend' | 'resume' as action:
                self.tell(action)
                cluster.ask(messages.StackAction(stack_id, action), allowed=NOT_NOW)
            case 'signal':
                self.signal(stack_id, randomness.choice(NAMES))
            case 'unhealthy':
                name, is_ill = randomness.choice(NAMES), randomness.random() < 0.7
                self.tell(f'{name} is marked {"unhealthy" if is_ill else "healthy"}')
                cluster.ask(messages.MarkUnhealthy(stack_id, name, is_ill, 'felt so'), allowed=NOT_NOW)
            case 'freeze' if cluster.engines:
                runtime, _ = randomness.choice(cluster.engines)
                seconds = randomness.choice([1.0, 4.0, 9.0])
                self.tell(f'{runtime.name} stands still for {seconds} s')
                runtime.freeze(seconds)
            case 'clock':
                seconds = randomness.choice([2.0, 100.0, -100.0, -5000.0])
                self.tell(f"the database's clock is set by {seconds} s")
                cluster.universe.database_ahead += seconds
            case 'database':
                cluster.chaos.away_for = randomness.choice([0.0, 2.0, 8.0])
                cluster.chaos.away_at.add(cluster.chaos.visits + randomness.randrange(1, 60))
                self.tell(f'the database will be away for {cluster.chaos.away_for} s')
            case 'wait':
                self.tell('nothing')

    def signal(self, stack_id: str, name: str) -> tuple[str, bool]:
        """What it is told, and whether somebody answered for it."""
        word = f'word {len(self.told)}'
        self.tell(f'{name} is told {word}')
        answer = self.cluster.ask(messages.SignalResource(stack_id, name, {'word': word}), allowed=NOT_NOW)
        return word, answer is None

    def run(self) -> None:
        cluster, randomness = self.cluster, self.randomness
        self.tell('create')
        stack_id = cluster.create('s', self.definition(may_fail=True), disable_rollback=randomness.random() < 0.5)
        for _ in range(randomness.randrange(6)):
            self.wait()
            self.happen(stack_id)
        self.wait()
        if randomness.random() < 0.9:
            cluster.settle(stack_id)
            cluster.cloud.lose_creates = False
            if randomness.random() < 0.9:
                self.reach_the_last_definition(stack_id)
        self.tell('delete')
        cluster.delete(stack_id)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('DELETE', 'COMPLETE'), row.reason
        assert cluster.states(stack_id) == {}, 'rows are left'
        assert cluster.cloud.objects == {}, f'orphans: {cluster.cloud.objects}'
        assert cluster.cloud.users == {}, f'users are left: {cluster.cloud.users}'

    def has_user(self, name: str) -> bool:
        cloud = self.cluster.cloud
        return any(user.startswith(f's-{name}-') and project in cloud.projects for user, project in cloud.users.items())

    def reach_the_last_definition(self, stack_id: str) -> None:
        cluster = self.cluster
        if is_suspended(cluster.row(stack_id)):         # a check of it may have been the last action
            self.tell('resume')
            cluster.ask(messages.StackAction(stack_id, 'resume'))
            cluster.settle(stack_id)
        wanted = self.definition(may_fail=False)
        ill = self.mark_one(stack_id)
        self.tell('last update')
        cluster.update(stack_id, wanted)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        states = cluster.states(stack_id)
        assert states.keys() == wanted['resources'].keys(), states
        physical = {name: rows[0][2] for name, rows in states.items()}
        assert all(len(rows) == 1 for rows in states.values()), states
        assert sorted(physical.values()) == sorted(cluster.cloud.objects), (physical, cluster.cloud.objects)
        for name, resource in wanted['resources'].items():
            value = resource['properties']['value']
            expected = physical[value['get_resource']] if isinstance(value, dict) else value
            assert cluster.cloud.objects[physical[name]]['value'] == expected, f'{name} is not as wanted'
            if resource['properties']['user']:
                assert self.has_user(name), f'{name} has no user in a project that is there: {cluster.cloud.users}'
        assert not ill.keys() & physical.keys() or physical.items().isdisjoint(ill.items()), f'not replaced: {ill}'
        # What was asleep when another of its stack could not be woken, and has not changed, sleeps on.
        self.everything_told_is_heard(stack_id, [name for name in sorted(states) if states[name][0][0] != 'SUSPEND'])

    def mark_one(self, stack_id: str) -> dict[str, str]:
        """{name: object} of a resource that is unhealthy now."""
        states = {name: rows[0] for name, rows in self.cluster.states(stack_id).items() if len(rows) == 1}
        name = self.randomness.choice([*states, None])
        if name is None:
            return {}
        self.tell(f'{name} is marked unhealthy')
        answer = self.cluster.ask(messages.MarkUnhealthy(stack_id, name, True), allowed=NOT_NOW)
        return {name: states[name][2]} if answer is None and states[name][2] else {}

    def everything_told_is_heard(self, stack_id: str, names: list[str]) -> None:
        cluster = self.cluster
        accepted = {word for word, was_accepted in (self.signal(stack_id, name) for name in names) if was_accepted}
        assert len(accepted) == len(names), 'a signal was refused'
        assert cluster.universe.run(lambda: accepted <= cluster.cloud.heard, limit=100), (
            f'never heard: {accepted - cluster.cloud.heard}')
        cluster.settle(stack_id)


def run(seed: int, store: str = stores.SQLITE) -> None:
    """Raises AssertionError that tells what happened."""
    history = History(seed, store)
    begun, schedule.MOST_UNANSWERED = schedule.MOST_UNANSWERED, WINDOWS[seed % len(WINDOWS)]
    try:
        history.run()
    except BaseException as error:
        told = '\n'.join(history.told)
        raise AssertionError(
            f'history {seed} (again: python -m tests.simulation.histories {seed} 1 {store}): {error}\n'
            f'killed: {history.cluster.chaos.killed}\n{told}') from error
    finally:
        schedule.MOST_UNANSWERED = begun
        history.cluster.close()


def told_of(store: str, seed: int) -> str | None:
    """What went wrong in this history."""
    try:
        run(seed, store)
    except AssertionError as error:
        return str(error)
    return None


def main(arguments: list[str]) -> int:
    first = int(arguments[0]) if arguments else 0
    count = int(arguments[1]) if len(arguments) > 1 else 1
    tell = partial(told_of, arguments[2] if len(arguments) > 2 else stores.SQLITE)
    began, failed = time.monotonic(), 0
    if count == 1:                          # with all that the engines log
        results = map(tell, [first])
    else:
        pool = ProcessPoolExecutor(initializer=logging.disable, initargs=(logging.ERROR,))
        results = pool.map(tell, range(first, first + count), chunksize=10)
    for done, told in enumerate(results, 1):
        if told is not None:
            failed += 1
            print(told, flush=True)
        if done % 100 == 0:
            print(f'{done} of {count}, {failed} failed', file=sys.stderr)
    print(f'{count - failed} passed, {failed} failed in {time.monotonic() - began:.0f} s')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
