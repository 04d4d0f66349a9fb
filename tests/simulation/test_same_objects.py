"""Objects that are settings of others, or can exist only once: an update that makes a resource anew leaves the wanted
object there, whatever had failed before."""

from __future__ import annotations

import pytest

from heatlite.engine import clients
from heatlite.rpc import messages
from tests.simulation.cluster import done, kill_the_owner
from tests.simulation.openstack import stack, template


def reference(name):
    return {'get_resource': name}


def answer(it, service, path, verb='GET'):
    """What a service answers that `Stack.request` does not know, or whose headers matter."""
    with it._calls.unwatched():
        return clients.of(it.cluster.context).client_plugin(service).adapter().request(path, verb)


NET = {'net': ('OS::Neutron::Net', {}),
       'subnet': ('OS::Neutron::Subnet', {'network': reference('net'), 'cidr': '10.9.0.0/24'}),
       'router': ('OS::Neutron::Router', {'external_gateway_info': {'network': 'public'}}),
       'interface': ('OS::Neutron::RouterInterface', {'router': reference('router'), 'subnet': reference('subnet')})}
PORT = {**NET, 'port': ('OS::Neutron::Port', {'network': reference('net')})}
SERVER = {**PORT, 'server': ('OS::Nova::Server', {
    'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'port': reference('port')}]})}
ROUTE = {'destination': '10.77.0.0/24', 'nexthop': '10.9.0.9'}
ROLES = [{'role': role, 'project': reference('project')} for role in ('member', 'reader')]
PEOPLE = {'project': ('OS::Keystone::Project', {}), 'user': ('OS::Keystone::User', {}),
          'group': ('OS::Keystone::Group', {})}
VPC = {'vpc': ('AWS::EC2::VPC', {'CidrBlock': '10.0.0.0/16'}),
       'subnet': ('AWS::EC2::Subnet', {'VpcId': reference('vpc'), 'CidrBlock': '10.0.1.0/24'}),
       'internet': ('AWS::EC2::InternetGateway', {}),
       'table': ('AWS::EC2::RouteTable', {'VpcId': reference('vpc')})}
TYPES = {'type': ('OS::Cinder::VolumeType', {'name': 'fast'})}


def quota(kind, service, path, **limits):
    return ({'it': (kind, {'project': 'PROJECT', **limits})},
            lambda it: it.request(service, 'GET', path.format(it.cloud.project_id)))


def assigned(kind):
    return ({**PEOPLE, 'it': (f'OS::Keystone::{kind.title()}RoleAssignment', {kind: reference(kind), 'roles': ROLES})},
            lambda it: sorted(role['name'] for role in answer(
                it, 'keystone', f'/projects/{it.physical_id("project")}/{kind}s/{it.physical_id(kind)}/roles',
            ).json()['roles']))


def ports_of(it, found):
    return sorted((port['device_owner'], port['device_id']) for port in it.request('neutron', 'GET', '/ports')['ports']
                  if any(fixed['ip_address'].startswith(found) for fixed in port['fixed_ips']))


def floating(it):
    return [found['port_id'] for found in it.request('neutron', 'GET', '/floatingips')['floatingips']]


def routes(it):
    return it.request('neutron', 'GET', f'/routers/{it.physical_id("router")}')['router']['routes']


def gateways(it):
    routers = it.request('neutron', 'GET', '/routers')['routers']
    return sorted(str((router['external_gateway_info'] or {}).get('network_id')) for router in routers)


CASES = {
    'compute quota': quota('OS::Nova::Quota', 'nova', '/os-quota-sets/{}', cores=77),
    'volume quota': quota('OS::Cinder::Quota', 'cinder', '/os-quota-sets/{}', volumes=7),
    'network quota': quota('OS::Neutron::Quota', 'neutron', '/quotas/{}', port=77),
    'balancer quota': quota('OS::Octavia::Quota', 'octavia', '/lbaas/quotas/{}', pool=7),
    'queue': ({'it': ('OS::Zaqar::Queue', {'name': 'jobs', 'metadata': {'a': 'b'}})},
              lambda it: it.request('zaqar', 'GET', '/queues/jobs')),
    'container': ({'it': ('OS::Swift::Container', {'name': 'backup', 'PurgeOnDelete': True})},
                  lambda it: it.request('swift', 'HEAD', '/backup')),
    'roles of a user': assigned('user'),
    'roles of a group': assigned('group'),
    'interface': ({name: NET[name] for name in ('net', 'subnet', 'router')} | {'it': NET['interface']},
                  lambda it: ports_of(it, '10.9.')),
    'gateway': ({'router': ('OS::Neutron::Router', {}), 'it': (
        'OS::Neutron::RouterGateway', {'router_id': reference('router'), 'network': 'public'})}, gateways),
    'route': ({**NET, 'it': ('OS::Neutron::ExtraRoute', {'router_id': reference('router'), **ROUTE})}, routes),
    'routes': ({**NET, 'it': (
        'OS::Neutron::ExtraRouteSet', {'router': reference('router'), 'routes': [ROUTE]})}, routes),
    'floating address': ({**PORT, 'ip': ('OS::Neutron::FloatingIP', {'floating_network': 'public'}), 'it': (
        'OS::Neutron::FloatingIPAssociation', {'floatingip_id': reference('ip'), 'port_id': reference('port')})},
        floating),
    'floating address of a server': ({**SERVER, 'ip': ('OS::Nova::FloatingIP', {'pool': 'public'}), 'it': (
        'OS::Nova::FloatingIPAssociation', {'floating_ip': reference('ip'), 'server_id': reference('server')})},
        floating),
    'elastic address': ({**SERVER, 'ip': ('AWS::EC2::EIP', {}), 'it': (
        'AWS::EC2::EIPAssociation', {'EIP': reference('ip'), 'InstanceId': reference('server')})}, floating),
    'gateway of a VPC': ({**VPC, 'it': ('AWS::EC2::VPCGatewayAttachment', {
        'VpcId': reference('vpc'), 'InternetGatewayId': reference('internet')})}, gateways),
    'subnet of a VPC': ({**VPC, 'it': ('AWS::EC2::SubnetRouteTableAssociation', {
        'SubnetId': reference('subnet'), 'RouteTableId': reference('table')})}, lambda it: ports_of(it, '10.0.1.')),
    'quality of volumes': ({**TYPES, 'specs': ('OS::Cinder::QoSSpecs', {'specs': {'a': 'b'}}), 'it': (
        'OS::Cinder::QoSAssociation', {'qos_specs': reference('specs'), 'volume_types': [reference('type')]})},
        lambda it: it.request('cinder', 'GET', f'/qos-specs/{it.physical_id("specs")}/associations')),
    'encryption': ({**TYPES, 'it': (
        'OS::Cinder::EncryptedVolumeType', {'volume_type': reference('type'), 'provider': 'luks'})},
        lambda it: it.request('cinder', 'GET', f'/types/{it.physical_id("type")}/encryption')['provider']),
    'attachment': ({**SERVER, 'volume': ('OS::Cinder::Volume', {'size': 1}), 'it': (
        'OS::Cinder::VolumeAttachment', {'instance_uuid': reference('server'), 'volume_id': reference('volume')})},
        lambda it: it.request('cinder', 'GET', f'/volumes/{it.physical_id("volume")}')['volume']['status']),
    'key': ({'it': ('OS::Nova::KeyPair', {'name': 'mine', 'save_private_key': True})},
            lambda it: it.request('nova', 'GET', '/os-keypairs/mine')['keypair']['name']),
    'region': ({'it': ('OS::Keystone::Region', {'id': 'north'})},
               lambda it: answer(it, 'keystone', '/regions/north').json()['region']['id']),
    'trigger': ({'workflow': ('OS::Mistral::Workflow', {
        'name': 'nightly', 'type': 'direct', 'tasks': [{'name': 'a', 'action': 'std.noop'}]}), 'it': (
        'OS::Mistral::CronTrigger', {
            'name': 'nightly', 'pattern': '* * * * *', 'workflow': {'name': reference('workflow')}})},
        lambda it: it.request('mistral', 'GET', '/cron_triggers/nightly')['name']),
}


def of_project(it, resources):
    return {name: (kind, {**given, 'project': it.cloud.project_id} if given.get('project') == 'PROJECT' else given)
            for name, (kind, given) in resources.items()}


@pytest.mark.parametrize('name', CASES)
def test_after_it_was_marked(cloud, name):
    """The failure that users cause: `resource mark unhealthy`, then an update of the same template."""
    given, look = CASES[name]
    with stack(cloud, engines=1) as it:
        resources = of_project(it, given)
        it.create(resources)
        before = look(it)
        it.cluster.ask(messages.MarkUnhealthy(it.id, 'it', True, 'it may be broken'))
        it.cluster.update(it.id, template(resources))
        done(it.cluster, it.id, 'UPDATE')
        assert look(it) == before


# name of a case -> the request of its create that is refused once
REFUSED = {
    'compute quota': ('compute', 'PUT', '*/os-quota-sets/*', 1),
    'volume quota': ('volumev3', 'PUT', '*/os-quota-sets/*', 1),
    'network quota': ('network', 'PUT', '*/quotas/*', 1),
    'balancer quota': ('load-balancer', 'PUT', '*/quotas/*', 1),
    'queue': ('messaging', 'PUT', '*/queues/jobs', 1),
    'container': ('object-store', 'PUT', '*/backup', 1),
    'roles of a user': ('identity', 'PUT', '*/roles/*', 1),
    'roles of a group': ('identity', 'PUT', '*/roles/*', 2),
    'interface': ('network', 'PUT', '*/add_router_interface', 1),
    'gateway': ('network', 'PUT', '*/routers/*', 1),
    'route': ('network', 'PUT', '*/routers/*', 1),
    'routes': ('network', 'PUT', '*/add_extraroutes', 1),
    'floating address': ('network', 'PUT', '*/floatingips/*', 1),
    'floating address of a server': ('network', 'PUT', '*/floatingips/*', 1),
    'elastic address': ('network', 'PUT', '*/floatingips/*', 1),
    'gateway of a VPC': ('network', 'PUT', '*/routers/*', 1),
    'subnet of a VPC': ('network', 'PUT', '*/add_router_interface', 1),
    'quality of volumes': ('volumev3', 'GET', '*/associate', 1),
    'encryption': ('volumev3', 'POST', '*/encryption', 1),
    'attachment': ('compute', 'POST', '*/os-volume_attachments', 1),
    'key': ('compute', 'POST', '*/os-keypairs', 1),
    'region': ('identity', 'PUT', '*/regions/north', 1),
    'trigger': ('workflowv2', 'POST', '*/cron_triggers', 1),
}


@pytest.mark.parametrize('name', CASES)
def test_after_a_create_that_was_refused(cloud, name):
    given, look = CASES[name]
    service, method, path, number = REFUSED[name]
    with stack(cloud, engines=1) as it:
        resources = of_project(it, given)
        it.create(resources)
        before = look(it)
        it.cluster.update(it.id, template({part: resources[part] for part in resources if part != 'it'}))
        done(it.cluster, it.id, 'UPDATE')
        it.fault(kind='error', service=service, method=method, path=path, status=403, nth=number, count=1)
        it.cluster.update(it.id, template(resources))
        assert it.cluster.settle(it.id).status == 'FAILED'
        it.cluster.update(it.id, template(resources))
        done(it.cluster, it.id, 'UPDATE')
        assert look(it) == before


# name of a case -> the request of its delete that is refused once
UNDELETED = {
    'compute quota': ('compute', 'DELETE', '*/os-quota-sets/*'),
    'queue': ('messaging', 'DELETE', '*/queues/jobs'),
    'roles of a user': ('identity', 'DELETE', '*/roles/*'),
    'gateway': ('network', 'PUT', '*/routers/*'),
    'floating address': ('network', 'PUT', '*/floatingips/*'),
    'interface': ('network', 'PUT', '*/remove_router_interface'),
    'routes': ('network', 'PUT', '*/remove_extraroutes'),
    'attachment': ('compute', 'DELETE', '*/os-volume_attachments/*'),
    'key': ('compute', 'DELETE', '*/os-keypairs/*'),
    'region': ('identity', 'DELETE', '*/regions/north'),
}


def without_it(resources):
    return template({part: resources[part] for part in resources if part != 'it'})


@pytest.mark.parametrize('name', UNDELETED)
@pytest.mark.parametrize('is_rolled_back', [True, False], ids=['rolled back', 'updated back'])
def test_after_a_delete_that_was_refused(cloud, name, is_rolled_back):
    given, look = CASES[name]
    service, method, path = UNDELETED[name]
    with stack(cloud, engines=1) as it:
        resources = of_project(it, given)
        it.create(resources)
        before = look(it)
        it.fault(kind='error', service=service, method=method, path=path, status=403, count=1)
        it.cluster.update(it.id, without_it(resources), disable_rollback=not is_rolled_back)
        row = it.cluster.settle(it.id)
        if not is_rolled_back:
            assert row.status == 'FAILED'
            it.cluster.update(it.id, template(resources))
        done(it.cluster, it.id, 'ROLLBACK' if is_rolled_back else 'UPDATE')
        assert look(it) == before
        assert len(it.cluster.states(it.id)['it']) == 1


def test_a_delete_that_is_refused_again_says_so(cloud):
    given, look = CASES['gateway']
    with stack(cloud, engines=1) as it:
        it.create(given)
        before = look(it)
        it.fault(kind='error', service='network', method='PUT', path='*/routers/*', status=403, count=2)
        it.cluster.update(it.id, without_it(given))
        assert it.cluster.settle(it.id).status == 'FAILED'
        it.cluster.update(it.id, template(given))
        row = it.cluster.settle(it.id)
        assert row.status == 'FAILED' and row.reason.startswith('Resource DELETE failed: ')
        assert 'resources.it' in row.reason and look(it) == before
        it.cluster.update(it.id, template(given))
        done(it.cluster, it.id, 'UPDATE')
        assert look(it) == before


@pytest.mark.parametrize('name', ['compute quota', 'gateway', 'queue'])
def test_after_a_delete_that_was_interrupted(cloud, name):
    given, look = CASES[name]
    with stack(cloud, engines=2) as it:
        resources = of_project(it, given)
        it.create(resources)
        before = look(it)
        it.cluster.update(it.id, without_it(resources))
        assert it.cluster.universe.run(lambda: it.cluster.states(it.id)['it'][0][0] == 'DELETE', limit=100)
        kill_the_owner(it.cluster, it.id)
        it.cluster.update(it.id, template(resources))
        done(it.cluster, it.id, 'UPDATE')
        assert look(it) == before


def test_another_internet_gateway_of_a_vpc(cloud):
    """It is replaced, with the same routers behind it."""
    def wanted(name):
        return {**VPC, 'other': ('AWS::EC2::InternetGateway', {}), 'it': ('AWS::EC2::VPCGatewayAttachment', {
            'VpcId': reference('vpc'), 'InternetGatewayId': reference(name)})}

    with stack(cloud, engines=1) as it:
        it.create(wanted('internet'))
        before = gateways(it)
        it.cluster.update(it.id, template(wanted('other')))
        done(it.cluster, it.id, 'UPDATE')
        assert gateways(it) == before


def of_user(*names, user='user'):
    return {**PEOPLE, 'other': ('OS::Keystone::User', {}), 'it': ('OS::Keystone::UserRoleAssignment', {
        'user': reference(user), 'roles': [{'role': name, 'project': reference('project')} for name in names]})}


def roles_of(it, user):
    path = f'/projects/{it.physical_id("project")}/users/{it.physical_id(user)}/roles'
    return sorted(role['name'] for role in answer(it, 'keystone', path).json()['roles'])


@pytest.mark.parametrize('wanted, refused', [
    (of_user('member', 'reader', 'admin'), 2), (of_user('member', 'reader', user='other'), 2)],
    ids=['more roles', 'another user'])
def test_a_rollback_takes_away_the_roles_that_a_failed_update_has_added(cloud, wanted, refused):
    with stack(cloud, engines=1) as it:
        it.create(of_user('member'))
        it.fault(kind='error', service='identity', method='PUT', path='*/roles/*', status=403, nth=refused, count=1)
        it.cluster.update(it.id, template(wanted), disable_rollback=False)
        done(it.cluster, it.id, 'ROLLBACK')
        assert (roles_of(it, 'user'), roles_of(it, 'other')) == (['member'], [])


def test_a_delete_takes_away_the_roles_that_a_failed_update_has_added(cloud):
    with stack(cloud, engines=1) as it:
        it.create(of_user('member'))
        it.fault(kind='error', service='identity', method='PUT', path='*/roles/*', status=403, nth=2, count=1)
        it.cluster.update(it.id, template(of_user('member', 'reader', 'admin')))
        assert it.cluster.settle(it.id).status == 'FAILED'
        assert roles_of(it, 'user') == ['member', 'reader']
        it.cluster.update(it.id, template({name: part for name, part in of_user().items() if name != 'it'}))
        done(it.cluster, it.id, 'UPDATE')
        assert roles_of(it, 'user') == []


def test_a_rollback_takes_away_the_roles_that_a_killed_engine_has_added(cloud):
    with stack(cloud, engines=2) as it:
        it.create(of_user('member'))
        it.cluster.update(it.id, template(of_user('member', 'reader', 'admin')))
        universe = it.cluster.universe
        assert universe.run(lambda: roles_of(it, 'user') == ['member', 'reader'], limit=200)
        assert it.cluster.row(it.id).status == 'IN_PROGRESS'
        kill_the_owner(it.cluster, it.id)
        it.cluster.update(it.id, template(of_user('member')))
        done(it.cluster, it.id, 'UPDATE')
        assert roles_of(it, 'user') == ['member']


def test_a_route_of_another_is_refused_again(cloud):
    other = {'destination': '10.78.0.0/24', 'nexthop': '10.9.0.9'}

    def wanted(*given):
        return {**NET, 'it': ('OS::Neutron::ExtraRouteSet', {'router': reference('router'), 'routes': list(given)})}

    with stack(cloud, engines=1) as it:
        it.create(wanted(ROUTE))
        it.request('neutron', 'PUT', f'/routers/{it.physical_id("router")}/add_extraroutes',
                   {'router': {'routes': [other]}})
        for _attempt in range(2):
            it.cluster.update(it.id, template(wanted(ROUTE, other)))
            assert it.cluster.settle(it.id).status == 'FAILED'
        it.cluster.update(it.id, template(NET))
        done(it.cluster, it.id, 'UPDATE')
        assert [route['destination'] for route in routes(it)] == [other['destination']]


def test_a_quota_after_an_update_that_was_refused(cloud):
    def wanted(it, cores):
        return template({'it': ('OS::Nova::Quota', {'project': it.cloud.project_id, 'cores': cores})})

    with stack(cloud, engines=1) as it:
        it.id = it.cluster.create('s', wanted(it, 20))
        done(it.cluster, it.id, 'CREATE')
        it.fault(kind='error', service='compute', method='PUT', path='*/os-quota-sets/*', status=400, count=1)
        it.cluster.update(it.id, wanted(it, 25))
        assert it.cluster.settle(it.id).status == 'FAILED'
        it.cluster.update(it.id, wanted(it, 30))
        done(it.cluster, it.id, 'UPDATE')
        assert it.request('nova', 'GET', f'/os-quota-sets/{it.cloud.project_id}')['quota_set']['cores'] == 30


def test_a_container_keeps_its_objects_when_its_headers_change(cloud):
    def wanted(**headers):
        return {'it': ('OS::Swift::Container', {'name': 'backup', 'PurgeOnDelete': True, **headers})}

    with stack(cloud, engines=1) as it:
        it.create(wanted(**{'X-Container-Read': 'p:*', 'X-Container-Meta': {'owner': 'me', 'old': 'yes'}}))
        it.request('swift', 'PUT', '/backup/precious', {'a': 'b'})
        changed = wanted(**{'X-Container-Write': 'p:*', 'X-Container-Meta': {'owner': 'you'}})
        it.cluster.update(it.id, template(changed))
        done(it.cluster, it.id, 'UPDATE')
        headers = answer(it, 'swift', '/backup', 'HEAD').headers
        assert headers['X-Container-Object-Count'] == '1'
        assert headers['X-Container-Write'] == 'p:*' and headers['X-Container-Meta-Owner'] == 'you'
        assert not {'X-Container-Read', 'X-Container-Meta-Old'} & set(headers)


@pytest.mark.parametrize('kind, path, service', [
    ('OS::Swift::Container', '/backup', 'swift'), ('OS::Zaqar::Queue', '/queues/backup', 'zaqar')])
def test_one_that_was_deleted_by_hand_is_there_again(cloud, kind, path, service):
    given = {'it': (kind, {'name': 'backup'})}
    with stack(cloud, engines=1) as it:
        it.create(given)
        it.request(service, 'DELETE', path)
        it.cluster.update(it.id, template(given), converge=True)
        done(it.cluster, it.id, 'UPDATE')
        it.request(service, 'HEAD' if service == 'swift' else 'GET', path)


REMOVED = {                 # each with the request that removes it behind the engine's back
    'gateway': lambda it: it.request('neutron', 'PUT', f'/routers/{it.physical_id("router")}',
                                     {'router': {'external_gateway_info': {}}}),
    'route': lambda it: it.request('neutron', 'PUT', f'/routers/{it.physical_id("router")}',
                                   {'router': {'routes': []}}),
    'routes': lambda it: it.request('neutron', 'PUT', f'/routers/{it.physical_id("router")}',
                                    {'router': {'routes': []}}),
    'encryption': lambda it: it.request('cinder', 'DELETE', f'/types/{it.physical_id("type")}/encryption/provider'),
}


@pytest.mark.parametrize('name', REMOVED)
def test_a_setting_that_was_removed_by_hand_is_noticed(cloud, name):
    given, _look = CASES[name]
    with stack(cloud, engines=1) as it:
        it.create(given)
        assert it.cluster.ask(messages.LookForDrift(it.id))['resources'] == []
        REMOVED[name](it)
        found = it.cluster.ask(messages.LookForDrift(it.id))['resources']
        assert [(each['path'], each['finding']) for each in found] == [(['it'], 'gone')]
        it.cluster.update(it.id, template(given), converge=True)
        done(it.cluster, it.id, 'UPDATE')
        assert it.cluster.ask(messages.LookForDrift(it.id))['resources'] == []


def test_a_set_without_routes_is_there(cloud):
    with stack(cloud, engines=1) as it:
        it.create({**NET, 'it': ('OS::Neutron::ExtraRouteSet', {'router': reference('router'), 'routes': []})})
        assert it.cluster.ask(messages.LookForDrift(it.id))['resources'] == []


OUTSIDE = {f'{part}{number}': value for number in (1, 2) for part, value in (
    ('net', ('OS::Neutron::ProviderNet', {'network_type': 'vxlan', 'router_external': True, 'shared': False})),
    ('subnet', ('OS::Neutron::Subnet', {'network': reference(f'net{number}'), 'cidr': f'10.{number}.0.0/24'})))}


def gateway_to(network):
    return {**OUTSIDE, 'router': ('OS::Neutron::Router', {}), 'it': ('OS::Neutron::RouterGateway', {
        'router_id': reference('router'), 'network': reference(network)})}


def assert_gateway_is_to(it, name):
    router, network = it.physical_id('router'), it.physical_id(name)
    gateway = it.request('neutron', 'GET', f'/routers/{router}')['router']['external_gateway_info']
    assert gateway and gateway['network_id'] == network
    assert it.physical_id('it') == f'{router}:{network}'


def test_another_network_of_a_gateway(cloud):
    with stack(cloud, engines=1) as it:
        it.create(gateway_to('net1'))
        it.cluster.update(it.id, template(gateway_to('net2')))
        done(it.cluster, it.id, 'UPDATE')
        assert_gateway_is_to(it, 'net2')


def test_another_network_of_a_gateway_that_was_removed_by_hand(cloud):
    with stack(cloud, engines=1) as it:
        it.create(gateway_to('net1'))
        REMOVED['gateway'](it)
        it.cluster.update(it.id, template(gateway_to('net2')), converge=True)
        done(it.cluster, it.id, 'UPDATE')
        assert_gateway_is_to(it, 'net2')


def report_failure(it, wanted, path):
    """An update that does all it should, and gets an error all the same."""
    it.fault(kind='error_after', service='network', method='PUT', path=path, status=400, count=1)
    it.cluster.update(it.id, template(wanted))
    assert it.cluster.settle(it.id).status == 'FAILED'


def test_a_gateway_whose_change_was_said_to_have_failed(cloud):
    with stack(cloud, engines=1) as it:
        it.create(gateway_to('net1'))
        report_failure(it, gateway_to('net2'), '*/routers/*')
        it.cluster.update(it.id, template(gateway_to('net2')))
        done(it.cluster, it.id, 'UPDATE')
        assert_gateway_is_to(it, 'net2')


@pytest.mark.parametrize('wanted', ['10.78.0.0/24', ROUTE['destination']], ids=['again', 'back'])
def test_routes_whose_change_was_said_to_have_failed(cloud, wanted):
    def to(destination):
        return {**NET, 'it': ('OS::Neutron::ExtraRouteSet', {
            'router': reference('router'), 'routes': [{**ROUTE, 'destination': destination}]})}

    with stack(cloud, engines=1) as it:
        it.create(to(ROUTE['destination']))
        report_failure(it, to('10.78.0.0/24'), '*/add_extraroutes')
        it.cluster.update(it.id, template(to(wanted)))
        done(it.cluster, it.id, 'UPDATE')
        assert [route['destination'] for route in routes(it)] == [wanted]


def test_the_address_after_a_rollback(cloud):
    """The id is that of the address that is associated."""
    def wanted(name):
        return {**SERVER, 'ip': ('AWS::EC2::EIP', {}), 'ip2': ('AWS::EC2::EIP', {}), 'it': (
            'AWS::EC2::EIPAssociation', {'EIP': reference(name), 'InstanceId': reference('server')})}

    def associated(it):
        return [found['floating_ip_address'] for found in it.request('neutron', 'GET', '/floatingips')['floatingips']
                if found['port_id']]

    with stack(cloud, engines=1) as it:
        it.create(wanted('ip'))
        before = associated(it)
        assert before == [it.physical_id('it')]
        it.fault(kind='error', service='network', method='PUT', path='*/floatingips/*', status=400, count=1, nth=2)
        it.cluster.update(it.id, template(wanted('ip2')), disable_rollback=False)
        done(it.cluster, it.id, 'ROLLBACK')
        assert associated(it) == before == [it.physical_id('it')]
        it.cluster.update(it.id, template(wanted('ip2')))
        done(it.cluster, it.id, 'UPDATE')
        assert associated(it) == [it.physical_id('it')] != before
