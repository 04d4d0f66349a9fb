"""Checks of plans against the simulated cloud: quotas, sizes, zones, what is in use; services that do not answer."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.engine.types import registry
from heatlite.planning.costs.consumption import FACTS
from tests.simulation.cluster import done
from tests.simulation.openstack import stack

SERVER = {'image': 'cirros', 'flavor': 'm1.small', 'networks': [{'network': 'private'}]}
DISK = ('OS::Cinder::Volume', {'size': 10})
SHOP = {'server': ('OS::Nova::Server', SERVER), 'disk': DISK}


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        yield found


def test_the_facts_name_properties_of_the_types():
    types = registry.create()
    for name, facts in FACTS.items():
        assert set(facts.names) <= types.get_class(name).properties_schema.keys(), name
    registry.use(None)


def texts(plan, level=None):
    return [finding['text'] for finding in plan.document['findings'] if level in (None, finding['level'])]


def test_a_plan_tells_what_it_asks_for(it):
    plan = it.plan(SHOP)
    assert texts(plan) == []
    assert plan.document['totals'] == {
        'instances': {'before': 0, 'after': 1, 'at_once': 1}, 'vcpus': {'before': 0, 'after': 1, 'at_once': 1},
        'ram_mib': {'before': 0, 'after': 2048, 'at_once': 2048}, 'disk_gib': {'before': 0, 'after': 20, 'at_once': 20},
        'volumes': {'before': 0, 'after': 1, 'at_once': 1}, 'volume_gib': {'before': 0, 'after': 10, 'at_once': 10},
        'ports': {'before': 0, 'after': 1, 'at_once': 1}}
    assert plan.document['cost'] is None and plan.document['refreshed_at'] is None


def test_a_quota_that_does_not_suffice_is_an_error(it):
    it.quota('nova', ram=4000)
    it.quota('cinder', gigabytes=25)
    it.quota('neutron', port=100)
    it.create(SHOP)
    plan = it.plan({**SHOP, 'more': ('OS::Nova::Server', SERVER), 'disk2': DISK, 'disk3': DISK})
    assert texts(plan, 'error') == ['The quota of ram_mib is 4000, of which 2048 is used; the plan adds 2048.',
                                   'The quota of volume_gib is 25, of which 10 is used; the plan adds 20.']
    assert it.apply(plan)['stack_id'] == it.id          # it is the user's decision


def test_old_objects_of_replacements_need_room_beside_the_new_ones(it):
    it.quota('cinder', volumes=1)
    it.create({'disk': DISK})
    plan = it.plan({'disk': ('OS::Cinder::Volume', {'size': 10, 'availability_zone': 'nova'})})
    assert plan.summary['replace'] == 1
    assert texts(plan, 'error') == ['The quota of volumes is 1, of which 1 is used; the plan adds 1 (1 of it beside '
                                   'what is replaced).']
    plan = it.plan({'other': DISK})
    assert texts(plan, 'warning') == ['The quota of volumes is 1, of which 1 is used; the plan adds 1 (1 is deleted, '
                                     'perhaps too late).']


BALANCED = {
    'lb': ('OS::Octavia::LoadBalancer', {'vip_subnet': {'get_resource': 'subnet'}}),
    'net': ('OS::Neutron::Net', {}),
    'subnet': ('OS::Neutron::Subnet', {'network': {'get_resource': 'net'}, 'cidr': '10.9.0.0/24'}),
    'pool': ('OS::Octavia::Pool', {'loadbalancer': {'get_resource': 'lb'}, 'protocol': 'HTTP',
                                   'lb_algorithm': 'ROUND_ROBIN'}),
    'member': ('OS::Octavia::PoolMember', {'pool': {'get_resource': 'pool'}, 'address': '10.9.0.9',
                                           'protocol_port': 80})}


def test_quotas_of_load_balancing(it):
    """The service does not say what is used."""
    def quota(**limits):
        it.request('octavia', 'PUT', f'/lbaas/quotas/{it.cloud.project_id}', {'quota': limits})

    quota(load_balancer=1, pool=2, member=1)
    it.create(BALANCED)
    more = {**BALANCED, 'pool2': BALANCED['pool'], 'member2': ('OS::Octavia::PoolMember', {
        **BALANCED['member'][1], 'address': '10.9.0.10'})}
    plan = it.plan(more)
    assert texts(plan, 'error') == ['The quota of pool_members is 1, of which 1 is used; the plan adds 1.']
    assert plan.document['totals']['pools'] == {'before': 1, 'after': 2, 'at_once': 2}
    quota(member=5)
    assert texts(it.plan(more)) == []
    assert texts(it.plan({**more, 'lb2': BALANCED['lb']})) == [
        'The quota of load_balancers is 1, of which 1 is used; the plan adds 1.']


def test_quotas_of_shared_file_systems(it):
    share = ('OS::Manila::Share', {'share_protocol': 'NFS', 'size': 3, 'share_type': 'default'})
    it.request('manila', 'PUT', f'/quota-sets/{it.cloud.project_id}', {'quota_set': {'shares': 5, 'gigabytes': 10}})
    it.create({'one': share})
    assert texts(it.plan({'one': share, 'two': share})) == []
    assert texts(it.plan({'one': share, 'two': share, 'three': share, 'four': share})) == [
        'The quota of share_gib is 10, of which 3 is used; the plan adds 9.']


def test_the_checks_are_made_again_when_a_plan_is_applied(cloud):
    with stack(cloud, engines=1, **{'plans.refuse_errors': True}) as it:
        plan = it.plan({'disk': DISK})
        it.quota('cinder', volumes=0)
        refused = it.apply(plan, (exception.Conflict,))
        assert 'find errors' in str(refused) and 'The quota of volumes is 0' in str(refused)
        bad = it.plan({'disk': DISK})
        assert texts(bad, 'error')
        it.quota('cinder', volumes=5)
        it.apply(bad)                               # what was in the way is not there any more
        it.id = bad.stack_id or it.cluster.user_stack('s')
        done(it.cluster, it.id, 'CREATE')


def test_a_volume_does_not_shrink(it):
    it.create({'disk': DISK})
    smaller, larger = ({'disk': (DISK[0], {'size': size})} for size in (9, 11))
    [finding] = it.plan(smaller).document['findings']
    assert (finding['level'], finding['path']) == ('error', ['disk'])
    assert finding['text'] == 'A volume cannot be made smaller: it has 10 GiB.'
    assert finding['cause']['what'] == 'resources.disk.properties.size'
    assert texts(it.plan(larger)) == []


def test_members_of_groups_are_counted(it):
    def group(size, zone):
        return {'group': ('OS::Heat::ResourceGroup', {'count': size, 'resource_def': {
            'type': 'OS::Cinder::Volume', 'properties': {'size': 2, 'availability_zone': zone}}})}

    it.quota('cinder', volumes=2)
    it.create(group(1, 'nova'))
    plan = it.plan(group(3, 'mars'))
    assert plan.document['totals']['volume_gib'] == {'before': 2, 'after': 6, 'at_once': 8}
    assert 'The quota of volumes is 2, of which 1 is used; the plan adds 3 (1 of it beside what is replaced).' in texts(
        plan, 'error')
    assert sorted(each['path'] for each in plan.document['findings'] if 'mars' in each['text']) == [
        ['group', '0'], ['group', '1'], ['group', '2']]


def test_hidden_values_do_not_appear_in_findings(it):
    plan = it.planned(action='create', stack_name='s', template={
        'heat_template_version': '2021-04-16',
        'parameters': {'zone': {'type': 'string', 'hidden': True, 'default': 'sesame'}},
        'resources': {'group': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': {
            'type': 'OS::Cinder::Volume', 'properties': {
                'size': 1, 'availability_zone': {'get_param': 'zone'}}}}}}})
    assert texts(plan, 'error') == ['There is no availability zone ****** of the volume service; there is nova.']
    assert 'sesame' not in str(plan.document)


def test_findings_name_resource_and_cause(it):
    plan = it.plan({'server': ('OS::Nova::Server', {**SERVER, 'availability_zone': 'mars:host'})})
    [finding] = plan.document['findings']
    assert finding['path'] == ['server'] and finding['level'] == 'error'
    assert finding['cause']['what'] == 'resources.server.properties.availability_zone'
    assert finding['text'] == 'There is no availability zone mars of the compute service; there is nova.'


@pytest.mark.parametrize('field, value, why', [
    ('min_ram', 4096, 'requires 4096 minimum ram. Flavor m1.small has only 2048'),
    ('min_disk', 30, 'requires 30 GB minimum disk space. Flavor m1.small has only 20 GB')])
def test_an_image_must_fit_the_flavor(it, field, value, why):
    image = it.listed('glance', 'images', 'cirros')
    it.request('glance', 'PATCH', f"/images/{image['id']}", [{'op': 'replace', 'path': f'/{field}', 'value': value}],
               headers={'Content-Type': 'application/openstack-images-v2.1-json-patch'})
    for wanted in ('cirros', image['id']):
        with pytest.raises(exception.StackValidationFailed, match=why):
            it.plan({'server': ('OS::Nova::Server', {**SERVER, 'image': wanted})})


def test_what_others_use_cannot_be_deleted(it):
    net = {'net': ('OS::Neutron::Net', {}), 'subnet': ('OS::Neutron::Subnet', {
        'network': {'get_resource': 'net'}, 'cidr': '10.9.0.0/24'})}
    it.create({**net, 'port': ('OS::Neutron::Port', {'network': {'get_resource': 'net'}}), 'disk': DISK})
    assert texts(it.plan()) == []
    port = it.request('neutron', 'POST', '/ports', {'port': {'network_id': it.physical_id('net')}})['port']
    server = it.server()
    it.request('nova', 'POST', f'/servers/{server}/os-volume_attachments',
               {'volumeAttachment': {'volumeId': it.physical_id('disk')}})
    it.cloud.advance(100)
    plan = it.plan()
    by = {finding['path'][0]: finding['text'] for finding in plan.document['findings'] if finding['level'] == 'error'}
    assert set(by) == {'net', 'subnet', 'disk'}
    assert by['net'] == f"It is in use outside the stack, by port {port['id']}, and cannot be deleted."
    assert by['disk'] == f"It is in use outside the stack, by server {server}, and cannot be deleted."


@pytest.mark.parametrize('fault, why', [
    ({'kind': 'error', 'status': 503}, 'the service does not answer'),
    ({'kind': 'error', 'status': 403}, 'the service refuses your credentials')])
def test_a_service_that_does_not_answer_is_a_warning(it, fault, why):
    it.fault(service='volume', path='*limits*', count=0, **fault)
    plan = it.plan(SHOP)
    assert texts(plan) == [f'Not checked: quotas of the volume service; {why}.']
    assert plan.document['totals']['volume_gib']['after'] == 10


def test_requests_do_not_depend_on_the_number_of_resources(it):
    it.plan({f's{number}': ('OS::Nova::Server', {**SERVER, 'availability_zone': 'nova'}) for number in range(2)})
    before = it.count_requests()
    it.plan({f's{number}': ('OS::Nova::Server', {**SERVER, 'availability_zone': 'nova'}) for number in range(2)})
    few = it.count_requests() - before
    it.plan({f's{number}': ('OS::Nova::Server', {**SERVER, 'availability_zone': 'nova'}) for number in range(30)})
    assert 0 < few < 10 and it.count_requests() - before - few == few


def test_the_operator_may_refuse_plans_with_errors(cloud):
    with stack(cloud, engines=1, **{'plans.refuse_errors': True}) as it:
        plan = it.plan({'server': ('OS::Nova::Server', {**SERVER, 'availability_zone': 'mars'})})
        refused = it.apply(plan, (exception.Conflict,))
        assert isinstance(refused, exception.Conflict) and 'no availability zone mars' in str(refused)
        assert it.apply(it.plan({'disk': DISK}))


def test_prices_make_costs(cloud, tmp_path):
    prices = tmp_path / 'prices.yaml'
    prices.write_text('currency: EUR\nflavors: {m1.small: 0.02}\nvolume_types: {default: 0.0001}\n'
                      'each: {ports: 0.001}\n')
    with stack(cloud, engines=1, **{'plans.prices': str(prices)}) as it:
        it.create({'disk': DISK})
        assert it.plan(SHOP).document['cost'] == {
            'currency': 'EUR', 'per_hour': {'before': '0.001', 'after': '0.022'}, 'without_price': []}
        [(_runtime, engine)] = it.cluster.engines
        for text in ('currency: USD\n', 'currency: [\n'):      # at SIGHUP; the second one is broken, the first stays
            prices.write_text(text)
            engine.reload()
            assert it.plan(SHOP).document['cost']['currency'] == 'USD'


HASHMAP = '/module_config/hashmap'


def rate(it):
    """0.02 for a server of m1.small, 0.5 for a GiB."""
    server, disk = (it.rating('POST', f'{HASHMAP}/services', {'name': name})['service_id']
                    for name in ('instance', 'volume.size'))
    flavor = it.rating('POST', f'{HASHMAP}/fields', {'service_id': server, 'name': 'flavor_name'})['field_id']
    it.rating('POST', f'{HASHMAP}/mappings', {'field_id': flavor, 'value': 'm1.small', 'type': 'flat', 'cost': 0.02})
    it.rating('POST', f'{HASHMAP}/mappings', {'service_id': disk, 'type': 'flat', 'cost': 0.5})


def quotes(it):
    return sum('rating/v1/rating/quote' in each for each in it.requests())


def test_the_rating_service_says_costs(cloud):
    with stack(cloud, engines=1, **{'plans.rating_currency': 'EUR'}) as it:
        assert it.plan(SHOP).document['cost'] is None               # it has no price for any of it
        rate(it)
        it.create({'disk': DISK})
        before = quotes(it)
        many = {f's{number}': SHOP['server'] for number in range(20)}
        assert it.plan({'disk': DISK, **many}).document['cost'] == {
            'currency': 'EUR', 'per_hour': {'before': '5', 'after': '5.4'}, 'without_price': []}
        assert quotes(it) - before == 2                             # whatever the number of resources
        it.fault(service='rating', path='*quote', count=0, kind='error')
        plan = it.plan(SHOP)
        assert texts(plan) == ['Not checked: costs; the service does not answer.']
        assert plan.document['cost'] is None


def test_a_plan_with_too_many_objects_has_no_cost(it):
    rate(it)
    plan = it.plan({'group': ('OS::Heat::ResourceGroup', {
        'count': 2001, 'resource_def': {'type': DISK[0], 'properties': DISK[1]}})})
    assert plan.document['cost'] is None
    assert 'Not checked: costs; Request limit exceeded: there are more than 2000 objects with a price.' in texts(
        plan, 'warning')


@pytest.mark.parametrize('options', [{'plans.rating': False}, {'plans.check_timeout': 0.0}])
def test_the_rating_service_is_not_asked_if_the_operator_does_not_want_it(cloud, options):
    with stack(cloud, engines=1, **options) as it:
        rate(it)
        assert it.plan(SHOP).document['cost'] is None and quotes(it) == 0


def test_prices_of_the_operator_come_first(cloud, tmp_path):
    prices = tmp_path / 'prices.yaml'
    prices.write_text('currency: USD\neach: {volumes: 1}\n')
    with stack(cloud, engines=1, **{'plans.prices': str(prices)}) as it:
        rate(it)
        assert it.plan(SHOP).document['cost']['per_hour']['after'] == '1' and quotes(it) == 0


def test_services_are_not_asked_if_the_operator_does_not_want_it(cloud):
    with stack(cloud, engines=1, **{'plans.check_timeout': 0.0}) as it:
        plan = it.plan({'disk': DISK})
        assert texts(plan) == [] and plan.document['totals']['volumes']['after'] == 1
        assert not any('limits' in each for each in it.requests())
