"""Looks at reality: what was changed behind the engine's back is reported, value by value, and nothing else is."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import drift_reports
from heatlite.planning import drift
from heatlite.rpc import messages
from heatlite.testing.clouds import simulated
from tests.simulation.cluster import Cluster, done
from tests.simulation.openstack import stack
from tests.simulation.statements import noted
from tests.simulation.test_refresh import CHANGES, RESOURCES, change


@pytest.fixture(scope='module')
def cloud():
    with simulated() as found:
        yield found


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        found.create(RESOURCES)
        yield found


def look(it, allowed=()):
    return it.cluster.ask(messages.LookForDrift(it.id), allowed)


def found(report):
    """{(resource, path): (expected, actual)}"""
    return {(*each['path'], *value['path']): (value['expected'], value['actual'])
            for each in report['resources'] for value in each['properties']}


def test_a_stack_just_created_has_not_drifted(it):
    report = look(it)
    assert not report['is_drifted'] and report['resources'] == []
    assert report['summary'] == {'changed': 0, 'gone': 0, 'unreadable': 0, 'same': len(RESOURCES), 'ignored': 0,
                                 'uncompared': 0}
    assert report['looked_by'] == 'request'


def test_each_change_is_found_alone_and_with_the_others(it):
    wanted = {}
    for place in CHANGES:
        value = change(it, *place)
        resource, name = place[:2]
        wanted[resource, name] = [value] if len(place) > 2 else value
        assert {key: actual for key, (_expected, actual) in found(look(it)).items()} == wanted
    with it.cluster.database.reader() as tx:
        assert drift.to_json(drift_reports.report(tx, it.id)) == look(it) | {
            'looked_at': drift_reports.report(tx, it.id).looked_at}
    assert it.plan(RESOURCES, converge=True).summary['update'] == len({resource for resource, *_path in CHANGES})


def test_what_was_known_before_was_noticed_then(it):
    change(it, 'net', 'name')
    first = look(it)
    it.cloud.advance(10)
    change(it, 'port', 'name')
    second = look(it)
    noticed = {each['path'][0]: each['noticed_at'] for each in second['resources']}
    assert noticed == {'net': first['looked_at'], 'port': second['looked_at']}
    told = [reason for name, _action, _status, reason in it.cluster.events(it.id) if reason.startswith('Drift')]
    assert told == ['Drift: changed: name', 'Drift: changed: name']


def test_what_is_gone_is_told_from_what_cannot_be_read(it):
    it.request('cinder', 'DELETE', f"/volumes/{it.physical_id('plain_disk')}")
    it.cloud.advance(100)
    it.fault(kind='error', service='network', method='GET', path='*/routers/*', status=500, count=0)
    report = look(it)
    assert [(each['path'], each['finding']) for each in report['resources']] == [
        (['router'], 'unreadable'), (['plain_disk'], 'gone')]
    assert report['is_drifted']


def test_a_stack_in_progress_is_not_looked_at(it):
    it.cluster.update(it.id, {'heat_template_version': '2018-08-31', 'resources': {
        'wait': {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': 5}}}})
    refused = look(it, (exception.ActionInProgress,))
    assert isinstance(refused, exception.ActionInProgress)
    done(it.cluster, it.id, 'UPDATE')


def test_many_drifted_resources_cost_one_look_at_the_stack():
    """Under the lock of its lease, neither its row nor its template is read again for each of them."""
    noted_statements = {}
    for number in (3, 30):
        with Cluster(engines=1, interleaved=False) as cluster:
            stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
                f'r{each}': {'type': 'Sim::Thing'} for each in range(number)}})
            done(cluster, stack_id, 'CREATE')
            cluster.ask(messages.LookForDrift(stack_id))
            cluster.cloud.objects.clear()
            with noted(lambda statement: 'event' in statement or 'FROM stack' in statement
                       or 'template' in statement) as statements:
                report = cluster.ask(messages.LookForDrift(stack_id))
            noted_statements[number] = len(statements)
            assert report['summary']['gone'] == number
            assert sum(reason.startswith('Drift: ') for *_state, reason in cluster.events(stack_id)) == number
    assert noted_statements[30] <= noted_statements[3] + 2       # one may limit the history
