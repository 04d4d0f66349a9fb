"""Neutron: addresses, what holds what, and the 409s of a network that is in use."""

import pytest


@pytest.fixture
def plain(network, make):
    """A network of ours with a subnet."""
    net = make(network, '/v2.0/networks', 'network', name='net')
    subnet = make(network, '/v2.0/subnets', 'subnet', network_id=net['id'], ip_version=4, cidr='10.9.0.0/29')
    return net['id'], subnet['id']


def status(answer):
    return answer.status_code, answer.json()['NeutronError']['type'] if answer.status_code >= 400 else None


def test_a_network_is_built_then_active(sim, network, make):
    made = make(network, '/v2.0/networks', 'network', name='n')
    assert made['status'] == 'BUILD'
    sim.advance()
    assert network.get(f'/v2.0/networks/{made["id"]}').json()['network']['status'] == 'ACTIVE'
    assert 'provider:network_type' not in made


def test_addresses_are_given_out_once_and_taken_back(network, make, plain):
    net, _ = plain
    ports = [make(network, '/v2.0/ports', 'port', network_id=net) for _ in range(5)]
    found = [each['fixed_ips'][0]['ip_address'] for each in ports]
    assert found == [f'10.9.0.{at}' for at in range(2, 7)]
    assert status(network.post('/v2.0/ports', json={'port': {'network_id': net}})) == (
        409, 'IpAddressGenerationFailure')
    network.delete(f'/v2.0/ports/{ports[2]["id"]}')
    again = make(network, '/v2.0/ports', 'port', network_id=net)
    assert again['fixed_ips'][0]['ip_address'] == '10.9.0.4'


def test_wanted_addresses(network, make, plain):
    net, subnet = plain
    port = make(network, '/v2.0/ports', 'port', network_id=net, fixed_ips=[{'ip_address': '10.9.0.5'}])
    assert port['fixed_ips'] == [{'subnet_id': subnet, 'ip_address': '10.9.0.5'}]
    taken = {'port': {'network_id': net, 'fixed_ips': [{'ip_address': '10.9.0.5'}]}}
    assert status(network.post('/v2.0/ports', json=taken)) == (409, 'IpAddressAlreadyAllocated')
    away = {'port': {'network_id': net, 'fixed_ips': [{'ip_address': '10.8.0.5'}]}}
    assert status(network.post('/v2.0/ports', json=away)) == (400, 'InvalidIpForNetwork')
    network.put(f'/v2.0/ports/{port["id"]}', json={'port': {'fixed_ips': []}})
    assert status(network.post('/v2.0/ports', json=taken)) == (201, None)


def test_what_is_in_use_stays(network, make, plain):
    net, subnet = plain
    port = make(network, '/v2.0/ports', 'port', network_id=net)
    assert status(network.delete(f'/v2.0/networks/{net}')) == (409, 'NetworkInUse')
    assert status(network.delete(f'/v2.0/subnets/{subnet}')) == (409, 'SubnetInUse')
    group = port['security_groups'][0]
    assert status(network.delete(f'/v2.0/security-groups/{group}')) == (409, 'SecurityGroupInUse')
    network.delete(f'/v2.0/ports/{port["id"]}')
    assert network.delete(f'/v2.0/networks/{net}').status_code == 204
    assert status(network.get(f'/v2.0/subnets/{subnet}')) == (404, 'SubnetNotFound')


def test_routers_and_floating_addresses_hold_each_other(network, make, seed, plain):
    net, subnet = plain
    public = seed('network.networks', 'public')
    port = make(network, '/v2.0/ports', 'port', network_id=net)['id']
    floating = {'floatingip': {'floating_network_id': public, 'port_id': port}}
    assert status(network.post('/v2.0/floatingips', json=floating)) == (404, 'ExternalGatewayForFloatingIPNotFound')
    router = make(network, '/v2.0/routers', 'router', external_gateway_info={'network_id': public})['id']
    path = f'/v2.0/routers/{router}'
    joined = network.put(f'{path}/add_router_interface', json={'subnet_id': subnet})
    assert joined.json()['subnet_id'] == subnet
    assert status(network.put(f'{path}/add_router_interface', json={'subnet_id': subnet})) == (400, 'BadRequest')
    made = make(network, '/v2.0/floatingips', 'floatingip', **floating['floatingip'])
    assert (made['status'], made['router_id']) == ('ACTIVE', router)
    assert status(network.post('/v2.0/floatingips', json=floating)) == (409, 'FloatingIPPortAlreadyAssociated')
    assert status(network.put(f'{path}/remove_router_interface', json={'subnet_id': subnet})) == (
        409, 'RouterInterfaceInUseByFloatingIP')
    assert status(network.put(path, json={'router': {'external_gateway_info': {}}})) == (
        409, 'RouterExternalGatewayInUseByFloatingIp')
    assert status(network.delete(path)) == (409, 'RouterInUse')
    assert status(network.delete(f'/v2.0/ports/{joined.json()["port_id"]}')) == (409, 'ServicePortInUse')
    network.put(f'/v2.0/floatingips/{made["id"]}', json={'floatingip': {'port_id': None}})
    assert network.get(f'/v2.0/floatingips/{made["id"]}').json()['floatingip']['status'] == 'DOWN'
    assert network.put(f'{path}/remove_router_interface', json={'subnet_id': subnet}).status_code == 200
    assert status(network.put(f'{path}/remove_router_interface', json={'subnet_id': subnet}))[0] == 404
    assert network.delete(path).status_code == 204


