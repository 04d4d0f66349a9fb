"""What Heat's client libraries do with a request before they send it, which templates depend on."""

from __future__ import annotations

import pytest

from heatlite.engine.resources.rest.existing_objects import find
from tests.plugins.openstack.cloud import Cloud, Life

EVENT = {'event_type': 'compute.*', 'alarm_actions': ['http://lamp.acme']}


@pytest.mark.parametrize('name, whole', [('www', 'www.libraries.example.org.'), (None, None),
                                         ('a.libraries.example.org.', 'a.libraries.example.org.')])
def test_the_name_of_a_record_set_is_completed_by_its_zone(cloud: Cloud, name, whole):
    zone = Life(cloud, 'OS::Designate::Zone', {'name': 'libraries.example.org.', 'email': 'a@example.org'}, name='zone')
    zone.create()
    wanted = {'zone': 'libraries.example.org.', 'type': 'A', 'records': ['10.0.0.1'], 'name': name}
    life = Life(cloud, 'OS::Designate::RecordSet', wanted)
    cloud.fault(kind='lost', service='dns', method='POST', path='*/recordsets')
    made = life.create()
    found = made.FnGetAtt('show')
    assert found['name'] == (whole or f'{made.physical_resource_name()}.libraries.example.org.')
    assert life.drift(wanted) == {}
    imported = life.fresh('CREATE', 'COMPLETE')
    assert imported.live_when_imported(imported.read_imported()).get('name', name) == name
    life.delete()
    zone.delete()


def test_a_payload_is_text(cloud: Cloud):
    life = Life(cloud, 'OS::Barbican::Secret', {'payload': 'hidden'})
    life.create()
    assert life.attribute('decrypted_payload') == 'hidden'
    life.delete()


@pytest.mark.parametrize('state', ['alarm', 'ok', 'insufficient data'])
def test_an_alarm_keeps_its_state(cloud: Cloud, state):
    life = Life(cloud, 'OS::Aodh::EventAlarm', EVENT)
    made = life.create()
    aodh = cloud.client('aodh').http
    aodh.put(f'/v2/alarms/{made.resource_id}/state', json=state)
    before = made.FnGetAtt('show')
    life.update({**EVENT, 'description': 'new'})
    life.run('SUSPEND')
    life.run('RESUME')
    after = life.attribute('show')
    assert {name: after[name] for name in ('state', 'state_reason', 'state_timestamp')} == {
        name: before[name] for name in ('state', 'state_reason', 'state_timestamp')}
    assert after['description'] == 'new'
    life.delete()


def test_a_description_of_the_template_is_no_mark_of_a_floating_address(cloud: Cloud):
    neutron = cloud.client('neutron')
    given = {'floating_network_id': cloud.network('public'), 'description': 'web'}
    foreign = neutron.create_floatingip({'floatingip': given})['floatingip']['id']
    life = Life(cloud, 'OS::Neutron::FloatingIP', {'floating_network': 'public', 'value_specs': {'description': 'web'}})
    assert find(life.fresh('CREATE')) is None
    cloud.fault(kind='lost', service='network', method='POST', path='*/floatingips')
    assert life.create().resource_id != foreign
    life.delete()
    neutron.delete_floatingip(foreign)


@pytest.mark.parametrize('kind', ['OS::Neutron::IKEPolicy', 'OS::Neutron::IPsecPolicy'])
def test_a_policy_without_algorithm_gets_one_that_the_cloud_takes(cloud: Cloud, kind):
    life = Life(cloud, kind, {})
    assert life.create().FnGetAtt('auth_algorithm') == 'sha256'
    assert life.drift({}) == {}
    life.delete()
