"""OS::Neutron::Port in the simulated cloud."""

from __future__ import annotations

import json

import pytest

from heatlite.common import exception
from tests.plugins.openstack.cloud import Cloud, Life

PORTS = 'network.ports'


def test_life(cloud: Cloud):
    before = cloud.count(PORTS)
    life = Life(cloud, 'OS::Neutron::Port', {'network': 'private', 'security_groups': ['default']})
    life.validate()
    made = life.create()
    shown = cloud.client('neutron').show_port(made.resource_id)['port']
    assert shown['name'] == made.physical_resource_name()
    assert shown['network_id'] == cloud.network() and len(shown['security_groups']) == 1
    assert life.attribute('fixed_ips')[0]['ip_address'].startswith('10.0.')
    assert life.attribute('subnets')[0]['cidr'] == '10.0.0.0/16'
    assert life.attribute('network')['name'] == 'private'
    life.delete()
    assert cloud.count(PORTS) == before


def test_an_update_that_changes_nothing_writes_nothing(cloud: Cloud):
    wanted = {'network': 'private', 'name': 'door', 'tags': ['a']}
    life = Life(cloud, 'OS::Neutron::Port', wanted)
    life.create()
    assert life.writes_of(life.update, dict(wanted)) == []
    life.delete()


def test_update_in_place(cloud: Cloud):
    life = Life(cloud, 'OS::Neutron::Port', {'network': 'private', 'tags': ['a']})
    made = life.create()
    assert life.writes_of(life.update, {'network': 'private', 'name': 'door', 'admin_state_up': False, 'tags': ['b'],
                                        'allowed_address_pairs': [{'ip_address': '10.1.0.0/24'}]}) == [
        'PUT /ports/ID/tags', 'PUT /ports/ID']
    shown = cloud.client('neutron').show_port(made.resource_id)['port']
    assert (shown['name'], shown['admin_state_up'], shown['tags']) == ('door', False, ['b'])
    assert shown['allowed_address_pairs'][0]['ip_address'] == '10.1.0.0/24'
    life.update({'network': 'private'})
    shown = cloud.client('neutron').show_port(made.resource_id)['port']
    assert (shown['name'], shown['admin_state_up'], shown['tags']) == (made.physical_resource_name(), True, [])
    life.delete()


def test_another_network_replaces(cloud: Cloud):
    life = Life(cloud, 'OS::Neutron::Port', {'network': 'private'})
    life.create()
    with pytest.raises(exception.UpdateReplace):
        life.update({'network': 'public'})
    life.delete()


def test_gone_already(cloud: Cloud):
    life = Life(cloud, 'OS::Neutron::Port', {'network': 'private'})
    made = life.create()
    cloud.client('neutron').delete_port(made.resource_id)
    assert made.needs_replace_failed()
    assert life.attribute('show') is None
    life.delete()


def test_a_lost_reply_makes_no_second_port(cloud: Cloud):
    before = cloud.count(PORTS)
    cloud.fault(kind='lost', service='network', method='POST', path='*/ports')
    life = Life(cloud, 'OS::Neutron::Port', {'network': 'private'})
    made = life.create()
    assert cloud.count(PORTS) == before + 1
    assert cloud.client('neutron').show_port(made.resource_id)['port']['id'] == made.resource_id
    life.delete()
    assert cloud.count(PORTS) == before


def test_found_after_a_crash(cloud: Cloud):
    life = Life(cloud, 'OS::Neutron::Port', {'network': 'private'})
    made = life.create()
    again = life.fresh('CREATE')
    assert again.find_existing() == made.resource_id
    life.delete()
    assert life.fresh('CREATE').find_existing() is None


def test_a_name_of_the_template_may_be_somebody_elses(cloud: Cloud):
    strange = cloud.client('neutron').create_port({'port': {'network_id': cloud.network(), 'name': 'door'}})['port']
    life = Life(cloud, 'OS::Neutron::Port', {'network': 'private', 'name': 'door'})
    assert life.fresh('CREATE').find_existing() is None         # nothing was asked for yet
    cloud.fault(kind='lost', service='network', method='POST', path='*/ports')
    made = life.create()
    assert made.resource_id != strange['id']
    life.delete()
    cloud.client('neutron').delete_port(strange['id'])


def test_addresses_are_given_up_for_a_replacement_and_taken_back(cloud: Cloud):
    life = Life(cloud, 'OS::Neutron::Port', {'network': 'private', 'fixed_ips': [{'ip_address': '10.0.9.9'}]})
    made = life.create()
    old = life.fresh('UPDATE')
    old.prepare_for_replace()
    assert cloud.client('neutron').show_port(made.resource_id)['port']['fixed_ips'] == []
    assert json.loads(old.data()['port_fip'])[0]['ip_address'] == '10.0.9.9'
    old.restore_prev_rsrc(convergence=True)
    assert cloud.client('neutron').show_port(made.resource_id)['port']['fixed_ips'][0]['ip_address'] == '10.0.9.9'
    life.delete()


def test_no_fixed_ips(cloud: Cloud):
    life = Life(cloud, 'OS::Neutron::Port', {'network': 'private', 'no_fixed_ips': True})
    life.create()
    assert life.attribute('fixed_ips') == []
    life.delete()
    with pytest.raises(exception.ResourcePropertyConflict):
        Life(cloud, 'OS::Neutron::Port', {'network': 'private', 'no_fixed_ips': True,
                                          'fixed_ips': [{'ip_address': '10.0.9.9'}]}).validate()


@pytest.mark.parametrize('wanted', [
    {'network': 'private'}, {'network': 'private', 'name': 'door', 'security_groups': ['default']},
    {'network': 'private', 'fixed_ips': [{'subnet': 'private-subnet', 'ip_address': '10.0.9.9'}]},
    {'network': 'private', 'fixed_ips': [{'ip_address': '10.0.9.8'}],
     'allowed_address_pairs': [{'ip_address': '10.1.0.0/24'}]}])
def test_drift(cloud: Cloud, wanted):
    life = Life(cloud, 'OS::Neutron::Port', wanted)
    made = life.create()
    assert life.drift(wanted) == {}
    cloud.client('neutron').update_port(made.resource_id, {'port': {'admin_state_up': False}})
    assert life.drift(wanted) == {'admin_state_up': True}
    life.delete()


def test_neutrons_spelling_is_no_drift(cloud: Cloud):
    wanted = {'network': 'private', 'dns_name': 'Web', 'mac_address': 'FA:16:3E:00:77:AA',
              'allowed_address_pairs': [{'ip_address': '10.1.0.7/32', 'mac_address': 'FA:16:3E:00:77:AB'}]}
    life = Life(cloud, 'OS::Neutron::Port', wanted)
    made = life.create()
    cloud.client('neutron').update_port(made.resource_id, {'port': {
        'dns_name': 'web', 'allowed_address_pairs': [{'ip_address': '10.1.0.7', 'mac_address': 'fa:16:3e:00:77:ab'}]}})
    assert life.drift(wanted) == {}
    life.delete()
