"""An engine drives as much of a tree as it has room for, and the room that is left never stops a tree."""

from __future__ import annotations

import json

import pytest

from heatlite.common.context import RequestContext
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, kill_engines_in, wait

THING = {'type': 'Sim::Thing', 'properties': {'value': 'v'}}


def template(resources):
    return {'heat_template_version': '2018-08-31', 'resources': resources}


def deep(levels, wide=1):
    """A tree in which each stack but the last ones has `wide` nested stacks: its template and its files."""
    files = {f'{level}.yaml': json.dumps(template(
        {f'n{number}': {'type': f'{level + 1}.yaml'} for number in range(wide)} if level < levels else {'a': THING}))
        for level in range(1, levels + 1)}
    return {'template': template({f'n{number}': {'type': '1.yaml'} for number in range(wide)}), 'files': files}


def broad(stacks, members, value='v'):
    """A root with nested stacks of so many things each."""
    thing = {**THING, 'properties': {'value': value}}
    return {'template': template({f'n{number}': {'type': 'leaf.yaml'} for number in range(stacks)}),
            'files': {'leaf.yaml': json.dumps(template({f'r{number}': thing for number in range(members)}))}}


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch):
    """Each test ends with engines that count nothing: no stack, no call that waits or runs."""
    closed = []

    def close(cluster):
        def counted():
            return [vars(service.controller._capacity) for _runtime, service in cluster.engines]

        def is_empty(found):
            slots = found['_slots']
            return slots.all_left() == {0: vars(slots)['_most']} and not any(found[name] for name in (
                '_driven', '_loading', '_levels', '_waiting', '_calls', '_of_stacks', '_started'))

        cluster.universe.run(lambda: all(map(is_empty, counted())), limit=300)
        closed.append([found for found in counted() if not is_empty(found)])
        CLOSE(cluster)

    CLOSE = Cluster.close
    monkeypatch.setattr(Cluster, 'close', close)
    yield
    assert closed and not any(closed), closed


def driven(cluster):
    """The stacks that engines drive."""
    return [runner.leased for _runtime, service in cluster.engines for runner in service.runners.all()]


class Peaks:
    """The most resources of nested stacks that engines drive at any moment."""

    def __init__(self, cluster):
        self.cluster, self.resources = cluster, 0

    def watch(self):
        self.resources = max(self.resources, sum(
            len(each.definition.resources) for each in driven(self.cluster) if each.row.depth))

    def until_ended(self, *ids):
        universe, seen = self.cluster.universe, -1

        def ended():
            nonlocal seen
            self.watch()
            if seen == universe.commits:
                return False                        # nothing was committed since the last look
            seen = universe.commits
            return all(row.deleted_at is not None or row.status != 'IN_PROGRESS' for row in map(self.cluster.row, ids))

        assert universe.run(ended, limit=4000)


@pytest.mark.parametrize('engines', [1, 2])
@pytest.mark.parametrize('most', [1, 2])
def test_a_deep_tree_needs_no_more_room_than_a_stack(engines, most):
    with Cluster(engines=engines, **{'engine.max_stacks': most}) as cluster:
        stack_id = cluster.create('s', **deep(4))
        done(cluster, stack_id, 'CREATE')
        assert len(cluster.cloud.objects) == 1
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
        assert not cluster.cloud.objects


@pytest.mark.parametrize('kill', range(20, 230, 35))
def test_a_full_engine_that_is_killed_leaves_nothing_that_waits_for_room(kill):
    def life(cluster):
        ids = [cluster.create(f's{number}', **deep(3)) for number in range(3)]
        for stack_id in ids:
            done(cluster, stack_id, 'CREATE')
        for stack_id in ids:
            cluster.delete(stack_id)
        for stack_id in ids:
            cluster.until_deleted(stack_id)

    with Cluster(kill_at=[kill], engines=1, **{'engine.max_stacks': 2}) as cluster:
        cluster.chaos.enabled = True
        life(cluster)
        assert cluster.chaos.killed
        assert not cluster.cloud.objects


def test_roots_that_wait_for_their_nested_stacks_leave_them_room():
    with Cluster(engines=1, **{'engine.max_stacks': 3}) as cluster:
        ids = [cluster.create(f's{number}', **deep(2, wide=2)) for number in range(6)]
        for stack_id in ids:
            done(cluster, stack_id, 'CREATE')


def created(cluster, tree, stacks=1):
    """The id of the last of so many stacks that are created at once, and the most resources that were driven."""
    peaks = Peaks(cluster)
    ids = [cluster.create(f's{number}', **tree) for number in range(stacks)]
    peaks.until_ended(*ids)
    for stack_id in ids:
        done(cluster, stack_id, 'CREATE')
    return ids[-1], peaks.resources


