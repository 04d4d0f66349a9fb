"""Floating addresses and what they lead to."""

from __future__ import annotations

from typing import Any

from cloudsim.messages import BadRequest, Call, Conflict, Problem
from cloudsim.services.network.neutral import NeutronCollection
from cloudsim.services.network.routers import INTERFACE
from cloudsim.store import Thing


class FloatingIps(NeutronCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        network = self.service.thing('networks', data['floating_network_id'])
        if not network['router:external']:
            raise BadRequest(f'Bad floatingip request: Network {network.id} is not a valid external network.',
                             'BadRequest')
        port = {'network_id': network.id, 'device_owner': 'network:floatingip', 'device_id': thing.id,
                'security_groups': []}
        subnet, wanted = data.pop('subnet_id', None), data['floating_ip_address']
        if subnet or wanted:
            port['fixed_ips'] = [{name: value for name, value in (
                ('subnet_id', subnet), ('ip_address', wanted)) if value}]
        elif not network['subnets']:
            raise BadRequest(f'Bad floatingip request: Network {network.id} does not contain any IPv4 subnet.',
                             'BadRequest')
        leads_to = self.destination(call, data) if data['port_id'] else {}
        made = self.service.collection('ports').system_make(port)
        data['floating_ip_address'] = made['fixed_ips'][0]['ip_address']
        thing.hidden['port'] = made.id
        data.update(leads_to)

    def destination(self, call: Call, data: dict[str, Any]) -> dict[str, Any]:
        """What associating it with its port sets. Raises Problem."""
        port = self.service.collection('ports').get(call, data['port_id'])
        wanted = data.get('fixed_ip_address')
        fixed = [each for each in port['fixed_ips'] if ':' not in each['ip_address']
                 and wanted in (None, each['ip_address'])]
        if not fixed:
            raise BadRequest(f'Bad floatingip request: Port {port.id} does not have fixed ip {wanted}.' if wanted else
                             f'Bad floatingip request: Cannot add floating IP to port {port.id} that has no fixed IPv4 '
                             'addresses.', 'BadRequest')
        if len(fixed) > 1 and wanted is None:
            raise BadRequest(f'Bad floatingip request: Port {port.id} has multiple fixed IPv4 addresses.  Must '
                             'provide a specific IPv4 address when assigning a floating IP.', 'BadRequest')
        router = self.router(fixed[0]['subnet_id'], data['floating_network_id'])
        for other in self.table.find('port_id', port.id):
            if other['fixed_ip_address'] == fixed[0]['ip_address'] and other.id != data.get('id') \
                    and other['floating_network_id'] == data['floating_network_id']:
                raise Conflict(f'Cannot associate floating IP {data.get("floating_ip_address")} with port {port.id} '
                               f'using fixed IP {fixed[0]["ip_address"]}, as that fixed IP already has a floating IP '
                               f'on external network {data["floating_network_id"]}.', 'FloatingIPPortAlreadyAssociated')
        return {'port_id': port.id, 'fixed_ip_address': fixed[0]['ip_address'], 'router_id': router, 'status': 'ACTIVE',
                'port_details': {name: port[name] for name in (
                    'name', 'network_id', 'mac_address', 'admin_state_up', 'status', 'device_id', 'device_owner')}}

    def router(self, subnet_id: str, external: str) -> str:
        """The router between a subnet and an external network. Raises Problem (404)."""
        subnet = self.service.thing('subnets', subnet_id)
        for port in self.service.collection('ports').table.find('network_id', subnet['network_id']):
            if port['device_owner'] != INTERFACE or all(each['subnet_id'] != subnet_id for each in port['fixed_ips']):
                continue
            router = self.service.thing('routers', port['device_id'])
            gateway = router['external_gateway_info'] if router is not None else None
            if gateway is not None and gateway['network_id'] == external:
                return str(router.id)
        raise Problem(404, f'External network {external} is not reachable from subnet {subnet_id}.  Therefore, cannot '
                           'associate Port with a Floating IP.', 'ExternalGatewayForFloatingIPNotFound')

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        if 'port_id' not in changes:
            # An update without a port takes the association away, as the real one does for an empty one.
            if 'fixed_ip_address' in changes and thing['port_id'] is None:
                raise BadRequest('Bad floatingip request: fixed_ip_address cannot be specified without a port_id.',
                                 'BadRequest')
            return
        if changes['port_id']:
            changes.update(self.destination(call, {**thing.data, 'fixed_ip_address': None, **changes}))
        else:
            changes.update(EMPTY)

    def dissociate(self, thing: Thing) -> None:
        self.table.change(thing, **EMPTY)

    def left(self, thing: Thing) -> None:
        ports = self.service.collection('ports')
        port = ports.table.get(thing.hidden['port'])
        if port is not None:
            ports.drop(port)


EMPTY = {'port_id': None, 'fixed_ip_address': None, 'router_id': None, 'status': 'DOWN', 'port_details': None}


class PortForwardings(NeutronCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        port = self.service.collection('ports').get(call, data['internal_port_id'])
        if data['internal_ip_address'] is None:
            data['internal_ip_address'] = port['fixed_ips'][0]['ip_address'] if port['fixed_ips'] else None
        floating = self.service.thing('floatingips', thing.hidden['parent'])
        if floating['port_id']:
            raise Conflict(f'Floating IP {floating.id} is already associated with a port.',
                           'FipInUseByPortForwarding')
        router = self.service.collection('floatingips').router(
            next((each['subnet_id'] for each in port['fixed_ips']), None), floating['floating_network_id'])
        for other in self.table.find('parent', floating.id):
            if (other['external_port'], other['protocol']) == (data['external_port'], data['protocol']):
                raise BadRequest('Bad port_forwarding request: A duplicate port forwarding entry with same attributes '
                                 'already exists.', 'BadRequest')
        self.service.collection('floatingips').table.change(floating, router_id=router)

    def left(self, thing: Thing) -> None:
        floating = self.service.thing('floatingips', thing.hidden['parent'])
        if floating is not None and not floating['port_id'] and not self.table.find('parent', floating.id):
            self.service.collection('floatingips').table.change(floating, router_id=None)
