"""What a long action waits for: the next call, what the service said last, since when."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

import pytest

from heatlite.api.handlers import explain
from heatlite.db import resources, stacks
from heatlite.osc import explain as command
from heatlite.planning.waiting import Wait, may_be_noted
from tests.simulation.cluster import done, kill_engines_in, wait
from tests.simulation.openstack import stack, template

DISK = ('OS::Cinder::Volume', {'size': 1, 'name': 'disk'})


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        yield found


def explained(it):
    with it.cluster.database.reader() as tx:
        return explain.explained(tx, stacks.get(tx, it.id), 3600)


def of_resource(it, name):
    with it.cluster.database.reader() as tx:
        return explain.of_resource(tx, stacks.get(tx, it.id), (name,), 3600)


def seconds(found, start, end):
    return (datetime.fromisoformat(found[end]) - datetime.fromisoformat(found[start])).total_seconds()


def test_a_volume_that_does_not_become_ready(it):
    it.fault(kind='stay', service='volume', method='POST', path='*/volumes')
    it.id = it.cluster.create('s', template({'disk': DISK}))
    wait(it.cluster, 5)
    short, = explained(it)['waiting_for']
    assert (short['call'], short['next_at'], short['last_answer']) == (None, None, None)
    wait(it.cluster, 30)
    found = explained(it)
    waited, = found['waiting_for']
    answer = waited['last_answer']
    assert waited['call'] == 'check_create_complete' and 0 <= seconds(waited, 'since', 'next_at') <= 40
    assert (answer['service'], answer['method'], answer['status'], answer['said']) == (
        'block-storage', 'GET', 200, 'creating')
    assert answer['path'].endswith(waited['physical_resource_id']) and answer['request_id'].startswith('req-')
    lines = '\n'.join(command.lines(found))
    assert 'check_create_complete is called again at 20' in lines and ': 200 creating (req-' in lines
    alone = of_resource(it, 'disk')
    assert alone['waiting_for'][0]['last_answer'] == answer and alone['gives_up_at'] == found['gives_up_at']
    assert f"gives up at {found['gives_up_at']}" in '\n'.join(command.resource_lines(alone))


def test_a_service_that_is_away(it):
    it.fault(kind='stay', service='volume', method='POST', path='*/volumes')
    it.id = it.cluster.create('s', template({'disk': DISK}))
    wait(it.cluster, 18)
    it.fault(kind='error', status=503, text='No cinder today', service='volume', path='*/volumes/*', count=0)
    wait(it.cluster, 3)
    waited, = explained(it)['waiting_for']
    assert (waited['last_answer']['status'], waited['last_answer']['said']) == (503, 'No cinder today')
    it.request('cinder', 'GET', '/types')                   # of somebody else: it is not taken for an answer
    assert explained(it)['waiting_for'][0]['last_answer'] == waited['last_answer']


def test_an_action_begins_when_it_does_and_not_with_its_row(it):
    slow = ('OS::Heat::TestResource', {'action_wait_secs': {'create': 40}})
    it.id = it.cluster.create('s', {**template({'slow': slow, 'disk': DISK}), 'resources': {
        **template({'slow': slow})['resources'],
        'disk': {**template({'disk': DISK})['resources']['disk'], 'depends_on': 'slow'}}})
    it.fault(kind='stay', service='volume', method='POST', path='*/volumes')
    wait(it.cluster, 45)
    waited, = explained(it)['waiting_for']
    assert waited['path'] == ['disk'] and waited['seconds'] <= 10


def test_what_is_soon_ready_writes_nothing(it):
    it.create({'disk': DISK, 'net': ('OS::Neutron::Net', {})})
    with it.cluster.database.reader() as tx:
        found = resources.columns(tx, it.id, None, ('properties', 'waits'))
    assert len(found) == 2 and all(each['waits'] is None for each in found.values())


def test_notes_are_few():
    """For an hour of checks each second of a service that says the same, then something else."""
    first = datetime(2026, 1, 1)
    noted, written = None, []
    for second in range(3600):
        now = first + timedelta(seconds=second)
        if may_be_noted(now, first, noted):
            new = Wait('check', 1.0, now, first, {'status': 200, 'said': 'BUILD' if second < 1800 else str(second)})
            if noted is None or new.is_news(noted):
                noted = new
                written.append(second)
    assert written[:3] == [10, 70, 130] and len([each for each in written if each < 1800]) == 30
    pauses = [after - before for before, after in itertools.pairwise(written)]
    assert min(pauses) >= 5 and max(pauses) <= 60


def long_life(cluster):
    """A resource that is noted, with an engine killed before and after each note."""
    slow = {'heat_template_version': '2018-08-31', 'resources': {
        'slow': {'type': 'OS::Heat::TestResource', 'properties': {'action_wait_secs': {'create': 12}}}}}
    stack_id = cluster.create('s', slow)
    done(cluster, stack_id, 'CREATE')


def test_killed_while_it_waits():
    assert kill_engines_in(long_life, 9) > 1
