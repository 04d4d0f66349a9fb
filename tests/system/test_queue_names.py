"""With the library's queue manager queues have names that processes share a scheme for: each still has its own."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.system import databases
from tests.system.chaos import servers
from tests.system.chaos.run import QUORUM
from tests.system.cluster import Cluster
from tests.system.processes import ask

pytestmark = pytest.mark.skipif(
    not (os.environ.get('HEATLITE_TEST_RABBIT_URL') and databases.FIRST and servers.are_possible()),
    reason='needs RabbitMQ and a database: tools/services up')


@pytest.fixture
def broker():
    """One of its own: its exchange is durable, while that of other tests is not."""
    made = servers.Servers('rabbit')
    yield made
    made.close()


@pytest.fixture
def cluster(broker, tmp_path):
    made = Cluster(tmp_path, databases.SERVERS[databases.FIRST], broker.rabbit_url, heat_api__workers=3,
                   rpc_response_timeout=5, oslo_concurrency__lock_path=tmp_path / 'locks', **QUORUM)
    yield made
    made.stop()


def test_each_worker_of_a_host_gets_the_answers_to_its_requests(cluster):
    """Connections of many callers reach all workers. A request whose answer another one got would be a 503."""
    def send(number):
        return ask('POST', f'{cluster.url}/stacks', {
            'stack_name': f's{number}', 'template': {'heat_template_version': '2018-08-31'}})[0]

    with ThreadPoolExecutor(12) as callers:
        assert list(callers.map(send, range(60))) == [201] * 60
