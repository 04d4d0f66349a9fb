"""Random lives of trees of stacks, each action by a plan: what was done is what the plan said, and nothing else.

    python -m tests.simulation.planned [FIRST [COUNT]]         in one process
"""

from __future__ import annotations

import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from heatlite.common import exception
from heatlite.db import plans
from heatlite.rpc import messages
from tests.simulation import foretold
from tests.simulation.cluster import Cluster
from tests.simulation.foretold import REFUSED, Grown, Place, Tree, tree_of

KINDS = {'none': 'unchanged', 'update': 'updated', 'replace': 'replaced', 'create': 'added', 'delete': 'deleted',
         'release': 'deleted'}
EVERY = 100                             # lives between two lines about them


def plan(cluster: Cluster, **fields: Any) -> plans.StoredPlan | Exception:
    """Make a plan; it must not touch the cloud."""
    calls = len(cluster.cloud.calls)
    made = cluster.ask(messages.CreatePlan(**fields), REFUSED)
    assert len(cluster.cloud.calls) == calls, 'a plan touches nothing'
    if isinstance(made, Exception):
        return made
    with cluster.database.reader() as tx:
        found = plans.show(tx, made['id'], str(cluster.context.project_id))
    assert found is not None
    return found


def apply(cluster: Cluster, plan_id: str) -> Any:
    return cluster.ask(messages.ApplyPlan(plan_id), REFUSED)


def applied(cluster: Cluster, plan_id: str) -> str:
    """Apply a plan and return the id of its stack, also if the first answer was lost with an engine: asked again, the
    service says that the plan was applied."""
    answer = apply(cluster, plan_id)
    if not isinstance(answer, exception.Conflict):
        return str(answer['stack_id'])
    assert 'was applied at' in str(answer)
    with cluster.database.reader() as tx:
        found = plans.show(tx, plan_id, str(cluster.context.project_id))
    assert found is not None and found.stack_id is not None
    return found.stack_id


def expected(document: Mapping[str, Any], containers: set[Place]) -> tuple[Counter[Any], set[Place]]:
    """(place, kind) of each known change, and the places of what is unknown. Containers are compared by what is in
    them, as an update of theirs that changes nothing is none."""
    found: Counter[Any] = Counter()
    unknown: set[Place] = set()
    for change in document['changes']:
        place = tuple('*' if name.startswith('*') else name for name in change['path'])
        if change['action'] == 'unknown':
            unknown.add(place)
        elif place not in containers:
            found[place, KINDS[change['action']]] += 1
    return found, unknown


def below(place: Place, places: set[Place]) -> bool:
    return any(place[:length] in places for length in range(1, len(place) + 1))


def check(document: Mapping[str, Any], before: Tree | None, after: Tree) -> int:
    """Compare a plan with what was done. Raises AssertionError. Returns how many changes were known."""
    trees = [tree for tree in (before, after) if tree is not None]
    scaled = set().union(*(tree.scaled() for tree in trees))
    containers = {masked(place, scaled) for tree in trees for place in tree.places.values()}
    planned, open_places = expected(document, containers)
    unknown = {masked(place, scaled) for place in open_places}
    done = foretold.done(before or Tree(lambda statement: [], ''), after)
    seen: Counter[Any] = Counter()
    for (place, kind), count in done.items():
        place = masked(place, scaled)
        if not below(place, unknown) and place not in containers:
            seen[place, kind] += count
    wanted: Counter[Any] = Counter()
    for (place, kind), count in planned.items():
        place = masked(place, scaled)
        if not below(place, unknown) and place not in containers:
            wanted[place, kind] += count
    assert wanted == seen, (f'planned, not done: {dict(wanted - seen)}\ndone, not planned: {dict(seen - wanted)}\n'
                            f'unknown: {sorted(unknown)}')
    return sum(wanted.values())


def masked(place: Place, scaled: Iterable[Place]) -> Place:
    return tuple('*' if place[:depth] in scaled else name for depth, name in enumerate(place))


CALLS = {'create': ('create',), 'update': ('update',), 'replace': ('create', 'delete'), 'delete': ('delete',)}


def objects(cluster: Cluster, tree: Tree | None) -> dict[str, Place]:
    """The place of each object of the tree that is in the cloud, by its name."""
    if tree is None:
        return {}
    with cluster.database.reader() as tx:
        rows = tx.exec_driver_sql('SELECT stack_id, name, physical_id FROM resource '
                                  'WHERE physical_id IS NOT NULL AND replaced_by IS NULL').all()
    return {cluster.cloud.objects[ident]['name']: (*tree.places[stack_id], name) for stack_id, name, ident in rows
            if stack_id in tree.places and ident in cluster.cloud.objects}


