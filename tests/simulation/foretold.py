"""Random updates of trees of stacks: what was done is what the preview said, or is of what it called unknown.

    python -m tests.simulation.foretold [FIRST [COUNT]]         in one process
"""

from __future__ import annotations

import copy
import json
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from heatlite.common import exception
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster

KINDS = ('unchanged', 'updated', 'replaced', 'added', 'deleted', 'unknown')
NAMES = ('a', 'b', 'c', 'd', 'e')
SCALED = 'OS::Heat::AutoScalingGroup'       # names of its members are random
INNER = ('one.yaml', 'two.yaml')
REFUSED = (exception.HeatException,)
Place = tuple[str, ...]
"""Names of resources from the root stack down; '*' for the member of a scaling group."""


class Grown:
    """Random templates. `thing`: the type at the leaves, with `value`, which is updated in place, and `fixed`,
    which replaces."""

    def __init__(self, rng: random.Random, thing: str = 'Sim::Thing', value: str = 'value',
                 fixed: str = 'fixed') -> None:
        self.rng = rng
        self.thing, self.value, self.fixed = thing, value, fixed

    def next(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Another request: mostly the same with some changes, which need not fit each other."""
        rng = self.rng
        if rng.random() < 0.15:
            return self.update()
        found = copy.deepcopy(dict(before))
        documents = {name: json.loads(text) for name, text in found['files'].items()}
        for document in (found['template'], *documents.values()):
            if rng.random() < 0.6:
                self.change(document)
        found['files'] = {name: json.dumps(document) for name, document in documents.items()}
        registry = found['environment']['resource_registry']
        registry.pop('resources', None)
        if rng.random() < 0.1:
            registry['My::Alias'] = rng.choice(INNER)
        return found

    def change(self, document: dict[str, Any]) -> None:
        """In one template: values, sizes, now and then a resource."""
        rng, found = self.rng, document['resources']
        if rng.random() < 0.1:
            document['parameters']['p']['default'] = rng.choice('xyz')
        for place, name in enumerate(list(found)):
            earlier = list(found)[:place]
            if rng.random() < 0.06:
                found[name] = self.resource((), earlier, found)
            elif rng.random() < 0.4:
                self.change_properties(found[name]['properties'], self.text(earlier, found))
        if rng.random() < 0.1:
            found[rng.choice(NAMES)] = self.resource((), [], found)

    def change_properties(self, given: dict[str, Any], text: Any) -> None:
        rng = self.rng
        name = rng.choice(list(given))
        if name in (self.value, 'value', 'p'):
            given[name] = text
        elif name == self.fixed:
            given[name] = rng.choice('fg')
        elif name in ('count', 'desired_capacity'):
            given[name] = rng.randrange(3)
        elif name in ('resource_def', 'resource'):
            self.change_properties(given[name]['properties'], text)
        elif name == 'Parameters':
            given[name] = {'p': text}
        elif name == 'TemplateURL':
            given[name] = rng.choice(INNER[1:])

    def update(self) -> dict[str, Any]:
        """What a request says: template, environment and files."""
        rng = self.rng
        files = {name: json.dumps(self.template(depth=1, inner=INNER[place + 1:]))
                 for place, name in enumerate(INNER)}
        environment = {'resource_registry': {'My::Alias': rng.choice(INNER)}}
        if rng.random() < 0.08:
            environment['resource_registry']['resources'] = {
                rng.choice(NAMES): {'restricted_actions': rng.choice(['update', 'replace'])}}
        return {'template': self.template(depth=0, inner=INNER), 'environment': environment, 'files': files}

    def template(self, depth: int, inner: tuple[str, ...]) -> dict[str, Any]:
        names = list(NAMES[:self.rng.randrange(1, 5 if depth == 0 else 3)])
        found: dict[str, Any] = {}
        for name in names:
            earlier = list(found)
            resource = self.resource(inner, earlier, found)
            if earlier and self.rng.random() < 0.15:
                resource['depends_on'] = [self.rng.choice(earlier)]
            found[name] = resource
        out = self.rng.choice(list(found))
        return {'heat_template_version': '2018-08-31', 'resources': found,
                'parameters': {'p': {'type': 'string', 'default': 'x'}},
                'outputs': {'o': {'value': self.read(out, found[out]['type'])}}}

    def read(self, name: str, kind: str) -> Any:
        """What others may have of a resource, as a text."""
        if kind.endswith('.yaml') or kind == 'My::Alias':
            return {'get_attr': [name, 'o']}
        if kind == 'OS::Heat::ResourceGroup':
            return {'list_join': [',', {'get_attr': [name, 'refs']}]}
        if kind == 'OS::Heat::Value':
            return {'get_attr': [name, 'value']}
        if kind == 'AWS::CloudFormation::Stack':
            return {'get_attr': [name, 'Outputs.o']}
        return {'get_resource': name}

    def text(self, earlier: list[str], found: Mapping[str, Any]) -> Any:
        luck = self.rng.random()
        if earlier and luck < 0.6:
            name = self.rng.choice(earlier)
            return self.read(name, found[name]['type'])
        return {'get_param': 'p'} if luck < 0.8 else self.rng.choice('xyz')

    def resource(self, inner: tuple[str, ...], earlier: list[str], found: Mapping[str, Any]) -> dict[str, Any]:
        rng, text = self.rng, self.text(earlier, found)
        leaf = {'type': self.thing, 'properties': {self.value: text, **(
            {self.fixed: rng.choice('fg')} if rng.random() < 0.3 else {})}}
        luck = rng.random()
        if luck < 0.5:
            return leaf
        if luck < 0.58:
            return {'type': 'OS::Heat::Value', 'properties': {'value': text, 'type': 'string'}}
        member = leaf if not inner or rng.random() < 0.5 else {'type': inner[0], 'properties': {'p': text}}
        if luck < 0.7:
            group: dict[str, Any] = {'type': 'OS::Heat::ResourceGroup', 'properties': {
                'count': rng.randrange(3), 'resource_def': member}}
            if rng.random() < 0.2:
                group['properties']['removal_policies'] = [{'resource_list': [rng.choice('012')]}]
            if rng.random() < 0.2:
                group['update_policy'] = {'rolling_update': {
                    'max_batch_size': 1, 'min_in_service': rng.randrange(2)}}
            return group
        if luck < 0.78:
            wanted = rng.randrange(3)
            scaled: dict[str, Any] = {'type': SCALED, 'properties': {
                'min_size': 0, 'max_size': 3, 'desired_capacity': wanted, 'resource': member}}
            if rng.random() < 0.3:
                scaled['properties']['rolling_updates'] = {
                    'max_batch_size': 1, 'min_in_service': rng.randrange(2), 'pause_time': 0}
            return scaled
        if not inner:
            return leaf
        if luck < 0.86:
            return {'type': 'My::Alias', 'properties': {'p': text}} if len(inner) == len(INNER) else leaf
        if luck < 0.92:
            return {'type': 'AWS::CloudFormation::Stack', 'properties': {
                'TemplateURL': rng.choice(inner), 'Parameters': {'p': text}}}
        return {'type': rng.choice(inner), 'properties': {'p': text}}


# --- what was previewed ---------------------------------------------------------------------------------------------

def previewed(preview: Mapping[str, list[dict[str, Any]]],
         tree: Tree) -> tuple[Counter[tuple[Place, str]], set[Place], set[Place]]:
    """(place, kind) of each entry, places of which, with all below, anything may become, and scaling groups."""
    found: Counter[tuple[Place, str]] = Counter()
    open_places: set[Place] = set()
    scaled: set[Place] = set()
    for kind, entries in preview.items():
        for entry in entries:
            place = _place(entry, tree)
            if entry['resource_type'] == SCALED:
                scaled.add(place)
            if kind == 'unknown':
                assert entry['reason'], entry
                open_places.add(place)
            else:
                found[place, kind] += 1
                if entry.get('nested_unknown'):
                    open_places.add((*place, ''))
    return found, open_places, scaled


def doubtful(preview: Mapping[str, list[dict[str, Any]]], tree: Tree) -> set[Place]:
    """Of resources that are certainly updated or replaced, with values that are known only then and may be wrong."""
    return {_place(entry, tree) for kind in ('updated', 'replaced') for entry in preview[kind]
            if any('unknown' in change for change in entry.get('property_changes', {}).values())}


def _place(entry: Mapping[str, Any], tree: Tree) -> Place:
    name, stack_id = entry['stack_identity']['stack_name'], entry['stack_identity']['stack_id']
    above = tree.places[stack_id] if stack_id in tree.places else _new_place(name, tree.names)
    return (*above, entry['resource_name'])


def _new_place(name: str, names: Mapping[str, Place]) -> Place:
    """Of a stack that does not exist yet: it is called after its parent."""
    if name in names:
        return names[name]
    parent, _dash, resource = name.rpartition('-')
    assert parent, name
    return (*_new_place(parent, names), resource)


def common(counted: Counter[tuple[Place, str]], open_places: set[Place], scaled: set[Place]) -> Counter[Any]:
    """Without what is unknown; members of scaling groups without their names."""
    below = {place[:-1] for place in open_places if place[-1] == ''}
    found: Counter[Any] = Counter()
    for (place, kind), count in counted.items():
        if any(place[:length] in open_places for length in range(1, len(place) + 1)) or any(
                place[:length] in below for length in range(1, len(place))):
            continue
        found[tuple('*' if place[:depth] in scaled else name for depth, name in enumerate(place)), kind] += count
    return found


# --- what was done ---------------------------------------------------------------------------------------------

class Tree:
    """A tree of stacks at one time, read with `select(statement)`."""

    def __init__(self, select: Callable[[str], Iterable[Any]], root_id: str) -> None:
        self.places: dict[str, Place] = {}                          # by the id of the stack
        self.names: dict[str, Place] = {}                           # by its name
        self.rows: dict[str, dict[str, tuple[str, str]]] = {}       # stack -> resource -> its uuid and type
        self.events: dict[str, list[tuple[str, str]]] = {}          # stack -> (resource, action), oldest first
        found = list(select('SELECT id, name, owner_id, parent_resource FROM stack '
                            f"WHERE root_id = '{root_id}' AND deleted_at IS NULL ORDER BY depth"))
        for stack_id, name, owner_id, parent in found:
            if stack_id == root_id or owner_id in self.places:
                place = (*self.places[owner_id], parent) if stack_id != root_id else ()
                self.places[stack_id] = self.names[name] = place
                self.rows[stack_id], self.events[stack_id] = {}, []
        ids = ', '.join(f"'{stack_id}'" for stack_id in self.places)
        for stack_id, name, uuid, kind in select(
                f'SELECT stack_id, name, uuid, type FROM resource WHERE stack_id IN ({ids}) AND replaced_by IS NULL'):
            self.rows[stack_id][name] = uuid, kind
        for stack_id, name, action in select(
                f'SELECT stack_id, resource_name, action FROM event WHERE stack_id IN ({ids}) ORDER BY id'):
            self.events[stack_id].append((name, action))

    def scaled(self) -> set[Place]:
        return {(*self.places[stack_id], name) for stack_id, rows in self.rows.items()
                for name, (_uuid, kind) in rows.items() if kind == SCALED}


def done(before: Tree, after: Tree) -> Counter[tuple[Place, str]]:
    """(place, kind) of everything that was in one of the trees."""
    found: Counter[tuple[Place, str]] = Counter()
    for stack_id, place in {**before.places, **after.places}.items():
        was, now = before.rows.get(stack_id, {}), after.rows.get(stack_id, {})
        events = after.events.get(stack_id, [])[len(before.events.get(stack_id, [])):]
        updated = {name for name, action in events if action == 'UPDATE'}
        for name in {**was, **now}:
            if name not in now:
                kind = 'deleted'
            elif name not in was:
                kind = 'added'
            elif was[name][0] != now[name][0]:
                kind = 'replaced'
            else:
                kind = 'updated' if name in updated else 'unchanged'
            found[(*place, name), kind] += 1
    return found


def compare(preview: Mapping[str, list[dict[str, Any]]], before: Tree, after: Tree,
            has_failed: bool = False) -> tuple[int, int]:
    """Raises AssertionError. How many entries the preview has, and how many of them are unknown. `has_failed`: the
    update did, which it may only do because of something unknown: a resource, or a value of one that is changed. The
    rest is as previewed or still to be done; a replacement that failed at such a value is seen as an update."""
    foretold, open_places, scaled = previewed(preview, before)
    scaled |= before.scaled() | after.scaled()
    assert not [place for place, _ in foretold if any(
        place[:length] in open_places for length in range(1, len(place)))], 'known, inside what is unknown'
    expected, found = (common(each, open_places, scaled) for each in (foretold, done(before, after)))
    missing, more = expected - found, found - expected
    unsure = doubtful(preview, before)
    failed = {(place, 'updated') for place, kind in missing if kind == 'replaced' and place in unsure}
    is_left = has_failed and bool(open_places or unsure) and (
        all(kind == 'unchanged' or (place, kind) in failed for place, kind in more)) and (
        {place for place, _kind in more} <= {place for place, _kind in missing})
    assert not (missing or more) or is_left, (
        f'previewed, not done: {dict(missing)}\ndone, not previewed: {dict(more)}\n'
        f'unknown: {sorted(open_places)}')
    return sum(map(len, preview.values())), len(preview['unknown'])


# --- one life --------------------------------------------------------------------------------------------------

def tree_of(cluster: Cluster, stack_id: str) -> Tree:
    with cluster.database.reader() as tx:
        return Tree(lambda statement: tx.exec_driver_sql(statement).all(), stack_id)


def live(seed: int, updates: int = 3) -> tuple[int, int]:
    """As `compare`, for all updates of one stack."""
    rng = random.Random(seed)
    grown = Grown(rng)
    entries = unknown = 0
    with Cluster(seed, engines=1) as cluster:
        wanted = grown.update()
        stack_id = cluster.create('s', wanted['template'], wanted['environment'], files=wanted['files'])
        cluster.settle(stack_id)
        for number in range(updates):
            if cluster.row(stack_id).status != 'COMPLETE':
                break
            former, wanted = wanted, grown.next(wanted)
            before = tree_of(cluster, stack_id)
            calls = len(cluster.cloud.calls)
            preview = cluster.ask(messages.PreviewUpdateStack(stack_id=stack_id, show_nested=True, **wanted), REFUSED)
            assert len(cluster.cloud.calls) == calls, 'a preview touches nothing'
            answer = cluster.ask(messages.UpdateStack(stack_id=stack_id, **wanted), REFUSED)
            if isinstance(preview, REFUSED) or isinstance(answer, REFUSED):
                assert str(preview) == str(answer), f'seed {seed}, update {number}: {preview}, but {answer}'
                wanted = former
                continue
            row = cluster.settle(stack_id)
            after = tree_of(cluster, stack_id)
            try:
                entries_now, unknown_now = compare(preview, before, after, row.status == 'FAILED')
            except AssertionError as error:
                raise AssertionError(
                    f'seed {seed}, update {number}: {row.action} {row.status} {row.reason}\n{error}') from None
            entries, unknown = entries + entries_now, unknown + unknown_now
    return entries, unknown


def main(arguments: list[str]) -> int:
    first = int(arguments[0]) if arguments else 0
    count = int(arguments[1]) if len(arguments) > 1 else 1
    if count > 1:
        logging.disable(logging.ERROR)
    began, failed, entries, unknown = time.monotonic(), 0, 0, 0
    for seed in range(first, first + count):
        try:
            entries_here, unknown_here = live(seed)
            entries, unknown = entries + entries_here, unknown + unknown_here
        except Exception as error:
            failed += 1
            print(f'{seed}: {type(error).__name__}: {error}', flush=True)
        if (seed - first + 1) % 100 == 0:
            print(f'{seed - first + 1} of {count}, {failed} failed, {entries} entries, {unknown} unknown',
                  file=sys.stderr, flush=True)
    print(f'{count - failed} passed, {failed} failed in {time.monotonic() - began:.0f} s; '
          f'{entries} entries, {unknown} of them unknown')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
