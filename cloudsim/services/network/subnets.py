"""Subnets and the pools they may be cut from."""

from __future__ import annotations

import ipaddress
from typing import Any

from cloudsim.messages import BadRequest, Call, Conflict, NotFound
from cloudsim.services.network import addresses
from cloudsim.services.network.networks import VANISHING
from cloudsim.services.network.neutral import NeutronCollection
from cloudsim.store import Thing


class Subnets(NeutronCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        parent = self.service.thing('networks', data['network_id'])
        if data.pop('use_default_subnetpool', None):
            data['subnetpool_id'] = self.default_pool(data['ip_version'])
        prefix = data.pop('prefixlen', None)
        if not data['cidr'] and data['subnetpool_id'] is None:
            raise BadRequest('Invalid input for operation: a subnetpool must be specified in the absence of a cidr.',
                             'BadRequest')
        if data['subnetpool_id'] is not None:
            data['cidr'] = self.cut(call, data, prefix)
        cidr = addresses.network(data['cidr'])
        if cidr.version != int(data['ip_version']):
            raise BadRequest(f'Invalid input for operation: cidr {data["cidr"]} does not match the ip_version '
                             f"'{data['ip_version']}'.", 'BadRequest')
        data['router:external'] = parent['router:external']
        data['ip_version'], data['cidr'] = cidr.version, str(cidr)
        for other in self.table.find('network_id', parent.id):
            theirs = addresses.network(other['cidr'])
            if theirs.version == cidr.version and theirs.overlaps(cidr):
                raise BadRequest(f"Invalid input for operation: Requested subnet with cidr: {cidr} for network: "
                                 f"{parent.id} overlaps with another subnet.", 'InvalidInput')
        self.gateway(call, data, cidr)
        if not data['allocation_pools']:
            data['allocation_pools'] = addresses.whole_pool(cidr, data['gateway_ip'])
        self.check_pools(data, cidr)
        addresses.prepare(thing)

    def make(self, call: Call, given: dict[str, Any], parent: str | None = None, id: str | None = None) -> Thing:
        given = {**given, 'gateway_ip': given.get('gateway_ip', 'auto')}
        return super().make(call, given, parent, id)

    def gateway(self, call: Call, data: dict[str, Any], cidr: addresses.Network) -> None:
        """`auto` stands for a request that says none: the first address. Null and '' are none at all."""
        said = data['gateway_ip']
        if said == 'auto':
            first = int(cidr.network_address) + (1 if cidr.version == 4 and cidr.num_addresses > 1 else 0)
            data['gateway_ip'] = addresses.text(first, cidr.version)
        elif not said:
            data['gateway_ip'] = None
        elif addresses.address(said, 'gateway_ip') == cidr.network_address and cidr.version == 4 \
                and cidr.num_addresses > 2:
            raise BadRequest('Gateway is not valid on subnet', 'InvalidInput')

    def check_pools(self, data: dict[str, Any], cidr: addresses.Network) -> None:
        for pool in data['allocation_pools']:
            start, end = (addresses.address(pool.get(name), 'allocation_pools') for name in ('start', 'end'))
            if start.version != cidr.version or start > end:
                raise BadRequest(f'The allocation pool {pool["start"]}-{pool["end"]} is not valid.',
                                 'InvalidAllocationPool')
            if start not in cidr or end not in cidr:
                raise BadRequest(f'The allocation pool {pool["start"]}-{pool["end"]} spans beyond the subnet cidr '
                                 f'{cidr}.', 'OutOfBoundsAllocationPool')
            gateway = data['gateway_ip']
            if gateway and start <= ipaddress.ip_address(gateway) <= end:
                raise Conflict(f'Gateway ip {gateway} conflicts with allocation pool {pool["start"]}-{pool["end"]}.',
                               'GatewayConflictWithAllocationPools')

    def default_pool(self, version: Any) -> str:
        for pool in self.service.collection('subnetpools').table:
            if pool['is_default'] and pool['ip_version'] == int(version):
                return str(pool.id)
        raise BadRequest('No default subnetpool found for IPv' + str(version), 'BadRequest')

    def cut(self, call: Call, data: dict[str, Any], prefix: Any) -> str:
        """A free piece of the pool, or the wanted one. Raises Problem."""
        pool = self.service.collection('subnetpools').seen(call, data['subnetpool_id'])
        if pool is None:
            raise NotFound('Subnet pool', data['subnetpool_id'])
        used = [addresses.network(each['cidr']) for each in self.table.find('subnetpool_id', pool.id)]
        if data['cidr']:
            wanted = addresses.network(data['cidr'])
            candidates = iter([wanted])
        else:
            prefix = int(prefix or pool['default_prefixlen'])
            if not int(pool['min_prefixlen']) <= prefix <= int(pool['max_prefixlen']):
                raise BadRequest(f'Unable to allocate subnet with prefix length {prefix}, minimum allowed prefix is '
                                 f'{pool["min_prefixlen"]}.', 'MinPrefixSubnetAllocationError')
            candidates = (piece for whole in map(addresses.network, pool['prefixes'])
                          if whole.prefixlen <= prefix for piece in whole.subnets(new_prefix=prefix))
        for piece in candidates:
            if any(inside(piece, whole) for whole in map(addresses.network, pool['prefixes'])) \
                    and not any(piece.overlaps(each) for each in used):
                return str(piece)
        raise Conflict('Failed to allocate subnet: Insufficient prefix space to allocate subnet size.',
                       'SubnetAllocationError')

    def started(self, call: Call, thing: Thing) -> None:
        self.service.thing('networks', thing['network_id']).data['subnets'].append(thing.id)

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        if 'gateway_ip' in changes or 'allocation_pools' in changes:
            data = {**thing.data, **changes}
            cidr = addresses.network(data['cidr'])
            self.gateway(call, data, cidr)
            self.check_pools(data, cidr)
            changes['gateway_ip'] = data['gateway_ip']

    def changed(self, call: Call, thing: Thing) -> None:
        addresses.prepare(thing)

    def is_visible(self, call: Call, thing: Thing) -> bool:
        if super().is_visible(call, thing):
            return True
        parent = self.service.thing('networks', thing['network_id'])
        networks = self.service.collection('networks')
        # Subnets of external networks are not shown to ordinary users, those of shared ones are.
        return parent is not None and (bool(parent['shared']) or networks.is_granted(call, parent))

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        found = super().candidates(call, parent)
        if call.is_admin:
            return found
        shared = [each for network in self.service.collection('networks').candidates(plain(call), None)
                  for each in self.table.find('network_id', network.id) if self.is_visible(call, each)]
        known = {each.id for each in found}
        return found + [each for each in shared if each.id not in known]

    def leaving(self, call: Call, thing: Thing) -> None:
        ports = self.service.collection('ports')
        holding = [each for each in map(ports.table.get, thing.hidden['taken'].values()) if each is not None]
        # A port with automatic addresses only loses its address; all others hold the subnet.
        if any(each['device_owner'] not in VANISHING for each in holding) and thing['ipv6_address_mode'] is None:
            raise Conflict(f'Unable to complete operation on subnet {thing.id}: One or more ports have an IP '
                           'allocation from this subnet.', 'SubnetInUse')

    def left(self, thing: Thing) -> None:
        parent = self.service.thing('networks', thing['network_id'])
        if parent is not None and thing.id in parent['subnets']:
            parent['subnets'].remove(thing.id)


def inside(piece: Any, whole: Any) -> bool:
    return piece.version == whole.version and bool(piece.subnet_of(whole))


def plain(call: Call) -> Call:
    """The same caller with another question: no query of this request applies."""
    other = call.cloud.nobody(call.service, call)
    other.identity = call.identity
    return other
