"""Services on three nodes of a Galera cluster, of which one is killed and another one stands still until it is evicted.

The cluster is one of the test's own (tests.system.chaos.servers). Runs where tools/services has started one, too.
"""

import itertools
import signal
import threading

import pytest
import sqlalchemy as sa

from tests.db.conftest import NO_GALERA, nodes
from tests.system.chaos import servers
from tests.system.cluster import Cluster
from tests.system.processes import eventually, finished, insist

pytestmark = pytest.mark.skipif(not (nodes() and servers.are_possible()), reason=NO_GALERA)

CLIENTS = 4


def template(note):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'gate': {'type': 'OS::Heat::None'},
        **{f'r{number}': {'type': 'Test::Ledger::Entry', 'depends_on': 'gate',
                          'properties': {'seconds': 0.5, 'note': note}} for number in range(3)}}}


HELD = {'resource_registry': {'resources': {'gate': {'hooks': 'pre-create'}}}}


class Client:
    """Makes stacks, lets them go on by a signal, updates them and deletes every second one, through all APIs in turn.

    A request that no service could do (5xx), or whose connection broke, is made again. `wrong`: what it was answered
    that cannot be.
    """

    def __init__(self, name, apis):
        self.name, self.apis, self.wrong = name, itertools.cycle(apis), []
        self.all = apis
        self.stop = threading.Event()
        self.kept, self.deleted = [], []

    def retry_until_available(self, method, path, body=None, api=None):
        """The first answer that is neither broken nor 5xx, and whether an earlier try may have been done."""
        status, found, tries = insist(method, lambda: (api or next(self.apis)) + path, body)
        return status, found, tries > 1

    def run(self):
        try:
            for number in itertools.count():
                if self.stop.is_set():
                    return
                self.live(f'{self.name}-{number}', number % 2 == 1)
        except BaseException as error:
            self.wrong.append(repr(error))

    def live(self, name, is_deleted):
        status, found, again = self.retry_until_available('POST', '/stacks', {
            'stack_name': name, 'template': template('old'), 'environment': HELD})
        self.expect(status == 201 or (again and status == 409), 'create', name, status, found)
        if status == 409:
            status, found, _ = self.retry_until_available('GET', f'/stacks/{name}')
            self.expect(status == 200, 'show', name, status, found)
        path = f"/stacks/{name}/{found['stack']['id']}"
        self.agree(path, 'CREATE', name)
        self.reached(f'{path}/resources/gate', lambda found: found['resource']['resource_status'] == 'INIT_COMPLETE'
                     or 'CREATE' in found['resource']['resource_status'])
        self.signal(path)
        self.finished(path, 'CREATE_COMPLETE')
        status, found, again = self.retry_until_available(
            'PUT', path, {'template': template('new'), 'environment': HELD})
        self.expect(status == 202 or (again and status == 409), 'update', name, status, found)
        self.agree(path, 'UPDATE', name)
        self.finished(path, 'UPDATE_COMPLETE')
        if is_deleted:
            status, found, again = self.retry_until_available('DELETE', path)
            self.expect(status == 204 or (again and status == 404), 'delete', name, status, found)
            self.agree(path, 'DELETE', name)
            self.finished(path, 'DELETE_COMPLETE')
        (self.deleted if is_deleted else self.kept).append(name)

    def signal(self, path):
        """Until it is accepted: at first the resource may not be held yet. Handled by an earlier try, it is refused."""
        def accepted():
            status, found, _ = self.retry_until_available(
                'POST', f'{path}/resources/gate/signal', {'unset_hook': 'pre-create'})
            self.expect(status != 404, 'signal', path, status, found)
            if status == 200:
                return True
            _, found, _ = self.retry_until_available('GET', f'{path}/resources/gate')
            return found['resource']['resource_status'] == 'CREATE_COMPLETE'
        eventually(f'the signal to {path}', accepted)

    def agree(self, path, action, name):
        """No API knows an older state than the one that was just accepted."""
        for api in self.all:
            status, found, _ = self.retry_until_available('GET', f'{path}?resolve_outputs=false', api=api)
            self.expect(status == 200 and found['stack']['stack_status'].startswith(action), action, name, api, status,
                        found)

    def reached(self, path, wanted):
        def asked():
            status, found, _ = self.retry_until_available('GET', path)
            self.expect(status == 200, 'show', path, status, found)
            return wanted(found)
        eventually(path, asked)

    def finished(self, path, wanted):
        def asked():
            status, found, _ = self.retry_until_available('GET', path)
            self.expect(status == 200, 'show', path, status, found)
            state = found['stack']['stack_status']
            self.expect(not state.endswith('FAILED'), 'end', path, state, found['stack']['stack_status_reason'])
            return state == wanted
        eventually(f'{wanted} of {path}', asked)

    def expect(self, claim, *what):
        if not claim:
            self.wrong.append(str(what)[:500])
            raise AssertionError(what)


