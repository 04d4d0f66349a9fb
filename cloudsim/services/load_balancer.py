"""Octavia: one change at a time in the tree of a load balancer; meanwhile everything in it is immutable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound
from cloudsim.service import Route, Service
from cloudsim.store import Thing

STATUS = 'provisioning_status'


class Part(Collection):
    """Anything that belongs to a load balancer, which is kept in hidden['root']."""

    def root_of(self, call: Call, thing: Thing) -> Thing:
        """The load balancer a new part is to belong to. Raises Problem."""
        raise NotImplementedError

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        root = self.root_of(call, thing)
        need_mutable(root)
        thing.hidden['root'] = root
        self.place(call, thing)

    def place(self, call: Call, thing: Thing) -> None:
        """Takes from the request what is not shown, and checks it."""

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        need_mutable(thing.hidden['root'])

    def leaving(self, call: Call, thing: Thing) -> None:
        need_mutable(thing.hidden['root'])

    def work(self, call: Call, thing: Thing, verb: str, **how: Any) -> None:
        """The part and its load balancer are pending together, and ready together."""
        balancers = self.service.collection('loadbalancers')
        root = thing.hidden['root']
        busy = self.kind.states.busy[verb] if self.kind.states is not None else ''
        balancers.set_state(root, 'PENDING_UPDATE')
        self.set_state(thing, busy)
        error = self.own_fault(thing)

        def done() -> None:
            balancers.set_state(root, 'ACTIVE')
            if verb == 'delete':
                self.drop(thing)
            else:
                self.set_state(thing, 'ACTIVE')

        def failed() -> None:
            balancers.set_state(root, 'ACTIVE')
            self.set_state(thing, 'ERROR')

        if call.fault is not None and call.fault.kind == 'fail':
            error = call.fault.text
        if error is not None and verb != 'delete':
            balancers.finish(self.cloud.nobody(self.service), root, 'ERROR', failed)
        else:
            balancers.finish(call, root, 'ERROR', done)

    def own_fault(self, thing: Thing) -> str | None:
        return 'A fault on demand' if 'cloud_fault=create' in (thing.get('description') or '') else None


def need_mutable(root: Thing) -> None:
    if root[STATUS].startswith('PENDING'):
        raise Conflict(f'Load Balancer {root.id} is immutable and cannot be updated.')
    if root[STATUS] == 'ERROR':
        raise Conflict(f'Load Balancer {root.id} is in an error state and cannot be updated.')


class LoadBalancers(Collection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data, network = thing.data, self.cloud.service('network')
        subnet = self.cloud.thing('network.subnets', data['vip_subnet_id'])
        port = self.cloud.thing('network.ports', data['vip_port_id'])
        if port is None and subnet is None and data['vip_network_id'] is None:
            raise BadRequest('Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.')
        if data['vip_subnet_id'] and subnet is None:
            raise BadRequest(f'Subnet {data["vip_subnet_id"]} not found.')
        if port is None:
            request = {'network_id': subnet['network_id'] if subnet else data['vip_network_id'],
                       'name': f'octavia-lb-{thing.id}', 'device_owner': 'Octavia', 'device_id': f'lb-{thing.id}'}
            if subnet is not None or data['vip_address']:
                request['fixed_ips'] = [{name: value for name, value in (
                    ('subnet_id', data['vip_subnet_id']), ('ip_address', data['vip_address'])) if value}]
            port = network.collection('ports').system_make(request, thing.project_id)
            thing.hidden['own_port'] = port.id
        fixed = port['fixed_ips'][0] if port['fixed_ips'] else {}
        data.update(vip_port_id=port.id, vip_network_id=port['network_id'], vip_subnet_id=fixed.get('subnet_id'),
                    vip_address=fixed.get('ip_address'), listeners=[], pools=[])

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        need_mutable(thing)

    def leaving(self, call: Call, thing: Thing) -> None:
        if thing[STATUS].startswith('PENDING'):
            raise Conflict(f'Load Balancer {thing.id} is immutable and cannot be updated.')
        if (thing['listeners'] or thing['pools']) and not call.is_asked('cascade'):
            raise BadRequest(f'Cannot delete Load Balancer {thing.id} - it has children')

    def own_fault(self, thing: Thing) -> str | None:
        return 'A fault on demand' if 'cloud_fault=create' in (thing['description'] or '') else None

    def left(self, thing: Thing) -> None:
        for name in ('listeners', 'pools'):
            collection = self.service.collection(name)
            for each in collection.table:
                if each.hidden['root'] is thing:
                    collection.drop(each)
        ports = self.cloud.service('network').collection('ports')
        port = ports.table.get(thing.hidden.get('own_port', ''))
        if port is not None:
            ports.drop(port)


class Listeners(Part):
    def root_of(self, call: Call, thing: Thing) -> Thing:
        found: Thing = self.service.collection('loadbalancers').get(call, thing['loadbalancer_id'])
        return found

    def place(self, call: Call, thing: Thing) -> None:
        root = thing.hidden['root']
        del thing.data['loadbalancer_id']
        for other in self.table:
            if other.hidden['root'] is root and other['protocol_port'] == thing['protocol_port'] \
                    and (other['protocol'] == 'UDP') == (thing['protocol'] == 'UDP'):
                raise Conflict(f'Another Listener on this Load Balancer is already using protocol_port '
                               f'{thing["protocol_port"]}')
        thing.data['loadbalancers'] = [{'id': root.id}]

    def started(self, call: Call, thing: Thing) -> None:
        thing.hidden['root']['listeners'].append({'id': thing.id})
        join(self.service, thing, thing['default_pool_id'])

    def changed(self, call: Call, thing: Thing) -> None:
        leave(self.service, thing)
        join(self.service, thing, thing['default_pool_id'])

    def left(self, thing: Thing) -> None:
        forget(thing.hidden['root'].data, 'listeners', thing.id)
        leave(self.service, thing)
        for each in self.service.collection('l7policies').table.find('listener_id', thing.id):
            self.service.collection('l7policies').drop(each)


def join(service: Service, listener: Thing, pool_id: str | None) -> None:
    pool = service.collection('pools').table.get(pool_id or '')
    if pool is not None and {'id': listener.id} not in pool['listeners']:
        pool['listeners'].append({'id': listener.id})


def leave(service: Service, listener: Thing) -> None:
    for pool in service.collection('pools').table:
        forget(pool.data, 'listeners', listener.id)


def forget(data: dict[str, Any], field: str, id: str) -> None:
    data[field] = [each for each in data[field] if each['id'] != id]


class Pools(Part):
    def root_of(self, call: Call, thing: Thing) -> Thing:
        listener_id, balancer_id = thing.get('listener_id'), thing.get('loadbalancer_id')
        if listener_id:
            listener = self.service.collection('listeners').get(call, listener_id)
            if listener['default_pool_id']:
                raise Conflict(f'Listener {listener_id} already has a default pool {listener["default_pool_id"]}.')
            root: Thing = listener.hidden['root']
            return root
        if not balancer_id:
            raise BadRequest('Validation failure: Must provide at least one of: loadbalancer_id, listener_id')
        found: Thing = self.service.collection('loadbalancers').get(call, balancer_id)
        return found

    def place(self, call: Call, thing: Thing) -> None:
        thing.hidden['listener'] = thing.data.pop('listener_id', None)
        thing.data.pop('loadbalancer_id', None)
        thing.data['loadbalancers'] = [{'id': thing.hidden['root'].id}]

    def started(self, call: Call, thing: Thing) -> None:
        thing.hidden['root']['pools'].append({'id': thing.id})
        listener = self.service.collection('listeners').table.get(thing.hidden['listener'] or '')
        if listener is not None:
            self.service.collection('listeners').table.change(listener, default_pool_id=thing.id)
            thing['listeners'].append({'id': listener.id})

    def leaving(self, call: Call, thing: Thing) -> None:
        super().leaving(call, thing)
        if self.service.collection('l7policies').table.find('redirect_pool_id', thing.id):
            raise Conflict(f'Pool {thing.id} is in use by L7 policy and cannot be deleted')

    def left(self, thing: Thing) -> None:
        forget(thing.hidden['root'].data, 'pools', thing.id)
        listeners, monitors = self.service.collection('listeners'), self.service.collection('healthmonitors')
        for each in listeners.table.find('default_pool_id', thing.id):
            listeners.table.change(each, default_pool_id=None)
        monitor = monitors.table.get(thing['healthmonitor_id'] or '')
        if monitor is not None:
            monitors.drop(monitor)


class PoolMembers(Part):
    def root_of(self, call: Call, thing: Thing) -> Thing:
        pool = self.service.collection('pools').table.get(thing.hidden['parent'])
        root: Thing = pool.hidden['root']
        return root

    def place(self, call: Call, thing: Thing) -> None:
        for other in self.table.find('parent', thing.hidden['parent']):
            if (other['address'], other['protocol_port']) == (thing['address'], thing['protocol_port']):
                raise Conflict(f'Another Member on this Pool is already using ip {thing["address"]} on protocol_port '
                               f'{thing["protocol_port"]}')

    def started(self, call: Call, thing: Thing) -> None:
        self.service.collection('pools').table.get(thing.hidden['parent'])['members'].append({'id': thing.id})

    def left(self, thing: Thing) -> None:
        pool = self.service.collection('pools').table.get(thing.hidden['parent'])
        if pool is not None:
            forget(pool.data, 'members', thing.id)

    def replace_all(self, call: Call, pool_id: str) -> Any:
        """PUT on the list: what is said there is what there shall be."""
        pool = self.service.collection('pools').get(call, pool_id)
        need_mutable(pool.hidden['root'])
        wanted = {(each['address'], each['protocol_port']): each for each in call.json.get('members', ())}
        for each in self.table.find('parent', pool.id):
            if wanted.pop((each['address'], each['protocol_port']), None) is None:
                self.drop(each)
        for each in wanted.values():
            self.make(call, each, pool.id)
            pool.hidden['root'].data[STATUS] = 'ACTIVE'
        return 202


class HealthMonitors(Part):
    def root_of(self, call: Call, thing: Thing) -> Thing:
        pool = self.service.collection('pools').get(call, thing['pool_id'])
        if pool['healthmonitor_id']:
            raise Conflict(f'This pool already has a health monitor: {pool.id}')
        root: Thing = pool.hidden['root']
        return root

    def place(self, call: Call, thing: Thing) -> None:
        data = thing.data
        data['pools'] = [{'id': data.pop('pool_id')}]
        if data['type'] in ('HTTP', 'HTTPS'):
            for name, value in (('http_method', 'GET'), ('url_path', '/'), ('expected_codes', '200')):
                data[name] = data[name] or value

    def started(self, call: Call, thing: Thing) -> None:
        pools = self.service.collection('pools').table
        pools.change(pools.get(thing['pools'][0]['id']), healthmonitor_id=thing.id)

    def left(self, thing: Thing) -> None:
        pools = self.service.collection('pools').table
        pool = pools.get(thing['pools'][0]['id'])
        if pool is not None:
            pools.change(pool, healthmonitor_id=None)


class L7Policies(Part):
    def root_of(self, call: Call, thing: Thing) -> Thing:
        root: Thing = self.service.collection('listeners').get(call, thing['listener_id']).hidden['root']
        return root

    def started(self, call: Call, thing: Thing) -> None:
        listener = self.service.collection('listeners').table.get(thing['listener_id'])
        listener['l7policies'].append({'id': thing.id})

    def left(self, thing: Thing) -> None:
        listener = self.service.collection('listeners').table.get(thing['listener_id'])
        if listener is not None:
            forget(listener.data, 'l7policies', thing.id)


class L7Rules(Part):
    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        super().changing(call, thing, changes)
        if {**thing.data, **changes}['type'] in ('HOST_NAME', 'PATH', 'FILE_TYPE'):
            changes['key'] = None

    def root_of(self, call: Call, thing: Thing) -> Thing:
        root: Thing = self.service.collection('l7policies').table.get(thing.hidden['parent']).hidden['root']
        return root

    def started(self, call: Call, thing: Thing) -> None:
        self.service.collection('l7policies').table.get(thing.hidden['parent'])['rules'].append({'id': thing.id})

    def left(self, thing: Thing) -> None:
        policy = self.service.collection('l7policies').table.get(thing.hidden['parent'])
        if policy is not None:
            forget(policy.data, 'rules', thing.id)


class LoadBalancerService(Service):
    classes = {'loadbalancers': LoadBalancers, 'listeners': Listeners, 'pools': Pools, 'members': PoolMembers,
               'healthmonitors': HealthMonitors, 'l7policies': L7Policies, 'rules': L7Rules}

    def own_routes(self) -> Iterable[Route]:
        balancers = self.collection('loadbalancers')
        kinds = {each.kind.quota: each for each in self.collections() if each.kind.quota}

        def stats(call: Call, id: str) -> Any:
            balancers.get(call, id)
            return 200, {'stats': dict.fromkeys(
                ('active_connections', 'bytes_in', 'bytes_out', 'request_errors', 'total_connections'), 0)}

        def tree(call: Call, id: str) -> Any:
            root = balancers.get(call, id)
            listeners = [self.collection('listeners').table.get(each['id']).data for each in root['listeners']]
            pools = [self.collection('pools').table.get(each['id']).data for each in root['pools']]
            return 200, {'statuses': {'loadbalancer': {**root.data, 'listeners': listeners, 'pools': pools}}}

        def failover(call: Call, id: str) -> Any:
            root = balancers.get(call, id)
            need_mutable(root)
            balancers.work(call, root, 'update')
            return 202

        def limits(project: str) -> dict[str, int]:
            return {name: self.limit(project, name) for name in kinds}

        def show(call: Call, project: str) -> Any:
            return 200, {'quota': limits(project)}

        def change(call: Call, project: str) -> Any:
            if not call.is_admin:
                raise Forbidden
            for name, value in call.entity('quota').items():
                if name not in kinds:
                    raise BadRequest(f"Unknown attribute: '{name}'")
                self.limits.setdefault(project, {})[name] = -1 if value is None else int(value)
            return 202, {'quota': limits(project)}

        def reset(call: Call, project: str) -> Any:
            if not call.is_admin:
                raise Forbidden
            if self.limits.pop(project, None) is None:
                raise NotFound('Quota', project)
            return 204

        yield 'GET', '/v2/lbaas/loadbalancers/{id}/stats', stats
        yield 'GET', '/v2/lbaas/loadbalancers/{id}/status', tree
        yield 'PUT', '/v2/lbaas/loadbalancers/{id}/failover', failover
        yield 'PUT', '/v2/lbaas/pools/{id}/members', self.collection('members').replace_all
        yield 'GET', '/v2/lbaas/quotas', lambda call: (200, {'quotas': [
            {**limits(each), 'project_id': each} for each in self.limits]})
        yield 'GET', '/v2/lbaas/quotas/defaults', lambda call: (200, {'quota': dict.fromkeys(kinds, -1)})
        yield 'GET', '/v2/lbaas/quotas/{project}', show
        yield 'PUT', '/v2/lbaas/quotas/{project}', change
        yield 'DELETE', '/v2/lbaas/quotas/{project}', reset
        yield 'GET', '/v2/lbaas/providers', lambda call: (200, {'providers': [
            {'name': 'amphora', 'description': 'The Octavia Amphora driver.'},
            {'name': 'octavia', 'description': 'An alias of the Octavia Amphora driver.'}]})


SERVICE = LoadBalancerService
