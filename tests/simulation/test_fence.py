"""An engine that stands still in the middle of an action or a signal sends nothing more of it when it goes on."""

import pytest

from tests.simulation import cloud as clouds
from tests.simulation.cluster import Cluster, done
from tests.simulation.test_crashes import template, thing
from tests.simulation.test_signals import signal


class StandingStill(clouds.Cloud):
    """The engine that sends the first request of an action stands still before the next."""

    engine = None

    def create_user(self, runtime, name, project):
        super().create_user(runtime, name, project)
        if self.engine is None:
            self.engine = runtime
            runtime.frozen_until = runtime.universe.time + 60.0
            runtime.give_way()


@pytest.mark.parametrize('seed', range(8))
def test_only_its_successor_creates(seed):
    with Cluster(seed) as cluster:
        cluster.cloud = StandingStill(cluster.chaos)
        clouds.use(cluster.cloud)
        stack_id = cluster.create('s', template({'r': thing(user=True)}))
        done(cluster, stack_id, 'CREATE')
        cluster.universe.run(lambda: False, limit=100.0)
        assert cluster.cloud.engine is not None
        assert len(cluster.cloud.objects) == 1, cluster.cloud.objects


class StandingStillAtSignals(clouds.Cloud):
    """The first engine that handles a signal stands still right before the handler's request is sent."""

    engine = None

    def __init__(self, chaos):
        super().__init__(chaos)
        self.words = []

    def _receive(self, label, runtime):
        if label == 'tell' and self.engine is None:
            self.engine = runtime
            runtime.frozen_until = runtime.universe.time + 60.0
            runtime.give_way()
        super()._receive(label, runtime)

    def tell(self, runtime, word):
        super().tell(runtime, word)
        self.words.append(word)


@pytest.mark.parametrize('seed', range(8))
def test_only_its_successor_handles_the_signal(seed):
    with Cluster(seed) as cluster:
        cluster.cloud = StandingStillAtSignals(cluster.chaos)
        clouds.use(cluster.cloud)
        stack_id = cluster.create('s', template({'r': thing()}))
        done(cluster, stack_id, 'CREATE')
        signal(cluster, stack_id, 'r', {'word': 'louder'})
        cluster.universe.run(lambda: False, limit=100.0)
        assert cluster.cloud.engine is not None
        assert cluster.cloud.words == ['louder']
