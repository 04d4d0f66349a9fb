"""Octavia: the tree, and that it is immutable while it changes."""

import pytest


@pytest.fixture
def octavia(sim):
    return sim.service('load-balancer')


@pytest.fixture
def tree(sim, octavia, seed, make):
    """A load balancer with a listener, a pool and a member, all active."""
    balancer = make(octavia, '/v2/lbaas/loadbalancers', 'loadbalancer', name='lb',
                    vip_subnet_id=seed('network.subnets', 'private-subnet'))
    assert balancer['provisioning_status'] == 'PENDING_CREATE'
    sim.advance()
    listener = make(octavia, '/v2/lbaas/listeners', 'listener', protocol='HTTP', protocol_port=80,
                    loadbalancer_id=balancer['id'])['id']
    sim.advance()
    pool = make(octavia, '/v2/lbaas/pools', 'pool', protocol='HTTP', lb_algorithm='ROUND_ROBIN',
                listener_id=listener)['id']
    sim.advance()
    member = make(octavia, f'/v2/lbaas/pools/{pool}/members', 'member', address='10.0.0.9', protocol_port=80)['id']
    sim.advance()
    return {'loadbalancers': balancer['id'], 'listeners': listener, 'pools': pool, 'members': member}


def show(octavia, kind, id):
    return octavia.get(f'/v2/lbaas/{kind}/{id}').json()[kind[:-1]]


def test_the_tree_knows_itself(octavia, tree):
    balancer = show(octavia, 'loadbalancers', tree['loadbalancers'])
    assert (balancer['provisioning_status'], balancer['operating_status']) == ('ACTIVE', 'ONLINE')
    assert balancer['vip_address'].startswith('10.0.')
    assert [each['id'] for each in balancer['listeners']] == [tree['listeners']]
    assert show(octavia, 'listeners', tree['listeners'])['default_pool_id'] == tree['pools']
    assert [each['id'] for each in show(octavia, 'pools', tree['pools'])['members']] == [tree['members']]


def test_it_is_immutable_while_it_changes(sim, octavia, tree):
    path = f'/v2/lbaas/pools/{tree["pools"]}/members'
    body = {'member': {'address': '10.0.0.10', 'protocol_port': 80}}
    assert octavia.post(path, json=body).status_code == 201
    again = octavia.post(path, json={'member': {'address': '10.0.0.11', 'protocol_port': 80}})
    assert again.status_code == 409
    assert 'is immutable and cannot be updated' in again.json()['faultstring']
    assert show(octavia, 'loadbalancers', tree['loadbalancers'])['provisioning_status'] == 'PENDING_UPDATE'
    assert octavia.delete(f'/v2/lbaas/listeners/{tree["listeners"]}').status_code == 409
    sim.advance()
    assert octavia.post(path, json=body).status_code == 409            # the same address again
    assert octavia.delete(f'{path}/{tree["members"]}').status_code == 204
    assert octavia.get(f'{path}/{tree["members"]}').json()['member']['provisioning_status'] == 'PENDING_DELETE'
    sim.advance()
    assert octavia.get(f'{path}/{tree["members"]}').status_code == 404


def test_delete_wants_cascade_when_there_are_children(sim, octavia, tree):
    path, ports = f'/v2/lbaas/loadbalancers/{tree["loadbalancers"]}', len(sim.ids('network.ports'))
    assert octavia.delete(path).status_code == 400
    assert octavia.delete(f'{path}?cascade=true').status_code == 204
    sim.advance()
    assert octavia.get(path).status_code == 404
    assert all(not sim.ids(f'load-balancer.{kind}') for kind in tree)
    assert len(sim.ids('network.ports')) == ports - 1


def test_monitors_policies_rules(sim, octavia, tree, make):
    monitor = make(octavia, '/v2/lbaas/healthmonitors', 'healthmonitor', pool_id=tree['pools'], type='HTTP', delay=5,
                   timeout=3, max_retries=2)
    assert monitor['url_path'] == '/'
    sim.advance()
    assert show(octavia, 'pools', tree['pools'])['healthmonitor_id'] == monitor['id']
    policy = make(octavia, '/v2/lbaas/l7policies', 'l7policy', listener_id=tree['listeners'], action='REJECT')['id']
    sim.advance()
    rule = make(octavia, f'/v2/lbaas/l7policies/{policy}/rules', 'rule', type='PATH', compare_type='EQUAL_TO',
                value='/x')
    sim.advance()
    shown = octavia.get(f'/v2/lbaas/l7policies/{policy}').json()['l7policy']
    assert [each['id'] for each in shown['rules']] == [rule['id']]
    place = f'/v2/lbaas/l7policies/{policy}/rules/{rule["id"]}'
    keys = []
    for change in ({'type': 'HEADER', 'key': 'X-Lamp'}, {'value': '/y'}, {'type': 'PATH'}):
        octavia.put(place, json={'rule': change})
        sim.advance()
        keys.append(octavia.get(place).json()['rule']['key'])
    assert keys == ['X-Lamp', 'X-Lamp', None]


def test_openstacksdk_walks_it(sim, seed):
    sim.run_clock()
    cloud = sim.connect().load_balancer
    made = cloud.create_load_balancer(name='lb', vip_subnet_id=seed('network.subnets', 'private-subnet'))
    made = cloud.wait_for_load_balancer(made.id, interval=0.05)
    assert made.provisioning_status == 'ACTIVE'
    assert cloud.find_load_balancer('lb').id == made.id
    cloud.delete_load_balancer(made)


def test_flavors(sim, make):
    admin = sim.service('load-balancer', 'admin')
    profile = make(admin, '/v2/lbaas/flavorprofiles', 'flavorprofile', name='p', provider_name='amphora',
                   flavor_data='{}')
    flavor = make(admin, '/v2/lbaas/flavors', 'flavor', name='f', flavor_profile_id=profile['id'])
    assert admin.delete(f'/v2/lbaas/flavorprofiles/{profile["id"]}').status_code == 409
    assert admin.delete(f'/v2/lbaas/flavors/{flavor["id"]}').status_code == 204
