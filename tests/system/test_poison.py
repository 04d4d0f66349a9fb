"""Stacks that end or stop their engines are given up; engines and the stacks of others go on."""

import os
import signal
import time

import pytest

from tests.system import alone
from tests.system.cluster import PLUGINS, Cluster
from tests.system.processes import PATIENCE, ask, eventually, finished

RABBIT = os.environ.get('HEATLITE_TEST_RABBIT_URL')
MARIADB = os.environ.get('HEATLITE_TEST_MYSQL_URL')
POISON = PLUGINS.with_name('poison')
GIVEN_UP = 'engines ended while they drove this stack'


@pytest.fixture(scope='module')
def cluster(tmp_path_factory):
    if not (RABBIT and MARIADB):
        pytest.skip('needs RabbitMQ and MariaDB: tools/services up')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('OS_ENGINE__STALL_TIMEOUT', '2')
        made = Cluster(tmp_path_factory.mktemp('cluster'), MARIADB, RABBIT, plugin_dirs=f'{PLUGINS},{POISON}')
        try:
            yield made
        finally:
            made.stop()


def entry(seconds):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'r': {'type': 'Test::Ledger::Entry', 'properties': {'seconds': seconds}}}}


def poisoned(way, place, **policy):
    return {'heat_template_version': '2018-08-31', 'resources': {
        # It takes a second: the answer to the request shall be out before the engine ends.
        'good': {'type': 'Test::Ledger::Entry', 'properties': {'seconds': 1}},
        'bad': {'type': 'Test::Poison', 'properties': {'way': way, 'place': place}, 'depends_on': 'good', **policy}},
        'outputs': {'value': {'value': {'get_attr': ['bad', 'value']}}}}


def shown(stack_url):
    return ask('GET', f'{stack_url}?resolve_outputs=false')[1]['stack']


def ended(stack_url):
    """How the action ended, for as long as three engines may need to end of it."""
    deadline = time.monotonic() + 3 * PATIENCE
    while time.monotonic() < deadline:
        status, found = ask('GET', f'{stack_url}?resolve_outputs=false')
        if status == 200 and not found['stack']['stack_status'].endswith('IN_PROGRESS'):
            return found['stack']
        time.sleep(0.2)
    raise AssertionError(f'{stack_url} has not ended: {found}')


def remove(stack_url):
    assert ask('DELETE', stack_url)[0] == 204
    eventually('the end of the stack', lambda: ask('GET', stack_url)[1].get('stack', {}).get(
        'stack_status', 'DELETE_COMPLETE') == 'DELETE_COMPLETE')


@pytest.mark.parametrize('way, place', [
    ('kill', 'create'), ('loop', 'create'), ('crash', 'check'), ('leave', 'create'), ('hold', 'create'),
    ('loop', 'check'), ('kill', 'attribute'), ('loop', 'attribute')])
def test_a_stack_that_ends_its_engines_is_given_up(cluster, way, place):
    waiting = cluster.create(f'waiting-{way}-{place}', entry(3600))
    began = time.monotonic()
    bad = cluster.create(f'bad-{way}-{place}', poisoned(way, place))
    row = ended(bad)
    print(f'{way} in {place}: given up after {time.monotonic() - began:.1f} s')
    assert row['stack_status'] == 'CREATE_FAILED' and GIVEN_UP in row['stack_status_reason'], row
    states = {each['resource_name']: each['resource_status']
              for each in ask('GET', f'{bad}/resources')[1]['resources']}
    assert states['good'] == 'CREATE_COMPLETE'
    assert states['bad'] == 'CREATE_FAILED'     # attributes are read before a resource counts as complete
    eventually('both engines', lambda: len(cluster.services()) >= 2)
    assert finished(cluster.create(f'neighbour-{way}-{place}', entry(0))) == 'CREATE_COMPLETE'
    assert shown(waiting)['stack_status'] == 'CREATE_IN_PROGRESS'
    remove(bad)
    remove(waiting)
    assert all(engine.process.poll() is None for engine in cluster.engines)


