"""One project whose work does not end leaves room in each engine to the others."""

import pytest

from heatlite.common.context import RequestContext
from heatlite.engine.reconcile import loading
from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, wait


class Slow(cloud.Thing):
    """Waits for a service that answers late, in a thread of the pool."""

    def handle_create(self):
        self.runtime.sleep(300)
        return super().handle_create()

    def handle_delete(self):
        self.runtime.sleep(300)
        super().handle_delete()


def of_type(kind, number):
    return {'heat_template_version': '2018-08-31', 'resources': {f'r{each}': {'type': kind} for each in range(number)}}


@pytest.fixture
def cluster():
    with Cluster(engines=1, interleaved=False, **{'engine.runner_pool_size': 16}) as found:
        for _runtime, service in found.engines:
            service.registry.register('Sim::Slow', Slow)
        yield found


@pytest.mark.parametrize('template', [of_type('Sim::Thing', 3), of_type('OS::Heat::RandomString', 2)])
def test_slow_calls_of_a_project_do_not_delay_others(cluster, template):
    slow = cluster.create('slow', of_type('Sim::Slow', 64))
    wait(cluster, 5)
    own, cluster.context = cluster.context, RequestContext(project_id='other', roles=['member'], overwrite=False)
    started = cluster.universe.time
    other = cluster.create('quick', template)
    assert cluster.settle(other).status == 'COMPLETE'
    assert cluster.universe.time - started < 30
    cluster.context = own
    cluster.delete(slow)                        # its deletes wait for the same service
    wait(cluster, 5)
    cluster.context = RequestContext(project_id='other', roles=['member'], overwrite=False)
    started = cluster.universe.time
    cluster.delete(other)
    cluster.settle(other)
    assert cluster.universe.time - started < 30


def test_stacks_of_one_project_that_are_loaded_do_not_delay_others(monkeypatch):
    """Each of many stacks at rest gets a signal, as its guests may send one; another project updates its stack."""
    load, loaded = loading.load, []

    def slow(runtime, database, lease, *rest):
        loaded.append(lease.stack_id)
        runtime.sleep(1.0)
        return load(runtime, database, lease, *rest)

    def handle(context, message):
        cluster.engines[0][1].endpoint.handle(context, message)

    with Cluster(engines=1, interleaved=False) as cluster:
        own = cluster.context
        signalled = [cluster.create(f'a{number}', of_type('Sim::Thing', 1)) for number in range(30)]
        for stack_id in signalled:
            cluster.settle(stack_id)
        other_context = RequestContext(project_id='other', roles=['member'], overwrite=False)
        cluster.context = other_context
        other = cluster.create('b', of_type('Sim::Thing', 1))
        cluster.settle(other)
        monkeypatch.setattr(loading, 'load', slow)
        runtime = cluster.engines[0][0]
        for stack_id in signalled:
            runtime.spawn(handle, own, messages.SignalResource(stack_id, 'r0', {'word': 'y'}, wait=False))
        assert cluster.universe.run(lambda: loaded, limit=60)
        runtime.spawn(handle, other_context, messages.UpdateStack(stack_id=other, template=of_type('Sim::Thing', 2),
                                                                  environment={}))
        assert cluster.universe.run(lambda: other in loaded, limit=600)
        assert loaded.index(other) <= 9
        assert cluster.universe.run(lambda: set(loaded) >= set(signalled), limit=600)
