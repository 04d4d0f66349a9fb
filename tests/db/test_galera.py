"""The fence of the leases across two nodes of a Galera cluster.

HEATLITE_TEST_GALERA_URLS: the URLs of an empty database on two nodes, a blank between; HEATLITE_TEST_GALERA_TRIALS:
how many trials.
"""

import os
import uuid

import pytest

from heatlite.db import changes, leases, stacks, sync
from heatlite.db.connection import Contention, Database, certifies
from heatlite.planning.states import Change
from tests.db.rows import event, stack

NODES = os.environ.get('HEATLITE_TEST_GALERA_URLS', '').split()
TRIALS = int(os.environ.get('HEATLITE_TEST_GALERA_TRIALS', '700'))
pytestmark = pytest.mark.skipif(len(NODES) < 2, reason='needs HEATLITE_TEST_GALERA_URLS')


@pytest.fixture
def nodes():
    found = [Database(url) for url in NODES[:2]]
    sync.up(found[0])
    yield found
    for each in found:
        each.close()


def knows(node, stack_id):
    with node.reader() as tx:
        return leases.is_good(tx, leases.Lease(stack_id, 'old', 1))


def write(node, stack_id):
    """As the journal writes: again after a conflict. Whether it was written."""
    tries = 0
    while True:
        try:
            with node.writer() as tx:
                assert certifies(tx)
                change = Change(stack_id, 1, events=(event(str(uuid.uuid4())),))
                return not changes.write(tx, [change], again=tries > 0).lost
        except Contention:
            tries += 1


def test_nothing_is_written_under_an_old_epoch(nodes):
    """Behind a claim on the other node that was committed before."""
    one, other = nodes
    run = uuid.uuid4().hex[:20]
    written = 0
    for number in range(TRIALS):
        stack_id = f'{run}-{number}'

        def make(tx, stack_id=stack_id):
            stacks.insert(tx, stack(stack_id, name=stack_id))
            leases.insert(tx, stack_id, 'old')

        one.retry(make)
        while not knows(other, stack_id):
            pass
        claimed = other.retry(lambda tx, stack_id=stack_id: leases.claim(tx, stack_id, 'new'))
        assert claimed.epoch == 2
        written += write(one, stack_id)
    assert written == 0
