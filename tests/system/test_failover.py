"""Engines that die, stand still, or are told to stop: their stacks go on elsewhere, and nothing is made twice."""

import os
import signal
import threading
import time

import pytest

from tests.system.cluster import Cluster
from tests.system.processes import ask, eventually, finished

RABBIT = os.environ.get('HEATLITE_TEST_RABBIT_URL')
SERVERS = {'mariadb': os.environ.get('HEATLITE_TEST_MYSQL_URL'),
           'postgresql': os.environ.get('HEATLITE_TEST_POSTGRES_URL')}


@pytest.fixture(params=SERVERS)
def cluster(request, tmp_path):
    if not (RABBIT and SERVERS[request.param]):
        pytest.skip(f'needs RabbitMQ and {request.param}: tools/services up')
    made = Cluster(tmp_path, SERVERS[request.param], RABBIT)
    yield made
    made.stop()


def many(count, seconds=2, note=''):
    return {'heat_template_version': '2018-08-31', 'resources': {
        f'r{n}': {'type': 'Test::Ledger::Entry', 'properties': {'seconds': seconds, 'note': note}}
        for n in range(count)}}


def in_the_middle(cluster, stack_url, count):
    """The engine that drives the stack, once about half of it was made."""
    eventually('half of the things', lambda: len(cluster.entries()) >= count // 2)
    return eventually('the owner', lambda: cluster.owner(stack_url))


def test_a_killed_engine_is_followed_by_another(cluster):
    stack_url = cluster.create('many', many(200))
    owner = in_the_middle(cluster, stack_url, 200)
    died = time.monotonic()
    owner.kill()
    cluster.engines.remove(owner)
    other = cluster.engines[0]
    other.said('Taking over stack')
    print(f'taken over after {time.monotonic() - died:.1f} s')
    assert finished(stack_url) == 'CREATE_COMPLETE'
    print(f'complete after {time.monotonic() - died:.1f} s')
    made = cluster.entries()
    assert len(made) == 200 and set(made.values()) == {1}


def test_a_zombie_wakes_up_and_writes_nothing(cluster):
    stack_url = cluster.create('many', many(60, seconds=3))
    owner = in_the_middle(cluster, stack_url, 60)
    owner.signal(signal.SIGSTOP)
    other = next(each for each in cluster.engines if each is not owner)
    other.said('Taking over stack')
    owner.signal(signal.SIGCONT)
    assert finished(stack_url) == 'CREATE_COMPLETE'
    made = cluster.entries()
    assert len(made) == 60 and set(made.values()) == {1}
    assert owner.process.poll() is None
    owner.said('belongs to another engine')


def test_a_stopping_engine_hands_over_at_once(cluster):
    stack_url = cluster.create('many', many(60, seconds=3))
    owner = in_the_middle(cluster, stack_url, 60)
    assert owner.stop() == 0
    cluster.engines.remove(owner)
    assert finished(stack_url) == 'CREATE_COMPLETE'
    made = cluster.entries()
    assert len(made) == 60 and set(made.values()) == {1}


def asks(*request):
    """Send a request from a thread of its own. Returns the thread, and a list that gets the answer."""
    answers = []
    asking = threading.Thread(target=lambda: answers.append(ask(*request)))
    asking.start()
    return asking, answers


def begun(stack_url):
    """What a stack began, by its history."""
    found = ask('GET', f'{stack_url}/events?limit=1000')[1]['events']
    return sorted(each['resource_status'] for each in found
                  if each['resource_name'] == stack_url.split('/')[-2] and each['resource_status'].endswith('PROGRESS'))


def test_a_request_in_the_hands_of_a_killed_engine_is_accepted_by_another(cluster):
    """Once, and long before its caller would give up."""
    asking, answers = asks('POST', f'{cluster.url}/stacks', {'stack_name': 'checked', 'template': {
        'heat_template_version': '2018-08-31', 'resources': {
            'r': {'type': 'Test::Ledger::Entry', 'properties': {'seconds': 0, 'checking': 5}}}}})
    pid, = eventually('its check', lambda: cluster.processes('checking'))
    os.kill(pid, signal.SIGKILL)
    asking.join()
    assert answers[0][0] == 201, answers
    cluster.api.said('is sent to engine')
    stack_url = f"{cluster.url}/stacks/checked/{answers[0][1]['stack']['id']}"
    assert finished(stack_url) == 'CREATE_COMPLETE'
    assert begun(stack_url) == ['CREATE_IN_PROGRESS']
    assert set(cluster.entries().values()) == {1}


def test_no_request_waits_for_an_engine_that_stands_still(cluster):
    """Nor does it repeat one that another engine has accepted, once it goes on."""
    stood_still = cluster.engines[0]
    stood_still.signal(signal.SIGSTOP)
    urls = []
    for number in range(4):
        status, found = ask('POST', f'{cluster.url}/stacks', {'stack_name': f's{number}', 'template': many(1, 0)})
        assert status == 201, found
        urls.append(f"{cluster.url}/stacks/s{number}/{found['stack']['id']}")
        assert finished(urls[-1]) == 'CREATE_COMPLETE'
    cluster.api.said('is sent to engine')
    for url in urls:
        assert ask('PUT', url, {'template': many(1, 0, note='new')})[0] == 202
        assert finished(url) == 'UPDATE_COMPLETE'
    stood_still.signal(signal.SIGCONT)
    eventually('its return', lambda: len(cluster.services()) == 2)
    assert [begun(url) for url in urls] == [['CREATE_IN_PROGRESS', 'UPDATE_IN_PROGRESS']] * 4
    made = cluster.entries()
    assert len(made) == 4 and set(made.values()) == {1}


def test_update_and_delete_reach_the_owner_through_any_engine(cluster):
    stack_url = cluster.create('many', many(40, seconds=1))
    status, _ = ask('PUT', stack_url, {'template': many(40, seconds=1, note='new')})
    assert status == 202
    assert finished(stack_url) == 'UPDATE_COMPLETE'
    assert len(cluster.entries('changed')) == 40 or set(cluster.entries().values()) == {1}
    assert ask('DELETE', stack_url)[0] == 204
    eventually('the end of the delete', lambda: cluster.status(stack_url) == 'DELETE_COMPLETE')
    assert cluster.entries('deleted') == cluster.entries('made')