def check_calls(document: Mapping[str, Any], calls: Iterable[tuple[str, str]], was: Mapping[str, Place],
                now: Mapping[str, Place], scaled: set[Place]) -> int:
    """Compare the calls to the cloud with the plan. `was`, `now`: the objects before and after. Raises AssertionError.
    Returns how many calls were known. An object that is in neither was made and removed in between, as a spare member
    is."""
    unknown = {masked(tuple(change['path']), scaled) for change in document['changes'] if change['action'] == 'unknown'}
    places = {**was, **now}
    seen: Counter[Any] = Counter()
    spare: dict[str, list[str]] = {}
    for kind, name in calls:
        if name not in places:
            spare.setdefault(name, []).append(kind)
            continue
        place = masked(places[name], scaled)
        if not below(place, unknown):
            seen[place, kind] += 1
    wanted: Counter[Any] = Counter()
    there = Counter(masked(place, scaled) for place in was.values())
    for change in document['changes']:
        place = masked(tuple('*' if name.startswith('*') else name for name in change['path']), scaled)
        if below(place, unknown):
            continue
        for kind in CALLS.get(change['action'], ()):
            # A resource that was gone is not deleted, and one that becomes another type is of that type in the plan.
            if not there[place] if kind == 'delete' else change['type'] != 'Sim::Thing':
                continue
            there[place] -= kind == 'delete'
            wanted[place, kind] += 1
    assert wanted == seen, (f'planned, not called: {dict(wanted - seen)}\ncalled, not planned: {dict(seen - wanted)}\n'
                            f'unknown: {sorted(unknown)}')
    assert all(kinds[0] == 'create' and kinds[-1] == 'delete' for kinds in spare.values()), spare
    return sum(wanted.values())


@dataclass
class Tally:
    """What was compared. `changes`: those that the plans knew; `calls`: to the cloud."""

    updates: int = 0
    changes: int = 0
    calls: int = 0


def drift(cluster: Cluster, rng: random.Random) -> None:
    """Change some objects behind the engine's back, and remove some."""
    for ident in list(cluster.cloud.objects):
        if rng.random() < 0.1:
            del cluster.cloud.objects[ident]
        elif rng.random() < 0.3:
            cluster.cloud.objects[ident]['value'] = rng.choice(['drifted', 'one', 'two'])


def live(seed: int, updates: int = 3, kill_at: Iterable[int] = (), goes_back: bool = False,
         drifts: bool = False, tally: Tally | None = None) -> int:
    """One stack by plans from its create to its delete. Returns how many known changes were compared. `goes_back`:
    after two definitions each update goes back to some revision. `drifts`: the cloud changes before each plan of an
    update, which looks at reality."""
    tally = tally or Tally()
    rng = random.Random(seed)
    elsewhere = random.Random(f'drift {seed}')
    grown = Grown(rng)
    compared = 0
    with Cluster(seed, engines=1, kill_at=kill_at) as cluster:
        wanted, stack_id, before = grown.update(), None, None
        for number in range(updates + 1):
            fields = {'action': 'update', 'stack_id': stack_id} if stack_id else {'stack_name': 's'}
            if drifts and stack_id:
                drift(cluster, elsewhere)
                fields['converge'] = True
            going_back = goes_back and number > 1
            made = plan(cluster, **fields, **(
                {'revision': rng.randint(1, cluster.row(stack_id).revision or 1)} if going_back else wanted))
            if isinstance(made, Exception):
                assert not going_back, made
                break
            was, called = objects(cluster, before), len(cluster.cloud.calls)
            answer = apply(cluster, made.id)
            assert not isinstance(answer, Exception), f'seed {seed}, action {number}: {answer}'
            stack_id = answer['stack_id']
            row = cluster.settle(stack_id)
            assert 'NotPlanned' not in row.reason, f'seed {seed}, action {number}: {row.reason}'
            after = tree_of(cluster, stack_id)
            if row.status != 'COMPLETE':
                break
            assert not made.document['fails'], f'seed {seed}, action {number}: {made.document["fails"]}, but it did not'
            try:
                compared += check(made.document, before, after)
                scaled = after.scaled() | (before.scaled() if before is not None else set())
                tally.calls += check_calls(made.document, cluster.cloud.calls[called:], was, objects(cluster, after),
                                           scaled)
            except AssertionError as error:
                raise AssertionError(f'seed {seed}, action {number}: {row.action} {row.reason}\n{error}') from None
            tally.updates += number > 0
            wanted, before = grown.next(wanted), after
        if stack_id is not None:
            made = plan(cluster, action='delete', stack_id=stack_id)
            assert isinstance(made, plans.StoredPlan), made
            assert not isinstance(apply(cluster, made.id), Exception)
            row = cluster.settle(stack_id)
            assert (row.action, row.status) == ('DELETE', 'COMPLETE'), f'seed {seed}: {row.reason}'
            assert not cluster.cloud.objects, f'seed {seed}: {cluster.cloud.objects}'
    tally.changes += compared
    return compared


def main(arguments: list[str]) -> int:
    first = int(arguments[0]) if arguments else 0
    count = int(arguments[1]) if len(arguments) > 1 else 1
    if count > 1:
        logging.disable(logging.ERROR)
    began, failed, tally = time.monotonic(), 0, Tally()
    for seed in range(first, first + count):
        try:
            live(seed, tally=tally)
        except (AssertionError, exception.HeatException, TypeError, KeyError) as error:
            failed += 1
            print(f'{seed}: {type(error).__name__}: {error}', flush=True)
        if (seed + 1 - first) % EVERY == 0 or seed + 1 == first + count:
            print(f'{seed + 1 - first - failed} passed, {failed} failed in {time.monotonic() - began:.0f} s; '
                  f'{tally.updates} updates, {tally.changes} changes and {tally.calls} calls compared', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
