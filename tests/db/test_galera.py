"""What transactions on two nodes of a Galera cluster do to each other: the fence of the leases, and old reads.

HEATLITE_TEST_GALERA_URLS: the URLs of the nodes; HEATLITE_TEST_GALERA_TRIALS: how many trials in each setting (200).
`python -m tests.db.test_galera COUNT [SETTING...]` runs the trials and prints a line for each setting.
"""

import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from os import environ

import pytest
import sqlalchemy as sa

from heatlite.db import changes, leases, software_configs, software_deployments, stacks, sync
from heatlite.db.connection import Database, certifies
from heatlite.db.errors import Contention
from heatlite.db.leases import Lease
from heatlite.db.tables import event as event_table
from heatlite.db.tables import lease
from heatlite.planning.states import Change
from tests.db.conftest import NO_GALERA, administer, nodes, on_nodes
from tests.db.rows import event, stack
from tests.db.test_software import config, deployment

TRIALS = int(environ.get('HEATLITE_TEST_GALERA_TRIALS', '200'))
TOGETHER = 25                           # trials that share a round
HELD = 0.05                             # seconds that a node stands still in a trial
LONG = 1.0                              # and where what is asked meanwhile must wait for its end
pytestmark = pytest.mark.skipif(len(nodes()) < 2, reason=NO_GALERA)


@dataclass(frozen=True)
class Setting:
    """`sync_wait`: mysql_wsrep_sync_wait. `at_once`: the claim and the write begin together, else the claim was
    committed before. `held`: the writer's node applies nothing meanwhile."""

    sync_wait: int
    at_once: bool
    held: bool

    def __str__(self):
        return (f'wait{self.sync_wait}-{"at_once" if self.at_once else "claimed"}-{"held" if self.held else "free"}')


SETTINGS = [Setting(sync_wait, at_once, held) for sync_wait in (0, 1) for at_once in (False, True)
            for held in (False, True)]


@contextmanager
def cluster(**options):
    """A Database with tables on each node."""
    name = f'heatlite_test_{uuid.uuid4().hex[:12]}'
    administer(nodes()[0], f'CREATE DATABASE {name}')
    found = on_nodes(name, **options)
    try:
        sync.up(found[0])
        on_nodes(name)
        yield found
    finally:
        for each in found:
            each.close()
        administer(nodes()[0], f'DROP DATABASE {name}')


@contextmanager
def standing_still(node: Database, seconds: float = HELD):
    """The node commits and applies nothing until the end of the block, or for `seconds` if that is shorter."""
    locked, done = threading.Event(), threading.Event()

    def hold():
        server = sa.create_engine(node.url, isolation_level='AUTOCOMMIT')
        with server.connect() as connection:
            connection.exec_driver_sql('FLUSH TABLES WITH READ LOCK')
            locked.set()
            done.wait(seconds)
            connection.exec_driver_sql('UNLOCK TABLES')
        server.dispose()

    holder = threading.Thread(target=hold)
    holder.start()
    locked.wait()
    try:
        yield
    finally:
        done.set()
        holder.join()


@contextmanager
def moving_on(_node):
    yield


def is_written(tx, mark):
    return tx.execute(sa.select(event_table.c.id).where(event_table.c.uuid == mark)).first() is not None


def write(node, stack_id, epoch, mark):
    """As the journal writes: again after a conflict. Whether it was written."""
    tries = 0
    while True:
        try:
            with node.writer() as tx:
                assert certifies(tx)
                change = Change(stack_id, epoch, events=(event(mark),))
                return not changes.write(tx, [change], again=tries > 0).lost
        except Contention:
            tries += 1


def claim(node, stack_ids, epoch):
    """Takes the leases from the owner at `epoch`, in one transaction."""
    claimed = node.retry(lambda tx: [leases.claim(tx, each, owner(epoch + 1)) for each in stack_ids])
    assert {each.epoch for each in claimed} == {epoch + 1}


def claim_and_look(node, stack_id, epoch, mark):
    """Whether the new owner sees what the old one wrote."""
    claim(node, [stack_id], epoch)
    with node.reader() as tx:
        return is_written(tx, mark)


def owner(epoch):
    """A name of no engine that is registered: its leases may be taken at any time."""
    return f'engine-{epoch}'


def own(node, stack_ids):
    """Stacks, each with a lease at epoch 1."""
    def make(tx):
        for stack_id in stack_ids:
            stacks.insert(tx, stack(stack_id))
            leases.insert(tx, stack_id, owner(1))

    node.retry(make)


def knows(node, stack_ids, epoch):
    with node.reader() as tx:
        return tx.execute(sa.select(sa.func.count()).where(
            lease.c.stack_id.in_(stack_ids), lease.c.epoch == epoch)).scalar() == len(stack_ids)


