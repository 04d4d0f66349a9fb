"""What a resource has failed of is known to the next update, whatever actions on what exists came in between."""

from __future__ import annotations

import itertools

import pytest

from heatlite.common import exception
from heatlite.db import resources
from heatlite.planning.replacement import Reason
from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done

BETWEEN = [each for length in (1, 2) for each in itertools.product(('snapshot', 'check'), repeat=length)]


class Unfinished(cloud.Thing):
    """Its object is made, and its create fails. It has no check of its own."""

    handle_check = None

    def check_create_complete(self, _handle):
        raise exception.Error('it is not right')


class Unchecked(cloud.Thing):
    handle_check = None


class Stuck(cloud.Thing):
    works = True

    def handle_update(self, definition, template_diff, property_diff):
        if not Stuck.works:
            raise exception.Error('no')


class Sick(cloud.Thing):
    works = False

    def handle_check(self):
        if not Sick.works:
            raise exception.Error('it is not right')


@pytest.fixture
def cluster():
    with Cluster(engines=1) as place:
        for _runtime, service in place.engines:
            for kind in (Unfinished, Unchecked, Stuck, Sick):
                service.registry.register(f'Sim::{kind.__name__}', kind)
        yield place


def created(cluster, kind):
    stack_id = cluster.create('s', {'heat_template_version': '2018-08-31',
                                    'resources': {'a': {'type': f'Sim::{kind}'}}})
    cluster.settle(stack_id)
    return stack_id


def act(cluster, stack_id, actions):
    for action in actions:
        cluster.ask(messages.SnapshotStack(stack_id) if action == 'snapshot'
                    else messages.StackAction(stack_id, action))
        cluster.settle(stack_id)


def update(cluster, stack_id):
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=None, existing=True))
    return cluster.settle(stack_id)


def update_to(cluster, stack_id, kind, value):
    cluster.update(stack_id, {'heat_template_version': '2018-08-31', 'resources': {
        'a': {'type': f'Sim::{kind}', 'properties': {'value': value}}}})
    return cluster.settle(stack_id)


def physical_ids(cluster, stack_id):
    return [row[2] for row in cluster.states(stack_id)['a']]


@pytest.mark.parametrize('between', BETWEEN)
def test_a_resource_that_is_marked_as_unhealthy_is_replaced(cluster, between):
    stack_id = created(cluster, 'Unchecked')
    before = physical_ids(cluster, stack_id)
    cluster.ask(messages.MarkUnhealthy(stack_id, 'a', True, 'dead'))
    act(cluster, stack_id, between)
    assert update(cluster, stack_id).status == 'COMPLETE'
    assert physical_ids(cluster, stack_id) != before


@pytest.mark.parametrize('between', BETWEEN)
def test_a_resource_whose_create_failed_is_replaced(cluster, between):
    stack_id = created(cluster, 'Unfinished')
    before = physical_ids(cluster, stack_id)
    act(cluster, stack_id, between)
    update(cluster, stack_id)
    assert physical_ids(cluster, stack_id) != before


@pytest.mark.parametrize('between', [('check',), ('snapshot', 'check'), ('check', 'snapshot')])
def test_a_check_that_finds_it_right_ends_the_mark(cluster, between):
    stack_id = created(cluster, 'Thing')
    before = physical_ids(cluster, stack_id)
    cluster.ask(messages.MarkUnhealthy(stack_id, 'a', True, 'dead'))
    act(cluster, stack_id, between)
    update(cluster, stack_id)
    assert physical_ids(cluster, stack_id) == before


@pytest.mark.parametrize('kind, fails', [('Unfinished', 'create'), ('Stuck', 'update')])
def test_a_check_or_a_mark_does_not_end_what_has_failed(cluster, kind, fails):
    stack_id = created(cluster, kind)
    if fails == 'update':
        Stuck.works = False
        assert update_to(cluster, stack_id, kind, '2').status == 'FAILED'
        Stuck.works = True
    before = physical_ids(cluster, stack_id)
    for unhealthy in (True, False):
        cluster.ask(messages.MarkUnhealthy(stack_id, 'a', unhealthy, 'dead'))
    act(cluster, stack_id, ['check'])
    assert cluster.states(stack_id)['a'][0][:2] == ('CHECK', 'COMPLETE')
    update(cluster, stack_id)
    assert physical_ids(cluster, stack_id) != before


def cause_of(cluster, stack_id):
    assert update(cluster, stack_id).status == 'COMPLETE'
    with cluster.database.reader() as tx:
        found = resources.replacement_causes(tx, stack_id)['a']
    return found.reason, found.what


@pytest.mark.parametrize('between', [(), ('snapshot',), ('check', 'snapshot')])
def test_the_cause_of_a_replacement_is_what_the_mark_says(cluster, between):
    stack_id = created(cluster, 'Unchecked')
    cluster.ask(messages.MarkUnhealthy(stack_id, 'a', True, 'dead'))
    act(cluster, stack_id, between)
    assert cause_of(cluster, stack_id) == (Reason.UNHEALTHY, 'dead')


def test_a_mark_that_a_check_has_ended_is_no_cause(cluster):
    stack_id = created(cluster, 'Sick')
    cluster.ask(messages.MarkUnhealthy(stack_id, 'a', True, 'dead'))
    Sick.works = True
    act(cluster, stack_id, ['check'])
    Sick.works = False
    act(cluster, stack_id, ['check', 'snapshot'])
    assert cause_of(cluster, stack_id) == (Reason.UNHEALTHY, '')


def test_a_reset_ends_the_mark_also_after_a_snapshot(cluster):
    stack_id = created(cluster, 'Unchecked')
    before = physical_ids(cluster, stack_id)
    cluster.ask(messages.MarkUnhealthy(stack_id, 'a', True, 'dead'))
    act(cluster, stack_id, ['snapshot'])
    cluster.ask(messages.MarkUnhealthy(stack_id, 'a', False, 'well'))
    update(cluster, stack_id)
    done(cluster, stack_id, 'UPDATE')
    assert physical_ids(cluster, stack_id) == before