def test_every_project_has_a_default_group(sim, network, make):
    group, = network.get('/v2.0/security-groups?name=default').json()['security_groups']
    assert len(group['security_group_rules']) == 4
    assert status(network.post('/v2.0/security-groups', json={'security_group': {'name': 'default'}}))[0] == 409
    admin = sim.session('admin').get_project_id()
    other, = sim.service('network', 'admin').get(f'/v2.0/security-groups?project_id={admin}').json()['security_groups']
    assert other['id'] != group['id']


@pytest.mark.parametrize('rule, same, stored', [
    ({'protocol': 'tcp', 'port_range_min': 1, 'port_range_max': 65535}, {'protocol': '6'}, {'port_range_min': None}),
    ({'ethertype': 'IPv6', 'protocol': 'icmp'}, {'ethertype': 'IPv6', 'protocol': '58'}, {'protocol': 'ipv6-icmp'}),
    ({'remote_ip_prefix': '0.0.0.0/0'}, {}, {'remote_ip_prefix': '0.0.0.0/0'}),
    ({'remote_ip_prefix': '10.0.0.7'}, {'remote_ip_prefix': '10.0.0.7/32'}, {'remote_ip_prefix': '10.0.0.7/32'})])
def test_rules_have_a_normal_form(network, make, rule, same, stored):
    group = make(network, '/v2.0/security-groups', 'security_group', name='g')['id']
    given = {'security_group_id': group, 'direction': 'ingress'}
    made = make(network, '/v2.0/security-group-rules', 'security_group_rule', **given, **rule)
    assert stored.items() <= made.items()
    again = network.post('/v2.0/security-group-rules', json={'security_group_rule': {**given, **same}})
    assert status(again) == (409, 'SecurityGroupRuleExists')


@pytest.mark.parametrize('rule, kind', [
    ({'protocol': 'tcp', 'port_range_min': 80}, 'SecurityGroupInvalidPortRange'),
    ({'protocol': 'gre', 'port_range_min': 80, 'port_range_max': 80}, 'SecurityGroupInvalidProtocolForPort'),
    ({'ethertype': 'IPv6', 'remote_ip_prefix': '10.0.0.0/8'}, 'SecurityGroupRuleParameterConflict'),
    ({'protocol': 'ipv6-icmp'}, 'SecurityGroupEthertypeConflictWithProtocol'),
    ({'protocol': 'carrier'}, 'SecurityGroupRuleInvalidProtocol')])
def test_rules_that_make_no_sense(network, make, rule, kind):
    group = make(network, '/v2.0/security-groups', 'security_group', name='g')['id']
    answer = network.post('/v2.0/security-group-rules', json={'security_group_rule': {
        'security_group_id': group, 'direction': 'ingress', **rule}})
    assert status(answer) == (400, kind)


def test_rules_in_bulk_and_only_once(network, make):
    group = make(network, '/v2.0/security-groups', 'security_group', name='web')['id']
    rules = [{'security_group_id': group, 'direction': 'ingress', 'protocol': 'tcp', 'port_range_min': port,
              'port_range_max': str(port)} for port in (80, 443)]
    made = network.post('/v2.0/security-group-rules', json={'security_group_rules': rules})
    assert [each['port_range_max'] for each in made.json()['security_group_rules']] == [80, 443]
    assert status(network.post('/v2.0/security-group-rules', json={'security_group_rules': [
        {**rules[0], 'port_range_min': 1, 'port_range_max': 2}, rules[1]]})) == (409, 'SecurityGroupRuleExists')
    shown = network.get(f'/v2.0/security-groups/{group}').json()['security_group']
    assert len(shown['security_group_rules']) == 4


