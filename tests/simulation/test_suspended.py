"""A suspended stack stays suspended, whatever looks at it, until it is resumed."""

from __future__ import annotations

import itertools
import json

import pytest

from heatlite.common import exception
from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done

THINGS = {'heat_template_version': '2018-08-31', 'resources': {'x': {'type': 'Sim::Thing'}}}
TREE = {'heat_template_version': '2018-08-31', 'resources': {
    'a': {'type': 'Sim::Thing'}, 'n': {'type': 'child.yaml', 'depends_on': 'a'}}}


def act(cluster, stack_id, action):
    cluster.ask(messages.SnapshotStack(stack_id) if action == 'snapshot' else messages.StackAction(stack_id, action))
    done(cluster, stack_id, action.upper())


@pytest.mark.parametrize('between', [each for length in (1, 2) for each in itertools.product(
    ('check', 'snapshot'), repeat=length)])
def test_it_takes_no_update_and_is_resumed(between):
    with Cluster(engines=1) as cluster:
        stack_id = cluster.ask(messages.CreateStack(stack_name='s', template=TREE, files={
            'child.yaml': json.dumps(THINGS)}))['stack_id']
        done(cluster, stack_id, 'CREATE')
        snapshot_id = cluster.ask(messages.SnapshotStack(stack_id))['id']
        done(cluster, stack_id, 'SNAPSHOT')
        for action in ('suspend', *between):
            act(cluster, stack_id, action)
        for request in (messages.UpdateStack(stack_id=stack_id, template=None, existing=True),
                        messages.RestoreSnapshot(stack_id, snapshot_id)):
            refused = cluster.ask(request, [exception.NotSupported])
            assert str(refused) == 'Updating a stack when it is suspended is not supported.'
        act(cluster, stack_id, 'resume')
        assert {rows[0][:2] for rows in cluster.states(stack_id).values()} == {('RESUME', 'COMPLETE')}
        cluster.ask(messages.UpdateStack(stack_id=stack_id, template=None, existing=True))
        done(cluster, stack_id, 'UPDATE')
        act(cluster, stack_id, 'check')
        error = cluster.ask(messages.StackAction(stack_id, 'resume'))
        assert error is None and 'invalid for resume' in cluster.settle(stack_id).reason, 'it is not suspended any more'


class Server(cloud.Thing):
    """Its check fails while it is suspended, and its resume while `has_host` is false."""

    has_host = True
    is_suspended = False

    def handle_check(self):
        if Server.is_suspended:
            raise exception.Error('expected ACTIVE, got SUSPENDED')

    def handle_suspend(self):
        Server.is_suspended = True

    def handle_resume(self):
        if not Server.has_host:
            raise exception.Error('no host')
        Server.is_suspended = False


@pytest.fixture
def place(monkeypatch):
    monkeypatch.setattr(Server, 'is_suspended', False)
    monkeypatch.setattr(Server, 'has_host', True)
    with Cluster(engines=1) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Sim::Server', Server)
        yield cluster


def made(cluster, nested=()):
    stack_id = cluster.ask(messages.CreateStack(stack_name='s', files={'child.yaml': json.dumps(THINGS)}, template={
        'heat_template_version': '2018-08-31', 'resources': {'s': {'type': 'Sim::Server'}, **{
            name: {'type': 'child.yaml', 'depends_on': 's'} for name in nested}}}))['stack_id']
    done(cluster, stack_id, 'CREATE')
    return stack_id


def ended(cluster, stack_id, action):
    cluster.ask(messages.SnapshotStack(stack_id) if action == 'snapshot' else messages.StackAction(stack_id, action))
    return cluster.settle(stack_id).status


@pytest.mark.parametrize('between', [each for length in (1, 2) for each in itertools.product(
    ('check', 'snapshot'), repeat=length)])
def test_a_server_that_is_not_active_because_it_is_suspended_is_resumed_and_stays(place, between):
    stack_id = made(place)
    before = place.states(stack_id)['s'][0][2]
    for action in ('suspend', *between):
        assert (ended(place, stack_id, action) == 'FAILED') == (action == 'check')
    act(place, stack_id, 'resume')
    place.ask(messages.UpdateStack(stack_id=stack_id, template=None, existing=True))
    done(place, stack_id, 'UPDATE')
    assert place.states(stack_id)['s'] == [('RESUME', 'COMPLETE', before)]


@pytest.mark.parametrize('looks', ['check', 'snapshot'])
def test_a_resume_that_has_failed_is_repeated_after_a_look(place, looks):
    stack_id = made(place, ['n'])
    act(place, stack_id, 'suspend')
    Server.has_host = False
    assert ended(place, stack_id, 'resume') == 'FAILED'
    Server.has_host, Server.is_suspended = True, False
    act(place, stack_id, looks)
    act(place, stack_id, 'resume')
    place.ask(messages.UpdateStack(stack_id=stack_id, template=None, existing=True))
    done(place, stack_id, 'UPDATE')


@pytest.mark.parametrize('marks', [(True,), (True, False), (False,)])
@pytest.mark.parametrize('before', [(), ('snapshot',)])
def test_a_resource_that_is_marked_while_it_is_suspended_is_resumed(place, marks, before):
    stack_id = made(place)
    physical_id = place.states(stack_id)['s'][0][2]
    place.ask(messages.MarkUnhealthy(stack_id, 's', True, 'dead'))
    for action in ('snapshot', 'suspend', *before):
        act(place, stack_id, action)
    for unhealthy in marks:
        place.ask(messages.MarkUnhealthy(stack_id, 's', unhealthy, 'as the user says'))
    act(place, stack_id, 'resume')
    place.ask(messages.UpdateStack(stack_id=stack_id, template=None, existing=True))
    done(place, stack_id, 'UPDATE')
    assert (place.states(stack_id)['s'][0][2] == physical_id) == (not marks[-1])
