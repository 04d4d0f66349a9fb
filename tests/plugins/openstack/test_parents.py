"""Objects of described types that are a part of others, which were given by name."""

from __future__ import annotations

from heatlite.engine.clients import caching
from tests.plugins.openstack.cloud import Cloud, Life

RECORDS = {'zone': 'parents.example.org.', 'name': 'www.parents.example.org.', 'type': 'A', 'records': ['10.0.0.1']}


def zone(cloud: Cloud) -> Life:
    made = Life(cloud, 'OS::Designate::Zone', {'name': 'parents.example.org.', 'email': 'a@example.org'}, name='zone')
    made.create()
    return made


def records(cloud: Cloud) -> Life:
    made = Life(cloud, 'OS::Designate::RecordSet', RECORDS)
    made.create()
    return made


def is_there(cloud: Cloud, life: Life) -> bool:
    return life.physical_id in cloud.ids()['dns.recordsets']


def test_a_record_set_goes_though_the_name_of_its_zone_leads_nowhere(cloud: Cloud):
    parent, life = zone(cloud), records(cloud)
    assert is_there(cloud, life)
    parent.delete()
    life.runtime.sleep(caching.ONE_WORK + 1)
    life.delete()
    assert not is_there(cloud, life)


def test_a_record_set_that_was_made_before_its_zone_was_stored_goes_too(cloud: Cloud):
    parent, life = zone(cloud), records(cloud)
    life.record.data.clear()
    assert is_there(cloud, life)
    parent.delete()
    life.runtime.sleep(caching.ONE_WORK + 1)
    life.delete()
    assert not is_there(cloud, life)


def test_a_member_is_found_in_the_pool_that_got_another_name(cloud: Cloud):
    network = {'vip_subnet': 'private-subnet'}
    balancer = Life(cloud, 'OS::Octavia::LoadBalancer', network, name='balancer')
    balancer.create()
    pool = Life(cloud, 'OS::Octavia::Pool', {'name': 'web', 'loadbalancer': balancer.physical_id, 'protocol': 'HTTP',
                                             'lb_algorithm': 'ROUND_ROBIN'}, name='pool')
    pool.create()
    wanted = {'pool': 'web', 'address': '10.0.0.9', 'protocol_port': 80}
    life = Life(cloud, 'OS::Octavia::PoolMember', wanted, name='member')
    life.create()
    octavia = cloud.client('octavia').http
    octavia.put(f'/lbaas/pools/{pool.physical_id}', json={'pool': {'name': 'other'}})
    cloud.advance(60)
    life.runtime.sleep(caching.ONE_WORK + 1)
    assert life.drift(wanted) == {}
    for each in (life, pool, balancer):
        each.delete()
