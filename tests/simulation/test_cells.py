"""A project leaves the cell while an engine is in the middle of a handler: it sends nothing more of it."""

from datetime import datetime

import pytest

from heatlite.db import engines, leases, presence, tables
from tests.simulation import cloud as clouds
from tests.simulation.cluster import PROJECT, Cluster
from tests.simulation.test_crashes import template, thing

LEAVING = datetime(2026, 11, 27)


class Leaving(clouds.Cloud):
    """The project leaves between the first request of a handler and the next one; the answer comes `seconds` later."""

    def __init__(self, chaos, database, seconds):
        super().__init__(chaos)
        self._database = database
        self._seconds = seconds
        self.deadlines = None

    def create_user(self, runtime, name, project):
        super().create_user(runtime, name, project)
        if self.deadlines is None:
            self.deadlines = self._database.retry(self._leave)
            runtime.sleep(self._seconds)

    def _leave(self, tx):
        presence.leave(tx, PROJECT, LEAVING)
        return engines.doubt(tx)


@pytest.mark.parametrize('seed', range(8))
def test_an_engine_without_its_lease_sends_no_request(seed):
    with Cluster(seed) as cluster:
        cluster.cloud = Leaving(cluster.chaos, cluster.database, 2.0)      # its own deadline has not passed by then
        clouds.use(cluster.cloud)
        stack_id = cluster.create('s', template({'r': thing(user=True)}))
        cluster.universe.run(lambda: False, limit=30.0)
        assert cluster.cloud.deadlines
        assert cluster.cloud.objects == {}
        with cluster.database.reader() as tx:
            assert engines.unsure(tx, cluster.cloud.deadlines) == 0
        with cluster.database.writer() as tx:
            assert not leases.lock(tx, stack_id)


@pytest.mark.parametrize('doubts', [1, 2])
@pytest.mark.parametrize('seed', [3, 4])
def test_an_engine_whose_row_was_lost_notices_the_next_project_that_leaves(seed, doubts):
    """Its new row begins without the doubts that the engine has read, and may have as many when it is read first."""
    with Cluster(seed) as cluster:
        def is_back():
            with cluster.database.reader() as tx:
                return len(engines.page(tx)) == 1

        cluster.universe.run(lambda: False, limit=2.0)
        for _ in range(doubts):
            cluster.database.retry(engines.doubt)
            cluster.universe.run(lambda: False, limit=4.0)
        cluster.database.retry(lambda tx: tx.execute(tables.engine.delete()))
        cluster.universe.run(is_back, limit=10.0)
        cluster.cloud = Leaving(cluster.chaos, cluster.database, 2.0)
        clouds.use(cluster.cloud)
        cluster.create('s', template({'r': thing(user=True)}))
        cluster.universe.run(lambda: False, limit=30.0)
        assert cluster.cloud.deadlines
        assert cluster.cloud.objects == {}
