"""One stack's thread lets others run while much of its own work is ready."""

from collections import Counter

from heatlite.engine.reconcile.runner import Runner
from heatlite.testing.runtime import SimulatedRuntime
from tests.simulation.cluster import Cluster, done

RESOURCES = 60
TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {
    f'r{number}': {'type': 'Sim::Thing', 'properties': {'value': 'x'}} for number in range(RESOURCES)}}


def test_a_runner_does_so_before_each_event(monkeypatch):
    """Thousands of calls may return while it works: their events would wait one behind the other."""
    turns, turn = Counter(), SimulatedRuntime.turn

    def counted(self, *owners):
        turns[getattr(self.universe.current().function, '__func__', None)] += 1
        turn(self, *owners)

    monkeypatch.setattr(SimulatedRuntime, 'turn', counted)
    cluster = Cluster()
    done(cluster, cluster.create('stack', TEMPLATE), 'CREATE')
    assert turns[Runner.run] > RESOURCES
