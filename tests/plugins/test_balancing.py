"""AWS::ElasticLoadBalancing::LoadBalancer: its nested templates, and what it refuses."""

from __future__ import annotations

import json

import pytest

from heatlite.authoring import checking
from heatlite.common import exception
from heatlite.engine.resources.aws.elasticloadbalancing import balancing, load_balancer
from tests.plugins.bench import Bench

WEB = balancing.Listener(80, 8080, 'HTTP')
SECURE = balancing.Listener(443, 8443, 'TCP')
HEALTH = balancing.HealthCheck('HTTP', 8081, '/ping', 30, 5, 3, 2)
SERVED = {'': {'one': '10.0.0.1'}, 'group': {'two': '10.0.0.2', 'six': 'fd00::6'}}
MACHINE = balancing.Machine('fedora', 'm1.small', None, 'mine', ('web',))
PROPERTIES = {'AvailabilityZones': ['nova'],
              'Listeners': [{'LoadBalancerPort': 80, 'InstancePort': 8080, 'Protocol': 'HTTP'}]}
CHECK = {'Target': 'HTTP:80/', 'Interval': 30, 'Timeout': 5, 'HealthyThreshold': 3, 'UnhealthyThreshold': 3}


@pytest.mark.parametrize('text, found', [
    ('HTTP:80/', ('HTTP', 80, '/')),
    ('HTTP:8080/a/b?c=d', ('HTTP', 8080, '/a/b?c=d')),
    ('TCP:22', ('TCP', 22, '')),
])
def test_target(text, found):
    assert balancing.target(text) == found


@pytest.mark.parametrize('text', ['', 'HTTP', 'HTTP:80', 'TCP:22/', 'TCP:0', 'TCP:65536', 'SSL:443', 'HTTP:80/a b',
                                  'HTTP:80/\nserver evil 10.0.0.9'])
def test_no_target(text):
    with pytest.raises(ValueError, match='is no target of a health check'):
        balancing.target(text)


@pytest.mark.parametrize('template', [
    balancing.octavia('subnet', [WEB, SECURE], HEALTH, SERVED), balancing.octavia('subnet', [WEB], None, {}),
    balancing.haproxy(MACHINE, [WEB, SECURE], HEALTH, SERVED), balancing.haproxy(MACHINE, [SECURE], None, {})])
def test_a_template_is_valid(tmp_path, template):
    file = tmp_path / 't.json'
    file.write_text(json.dumps(template))
    assert [str(each) for each in checking.check(str(file))] == []
    served = SERVED if len(template['resources']['served']['properties']['value']) else {}
    assert balancing.served_by(template['resources']) == served


def test_members_of_octavia():
    resources = balancing.octavia('subnet', [WEB, SECURE], HEALTH, SERVED)['resources']
    members = {name: body['properties'] for name, body in resources.items() if name.startswith('member_')}
    assert sorted(members) == [f'member_{port}_{name}' for port in (443, 80) for name in ('one', 'six', 'two')]
    assert members['member_80_two'] == {
        'pool': {'get_resource': 'pool_80'}, 'address': '10.0.0.2', 'protocol_port': 8080, 'monitor_port': 8081}


def test_configuration_of_haproxy():
    lines = balancing.configuration([WEB, SECURE], HEALTH, SERVED).splitlines()
    assert '  option httpchk GET /ping' in lines
    assert '  server one 10.0.0.1:8080 check port 8081 inter 30s rise 3 fall 2' in lines
    assert '  server six [fd00::6]:8443 check port 8081 inter 30s rise 3 fall 2' in lines
    assert [line for line in lines if line.startswith('  bind')] == ['  bind *:80', '  bind *:443']


def rule(**more):
    return {'direction': 'ingress', 'ethertype': 'IPv4', 'protocol': 'tcp', 'port_range_min': 80, 'port_range_max': 90,
            'security_group_id': 'own', 'remote_group_id': None, 'remote_ip_prefix': None, **more}


@pytest.mark.parametrize('rules, allowed', [
    ([rule()], ('0.0.0.0/0',)),
    ([rule(remote_ip_prefix='10.1.0.0/16'), rule(remote_ip_prefix='10.2.0.7/32')], ('10.1.0.0/16', '10.2.0.7/32')),
    ([rule(port_range_min=None, port_range_max=None, protocol=None)], ('0.0.0.0/0',)),
    ([rule(port_range_min=81)], load_balancer.NO_CLIENT),
    ([rule(protocol='udp'), rule(direction='egress'), rule(ethertype='IPv6')], load_balancer.NO_CLIENT),
    ([rule(remote_group_id='own')], load_balancer.NO_CLIENT),
    ([], load_balancer.NO_CLIENT),
])
def test_allowed_networks(rules, allowed):
    assert load_balancer.allowed_networks(rules, 80) == allowed


def test_a_group_of_others_is_refused():
    with pytest.raises(exception.Error, match='names a group'):
        load_balancer.allowed_networks([rule(remote_group_id='other')], 80)


@pytest.mark.parametrize('changed, message', [
    ({'HealthCheck': {**CHECK, 'Target': 'SSL:443'}}, 'no target of a health check'),
    ({'HealthCheck': {**CHECK, 'Interval': 5}}, 'Interval must be larger than Timeout'),
    ({'HealthCheck': {**CHECK, 'HealthyThreshold': 0}}, 'HealthyThreshold must be at least 1'),
    ({'Listeners': [{'LoadBalancerPort': 80, 'InstancePort': 70000, 'Protocol': 'TCP'}]}, '70000 is no port'),
    ({'Listeners': 2 * PROPERTIES['Listeners']}, 'a LoadBalancerPort of its own'),
    ({'Listeners': [{'LoadBalancerPort': 443, 'InstancePort': 80, 'Protocol': 'HTTPS'}]}, 'not an allowed value'),
    ({'AppCookieStickinessPolicy': 'x'}, 'not implemented'),
])
def test_refused(types, changed, message):
    with pytest.raises(exception.StackValidationFailed, match=message):
        Bench(load_balancer.TYPE, {**PROPERTIES, **changed}).validate()


def test_accepted(types):
    Bench(load_balancer.TYPE, {**PROPERTIES, 'HealthCheck': CHECK}).validate()
