"""Ports: addresses, MACs, security groups, and who may delete them."""

from __future__ import annotations

from typing import Any

from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound
from cloudsim.services.network import addresses
from cloudsim.services.network.neutral import NeutronCollection
from cloudsim.store import Thing

ROUTER_OWNED = ('network:router_interface', 'network:router_gateway', 'network:floatingip')
AUTOMATIC = ('slaac', 'dhcpv6-stateless')


class Ports(NeutronCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        network = self.service.thing('networks', data['network_id'])
        if network['router:external'] and not call.is_admin and network.project_id != call.project_id:
            raise Forbidden(f'Tenant {call.project_id} not allowed to create port on this network')
        if not data['mac_address']:
            data['mac_address'] = self.new_mac()
        elif any(each['network_id'] == network.id for each in self.table.find('mac_address', data['mac_address'])):
            raise Conflict(f'Unable to complete operation for network {network.id}. The mac address '
                           f'{data["mac_address"]} is in use.', 'MacAddressInUse')
        self.security(call, thing, given.get('security_groups'))
        data['extra_dhcp_opts'] = data['extra_dhcp_opts'] or []
        for pair in data['allowed_address_pairs'] or ():
            pair.setdefault('mac_address', data['mac_address'])
        data['status'] = self.status(data)
        self.bind(data)
        # Last, so that a port that is refused has taken no address.
        data['fixed_ips'] = self.allocate(network, thing.id, data['mac_address'], given.get('fixed_ips'))
        self.names(data)

    def make(self, call: Call, given: dict[str, Any], parent: str | None = None, id: str | None = None) -> Thing:
        given = {name: value for name, value in given.items() if value is not None or name == 'qos_policy_id'}
        return super().make(call, given, parent, id)

    def new_mac(self) -> str:
        self.service.macs += 1
        number = self.service.macs
        return f'fa:16:3e:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}'

    # Addresses.

    def allocate(self, network: Thing, port_id: str, mac: str, said: Any) -> list[dict[str, str]]:
        """One of each IP version, when nothing is said; else what is said. Raises Problem."""
        subnets = self.service.collection('subnets').table.find('network_id', network.id)
        if said is None:
            wanted: list[dict[str, Any]] = []
            for version in (4, 6):
                own = [each for each in subnets if each['ip_version'] == version
                       and each['ipv6_address_mode'] not in AUTOMATIC]
                roomy = [each for each in own if has_room(each)] or own
                wanted += [{'subnet_id': roomy[0].id}] if roomy else []
        else:
            wanted = list(said)
        if said is None or wanted:
            named = {each.get('subnet_id') for each in wanted}
            wanted += [{'subnet_id': each.id} for each in subnets
                       if each['ipv6_address_mode'] in AUTOMATIC and each.id not in named]
        found: list[dict[str, str]] = []
        try:
            for each in wanted:
                found.append(self.one_address(network, subnets, port_id, mac, each))
        except Exception:
            self.release(found)
            raise
        return found

    def one_address(self, network: Thing, subnets: list[Thing], port_id: str, mac: str,
                    wanted: dict[str, Any]) -> dict[str, str]:
        subnet_id, address = wanted.get('subnet_id'), wanted.get('ip_address')
        if subnet_id is None and address is None:
            raise BadRequest('IP allocation requires subnet_id or ip_address.', 'InvalidInput')
        if subnet_id is None:
            parsed = addresses.address(address)
            subnet = next((each for each in subnets if parsed in addresses.network(each['cidr'])), None)
            if subnet is None:
                raise BadRequest(f'IP address {address} is not a valid IP for any of the subnets on the specified '
                                 'network.', 'InvalidIpForNetwork')
        else:
            subnet = self.service.thing('subnets', subnet_id)
            if subnet is None:
                raise NotFound('Subnet', str(subnet_id))
            if subnet['network_id'] != network.id:
                raise BadRequest(f'Invalid input for operation: Failed to create port on network {network.id}, because '
                                 f'fixed_ips included invalid subnet {subnet_id}.', 'InvalidInput')
        if address is None and subnet['ipv6_address_mode'] in AUTOMATIC:
            address = addresses.slaac(subnet, mac)
        return {'subnet_id': subnet.id, 'ip_address': addresses.take(subnet, port_id, address)}

    def release(self, fixed_ips: list[dict[str, str]]) -> None:
        for each in fixed_ips:
            addresses.give_back(self.service.thing('subnets', each['subnet_id']), each['ip_address'])

    # Security groups, status, names.

    def security(self, call: Call, thing: Thing, said: list[str] | None) -> None:
        data, groups = thing.data, self.service.collection('security-groups')
        network = self.service.thing('networks', data['network_id'])
        data['port_security_enabled'] = data['port_security_enabled'] and network['port_security_enabled']
        trusted = data['device_owner'].startswith('network:') or not data['port_security_enabled']
        if said is None:
            data['security_groups'] = [] if trusted else [groups.default(thing.project_id).id]
            return
        if said and not data['port_security_enabled']:
            raise Conflict('Port Security must be enabled in order to have allowed address pairs on a port.',
                           'PortSecurityAndIPRequiredForSecurityGroups')
        for each in said:
            groups.get(call, each)
        data['security_groups'] = list(said)

    def status(self, data: dict[str, Any]) -> str:
        bound = data['device_owner'] and data['device_owner'] != 'network:floatingip'
        if data['device_owner'] == 'network:floatingip':
            return 'N/A'
        return 'ACTIVE' if bound and data['admin_state_up'] else 'DOWN'

    def bind(self, data: dict[str, Any]) -> None:
        """A port with a host is bound there; without one it is not."""
        data['binding:vif_type'] = 'ovs' if data['binding:host_id'] else 'unbound'
        data['binding:vif_details'] = {'port_filter': True} if data['binding:host_id'] else {}

    def names(self, data: dict[str, Any]) -> None:
        name = data['dns_name']
        data['dns_assignment'] = []
        for each in data['fixed_ips']:
            host = name or 'host-' + each['ip_address'].replace('.', '-').replace(':', '-')
            data['dns_assignment'].append({'ip_address': each['ip_address'], 'hostname': host,
                                           'fqdn': f'{host}.openstacklocal.'})

    # Change and end.

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        data = {**thing.data, **changes}
        network = self.service.thing('networks', thing['network_id'])
        if 'security_groups' in changes:
            for each in changes['security_groups'] or ():
                self.service.collection('security-groups').get(call, each)
            changes['security_groups'] = list(changes['security_groups'] or ())
        if 'mac_address' in changes and changes['mac_address'] is None:
            del changes['mac_address']
        if 'fixed_ips' in changes:
            before = thing['fixed_ips']
            self.release(before)
            try:
                changes['fixed_ips'] = self.allocate(network, thing.id, thing['mac_address'],
                                                     [dict(each) for each in changes['fixed_ips'] or ()])
            except Exception:
                for each in before:
                    subnet = self.service.thing('subnets', each['subnet_id'])
                    subnet.hidden['taken'][each['ip_address']] = thing.id
                raise
            data = {**data, 'fixed_ips': changes['fixed_ips']}
        if changes.get('allowed_address_pairs') and not data['port_security_enabled']:
            raise Conflict('Port Security must be enabled in order to have allowed address pairs on a port.',
                           'AddressPairAndPortSecurityRequired')
        for pair in changes.get('allowed_address_pairs') or ():
            pair.setdefault('mac_address', thing['mac_address'])
        changes['status'] = self.status(data)
        for name in ('device_id', 'device_owner', 'binding:host_id'):
            if name in changes and changes[name] is None:
                changes[name] = data[name] = ''
        if 'binding:profile' in changes and changes['binding:profile'] is None:
            changes['binding:profile'] = {}
        self.bind(data)
        self.names(data)
        for name in ('binding:vif_type', 'binding:vif_details', 'dns_assignment'):
            changes[name] = data[name]

    def leaving(self, call: Call, thing: Thing) -> None:
        owner = thing['device_owner']
        if owner in ROUTER_OWNED and self.owner_lives(thing):
            raise Conflict(f'Port {thing.id} cannot be deleted directly via the port API: has device owner {owner}.',
                           'ServicePortInUse')
        if self.service.collection('trunks').table.find('port_id', thing.id):
            raise Conflict(f'Port {thing.id} is currently a parent port for a trunk.', 'PortInUseAsTrunkParent')
        for trunk in self.service.collection('trunks').table:
            if any(each['port_id'] == thing.id for each in trunk['sub_ports']):
                raise Conflict(f'Port {thing.id} is currently a subport for trunk {trunk.id}.', 'PortInUseAsSubPort')

    def owner_lives(self, thing: Thing) -> bool:
        kind = 'floatingips' if thing['device_owner'] == 'network:floatingip' else 'routers'
        return self.service.thing(kind, thing['device_id']) is not None

    def left(self, thing: Thing) -> None:
        self.release(thing['fixed_ips'])
        floating = self.service.collection('floatingips')
        for each in floating.table.find('port_id', thing.id):
            floating.dissociate(each)
        forwards = self.service.collection('port_forwardings')
        for each in forwards.table.find('internal_port_id', thing.id):
            forwards.drop(each)
        self.cloud.service('compute').port_is_gone(thing)

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {name: value for name, value in (thing.data | self.trunk_details(thing)).items()
                if call.is_admin or not name.startswith('binding:') or name == 'binding:vnic_type'}

    def trunk_details(self, thing: Thing) -> dict[str, Any]:
        """Only the parent port of a trunk has them."""
        for trunk in self.service.collection('trunks').table.find('port_id', thing.id):
            return {'trunk_details': {'trunk_id': trunk.id, 'sub_ports': [
                {**each, 'mac_address': self.table.things[each['port_id']]['mac_address']}
                for each in trunk['sub_ports']]}}
        return {}

    def filterable(self, thing: Thing, name: str) -> Any:
        if name == 'fixed_ips':
            return [f'{field}={each[field]}' for each in thing['fixed_ips'] for field in each]
        return super().filterable(thing, name)


def has_room(subnet: Thing) -> bool:
    return len(subnet.hidden['taken']) < int(sum(high - low + 1 for low, high in subnet.hidden['ranges']))
