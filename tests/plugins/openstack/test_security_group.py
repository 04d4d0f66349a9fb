"""OS::Neutron::SecurityGroup in the simulated cloud."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from tests.plugins.openstack.cloud import Cloud, Life

GROUP, GROUPS = 'OS::Neutron::SecurityGroup', 'network.security-groups'
WEB = {'protocol': 'tcp', 'port_range_min': 80, 'port_range_max': 80}
SSH = {'protocol': 'tcp', 'port_range_min': 22, 'port_range_max': 22, 'remote_ip_prefix': '10.0.0.0/8'}


def rules(cloud: Cloud, life: Life) -> set:
    found = cloud.client('neutron').show_security_group(life.physical_id)['security_group']['security_group_rules']
    return {(rule['direction'], rule['ethertype'], rule['port_range_min'], rule['remote_ip_prefix'],
             rule['remote_group_id']) for rule in found}


EVERYTHING_OUT = {('egress', 'IPv4', None, None, None), ('egress', 'IPv6', None, None, None)}


def test_life(cloud: Cloud):
    life = Life(cloud, GROUP, {'rules': [WEB, SSH]})
    life.validate()
    made = life.create()
    assert rules(cloud, life) == EVERYTHING_OUT | {
        ('ingress', 'IPv4', 80, None, None), ('ingress', 'IPv4', 22, '10.0.0.0/8', None)}
    assert cloud.client('neutron').show_security_group(made.resource_id)['security_group']['name'] == \
        made.physical_resource_name()
    assert life.writes_of(life.update, {'rules': [WEB, SSH]}) == []
    life.delete()
    assert life.fresh('CREATE').find_existing() is None


def test_rules_are_changed_by_difference(cloud: Cloud):
    life = Life(cloud, GROUP, {'rules': [WEB, SSH]})
    life.create()
    dns = {'protocol': 'udp', 'port_range_min': 53, 'port_range_max': 53, 'ethertype': 'IPv6'}
    assert life.writes_of(life.update, {'rules': [WEB, dns]}) == [
        'POST /security-group-rules', 'DELETE /security-group-rules/ID']
    assert rules(cloud, life) == EVERYTHING_OUT | {
        ('ingress', 'IPv4', 80, None, None), ('ingress', 'IPv6', 53, None, None)}
    life.delete()


def test_own_rules_for_what_goes_out_replace_the_default_ones(cloud: Cloud):
    life = Life(cloud, GROUP, {'rules': [{**WEB, 'direction': 'egress'}]})
    life.create()
    assert rules(cloud, life) == {('egress', 'IPv4', 80, None, None)}
    life.update({'rules': []})
    assert rules(cloud, life) == EVERYTHING_OUT
    life.delete()


def test_remote_group_is_the_group_itself(cloud: Cloud):
    life = Life(cloud, GROUP, {'rules': [{**WEB, 'remote_mode': 'remote_group_id'}]})
    life.create()
    assert ('ingress', 'IPv4', 80, None, life.physical_id) in rules(cloud, life)
    life.delete()


def test_a_half_made_group_gets_its_rules(cloud: Cloud):
    life = Life(cloud, GROUP, {'rules': [WEB]})
    life.fresh('CREATE').handle_create()            # here the engine dies
    life.fresh('CREATE').check_create_complete(None)
    assert ('ingress', 'IPv4', 80, None, None) in rules(cloud, life)
    life.delete()


def test_gone_already(cloud: Cloud):
    life = Life(cloud, GROUP, {})
    cloud.client('neutron').delete_security_group(life.create().resource_id)
    assert life.writes_of(life.delete) == ['DELETE /security-groups/ID']


def test_the_name_default_is_refused(cloud: Cloud):
    with pytest.raises(exception.StackValidationFailed, match='default'):
        Life(cloud, GROUP, {'name': 'default'}).validate()


def test_drift(cloud: Cloud):
    wanted = {'rules': [WEB, SSH]}
    life = Life(cloud, GROUP, wanted)
    life.create()
    assert life.drift(wanted) == {}
    cloud.client('neutron').create_security_group_rule({'security_group_rule': {
        'security_group_id': life.physical_id, 'direction': 'ingress', 'protocol': 'udp'}})
    assert set(life.drift(wanted)) == {'rules'}
    life.delete()


ALL_TCP = {'protocol': 'tcp', 'port_range_min': 1, 'port_range_max': 65535}


@pytest.mark.parametrize('rule', [
    ALL_TCP, {**ALL_TCP, 'protocol': '6'}, {**ALL_TCP, 'remote_ip_prefix': '0.0.0.0/0'},
    {'ethertype': 'IPv6', 'protocol': 'icmp'}, {'ethertype': 'IPv6', 'protocol': 'icmpv6'},
    {'ethertype': 'IPv6', 'protocol': '58'}, {'ethertype': 'IPv6', 'protocol': '1'},
    {'ethertype': 'IPv6', 'remote_ip_prefix': '::/0'}, {'ethertype': 'IPv6', 'remote_ip_prefix': '2001:0DB8::/32'},
    {'protocol': 'udp', 'remote_ip_prefix': '10.0.0.7'}, {'direction': 'egress', 'remote_ip_prefix': '0.0.0.0/0'}])
def test_a_rule_stays_that_neutron_stores_in_another_form(cloud: Cloud, rule):
    """Neutron answers 409 to a rule that it takes for one that is there."""
    life = Life(cloud, GROUP, {'rules': [rule]})
    life.create()
    before = ids(cloud, life)
    assert life.drift({'rules': [rule]}) == {}
    assert life.writes_of(life.fresh('CREATE').check_create_complete, None) == [], 'here the engine died'
    assert life.writes_of(life.update, {'rules': [rule, SSH]}) == ['POST /security-group-rules']
    assert before < ids(cloud, life)
    life.delete()


def test_rules_that_neutron_takes_for_the_same_are_sent_once(cloud: Cloud):
    life = Life(cloud, GROUP, {'rules': [ALL_TCP, {'protocol': 'tcp', 'remote_ip_prefix': '0.0.0.0/0'}]})
    life.create()
    before = ids(cloud, life)
    assert len(before) == len(EVERYTHING_OUT) + 1
    assert life.writes_of(life.update, {'rules': [{'protocol': '6'}]}) == []
    assert ids(cloud, life) == before
    life.delete()


def test_another_description_replaces_the_rule(cloud: Cloud):
    """Neutron has no request that changes a rule."""
    life = Life(cloud, GROUP, {'rules': [{**WEB, 'description': 'old'}, SSH]})
    life.create()
    again = ['DELETE /security-group-rules/ID', 'POST /security-group-rules']
    assert life.writes_of(life.update, {'rules': [{**WEB, 'description': 'new'}, SSH]}) == again
    assert descriptions(cloud, life) == {80: 'new', 22: ''}
    assert life.writes_of(life.update, {'rules': [WEB, SSH]}) == again
    assert descriptions(cloud, life) == {80: '', 22: ''}
    assert set(life.drift({'rules': [{**WEB, 'description': 'web'}, SSH]})) == {'rules'}
    life.delete()


def ids(cloud: Cloud, life: Life) -> set[str]:
    found = cloud.client('neutron').show_security_group(life.physical_id)['security_group']['security_group_rules']
    return {rule['id'] for rule in found}


def descriptions(cloud: Cloud, life: Life) -> dict:
    found = cloud.client('neutron').show_security_group(life.physical_id)['security_group']['security_group_rules']
    return {rule['port_range_min']: rule['description'] or '' for rule in found if rule['direction'] == 'ingress'}


@pytest.mark.parametrize('given', [
    {**ALL_TCP, 'port_range_min': '1'}, {'ethertype': 'IPv6', 'protocol': 'icmpv6'},
    {'ethertype': 'IPv6', 'remote_ip_prefix': '2001:0DB8::/32'}])
def test_a_single_rule_whose_reply_was_lost_is_recognized(cloud: Cloud, given):
    group = Life(cloud, GROUP, {}, name='group')
    group.create()
    cloud.fault(kind='lost', service='network', method='POST', path='*/security-group-rules')
    life = Life(cloud, 'OS::Neutron::SecurityGroupRule', {'security_group': group.physical_id, **given})
    assert life.create().resource_id in ids(cloud, group)
    life.delete()
    group.delete()
