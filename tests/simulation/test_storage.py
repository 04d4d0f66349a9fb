"""On a server, processes of a simulation wait for each other's locks in virtual time, as they would in real time."""

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db.errors import Contention
from heatlite.db.server_connections import IDLE, LOCK_WAIT
from heatlite.db.tables import lease
from heatlite.testing.cluster import Chaos, Cluster
from heatlite.testing.runtime import Universe
from tests.simulation import stores

SERVERS = [each for each in stores.AVAILABLE if each != stores.SQLITE]

pytestmark = pytest.mark.skipif(not SERVERS, reason='needs a database server: tools/services up')


class Processes:
    """Two processes over one database with the rows `a` and `b`, whose numbers they change."""

    def __init__(self, store):
        self.universe = Universe(1)
        self.storage = stores.storage(store)(self.universe)
        self.chaos = Chaos()
        self.databases = [self.storage.open(self.universe.process(name), self.chaos, None, True)
                          for name in ('one', 'other')]
        with self.databases[0].writer() as tx:
            tx.execute(lease.insert(), [{'stack_id': name, 'epoch': 1, 'wanted': False} for name in 'ab'])

    def spawn(self, which, function, *given):
        """`function(database, *given)` in a thread of that process; where what it returned or raised will be."""
        found = []
        database = self.databases[which]

        def outcome():
            try:
                found.append(function(database, *given))
            except exception.DatabaseUnavailable as error:
                found.append(error)

        database.runtime.spawn(outcome)
        return found

    def epochs(self):
        with self.databases[0].reader() as tx:
            return dict(tx.execute(sa.select(lease.c.stack_id, lease.c.epoch)).tuples().all())


def raise_epochs(database, names, pause):
    """Raises the epochs in one transaction, with a pause after each; the virtual time at the end."""
    with database.writer() as tx:
        for name in names:
            tx.execute(lease.update().where(lease.c.stack_id == name).values(epoch=lease.c.epoch + 1))
            database.runtime.sleep(pause)
    return database.runtime.monotonic()


@pytest.fixture(params=SERVERS)
def processes(request):
    found = Processes(request.param)
    yield found
    found.universe.close()
    for database in found.databases:
        database.close()
    found.storage.close()


def test_the_second_writer_of_a_row_waits_for_the_first(processes):
    first = processes.spawn(0, raise_epochs, 'a', 3.0)
    processes.universe.run(lambda: False, 1.0)
    second = processes.spawn(1, raise_epochs, 'a', 0.0)
    processes.universe.run(lambda: bool(first and second), 100.0)
    assert second[0] >= first[0] >= 3.0
    assert processes.epochs() == {'a': 3, 'b': 1}


def test_writers_of_other_rows_do_not_wait(processes):
    first = processes.spawn(0, raise_epochs, 'a', 3.0)
    second = processes.spawn(1, raise_epochs, 'b', 0.0)
    processes.universe.run(lambda: bool(first and second), 100.0)
    assert second[0] < first[0]
    assert processes.epochs() == {'a': 2, 'b': 2}


def test_a_deadlock_ends_one_of_both_at_once(processes):
    first = processes.spawn(0, raise_epochs, 'ab', 1.0)
    second = processes.spawn(1, raise_epochs, 'ba', 1.0)
    processes.universe.run(lambda: bool(first and second), 100.0)
    assert sorted(isinstance(found[0], Contention) for found in (first, second)) == [False, True]
    assert processes.universe.time < LOCK_WAIT
    assert processes.epochs() == {'a': 2, 'b': 2}


def test_a_writer_that_holds_a_lock_for_too_long_does_not_hold_up_others_for_ever(processes):
    def hold(database):
        with database.writer() as tx:
            for _ in range(40):
                tx.execute(lease.update().where(lease.c.stack_id == 'a').values(epoch=lease.c.epoch + 1))
                database.runtime.sleep(1.0)

    processes.spawn(0, hold)
    processes.universe.run(lambda: False, 1.5)
    second = processes.spawn(1, raise_epochs, 'a', 0.0)
    processes.universe.run(lambda: bool(second), 100.0)
    assert isinstance(second[0], Contention)
    assert LOCK_WAIT <= processes.universe.time < LOCK_WAIT + 5


def test_the_lock_of_a_process_that_stands_still_is_free_after_a_while(processes):
    first = processes.spawn(0, raise_epochs, 'a', 1.0)
    processes.universe.run(lambda: False, 0.5)
    processes.databases[0].runtime.freeze(60.0)
    second = processes.spawn(1, raise_epochs, 'a', 0.0)
    processes.universe.run(lambda: bool(first and second), 100.0)
    assert IDLE < second[0] < IDLE + 3
    assert isinstance(first[0], exception.DatabaseUnavailable)
    assert processes.epochs() == {'a': 2, 'b': 1}


def test_the_lock_of_a_process_that_dies_is_free_at_once(processes):
    first = processes.spawn(0, raise_epochs, 'a', 100.0)
    second = processes.spawn(1, raise_epochs, 'a', 0.0)
    processes.universe.run(lambda: False, 1.0)
    processes.databases[0].runtime.kill()
    processes.universe.run(lambda: bool(second), 100.0)
    assert not first
    assert second[0] < 3.0
    assert processes.epochs()['a'] == 2


@pytest.mark.parametrize('store', SERVERS)
def test_a_server_that_refuses_connections_ends_the_simulation(store):
    with Cluster(engines=0, storage=stores.storage(store)) as cluster:
        cluster.storage.url = sa.make_url(cluster.storage.url).set(port=1).render_as_string(hide_password=False)
        cluster.start_engine()
        with pytest.raises(AssertionError, match='the simulation has failed: .*refused'):
            cluster.universe.run(lambda: False, 100.0)
