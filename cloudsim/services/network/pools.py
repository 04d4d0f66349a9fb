"""Pools of addresses that subnets are cut from: their prefixes."""

from __future__ import annotations

import ipaddress
from typing import Any

from cloudsim.messages import BadRequest, Call
from cloudsim.services.network import addresses
from cloudsim.services.network.neutral import NeutronCollection
from cloudsim.store import Thing


class SubnetPools(NeutronCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        thing.data['prefixes'] = joined(thing['prefixes'])
        thing.data['ip_version'] = addresses.network(thing['prefixes'][0]).version

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        if 'prefixes' not in changes:
            return
        if joined([*thing['prefixes'], *changes['prefixes']]) != joined(changes['prefixes']):
            raise BadRequest('Illegal update to prefixes: Existing prefixes must be a subset of the new prefixes.',
                             'IllegalSubnetPoolPrefixUpdate')
        changes['prefixes'] = joined(changes['prefixes'])


def joined(prefixes: list[str]) -> list[str]:
    """The fewest prefixes with the same addresses, in their order. Raises BadRequest."""
    if not prefixes:
        raise BadRequest('Empty subnet pool prefix list.', 'EmptySubnetPoolPrefixList')
    networks = [addresses.network(each) for each in prefixes]
    if len({each.version for each in networks}) > 1:
        raise BadRequest('Cannot mix IPv4 and IPv6 prefixes in a subnet pool.', 'PrefixVersionMismatch')
    return [str(each) for each in ipaddress.collapse_addresses(networks)]       # type: ignore[type-var]
