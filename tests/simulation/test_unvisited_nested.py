"""An update of a nested stack visits what changes in it, as that of any other stack, and has the same results."""

from __future__ import annotations

import json

import pytest

from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_crashes import assert_one_object_per_resource, template, thing
from tests.simulation.test_nested import child_of
from tests.simulation.test_scaling import scale
from tests.simulation.test_unvisited import COUNT, calls, counted, lived

MANY = 30                   # resources of a nested stack which is not simply visited as a whole
PADDING = {f'z{number}': thing('z') for number in range(MANY)}


def group(count, value='v'):
    return template({'g': {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': count, 'resource_def': thing(value)}}})


def leaf(**resources):
    return json.dumps(template({**PADDING, **resources}))


OUTER = template({'c': {'type': 'leaf.yaml'}})


def made(cluster, wanted, **options):
    stack_id = cluster.create('s', wanted, **options)
    done(cluster, stack_id, 'CREATE')
    wait(cluster, 10)
    return stack_id


def visits(cluster, stack_id, wanted, **options):
    """Update; how many resources of all stacks were visited."""
    found = counted(cluster, stack_id, wanted, **options)[0]['_start_apply']
    wait(cluster, 10)
    return found


def test_a_group_that_grows_visits_its_new_member():
    with Cluster(engines=1) as cluster:
        stack_id = made(cluster, group(MANY))
        for count in (MANY + 1, MANY + 2):
            assert visits(cluster, stack_id, group(count)) == 2         # the group itself, and the member
        assert len(cluster.cloud.objects) == MANY + 2
        assert visits(cluster, stack_id, group(MANY + 2, 'other')) == MANY + 3
        assert {each['value'] for each in cluster.cloud.objects.values()} == {'other'}


def test_a_group_that_is_scaled_by_signals_visits_its_new_member():
    wanted = template({
        'group': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
            'min_size': 1, 'max_size': 2 * MANY, 'desired_capacity': MANY, 'resource': thing('v')}},
        'policy': {'type': 'OS::Heat::ScalingPolicy', 'properties': {
            'auto_scaling_group_id': {'get_resource': 'group'}, 'adjustment_type': 'change_in_capacity',
            'scaling_adjustment': 1}}})
    with Cluster(engines=1) as cluster:
        stack_id = made(cluster, wanted)
        for count in (MANY + 1, MANY + 2):
            found = calls(lambda: scale(cluster, stack_id))
            assert (found['_start_apply'], len(cluster.cloud.objects)) == (1, count)
            wait(cluster, 100)
        cluster.update(stack_id, wanted)        # nothing has changed for the user, but the group is to have its size
        done(cluster, stack_id, 'UPDATE')
        assert len(cluster.cloud.objects) == MANY


@pytest.mark.parametrize('before, after, visited', [
    ({}, {'x': thing('x')}, 1), ({'x': thing('x')}, {'x': thing('y')}, 1), ({'x': thing('x')}, {}, 0),
    ({'x': thing('x'), 'y': thing({'get_resource': 'x'})}, {'x': thing('z'), 'y': thing({'get_resource': 'x'})}, 2)],
    ids=['new', 'changed', 'removed', 'required'])
def test_another_template_of_a_nested_stack(before, after, visited):
    with Cluster() as cluster:
        stack_id = made(cluster, OUTER, files={'leaf.yaml': leaf(**before)})
        assert visits(cluster, stack_id, OUTER, files={'leaf.yaml': leaf(**after)}) == visited + 1
        assert_one_object_per_resource(cluster, child_of(cluster, stack_id, 'c').id)
        assert len(cluster.cloud.objects) == MANY + len(after)


def test_files_count_for_the_resources_that_include_them():
    def files(content, value):
        return {'leaf.yaml': leaf(x=thing({'get_file': 'content'}), y=thing(value)), 'content': content}

    with Cluster() as cluster:
        stack_id = made(cluster, OUTER, files=files('one', 'y'))
        assert visits(cluster, stack_id, OUTER, files=files('two', 'y')) == 2
        assert visits(cluster, stack_id, OUTER, files=files('two', 'z')) == 3       # it is not known which file it is
        assert {'two', 'z'} <= {each['value'] for each in cluster.cloud.objects.values()}


def test_the_resource_around_the_stack_counts_for_those_that_look_at_it():
    files = {'leaf.yaml': leaf(x=thing({'resource_facade': 'deletion_policy'}))}
    with Cluster() as cluster:
        stack_id = made(cluster, OUTER, files=files)
        around = template({'c': {'type': 'leaf.yaml', 'deletion_policy': 'retain'}})
        assert visits(cluster, stack_id, around, files={**files, 'leaf.yaml': files['leaf.yaml'] + ' '}) == 2
        assert 'Retain' in {each['value'] for each in cluster.cloud.objects.values()}


def test_all_is_visited_after_a_signal_inside():
    with Cluster() as cluster:
        stack_id = made(cluster, OUTER, files={'leaf.yaml': leaf(x=thing('x'))})
        cluster.ask(messages.SignalResource(child_of(cluster, stack_id, 'c').id, 'x', {'word': 'x'}))
        wait(cluster, 30)
        assert visits(cluster, stack_id, OUTER, files={'leaf.yaml': leaf(x=thing('y'))}) == MANY + 2


class Inside(Cluster):
    """A user who has all resources in a nested stack."""

    def create(self, name, wanted, *args, **options):
        return super().create(name, OUTER, *args, files=self._files(wanted), **options)

    def update(self, stack_id, wanted, *args, **options):
        super().update(stack_id, OUTER, *args, files=self._files(wanted), **options)

    @staticmethod
    def _files(wanted):
        return {'leaf.yaml': json.dumps({**wanted, 'resources': {**wanted['resources'], **PADDING}})}

    def inner(self, stack_id):
        return child_of(self, stack_id, 'c').id


def of_resources(life):
    """What happened, without the action and the events of the stack itself: it is not visited where nothing changes."""
    return [{**found, 'stack': found['stack'][1], 'events': {
        each: count for each, count in found['events'].items() if each[0] in found['states']}} for found in life]


@pytest.mark.thorough
@pytest.mark.parametrize('first', range(0, COUNT, 5))
def test_the_result_is_that_of_a_visit_of_all(first):
    for seed in range(first, min(first + 5, COUNT)):
        assert of_resources(lived(seed, False, Inside)) == of_resources(lived(seed, True, Inside)), seed