def test_an_engine_drives_few_resources_of_a_large_tree_at_once():
    with Cluster(engines=1, **{'engine.max_resources_of_tree': 50}) as cluster:
        stack_id, most = created(cluster, broad(40, 10))
        assert 40 <= most <= 60
        for action in (lambda: cluster.update(stack_id, **broad(40, 10, 'other')),
                       lambda: cluster.ask(messages.StackAction(stack_id, 'CHECK')), lambda: cluster.delete(stack_id)):
            peaks = Peaks(cluster)
            action()
            peaks.until_ended(stack_id)
            assert 40 <= peaks.resources <= 60, action
        assert not cluster.cloud.objects


def test_empty_nested_stacks_are_driven_beside_each_other():
    """The first one shows how large they are, also if it has no resources."""
    with Cluster(engines=1, **{'engine.max_resources_of_tree': 50}) as cluster:
        stack_id, most = cluster.create('s', **broad(10, 0)), 0

        def ended():
            nonlocal most
            most = max(most, sum(each.row.depth for each in driven(cluster)))
            return cluster.universe.steps % 50 == 0 and cluster.row(stack_id).status != 'IN_PROGRESS'

        assert cluster.universe.run(ended, limit=4000)
        done(cluster, stack_id, 'CREATE')
        assert most > 1


def test_a_nested_stack_larger_than_the_room_is_driven_alone():
    with Cluster(engines=1, **{'engine.max_resources_of_tree': 5}) as cluster:
        _stack_id, most = created(cluster, broad(3, 10))
        assert most == 10


def test_each_tree_has_room_of_its_own():
    with Cluster(engines=1, **{'engine.max_resources_of_tree': 10}) as cluster:
        _stack_id, most = created(cluster, broad(4, 10), stacks=2)
        assert most == 20


def test_a_cancelled_update_does_not_wait_for_room():
    """A nested stack that has not begun yet ends at once, though the one before it takes long."""
    slow = broad(5, 1)
    slow['files']['leaf.yaml'] = json.dumps(template({
        'r0': THING, 'handle': {'type': 'OS::Heat::WaitConditionHandle'},
        'wait': {'type': 'OS::Heat::WaitCondition', 'properties': {
            'handle': {'get_resource': 'handle'}, 'timeout': 3000}}}))
    with Cluster(engines=1, **{'engine.max_resources_of_tree': 1}) as cluster:
        stack_id = cluster.create('s', **broad(5, 1))
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, **slow)
        wait(cluster, 20)
        assert sorted(each.row.depth for each in driven(cluster)) == [0, 1]
        began = cluster.universe.time
        cluster.ask(messages.CancelStack(stack_id, rollback=True))
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('ROLLBACK', 'COMPLETE')
        assert cluster.universe.time - began < 30


def test_nested_stacks_that_wait_do_not_begin_once_the_stack_has_failed():
    tree = broad(5, 1)
    tree['template']['resources'] |= {'fails': {'type': 'OS::Heat::TestResource', 'properties': {
        'fail': True, 'action_wait_secs': {'create': 30}}}}
    tree['files']['leaf.yaml'] = json.dumps(template({
        'r0': THING, 'slow': {'type': 'OS::Heat::TestResource', 'depends_on': 'r0', 'properties': {
            'action_wait_secs': {'create': 50}}}}))
    with Cluster(engines=1, **{'engine.max_resources_of_tree': 2}) as cluster:
        stack_id = cluster.create('s', **tree)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED')
        assert len(cluster.cloud.objects) == 1
        reasons = [event[3] for event in cluster.events(stack_id) if event[0] != 's']
        assert sum('had ended before it began' in reason for reason in reasons) == 4
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)


def test_a_parent_with_many_nested_stacks_begins_its_other_resources():
    tree = broad(450, 1)
    tree['files']['leaf.yaml'] = json.dumps(template({
        'wait': {'type': 'OS::Heat::WaitCondition', 'properties': {'handle': 'h', 'timeout': 100}}}))
    tree['template']['resources']['zz'] = THING
    with Cluster(engines=1, **{'engine.max_resources_of_tree': 1}) as cluster:
        cluster.create('s', **tree)
        wait(cluster, 30)
        assert len(cluster.cloud.objects) == 1
        cluster.delete(cluster.user_stack('s'))
        cluster.until_deleted(cluster.user_stack('s'))


