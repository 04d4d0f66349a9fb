"""The ways on which a guest says something to its stack, each gone as the guest would."""

from __future__ import annotations

import json

import pytest
import requests
from keystoneauth1 import session
from keystoneauth1.identity import v3
from oslo_config import cfg

from tests.plugins.openstack.cloud import Cloud, Life

HANDLE = 'OS::Heat::WaitConditionHandle'


@pytest.fixture
def stack_domain():
    values = {'stack_user_domain_name': 'heat', 'stack_domain_admin': 'heat_domain_admin',
              'stack_domain_admin_password': 'secret'}
    for name, value in values.items():
        cfg.CONF.set_override(name, value)
    yield
    for name in values:
        cfg.CONF.clear_override(name)


@pytest.fixture
def handle(cloud: Cloud, stack_domain):
    """Makes a handle with the transport that it is given."""
    made: list[Life] = []

    def make(transport: str) -> Life:
        life = Life(cloud, HANDLE, {'signal_transport': transport})
        made.append(life)
        life.create()
        return life

    yield make
    for life in made:
        life.delete()


def guest(told: dict) -> session.Session:
    """Logged in with what a guest is told, and nothing else."""
    return session.Session(auth=v3.Password(
        auth_url=told['auth_url'], user_id=told['user_id'], password=told['password'], project_id=told['project_id']))


@pytest.mark.parametrize('transport', ['HEAT_SIGNAL', 'ZAQAR_SIGNAL'])
def test_a_guest_can_log_in(cloud: Cloud, handle, transport):
    told = json.loads(handle(transport).attribute('signal'))
    assert guest(told).get_project_id() == told['project_id'] != cloud.context.project_id


@pytest.mark.parametrize('transport', ['HEAT_SIGNAL', 'ZAQAR_SIGNAL'])
@pytest.mark.parametrize('own, services, expected', [
    ('RegionOne', '', 'RegionOne'), ('RegionOne', 'RegionTwo', 'RegionOne'), (None, 'RegionOne', 'RegionOne')])
def test_guests_get_the_region_that_the_engine_uses(cloud: Cloud, handle, transport, own, services, expected):
    """A token says nothing of a region: in a cluster, the region is the option."""
    before = cloud.context.region_name
    cloud.context.region_name = own
    cfg.CONF.set_override('region_name_for_services', services)
    try:
        assert json.loads(handle(transport).attribute('signal'))['region_name'] == expected
    finally:
        cloud.context.region_name = before
        cfg.CONF.clear_override('region_name_for_services')


def test_messages_of_a_queue_are_signals(cloud: Cloud, handle):
    life = handle('ZAQAR_SIGNAL')
    told = json.loads(life.attribute('signal'))
    here = life.fresh('CREATE', 'COMPLETE')
    assert here.get_status() == []
    guest(told).post(f'/v2/queues/{told["queue_id"]}/messages', headers={'Client-ID': life.runtime.uuid()},
                     endpoint_filter={'service_type': 'messaging'}, json={
                         'messages': [{'body': {'data': 'here', 'id': 'it'}, 'ttl': 60}]})
    assert here.get_status() == ['SUCCESS']
    assert here.metadata_get(True) == {'it': {'data': 'here', 'reason': 'Signal 1 received', 'status': 'SUCCESS'}}
    assert here.get_status() == ['SUCCESS']             # the message was taken, not read again


def test_objects_at_a_signed_address_are_signals(handle):
    life = handle('TEMP_URL_SIGNAL')
    told = json.loads(life.attribute('signal'))
    requests.put(told['alarm_url'], json={'data': 'here', 'id': 'it'}, timeout=10).raise_for_status()
    assert life.fresh('CREATE', 'COMPLETE').get_status() == ['SUCCESS']


@pytest.mark.parametrize('kind, properties', [(HANDLE, {'signal_transport': 'TEMP_URL_SIGNAL'}),
                                              ('OS::Heat::SwiftSignalHandle', {})])
def test_all_versions_of_an_object_are_deleted(cloud: Cloud, stack_domain, kind, properties):
    """Each signal is a version of the object, which comes back when the newer one is deleted."""
    life = Life(cloud, kind, properties)
    life.create()
    url = json.loads(life.attribute('signal'))['alarm_url'] if properties else life.attribute('endpoint')
    for number in range(3):
        requests.put(url, json={'id': number}, timeout=10).raise_for_status()
    life.delete()
    assert cloud.count('object-store.containers') == 0
