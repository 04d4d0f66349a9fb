"""Random refactors of random stacks, with nested ones: all objects stay, and a following update does nothing.

Engines are killed at random points, and the user repeats what was not answered.
"""

from __future__ import annotations

import json
import random

import pytest

from heatlite.common import exception
from heatlite.db import stack_trees
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, wait

VERSION = {'heat_template_version': '2021-04-16'}
INSIDE = 'n'                                        # the resource of the nested stack
PLACES = ('s', 't', 's/n', 't/n')


class Model:
    """Things with their places. `at`: thing -> (place, name); `refers`: thing -> another one whose id is its value."""

    def __init__(self, seed: int) -> None:
        self.randomness = random.Random(seed)
        things = range(self.randomness.randrange(2, 7))
        self.refers = {each: self.randomness.choice([None, *range(each)]) if each else None for each in things}
        self.at: dict[int, tuple[str, str]] = {}
        self.ids: dict[int, str] = {}
        self.shuffle(dict.fromkeys(things))

    def shuffle(self, present):
        """Give some of the things other places, and their names anew."""
        free = {place: [f'r{number}' for number in range(9)] for place in PLACES}
        for names in free.values():
            self.randomness.shuffle(names)
        found = {}
        for each, before in present.items():
            if before is not None and self.randomness.random() < 0.4:
                found[each] = before
                free[before[0]].remove(before[1])
        for each in present:
            if each not in found:
                place = self.randomness.choice(PLACES)
                found[each] = place, free[place].pop()
        self.at = found

    def resources(self, place):
        found = {}
        for each, (where, name) in self.at.items():
            if where != place:
                continue
            other, more = self.refers[each], {}
            value = 'own'
            if other is not None:
                is_here = self.at[other][0] == place
                value = {'get_resource': self.at[other][1]} if is_here else self.ids.get(other, 'later')
                more = {'depends_on': self.at[other][1]} if is_here and self.randomness.random() < 0.3 else {}
            found[name] = {'type': 'Sim::Thing', 'properties': {'value': value}, **more}
        return found

    def source(self, root):
        nested = json.dumps({**VERSION, 'resources': self.resources(f'{root}/n')})
        return {'template': {**VERSION, 'resources': {**self.resources(root), INSIDE: {'type': f'{root}.yaml'}}},
                'files': {f'{root}.yaml': nested}}


def states(cluster, ids):
    """(place, name) -> physical id."""
    found = {}
    for root, stack_id in ids.items():
        with cluster.database.reader() as tx:
            nested = stack_trees.child(tx, stack_id, INSIDE)
        for place, each in ((root, stack_id), (f'{root}/n', nested.id)):
            for name, rows in cluster.states(each).items():
                assert len(rows) == 1
                if name != INSIDE:
                    found[place, name] = rows[0][2]
    return found


def move(before, after, ids):
    def place(at):
        root, _slash, inside = at[0].partition('/')
        return {'stack': ids[root], 'resource': f'{inside}/{at[1]}' if inside else at[1]}

    return {'from': place(before), 'to': place(after)}


@pytest.mark.parametrize('seed', range(12))
def test_objects_stay_and_nothing_is_left(seed):
    model = Model(seed)
    kills = [model.randomness.randrange(1, 7) for _ in range(2)] if seed % 2 else []
    with Cluster(seed, kills) as cluster:
        ids = {}
        for root in ('s', 't'):
            source = model.source(root)
            ids[root] = cluster.create(root, source['template'], files=source['files'])
            done(cluster, ids[root], 'CREATE')
        found = states(cluster, ids)
        model.ids = {each: found[place] for each, place in model.at.items()}
        for root in ids:                            # values that refer to the other stack are known now
            cluster.update(ids[root], **model.source(root))
            done(cluster, ids[root], 'UPDATE')
        for _ in range(3):
            wait(cluster, 10)
            before, calls = dict(model.at), list(cluster.cloud.calls)
            model.shuffle(before)
            moves = [move(before[each], model.at[each], ids) for each in before if before[each] != model.at[each]]
            sources = {root: model.source(root) for root in ids}
            cluster.chaos.enabled = True
            # A repeated request whose answer was lost finds the resources moved.
            cluster.ask(messages.Refactor(tuple({'stack_id': ids[root], **sources[root]} for root in ids),
                                          tuple(moves)), [exception.HTTPBadRequest, exception.NotARefactor])
            cluster.chaos.enabled = False
            wait(cluster, 10)
            wanted = {place: model.ids[each] for each, place in model.at.items()}
            assert states(cluster, ids) == wanted and cluster.cloud.calls == calls
            for root in ids:
                cluster.update(ids[root], **sources[root])
                done(cluster, ids[root], 'UPDATE')
            assert states(cluster, ids) == wanted and cluster.cloud.calls == calls
        for root in ids:
            cluster.delete(ids[root])
            cluster.settle(ids[root])
        assert cluster.cloud.objects == {}