def test_no_more_nested_stacks_are_driven_than_may_be():
    with Cluster(engines=1, **{'engine.max_stacks': 3}) as cluster:
        ids = [cluster.create(f's{number}', **broad(4, 2)) for number in range(3)]
        most, running = 0, cluster.universe

        def ended():
            nonlocal most
            most = max(most, sum(each.row.depth for each in driven(cluster)))
            return running.steps % 50 == 0 and all(cluster.row(each).status != 'IN_PROGRESS' for each in ids)

        assert running.run(ended, limit=4000)
        assert most == 3
        with cluster.database.reader() as tx:
            owned = tx.exec_driver_sql('SELECT epoch FROM lease JOIN stack ON id = stack_id WHERE depth = 1').all()
        assert {epoch for epoch, in owned} == {1}       # none was left to a sweep


def test_engines_may_die_while_nested_stacks_wait_for_room():
    def life(cluster):
        stack_id = cluster.create('s', **broad(4, 2))
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, **broad(4, 2, 'other'))
        done(cluster, stack_id, 'UPDATE')
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
        assert not cluster.cloud.objects

    assert kill_engines_in(life, 97, **{'engine.max_resources_of_tree': 3, 'engine.max_stacks': 2}) > 5


HELD = {'resource_registry': {'resources': {'a': {'hooks': 'pre-create'}}}}
A_LONG_TIME = 100_000               # minutes


class Project:
    """A project whose requests a cluster gets within the block."""

    def __init__(self, cluster, name):
        self.cluster, self.context = cluster, RequestContext(project_id=name, roles=['member'], overwrite=False)

    def __enter__(self):
        self.before, self.cluster.context = self.cluster.context, self.context

    def __exit__(self, *_error):
        self.cluster.context = self.before


def delete_all(cluster, ids):
    for stack_id in ids:
        cluster.delete(stack_id)
    for stack_id in ids:
        cluster.until_deleted(stack_id)


@pytest.mark.parametrize('engines', [1, 2])
def test_stacks_of_one_project_that_are_held_leave_room_for_another(engines):
    with Cluster(engines=engines, **{'engine.max_stacks': 8}) as cluster:
        held = [cluster.create(f'held{number}', template({'a': THING}), HELD, timeout_mins=A_LONG_TIME)
                for number in range(12 * engines)]
        wait(cluster, 30)
        assert len(cluster.cloud.objects) == 0
        assert 0 < len(driven(cluster)) < 8 * engines
        with Project(cluster, 'other'):
            mine = cluster.create('b', template(dict.fromkeys('abcde', THING)))
            began = cluster.universe.time
            done(cluster, mine, 'CREATE')
            cluster.delete(mine)
            cluster.until_deleted(mine)
            assert cluster.universe.time - began < 60
        delete_all(cluster, held)                   # those that are driven end first, and make room for the others


@pytest.mark.parametrize('seed', range(4))
def test_an_engine_that_takes_over_leaves_room_for_other_projects(seed):
    with Cluster(seed, engines=2, restart_after=1e6, **{'engine.max_stacks': 8}) as cluster:
        held = [cluster.create(f'held{number}', template({'a': THING}), HELD, timeout_mins=A_LONG_TIME)
                for number in range(24)]
        wait(cluster, 30)
        with Project(cluster, 'other'):
            mine = cluster.create('b', template({'a': THING}), HELD, timeout_mins=A_LONG_TIME)
            wait(cluster, 10)
        cluster.stop_engine(cluster.engines[0][0])
        wait(cluster, 60)
        assert mine in {leased.id for leased in driven(cluster)}
        with Project(cluster, 'other'):
            delete_all(cluster, [mine])
        delete_all(cluster, held)


def test_a_project_that_has_much_left_over_by_others_takes_most_of_it():
    with Cluster(engines=1, **{'engine.max_stacks': 100}) as cluster:
        held = [cluster.create(f'held{number}', template({'a': THING}), HELD, timeout_mins=A_LONG_TIME)
                for number in range(80)]
        wait(cluster, 60)
        assert len(driven(cluster)) == 71           # four fifths of the 88 that are not reserved
        delete_all(cluster, held)


def test_nested_stacks_of_one_project_leave_room_for_those_of_another():
    waiting = broad(10, 1)
    waiting['files']['leaf.yaml'] = json.dumps(template({'x': {
        'type': 'OS::Heat::Delay', 'properties': {'min_wait': 3300}}}))
    with Cluster(engines=1, **{'engine.max_stacks': 20}) as cluster:
        held = [cluster.create(f'held{number}', **waiting, timeout_mins=A_LONG_TIME) for number in range(8)]
        wait(cluster, 30)
        assert 10 <= sum(each.row.depth for each in driven(cluster)) < 20
        with Project(cluster, 'other'):
            mine = cluster.create('b', **broad(5, 2))
            began = cluster.universe.time
            done(cluster, mine, 'CREATE')
            delete_all(cluster, [mine])
            assert cluster.universe.time - began < 60
        began = cluster.universe.time
        delete_all(cluster, held)                   # nested stacks that are driven need no room to be deleted
        assert cluster.universe.time - began < 120
