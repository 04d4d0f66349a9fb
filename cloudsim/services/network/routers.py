"""Routers: gateways, interfaces, routes. Each of them holds a port, as the real one's do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Conflict, NotFound
from cloudsim.service import Route
from cloudsim.services.network import addresses
from cloudsim.services.network.neutral import NeutronCollection
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.network import NetworkService

INTERFACE, GATEWAY = 'network:router_interface', 'network:router_gateway'


class Routers(NeutronCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        info = thing.data['external_gateway_info']
        thing.hidden['wanted'] = self.check_gateway(call, info) if info else None
        thing.data['external_gateway_info'] = None
        thing.data['distributed'] = bool(thing.data['distributed'])
        thing.data['ha'] = bool(thing.data['ha'])

    def started(self, call: Call, thing: Thing) -> None:
        wanted = thing.hidden.pop('wanted')
        if wanted:
            try:
                self.open_gateway(thing, wanted)
            except Exception:
                self.drop(thing)
                raise

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        if 'routes' in changes:
            changes['routes'] = self.checked_routes(thing, changes['routes'] or [])
        if 'external_gateway_info' in changes:
            info = changes.pop('external_gateway_info')
            if info:
                self.check_gateway(call, info)
                self.open_gateway(thing, info)
            else:
                self.close_gateway(thing)

    def leaving(self, call: Call, thing: Thing) -> None:
        if any(each['device_owner'] == INTERFACE for each in self.ports_of(thing)):
            raise Conflict(f'Router {thing.id} still has ports', 'RouterInUse')
        if self.service.collection('floatingips').table.find('router_id', thing.id):
            raise Conflict(f'Router {thing.id} still has floating IPs', 'RouterInUse')
        self.close_gateway(thing)

    def left(self, thing: Thing) -> None:
        super().left(thing)
        for agent in self.service.collection('agents').table:
            if thing.id in agent.hidden.get('routers', ()):
                agent.hidden['routers'].remove(thing.id)

    def ports_of(self, router: Thing) -> list[Thing]:
        found: list[Thing] = self.service.collection('ports').table.find('device_id', router.id)
        return found

    # The gateway.

    def check_gateway(self, call: Call, info: dict[str, Any]) -> dict[str, Any]:
        network = self.service.collection('networks').get(call, str(info.get('network_id')))
        if not network['router:external']:
            raise BadRequest(f'Bad router request: Network {network.id} is not an external network.', 'BadRequest')
        return info

    def open_gateway(self, router: Thing, info: dict[str, Any]) -> None:
        now = router['external_gateway_info']
        fixed = info.get('external_fixed_ips')
        if now is not None and now['network_id'] == info['network_id'] and not fixed:
            now['enable_snat'] = info.get('enable_snat', now['enable_snat'])
            return
        self.close_gateway(router)
        given = {'network_id': info['network_id'], 'device_id': router.id, 'device_owner': GATEWAY,
                 'name': '', 'security_groups': []}
        if fixed:
            given['fixed_ips'] = fixed
        port = self.service.collection('ports').system_make(given)
        self.table.change(router, external_gateway_info={
            'network_id': info['network_id'], 'enable_snat': info.get('enable_snat', True),
            'external_fixed_ips': port['fixed_ips']})

    def close_gateway(self, router: Thing) -> None:
        now = router['external_gateway_info']
        if now is None:
            return
        if self.service.collection('floatingips').table.find('router_id', router.id):
            raise Conflict(f'Gateway cannot be updated for router {router.id}, since a gateway to external network '
                           f'{now["network_id"]} is required by one or more floating IPs.',
                           'RouterExternalGatewayInUseByFloatingIp')
        ports = self.service.collection('ports')
        for each in self.ports_of(router):
            if each['device_owner'] == GATEWAY:
                ports.drop(each)
        self.table.change(router, external_gateway_info=None)

    # Interfaces.

    def add_interface(self, call: Call, id: str) -> Any:
        router = self.get(call, id)
        said = call.json
        ports = self.service.collection('ports')
        if said.get('port_id'):
            if said.get('subnet_id'):
                raise BadRequest('Bad router request: Cannot specify both subnet-id and port-id.', 'BadRequest')
            port = ports.get(call, said['port_id'])
            if port['device_id']:
                raise Conflict(f'Unable to complete operation on port {port.id} for network {port["network_id"]}. '
                               f"Port already has an attached device {port['device_id']}.", 'PortInUse')
            for each in port['fixed_ips']:
                self.check_overlap(router, self.service.thing('subnets', each['subnet_id']))
            ports.table.change(port, device_id=router.id, device_owner=INTERFACE, status='ACTIVE')
        elif said.get('subnet_id'):
            subnet = self.service.collection('subnets').get(call, said['subnet_id'])
            if subnet['gateway_ip'] is None:
                raise BadRequest(f'Bad router request: Subnet {subnet.id} for router interface must have a gateway IP.',
                                 'BadRequest')
            self.check_overlap(router, subnet)
            port = ports.system_make({
                'network_id': subnet['network_id'], 'device_id': router.id, 'device_owner': INTERFACE,
                'security_groups': [],
                'fixed_ips': [{'subnet_id': subnet.id, 'ip_address': subnet['gateway_ip']}]}, router.project_id)
        else:
            raise BadRequest('Bad router request: Either subnet_id or port_id must be specified.', 'BadRequest')
        return 200, interface(router, port)

    def check_overlap(self, router: Thing, subnet: Thing) -> None:
        wanted = addresses.network(subnet['cidr'])
        for port in self.ports_of(router):
            for each in port['fixed_ips']:
                other = self.service.thing('subnets', each['subnet_id'])
                if other is subnet:
                    raise BadRequest(f'Bad router request: Router already has a port on subnet {subnet.id}.',
                                     'BadRequest')
                theirs = addresses.network(other['cidr'])
                if theirs.version == wanted.version and theirs.overlaps(wanted):
                    raise BadRequest(f'Bad router request: Cidr {wanted} of subnet {subnet.id} overlaps with cidr '
                                     f'{theirs} of subnet {other.id}.', 'BadRequest')

    def remove_interface(self, call: Call, id: str) -> Any:
        router = self.get(call, id)
        said = call.json
        if not said.get('port_id') and not said.get('subnet_id'):
            raise BadRequest('Bad router request: Either subnet_id or port_id must be specified.', 'BadRequest')
        for port in self.ports_of(router):
            subnets = [each['subnet_id'] for each in port['fixed_ips']]
            if port['device_owner'] == INTERFACE and said.get('port_id') in (None, port.id) \
                    and (said.get('subnet_id') is None or said['subnet_id'] in subnets):
                self.check_floating(router, subnets)
                self.check_routed(router, subnets)
                self.service.collection('ports').drop(port)
                return 200, interface(router, port)
        if said.get('port_id'):
            raise NotFoundInterface(f'Router {router.id} does not have an interface with id {said["port_id"]}')
        raise NotFoundInterface(f'Router {router.id} has no interface on subnet {said["subnet_id"]}',
                                'RouterInterfaceNotFoundForSubnet')

    def check_floating(self, router: Thing, subnets: list[str]) -> None:
        for floating in self.service.collection('floatingips').table.find('router_id', router.id):
            port = self.service.thing('ports', floating['port_id'])
            if port is not None and any(each['subnet_id'] in subnets for each in port['fixed_ips']):
                raise Conflict(f'Router interface for subnet {subnets[0]} on router {router.id} cannot be deleted, as '
                               'it is required by one or more floating IPs.', 'RouterInterfaceInUseByFloatingIP')

    def check_routed(self, router: Thing, subnets: list[str]) -> None:
        for route in router['routes']:
            for id in subnets:
                subnet = self.service.thing('subnets', id)
                if addresses.address(route['nexthop']) in addresses.network(subnet['cidr']):
                    raise Conflict(f'Router interface for subnet {id} on router {router.id} cannot be deleted, as it '
                                   'is required by one or more routes.', 'RouterInterfaceInUseByRoute')

    # Routes.

    def checked_routes(self, router: Thing, routes: list[dict[str, str]]) -> list[dict[str, str]]:
        """Raises BadRequest when a next hop is not in a network of the router."""
        near = [addresses.network(subnet['cidr']) for port in self.ports_of(router) for each in port['fixed_ips']
                if (subnet := self.service.thing('subnets', each['subnet_id'])) is not None]
        for route in routes:
            addresses.network(route.get('destination'))
            if not any(addresses.address(route.get('nexthop')) in each for each in near):
                raise BadRequest(f'Invalid format for routes: {routes}, the nexthop is not connected with router',
                                 'InvalidRoutes')
        return routes

    def add_routes(self, call: Call, id: str) -> Any:
        router = self.get(call, id)
        more = [each for each in call.entity('router').get('routes', ()) if each not in router['routes']]
        self.table.change(router, routes=self.checked_routes(router, router['routes'] + more))
        return 200, {'router': self.view(call, router)}

    def remove_routes(self, call: Call, id: str) -> Any:
        router = self.get(call, id)
        less = call.entity('router').get('routes', ())
        self.table.change(router, routes=[each for each in router['routes'] if each not in less])
        return 200, {'router': self.view(call, router)}


class NotFoundInterface(NotFound):
    def __init__(self, message: str, kind: str = 'RouterInterfaceNotFound') -> None:
        super().__init__('Interface', '')
        self.message, self.kind = message, kind


def interface(router: Thing, port: Thing) -> dict[str, Any]:
    subnets = [each['subnet_id'] for each in port['fixed_ips']]
    return {'id': router.id, 'project_id': router.project_id, 'port_id': port.id, 'network_id': port['network_id'],
            'subnet_id': subnets[0] if subnets else None, 'subnet_ids': subnets}


def routes(service: NetworkService) -> Iterable[Route]:
    routers = service.collection('routers')
    yield 'PUT', '/v2.0/routers/{id}/add_router_interface', routers.add_interface
    yield 'PUT', '/v2.0/routers/{id}/remove_router_interface', routers.remove_interface
    yield 'PUT', '/v2.0/routers/{id}/add_extraroutes', routers.add_routes
    yield 'PUT', '/v2.0/routers/{id}/remove_extraroutes', routers.remove_routes

    def agents(call: Call, id: str) -> Any:
        router = routers.get(call, id)
        return 200, {'agents': [each.data for each in service.collection('agents').table
                                if router.id in each.hidden.setdefault('routers', [])]}

    def add_to_agent(call: Call, agent_id: str) -> Any:
        agent = service.collection('agents').get(call, agent_id)
        router = routers.get(call, call.json.get('router_id'))
        if router.id in agent.hidden.setdefault('routers', []):
            raise Conflict(f'The router {router.id} has been already hosted by the L3 Agent {agent.id}.',
                           'RouterHostedByL3Agent')
        agent.hidden['routers'].append(router.id)
        return 201, None

    def remove_from_agent(call: Call, agent_id: str, id: str) -> Any:
        agent = service.collection('agents').get(call, agent_id)
        if id not in agent.hidden.setdefault('routers', []):
            raise Conflict(f'The router {id} is not hosted by L3 agent {agent.id}.', 'RouterNotHostedByL3Agent')
        agent.hidden['routers'].remove(id)
        return 204

    def dhcp_agents(call: Call, id: str) -> Any:
        network = service.collection('networks').get(call, id)
        return 200, {'agents': [each.data for each in service.collection('agents').table
                                if network.id in each.hidden.setdefault('networks', [])]}

    def add_network(call: Call, agent_id: str) -> Any:
        agent = service.collection('agents').get(call, agent_id)
        network = service.collection('networks').get(call, call.json.get('network_id'))
        if network.id in agent.hidden.setdefault('networks', []):
            raise Conflict(f'The network {network.id} has been already hosted by the DHCP Agent {agent.id}.',
                           'NetworkHostedByDHCPAgent')
        agent.hidden['networks'].append(network.id)
        return 201, None

    def remove_network(call: Call, agent_id: str, id: str) -> Any:
        agent = service.collection('agents').get(call, agent_id)
        if id not in agent.hidden.setdefault('networks', []):
            raise Conflict(f'The network {id} is not hosted by the DHCP agent {agent.id}.',
                           'NetworkNotHostedByDhcpAgent')
        agent.hidden['networks'].remove(id)
        return 204

    yield 'GET', '/v2.0/routers/{id}/l3-agents', agents
    yield 'POST', '/v2.0/agents/{id}/l3-routers', add_to_agent
    yield 'DELETE', '/v2.0/agents/{id}/l3-routers/{router}', remove_from_agent
    yield 'GET', '/v2.0/networks/{id}/dhcp-agents', dhcp_agents
    yield 'POST', '/v2.0/agents/{id}/dhcp-networks', add_network
    yield 'DELETE', '/v2.0/agents/{id}/dhcp-networks/{network}', remove_network
