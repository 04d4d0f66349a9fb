"""An update of a settled stack visits what changes and what requires it, and has the results of one that visits all."""

from __future__ import annotations

import collections
import cProfile
import os
import pstats
import random

import pytest

from heatlite.common import exception
from heatlite.db import resources as rows
from heatlite.db import settled_stacks
from heatlite.rpc import messages
from tests.simulation import statements
from tests.simulation.cluster import Cluster, done, kill_engines_in, wait
from tests.simulation.test_crashes import assert_one_object_per_resource, template, thing

COUNT = int(os.environ.get('HEATLITE_TEST_HISTORIES', '100')) // 10       # each is a life with two walks
NAMES = [f'r{number}' for number in range(7)]


def calls(work):
    """{name of a function: how often `work()` calls it}."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        work()
    finally:
        profile.disable()
    return collections.Counter({name: numbers[1] for (_file, _line, name), numbers in
                                pstats.Stats(profile).stats.items()})


def visits(cluster, stack_id, wanted, **options):
    """Update; how many resources were visited, and the statements."""
    found, seen = counted(cluster, stack_id, wanted, **options)
    return found['_start_apply'], seen


def counted(cluster, stack_id, wanted, **options):
    """Update; how often each function was called, and the statements."""
    def update():
        cluster.update(stack_id, wanted, **options)
        done(cluster, stack_id, 'UPDATE')

    with statements.noted(lambda statement: True) as seen:
        return calls(update), seen


def required(cluster, stack_id):
    with cluster.database.reader() as tx:
        return {each.name: set(each.requires) for each in rows.light(tx, stack_id)}


def many(count, **changed):
    return template({**{f'r{number}': thing(f'v{number}') for number in range(count)}, **changed})


def made(cluster, wanted, environment=None):
    stack_id = cluster.create('s', wanted, environment)
    done(cluster, stack_id, 'CREATE')
    wait(cluster, 10)
    return stack_id


@pytest.mark.thorough
def test_one_change_costs_the_same_in_a_large_stack():
    found = []
    for count in (10, 1000):
        with Cluster() as cluster:
            stack_id = made(cluster, many(count))
            found.append(counted(cluster, stack_id, many(count, r3=thing('other'))))
    (few, few_seen), (lots, lots_seen) = found
    for found in (few, lots):
        assert found['_start_apply'] == found['_state'] == 1    # `_state` makes one of each row that is read
    assert len(lots_seen) < 2 * len(few_seen)       # the history of the large stack is purged, too


def values(**changed):
    return template({**{f'r{number}': {'type': 'OS::Heat::Value', 'properties': {'value': f'v{number}'}}
                        for number in range(30)}, **changed})


def test_what_was_accepted_before_and_uses_nothing_is_not_checked_again():
    wrong = {'type': 'OS::Heat::Value', 'properties': {'valeu': 'x'}}
    with Cluster(engines=1) as cluster:
        stack_id = made(cluster, values())
        other = {'type': 'OS::Heat::Value', 'properties': {'value': {'get_resource': 'r1'}}}
        assert calls(lambda: cluster.update(stack_id, values(r3=other)))['_within_budget'] == 1
        done(cluster, stack_id, 'UPDATE')
        with pytest.raises(exception.StackValidationFailed, match='Unknown Property valeu'):
            cluster.update(stack_id, values(r4=wrong))
        with pytest.raises(exception.InvalidTemplateReference, match='"r1"'):
            cluster.update(stack_id, template({name: each for name, each in values(r3=other)['resources'].items()
                                               if name != 'r1'}))


CHAIN = {'a': thing('1'), 'b': thing({'get_resource': 'a'}), 'c': thing('3', needs=['b']), 'd': thing('4'),
         'e': thing({'get_resource': 'd'})}


@pytest.mark.parametrize('name, change, visited', [
    ('a', thing('2'), 3), ('a', thing('1', fixed='new'), 3), ('b', thing('5'), 2), ('c', thing('6', needs=['b']), 1),
    ('e', thing('7'), 1), ('x', thing('8'), 1), ('x', thing({'get_resource': 'e'}), 1)],
    ids=['changed', 'replaced', 'middle', 'last', 'alone', 'new', 'new-behind'])
def test_what_requires_a_change_is_visited(name, change, visited):
    with Cluster() as cluster:
        stack_id = made(cluster, template(CHAIN))
        assert visits(cluster, stack_id, template({**CHAIN, name: change}))[0] == visited
        physical = {each: rows[0][2] for each, rows in cluster.states(stack_id).items()}
        assert cluster.cloud.objects[physical['e']]['value'] == (
            '7' if name == 'e' else physical['d'])
        if name != 'b':
            assert cluster.cloud.objects[physical['b']]['value'] == physical['a']
        assert_one_object_per_resource(cluster, stack_id)
        with cluster.database.reader() as tx:
            assert settled_stacks.is_settled(tx, stack_id)


def test_a_removed_resource_is_the_only_work():
    with Cluster() as cluster:
        stack_id = made(cluster, template(CHAIN))
        assert visits(cluster, stack_id, template({name: CHAIN[name] for name in 'abde'}))[0] == 0
        assert_one_object_per_resource(cluster, stack_id)


def ask(message):
    return lambda cluster, stack_id: cluster.ask(message(stack_id))


@pytest.mark.parametrize('happen', [
    ask(lambda stack_id: messages.SignalResource(stack_id, 'd', {'word': 'x'})),
    ask(lambda stack_id: messages.MarkUnhealthy(stack_id, 'd', True, 'felt so')),
    ask(lambda stack_id: messages.StackAction(stack_id, 'check'))], ids=['signal', 'mark', 'check'])
def test_all_is_visited_after_anything_has_happened(happen):
    with Cluster() as cluster:
        stack_id = made(cluster, template(CHAIN))
        happen(cluster, stack_id)
        cluster.settle(stack_id)
        wait(cluster, 30)
        assert visits(cluster, stack_id, template({**CHAIN, 'c': thing('6', needs=['b'])}))[0] == 5


@pytest.mark.parametrize('options', [
    {'environment': {'parameter_defaults': {'x': 'y'}}}, {'converge': True},
    {'environment': {'resource_registry': {'resources': {'e': {'hooks': 'pre-delete'}}}}}],
    ids=['environment', 'converge', 'hook'])
def test_all_is_visited_if_more_than_resources_differs(options):
    with Cluster() as cluster:
        stack_id = made(cluster, template(CHAIN))
        assert visits(cluster, stack_id, template({**CHAIN, 'c': thing('6', needs=['b'])}), **options)[0] == 5


def test_all_is_visited_after_a_failed_update():
    failing = template({**CHAIN, 'e': thing('9', fail=True)})
    with Cluster() as cluster:
        stack_id = made(cluster, template(CHAIN))
        cluster.update(stack_id, failing)
        assert cluster.settle(stack_id).status == 'FAILED'
        assert visits(cluster, stack_id, template({**CHAIN, 'e': thing('9')}))[0] == 5
        assert_one_object_per_resource(cluster, stack_id)


def test_all_is_visited_if_a_condition_may_enable_a_resource():
    def conditional(enabled):
        wanted = template({**CHAIN, 'x': {**thing('8'), 'condition': enabled}, 'y': thing('9', needs=['x'])})
        return {**wanted, 'conditions': {'yes': True, 'no': False}}

    with Cluster() as cluster:
        stack_id = made(cluster, conditional('no'))
        assert visits(cluster, stack_id, conditional('yes'))[0] == 7
        assert required(cluster, stack_id)['y'] == {'x'}


SHOWN = {name: {'value': {'get_resource': name}} for name in 'cd'}


def test_unread_rows_are_read_when_they_are_asked_for():
    flat = {name: thing(name) for name in 'abcdef'}
    with Cluster(engines=1) as cluster:
        stack_id = made(cluster, template(flat))
        assert_reads(cluster, stack_id, template({**flat, 'a': thing('x')}), 1)
        assert_reads(cluster, stack_id, template({**flat, 'a': thing('y'), 'g': thing({'get_resource': 'b'})}), 2)
        physical = {name: each[0][2] for name, each in cluster.states(stack_id).items()}
        assert cluster.cloud.objects[physical['g']]['value'] == physical['b']
        wanted = {**flat, 'g': thing({'get_resource': 'b'}), 'a': thing('y')}
        with_outputs = template({**wanted, 'a': thing('z')}, SHOWN)
        assert_reads(cluster, stack_id, with_outputs, 4)        # a; g, which requires another; c, d: used
        shown = {each['output_key']: each['output_value'] for each in cluster.row(stack_id).outputs}
        assert shown == {name: physical[name] for name in 'cd'}


def test_resources_that_were_disabled_have_no_rows():
    def disabled(**more):
        off = {name: {**thing(name), 'condition': 'no'} for name in 'ab'}
        return {**template({**off, **more}), 'conditions': {'no': False}}

    with Cluster(engines=1) as cluster:
        stack_id = made(cluster, disabled())
        found, _seen = counted(cluster, stack_id, disabled(c=thing('x')))
        assert found['of_update'] == found['_start_apply'] == 1         # a defect would have the engine begin again
        assert set(cluster.states(stack_id)) == {'c'}


def assert_reads(cluster, stack_id, wanted, count):
    assert counted(cluster, stack_id, wanted)[0]['_state'] == count
    wait(cluster, 10)


@pytest.mark.parametrize('happen', [
    lambda cluster, stack_id, flat: cluster.ask(messages.SignalResource(stack_id, 'd', {'word': 'x'})),
    lambda cluster, stack_id, flat: cluster.update(stack_id, template({**flat, 'd': thing('x'), 'f': thing('f', 'n')})),
    lambda cluster, stack_id, flat: cluster.ask(messages.DeleteStack(stack_id))], ids=['signal', 'update', 'delete'])
def test_an_update_that_left_rows_unread_is_interrupted(happen):
    flat = {name: thing(name) for name in 'abcdef'}

    def life(cluster):
        cluster.chaos.enabled = False
        stack_id = made(cluster, template(flat))
        cluster.chaos.enabled = True
        cluster.update(stack_id, template({**flat, 'a': thing('a', 'replaced')}))
        cluster.universe.run(lambda: 'replaced' in str(cluster.row(stack_id)) or len(cluster.cloud.made) > 6, limit=100)
        happen(cluster, stack_id, flat)
        row = cluster.settle(stack_id)
        if row is None or row.action == 'DELETE':
            assert not cluster.cloud.objects
            return
        assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        assert_one_object_per_resource(cluster, stack_id)
        assert len(cluster.states(stack_id)) == 6

    assert kill_engines_in(life, 4, from_the_start=False) > 5


@pytest.mark.thorough
def test_killed_anywhere_in_an_update_that_visits_little():
    def life(cluster):
        cluster.chaos.enabled = False
        stack_id = made(cluster, template(CHAIN))
        cluster.chaos.enabled = True
        cluster.update(stack_id, template({**CHAIN, 'd': thing('4', fixed='new'), 'f': thing({'get_resource': 'a'})}))
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        physical = {name: rows[0][2] for name, rows in cluster.states(stack_id).items()}
        assert_one_object_per_resource(cluster, stack_id)
        assert cluster.cloud.objects[physical['e']]['value'] == physical['d']
        assert cluster.cloud.objects[physical['f']]['value'] == physical['a']

    assert kill_engines_in(life, 1, from_the_start=False) > 5


# --- the same as a visit of all -------------------------------------------------------------------------------

def changed(randomness, resources, fail=False):
    """The resources after one random change; none fails afterwards but the changed one, if `fail`."""
    found = {name: {**each, 'properties': {**each['properties'], 'fail': False}} for name, each in resources.items()}
    name = randomness.choice(NAMES)
    before = NAMES[:NAMES.index(name)]
    present = [each for each in before if each in found]
    is_required = any(name in str(each) for other, each in found.items() if other != name)
    if name in found and randomness.random() < 0.2 and not is_required:
        del found[name]
        return found
    needed = randomness.choice(present) if present and randomness.random() < 0.7 else None
    value = {'get_resource': needed} if needed and randomness.random() < 0.6 else randomness.choice('xyz')
    found[name] = thing(value, randomness.choice(['', '', 'f']), [needed] if needed else (), fail=fail)
    return dict(sorted(found.items()))


def seen(cluster, stack_id):
    """What users see: state, resources with the objects they refer to, and the numbers of events and calls."""
    row = cluster.row(stack_id)
    states = cluster.states(stack_id)
    names = {rows[-1][2]: name for name, rows in states.items() if rows[-1][2]}
    values = {name: cluster.cloud.objects[ident]['value'] for ident, name in names.items()
              if ident in cluster.cloud.objects}
    return {
        'stack': (row.action, row.status),
        'states': {name: [each[:2] for each in rows] for name, rows in states.items()},
        'values': {name: names.get(value, value) for name, value in values.items()},
        'requires': required(cluster, stack_id),
        'events': collections.Counter(each[:3] for each in cluster.events(stack_id)),
        'calls': collections.Counter((kind, name.rsplit('-', 1)[0]) for kind, name in cluster.cloud.calls)}


class Flat(Cluster):
    """A user who has all resources in a root stack."""

    def inner(self, stack_id):
        """The stack that has the resources."""
        return stack_id


def lived(seed, visits_all, user=Flat):
    """Some updates, each with one change; what users see after each."""
    randomness = random.Random(seed)
    found = []
    with user(seed, engines=1) as cluster:
        resources = {}
        for _ in NAMES:
            resources = changed(randomness, resources)
        stack_id = cluster.create('s', template(resources))
        cluster.settle(stack_id)
        fails = False
        for _ in range(6):
            wait(cluster, 10)
            if visits_all:
                with cluster.database.writer() as tx:
                    settled_stacks.unsettle(tx, cluster.inner(stack_id))
            fails = not fails and randomness.random() < 0.3     # two changes, one of which fails, would race
            resources = changed(randomness, resources, fails)
            cluster.update(stack_id, template(resources), disable_rollback=randomness.random() < 0.5)
            cluster.settle(stack_id)
            found.append(seen(cluster, cluster.inner(stack_id)))
    return found


@pytest.mark.parametrize('first', range(0, COUNT, 5))
def test_the_result_is_that_of_a_visit_of_all(first):
    for seed in range(first, min(first + 5, COUNT)):
        assert lived(seed, visits_all=False) == lived(seed, visits_all=True), seed
