"""What a step needs is freed when the step ends, not when the garbage collector runs: a large stack would leave behind
many times the memory it needs, and the collector would hold up everything else for a second and more."""

import gc
from collections import Counter

import pytest

from heatlite.engine.reconcile.active_steps import PoolCall
from heatlite.engine.reconcile.step_context import StepContext
from heatlite.engine.resource import Resource
from heatlite.engine.stored_resource import StoredResource
from heatlite.planning import commands
from tests.simulation.cluster import Cluster, done
from tests.simulation.test_crashes import template

COUNT = 40
OF_STEPS = (Resource, StepContext, StoredResource, PoolCall, commands.CallHandler)


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive():
    return Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, OF_STEPS))


def values(value):
    return template({f'r{number}': {'type': 'OS::Heat::Value', 'properties': {'value': value}}
                     for number in range(COUNT)})


def test_ended_steps_leave_nothing_to_the_collector(no_collector):
    before = alive()
    with Cluster(interleaved=False, engines=1) as cluster:
        stack_id = cluster.create('s', values('a'))
        done(cluster, stack_id, 'CREATE')
        created = alive() - before
        cluster.update(stack_id, values('b'))
        done(cluster, stack_id, 'UPDATE')
        updated = alive() - before
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        deleted = alive() - before
    for found in (created, updated, deleted):
        assert all(number < COUNT / 2 for number in found.values()), (created, updated, deleted)