def trials(setting: Setting, count: int, found: list[Database], pool: ThreadPoolExecutor) -> tuple[int, int]:
    """How often the old owner wrote, and how often it wrote what the new one, after its claim, did not see."""
    other, one = found[0], found[-1]                # where databases are made, nothing may stand still
    written = unseen = done = epoch = 0
    ids = [uuid.uuid4().hex for _ in range(TOGETHER)]
    own(one, ids)
    while done < count:
        ids = ids[:count - done]
        done += len(ids)
        epoch += 1
        for node in (one, other):
            while not knows(node, ids, epoch):
                pass
        work = [(each, epoch, uuid.uuid4().hex) for each in ids]
        with (standing_still if setting.held else moving_on)(one):
            if setting.at_once:
                writes = [pool.submit(write, one, *each) for each in work]
                seen = [each.result() for each in [pool.submit(claim_and_look, other, *each) for each in work]]
            else:
                claim(other, ids, epoch)
                seen = [False] * len(ids)
                writes = [pool.submit(write, one, *each) for each in work]
            outcomes = [each.result() for each in writes]
        written += sum(outcomes)
        unseen += sum(wrote and not saw for wrote, saw in zip(outcomes, seen, strict=True))
    return written, unseen


def run(setting, count):
    with (cluster(mysql_wsrep_sync_wait=setting.sync_wait) as found,
          ThreadPoolExecutor(2 * TOGETHER) as pool):
        return trials(setting, count, found, pool)


@pytest.mark.parametrize('setting', SETTINGS, ids=str)
def test_nothing_is_written_under_an_old_epoch(setting):
    """What the new owner does not see after its claim is never written."""
    written, unseen = run(setting, TRIALS)
    assert unseen == 0
    assert setting.at_once or written == 0


@pytest.fixture(scope='module')
def two():
    """Two nodes as a service reaches them of which nothing is said about reads."""
    with cluster() as found:
        for node in found:                          # connected before anything stands still
            with node.reader(), node.writer():
                pass
        yield found[0], found[-1]


def test_what_one_node_has_accepted_is_read_on_any(two):
    one, other = two
    with standing_still(other, LONG):
        with one.writer() as tx:
            stacks.insert(tx, stack('read'))
        with other.reader() as tx:
            assert stacks.identity(tx, 'read') is not None


def test_what_one_node_has_accepted_is_found_by_the_first_statement_of_a_writer(two):
    one, other = two
    with standing_still(other, LONG):
        with one.writer() as tx:
            stacks.insert(tx, stack('found'))
            leases.insert(tx, 'found', 'engine')
        with other.writer() as tx:
            assert leases.release(tx, 'found', 'engine', 1)


@pytest.mark.parametrize('sync_wait', [0, 1])
def test_a_lease_that_was_taken_elsewhere_is_not_good(sync_wait):
    """Before an engine calls a cloud after it was late: what its node has not applied yet counts, too."""
    with cluster(mysql_wsrep_sync_wait=sync_wait) as found:
        one, other = found[0], found[-1]
        own(one, ['taken'])
        while not knows(other, ['taken'], 1):
            pass
        with standing_still(other, LONG):
            claim(one, ['taken'], 1)
            assert not other.retry(lambda tx: leases.lock_shared(tx, Lease('taken', owner(1), 1)))


def test_what_the_operator_says_about_reads_is_left(two):
    for said, wanted in ((0, 0), (1, 1), (None, 3)):
        for node in on_nodes(two[0].url.database, mysql_wsrep_sync_wait=said):
            for connect in (node.reader, node.writer):
                with connect() as tx:
                    assert tx.exec_driver_sql('SELECT @@SESSION.wsrep_sync_wait').scalar() == wanted
            node.close()


@pytest.mark.parametrize('first', ['deploy', 'delete'])
def test_a_config_is_deployed_or_deleted_and_not_both(two, first):
    """On two nodes at once, whichever is committed first."""
    one, other = two
    with one.writer() as tx:
        software_configs.insert(tx, config(first))

    def deploy(tx):
        assert software_configs.show(tx, first, held=True) is not None
        software_deployments.insert(tx, deployment(first, config_id=first))

    def delete(tx):
        assert software_configs.delete_unused(tx, first)

    early, late = (deploy, delete) if first == 'deploy' else (delete, deploy)
    with other.reader() as tx:
        assert software_configs.show(tx, first) is not None
    with pytest.raises(Contention), one.writer() as tx:
        late(tx)
        with other.writer() as committed:
            early(committed)
    with one.reader() as tx:
        found = software_configs.show(tx, first), software_deployments.show(tx, first)
    assert [each is not None for each in found] == [first == 'deploy'] * 2


if __name__ == '__main__':
    for wanted in [each for each in SETTINGS if not sys.argv[2:] or str(each) in sys.argv[2:]]:
        began = time.monotonic()
        outcome = run(wanted, int(sys.argv[1]))
        print(f'{wanted}: {sys.argv[1]} trials, {outcome[0]} written, {outcome[1]} of them unseen by the new owner, '
              f'{time.monotonic() - began:.0f} s', flush=True)