def test_subnets_from_a_pool(network, make):
    pool = make(network, '/v2.0/subnetpools', 'subnetpool', name='p', prefixes=['10.70.0.0/16'],
                default_prefixlen='24')['id']
    net = make(network, '/v2.0/networks', 'network', name='n')['id']
    cidrs = [make(network, '/v2.0/subnets', 'subnet', network_id=net, ip_version=4, subnetpool_id=pool)['cidr']
             for _ in range(2)]
    assert cidrs == ['10.70.0.0/24', '10.70.1.0/24']
    assert status(network.delete(f'/v2.0/subnetpools/{pool}')) == (409, 'SubnetPoolInUse')


def test_a_pool_joins_adjacent_prefixes_and_never_shrinks(network, make):
    pool = make(network, '/v2.0/subnetpools', 'subnetpool', name='p', prefixes=['10.77.0.0/16', '10.76.0.0/16'])
    assert pool['prefixes'] == ['10.76.0.0/15']

    def put(*prefixes):
        return network.put(f'/v2.0/subnetpools/{pool["id"]}', json={'subnetpool': {'prefixes': list(prefixes)}})

    assert put('10.79.0.0/16', '10.76.0.0/15', '10.78.0.0/16').json()['subnetpool']['prefixes'] == ['10.76.0.0/14']
    assert status(put('10.76.0.0/15')) == (400, 'IllegalSubnetPoolPrefixUpdate')


@pytest.mark.parametrize('prefixes, kind', [([], 'EmptySubnetPoolPrefixList'),
                                            (['10.74.0.0/16', '2001:db8::/48'], 'PrefixVersionMismatch')])
def test_prefixes_of_a_pool_are_of_one_version(network, prefixes, kind):
    answer = network.post('/v2.0/subnetpools', json={'subnetpool': {'name': 'p', 'prefixes': prefixes}})
    assert status(answer) == (400, kind)


@pytest.mark.parametrize('fields, gateway, first', [
    ({}, '10.9.1.1', '10.9.1.2'), ({'gateway_ip': None}, None, '10.9.1.1'),
    ({'gateway_ip': '10.9.1.254'}, '10.9.1.254', '10.9.1.1'),
    ({'allocation_pools': [{'start': '10.9.1.10', 'end': '10.9.1.20'}]}, '10.9.1.1', '10.9.1.10')])
def test_gateways_and_pools(network, make, fields, gateway, first):
    net = make(network, '/v2.0/networks', 'network', name='n')['id']
    made = make(network, '/v2.0/subnets', 'subnet', network_id=net, ip_version=4, cidr='10.9.1.0/24', **fields)
    assert (made['gateway_ip'], made['allocation_pools'][0]['start']) == (gateway, first)


def test_six_and_four(network, make):
    net = make(network, '/v2.0/networks', 'network', name='n')['id']
    make(network, '/v2.0/subnets', 'subnet', network_id=net, ip_version=6, cidr='2001:db8::/64',
         ipv6_address_mode='slaac', ipv6_ra_mode='slaac')
    make(network, '/v2.0/subnets', 'subnet', network_id=net, ip_version=4, cidr='10.9.2.0/24')
    port = make(network, '/v2.0/ports', 'port', network_id=net, mac_address='fa:16:3e:01:02:03')
    assert [each['ip_address'] for each in port['fixed_ips']] == ['10.9.2.2', '2001:db8::f816:3eff:fe01:203']


def test_unknown_fields_and_missing_ones(network):
    assert status(network.post('/v2.0/networks', json={'network': {'nome': 'x'}}))[0] == 400
    assert status(network.post('/v2.0/subnets', json={'subnet': {'ip_version': 4}}))[0] == 400
    assert status(network.post('/v2.0/ports', json={'port': {'network_id': 'nowhere'}})) == (404, 'NetworkNotFound')


def test_tags_and_revisions(network, make):
    net = make(network, '/v2.0/networks', 'network', name='n')['id']
    network.put(f'/v2.0/networks/{net}/tags', json={'tags': ['b', 'a']})
    assert [each['id'] for each in network.get('/v2.0/networks?tags=a,b').json()['networks']] == [net]
    before = network.get(f'/v2.0/networks/{net}').json()['network']['revision_number']
    shown = network.put(f'/v2.0/networks/{net}', json={'network': {'name': 'm'}}).json()['network']
    assert (shown['name'], shown['revision_number']) == ('m', before + 1)