@pytest.fixture(scope='module')
def ground():
    made = servers.Servers('galera', 'rabbit')
    yield made
    made.close()


@pytest.fixture
def cluster(ground, tmp_path):
    """Engines on the first two nodes, APIs on the last two."""
    made = Cluster(tmp_path, ground.nodes[2], ground.rabbit_url, nodes=ground.nodes[:2])
    yield made
    made.stop()


def size(url):
    """How many nodes the cluster has, as one of them says."""
    server = sa.create_engine(url)
    with server.connect() as connection:
        found = connection.exec_driver_sql("SHOW STATUS LIKE 'wsrep_cluster_size'").one()[1]
    server.dispose()
    return int(found)


def test_nothing_is_lost_stale_or_done_twice(ground, cluster):
    apis = [cluster.url, cluster.start_api(ground.nodes[1])]
    clients = [Client(f'client{number}', apis) for number in range(CLIENTS)]
    threads = [threading.Thread(target=client.run) for client in clients]
    for thread in threads:
        thread.start()

    def progress():
        """Each client has finished another stack, or has found something wrong."""
        before = [len(client.kept + client.deleted) for client in clients]
        eventually('progress', lambda: all(client.wrong or len(client.kept + client.deleted) > number
                                           for client, number in zip(clients, before, strict=True)))

    well = ground.nodes[2]
    try:
        progress()
        ground.kill('galera1')                      # the first engine has no database
        eventually('the eviction', lambda: size(well) == 2)
        progress()
        ground.start('galera')
        ground.signal('galera2', signal.SIGSTOP)    # neither have the second one and an API
        eventually('the eviction', lambda: size(well) == 2)
        ground.signal('galera2', signal.SIGCONT)
        eventually('the return', lambda: size(well) == 3)
        progress()
    finally:
        ground.signal('galera2', signal.SIGCONT)
        for client in clients:
            client.stop.set()
        for thread in threads:
            thread.join()
    assert [wrong for client in clients for wrong in client.wrong] == []
    kept = sum(len(client.kept) for client in clients)
    deleted = sum(len(client.deleted) for client in clients)
    made = cluster.entries()
    assert len(made) == 3 * (kept + deleted) and set(made.values()) == {1}
    assert len(cluster.entries('deleted')) == 3 * deleted
    print(f'{kept + deleted} stacks, {deleted} of them deleted')
    with sa.create_engine(cluster.on(well)).connect() as connection:
        alike = "SELECT name, action, status FROM stack WHERE deleted_at IS NULL ORDER BY name"
        found = list(connection.exec_driver_sql(alike))
        twice = connection.exec_driver_sql('SELECT uuid FROM event GROUP BY uuid HAVING COUNT(*) > 1').all()
    assert {(action, status) for _, action, status in found} == {('UPDATE', 'COMPLETE')}
    assert len(found) == kept and twice == []
    for url in ground.nodes[:2]:
        with sa.create_engine(cluster.on(url)).connect() as connection:
            connection.exec_driver_sql('SET SESSION wsrep_sync_wait = 1')
            assert list(connection.exec_driver_sql(alike)) == found


def test_leases_outlive_an_eviction(ground, tmp_path):
    """While a node that no service uses is being evicted, no commit ends anywhere, for longer than leases last."""
    made = Cluster(tmp_path, ground.nodes[0], ground.rabbit_url, nodes=ground.nodes[:2])
    try:
        paths = [made.create(f'stack{number}', {'heat_template_version': '2018-08-31', 'resources': {
            'slow': {'type': 'Test::Ledger::Entry', 'properties': {'seconds': 15}}}}) for number in range(6)]
        eventually('the beginning', lambda: len(made.entries()) == len(paths))
        ground.signal('galera3', signal.SIGSTOP)
        eventually('the eviction', lambda: size(ground.nodes[0]) == 2)
        ground.signal('galera3', signal.SIGCONT)
        assert {finished(path) for path in paths} == {'CREATE_COMPLETE'}
        for engine in made.engines:
            assert 'Taking over stack' not in engine.log.read_text()
            assert 'belongs to another engine' not in engine.log.read_text()
        eventually('the return', lambda: size(ground.nodes[0]) == 3)
    finally:
        ground.signal('galera3', signal.SIGCONT)
        made.stop()
    assert set(made.entries().values()) == {1}
