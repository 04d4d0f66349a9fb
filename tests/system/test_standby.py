"""Services on a PostgreSQL whose stand-by is promoted while stacks are in flight.

The servers are some of the test's own (tests.system.chaos.servers). Runs where tools/services has started a pair, too.
"""

import os
import signal

import pytest

from tests.system.chaos import servers
from tests.system.chaos.servers import Servers
from tests.system.cluster import Cluster
from tests.system.processes import eventually, insist

NODES = 'HEATLITE_TEST_POSTGRESES_URL'
pytestmark = pytest.mark.skipif(not (os.environ.get(NODES) and servers.are_possible()),
                                reason=f'{NODES} is not set: tools/services up --postgreses')

STACKS = 6
TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {
    f'r{number}': {'type': 'Test::Ledger::Entry', 'properties': {'seconds': 2.0}} for number in range(3)}}


@pytest.fixture(scope='module')
def ground():
    made = Servers('postgreses', 'rabbit')
    yield made
    made.close()


@pytest.fixture
def cluster(ground, tmp_path):
    made = Cluster(tmp_path, ground.postgreses_url, ground.rabbit_url)
    yield made
    made.stop()


def begun(cluster):
    """The URLs of stacks that are being created."""
    urls = [cluster.create(f'stack{number}', TEMPLATE) for number in range(STACKS)]
    eventually('the beginning', lambda: len(cluster.entries()) >= STACKS)
    return urls


def assert_created(cluster, urls):
    """All of them, each thing once."""
    def state(url):
        found = insist('GET', lambda: f'{url}?resolve_outputs=false')[1]['stack']['stack_status']
        return None if found.endswith('IN_PROGRESS') else found
    assert {eventually(f'the end of {url}', lambda url=url: state(url)) for url in urls} == {'CREATE_COMPLETE'}
    made = cluster.entries()
    assert len(made) == 3 * STACKS and set(made.values()) == {1}


def test_a_primary_that_is_killed_is_followed_by_its_standby(ground, cluster):
    former, urls = ground.primary, begun(cluster)
    ground.kill(former)
    ground.promote(ground.standby)
    assert_created(cluster, urls)
    ground.start(former)
    assert ground.standby == former
    assert_created(cluster, urls)


def test_a_switch_over(ground, cluster):
    former, urls = ground.primary, begun(cluster)
    ground.promote(ground.standby)
    assert_created(cluster, urls)
    ground.start(former)


def test_commits_wait_for_a_standby_until_the_primary_goes_on_alone(ground, cluster):
    standby, urls = ground.standby, begun(cluster)
    ground.signal(standby, signal.SIGSTOP)
    ground.go_alone()
    assert_created(cluster, urls)
    ground.start(standby)
