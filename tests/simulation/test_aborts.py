"""A delete ends what is under way at whatever point that is, and nothing stays behind."""

import pytest
from keystoneauth1 import exceptions

from heatlite.engine.reconcile import step_waits
from heatlite.rpc import messages
from tests.simulation import cloud as clouds
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_crashes import template, thing

TARGET = template({f'r{number}': thing() for number in range(6)})


@pytest.mark.parametrize('first', [0, 125])
def test_a_delete_right_after_a_create(first):
    """Among the points is the one at which a create is written and its call not yet made."""
    left = {}
    for seed in range(first, first + 125):
        with Cluster(seed, engines=1) as cluster:
            stack_id = cluster.create('s', TARGET)
            cluster.ask(messages.DeleteStack(stack_id))
            done(cluster, stack_id, 'DELETE')
            if cluster.cloud.objects:
                left[seed] = sorted(cluster.cloud.objects)
    assert left == {}


class Delegating(clouds.Thing):
    """Asks its service for what it does not have itself, and the service does not answer."""

    def check_create_complete(self, handle):
        return False

    def __getattr__(self, name):
        if name.startswith('handle_') and name.endswith('_cancel'):
            raise ConnectionError(name)
        raise AttributeError(name)


def test_a_type_that_cannot_say_whether_it_has_a_handler_is_aborted_all_the_same(caplog):
    with Cluster(engines=1) as cluster:
        (_runtime, service), = cluster.engines
        service.registry.register('Sim::Delegating', Delegating)
        stack_id = cluster.create('s', template({'r': {'type': 'Sim::Delegating'}}))
        wait(cluster, 5.0)
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert cluster.cloud.objects == {}
    assert 'Traceback' not in caplog.text           # its runner goes on


class Cancelled(clouds.Thing):
    """Its service does not answer, and its cancellation takes longer than the pause until the next try."""

    log: list[str] = []

    def handle_create(self):
        raise exceptions.ConnectFailure('away')

    def handle_create_cancel(self, handle):
        self.log.append('cancelling')
        self.runtime.sleep(3 * step_waits.AWAY_PATIENCE)
        self.log.append('cancelled')

    def handle_delete(self):
        self.log.append('deleted')


def test_a_step_that_paused_ends_when_its_cancellation_has_returned(monkeypatch):
    monkeypatch.setattr(Cancelled, 'log', [])
    with Cluster(engines=1) as cluster:
        (_runtime, service), = cluster.engines
        service.registry.register('Sim::Cancelled', Cancelled)
        stack_id = cluster.create('s', template({'r': {'type': 'Sim::Cancelled'}}))
        wait(cluster, 1.5 * step_waits.AWAY_PATIENCE)
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
    assert Cancelled.log == ['cancelling', 'cancelled', 'deleted']