@pytest.mark.parametrize('way', ['kill', 'loop'])
def test_a_delete_that_ends_engines_fails_and_the_stack_can_go_without_it(cluster, way):
    bad = cluster.create(f'undead-{way}', poisoned(way, 'delete'))
    assert finished(bad) == 'CREATE_COMPLETE'
    for _ in range(2):
        assert ask('DELETE', bad)[0] == 204
        row = ended(bad)
        assert row['stack_status'] == 'DELETE_FAILED' and GIVEN_UP in row['stack_status_reason'], row
    assert finished(cluster.create(f'neighbour-of-undead-{way}', entry(0))) == 'CREATE_COMPLETE'


def test_who_keeps_the_thing_can_delete_the_stack(cluster):
    """The way out of an owner: say that the resource shall stay, then delete."""
    bad = cluster.create('retained', poisoned('kill', 'delete'))
    assert finished(bad) == 'CREATE_COMPLETE'
    assert ask('PUT', bad, {'template': poisoned('kill', 'delete', deletion_policy='retain')})[0] == 202
    assert ended(bad)['stack_status'] == 'UPDATE_COMPLETE'
    remove(bad)


def test_an_engine_that_is_stopped_and_goes_on_is_left_alone(cluster):
    """SIGSTOP of all of it, for longer than a loop may stand still."""
    engine = cluster.engines[0]
    before = engine.log.read_text()
    engine.signal(signal.SIGSTOP)
    time.sleep(8)
    engine.signal(signal.SIGCONT)
    assert finished(cluster.create('after-a-stop', entry(0))) == 'CREATE_COMPLETE'
    eventually('both engines', lambda: len(cluster.services()) >= 2)
    assert 'stands still' not in engine.log.read_text()[len(before):]


@pytest.mark.parametrize('way', ['loop', 'hold'])
def test_a_stop_reaches_an_engine_that_stands_still(cluster, way):
    """Within the time-out, whatever the main loop does."""
    bad = cluster.create(f'stuck-{way}', poisoned(way, 'create'))
    owner = eventually('the owner', lambda: cluster.owner(bad))
    owner.stop()
    cluster.engines.remove(owner)
    cluster.start_engine()
    assert GIVEN_UP in ended(bad)['stack_status_reason']
    remove(bad)


# --- heatlite-all: nobody starts it again but its user ------------------------------------------------------

@pytest.fixture
def lone(tmp_path):
    ledger = tmp_path / 'ledger'
    ledger.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('HEATLITE_TEST_LEDGER', str(ledger))
        with alone.running(tmp_path, f'{PLUGINS},{POISON}', 'stall_timeout = 2\nstop_timeout = 1\n') as service:
            yield service


@pytest.mark.parametrize('way', ['kill', 'loop', 'crash'])
def test_a_lone_service_gives_up_what_ended_it_three_times(lone, way):
    waiting = lone.create('waiting', entry(3600))
    bad = lone.create('bad', poisoned(way, 'check'))
    for _ in range(3):
        code = lone.program.ended()
        assert code == {'kill': -signal.SIGKILL, 'loop': 70, 'crash': -signal.SIGSEGV}[way]
        lone.start()
    assert ('it ends. Start it again' in lone.log) == (way == 'loop')
    row = ended(bad)
    assert row['stack_status'] == 'CREATE_FAILED' and GIVEN_UP in row['stack_status_reason'], row
    assert finished(lone.create('neighbour', entry(0))) == 'CREATE_COMPLETE'
    assert shown(waiting)['stack_status'] == 'CREATE_IN_PROGRESS'
    lone.delete(bad)


def test_a_lone_service_that_stands_still_ends_in_time_after_a_signal(tmp_path):
    with alone.running(tmp_path, POISON, 'stall_timeout = 3600\nstop_timeout = 1\n') as service:
        service.create('bad', {'heat_template_version': '2018-08-31', 'resources': {
            'wait': {'type': 'OS::Heat::Delay', 'properties': {'min_wait': 1}},
            'bad': {'type': 'Test::Poison', 'properties': {'way': 'loop', 'place': 'create'}, 'depends_on': 'wait'}}})
        time.sleep(3)
        service.program.stop()