def test_trunks(network, make, plain):
    net, _ = plain
    parent, child = (make(network, '/v2.0/ports', 'port', network_id=net)['id'] for _ in range(2))
    trunk = make(network, '/v2.0/trunks', 'trunk', port_id=parent)['id']
    sub = {'sub_ports': [{'port_id': child, 'segmentation_type': 'vlan', 'segmentation_id': 100}]}
    assert network.put(f'/v2.0/trunks/{trunk}/add_subports', json=sub).json()['sub_ports'] == sub['sub_ports']
    assert status(network.delete(f'/v2.0/ports/{child}')) == (409, 'PortInUseAsSubPort')
    shown = network.get(f'/v2.0/ports/{parent}').json()['port']
    sub_port = network.get(f'/v2.0/ports/{child}').json()['port']
    assert shown['trunk_details'] == {
        'trunk_id': trunk, 'sub_ports': [{**sub['sub_ports'][0], 'mac_address': sub_port['mac_address']}]}
    assert 'trunk_details' not in sub_port
    network.put(f'/v2.0/trunks/{trunk}', json={'trunk': {'admin_state_up': False}})
    for refused in (network.put(f'/v2.0/trunks/{trunk}/remove_subports', json=sub),
                    network.put(f'/v2.0/trunks/{trunk}/add_subports', json=sub),
                    network.delete(f'/v2.0/trunks/{trunk}')):
        assert status(refused) == (409, 'TrunkDisabled')
    network.put(f'/v2.0/trunks/{trunk}', json={'trunk': {'admin_state_up': True}})
    network.put(f'/v2.0/trunks/{trunk}/remove_subports', json=sub)
    assert network.delete(f'/v2.0/trunks/{trunk}').status_code == 204


def test_qos_rules_show_in_their_policy(sim, make):
    admin = sim.service('network', 'admin')
    policy = make(admin, '/v2.0/qos/policies', 'policy', name='slow')['id']
    make(admin, f'/v2.0/qos/policies/{policy}/bandwidth_limit_rules', 'bandwidth_limit_rule', max_kbps=100)
    rule, = admin.get(f'/v2.0/qos/policies/{policy}').json()['policy']['rules']
    assert (rule['type'], rule['max_kbps']) == ('bandwidth_limit', 100)
    net = make(admin, '/v2.0/networks', 'network', name='n', qos_policy_id=policy)['id']
    assert status(admin.delete(f'/v2.0/qos/policies/{policy}'))[0] == 409
    admin.delete(f'/v2.0/networks/{net}')
    assert admin.delete(f'/v2.0/qos/policies/{policy}').status_code == 204


def test_sharing_by_rbac(sim, network, make):
    admin = sim.service('network', 'admin')
    net = make(admin, '/v2.0/networks', 'network', name='theirs')['id']
    assert network.get(f'/v2.0/networks/{net}').status_code == 404
    make(admin, '/v2.0/rbac-policies', 'rbac_policy', object_type='network', object_id=net, action='access_as_shared',
         target_tenant=sim.session().get_project_id())
    assert network.get('/v2.0/networks?name=theirs').json()['networks'][0]['id'] == net


def test_quota(sim, network, make):
    project = sim.session().get_project_id()
    sim.service('network', 'admin').put(f'/v2.0/quotas/{project}', json={'quota': {'network': 1}})
    make(network, '/v2.0/networks', 'network', name='n')
    assert status(network.post('/v2.0/networks', json={'network': {'name': 'm'}})) == (409, 'OverQuota')


def test_extensions(network):
    aliases = {each['alias'] for each in network.get('/v2.0/extensions').json()['extensions']}
    assert aliases >= {'router', 'security-group', 'trunk', 'qos', 'subnet_allocation', 'extraroute-atomic'}
    assert network.get('/v2.0/extensions/nothing').status_code == 404


def test_extra_routes(network, make, plain):
    _, subnet = plain
    router = make(network, '/v2.0/routers', 'router', name='r')['id']
    route = {'router': {'routes': [{'destination': '10.77.0.0/24', 'nexthop': '10.9.0.3'}]}}
    assert status(network.put(f'/v2.0/routers/{router}/add_extraroutes', json=route)) == (400, 'InvalidRoutes')
    network.put(f'/v2.0/routers/{router}/add_router_interface', json={'subnet_id': subnet})
    shown = network.put(f'/v2.0/routers/{router}/add_extraroutes', json=route).json()['router']
    assert shown['routes'] == route['router']['routes']
    assert status(network.put(f'/v2.0/routers/{router}/remove_router_interface', json={'subnet_id': subnet})) == (
        409, 'RouterInterfaceInUseByRoute')
    shown = network.put(f'/v2.0/routers/{router}/remove_extraroutes', json=route).json()['router']
    assert shown['routes'] == []
