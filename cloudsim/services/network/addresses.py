"""Addresses of a subnet: its pools, what is taken, the next one that is free. Numbers inside, text outside."""

from __future__ import annotations

import ipaddress
from typing import Any

from cloudsim.messages import BadRequest, Conflict
from cloudsim.store import Thing

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def network(cidr: Any) -> Network:
    """Raises BadRequest."""
    try:
        return ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        raise BadRequest(f"Invalid input for cidr. Reason: '{cidr}' is not a valid IP subnet.",
                         'HTTPBadRequest') from None


def interface(cidr: Any) -> str:
    """An address with the length of its prefix, which may be left out. Raises BadRequest."""
    try:
        return ipaddress.ip_interface(cidr).with_prefixlen
    except ValueError:
        raise BadRequest(f"Invalid input for cidr. Reason: '{cidr}' is not a valid IP subnet.",
                         'HTTPBadRequest') from None


def address(text: Any, field: str = 'ip_address') -> Any:
    """Raises BadRequest."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        raise BadRequest(f"Invalid input for {field}. Reason: '{text}' is not a valid IP address.",
                         'HTTPBadRequest') from None


def whole_pool(cidr: Network, gateway: str | None) -> list[dict[str, str]]:
    """What Neutron gives out when no pools are said: all but network, broadcast and gateway."""
    first, last = int(cidr.network_address), int(cidr.broadcast_address)
    if cidr.version == 4 and cidr.prefixlen < 31:
        first, last = first + 1, last - 1
    elif cidr.version == 6 and cidr.prefixlen < 127:
        first += 1
    ranges = [(first, last)]
    if gateway:
        taken = int(ipaddress.ip_address(gateway))
        if first <= taken <= last:
            ranges = [(first, taken - 1), (taken + 1, last)]
    return [{'start': text(low, cidr.version), 'end': text(high, cidr.version)} for low, high in ranges if low <= high]


def text(number: int, version: int) -> str:
    if version == 4:
        return f'{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}'
    return str(ipaddress.IPv6Address(number))


def prepare(subnet: Thing) -> None:
    """Numbers of its pools, for `take`; again after its pools have changed."""
    subnet.hidden['ranges'] = [(int(ipaddress.ip_address(pool['start'])), int(ipaddress.ip_address(pool['end'])))
                               for pool in subnet['allocation_pools']]
    subnet.hidden.setdefault('taken', {})           # address -> port id
    subnet.hidden['next'] = subnet.hidden['ranges'][0][0] if subnet.hidden['ranges'] else 0


def take(subnet: Thing, port_id: str, wanted: str | None = None) -> str:
    """An address for a port: the wanted one, else the next that is free. Raises BadRequest, Conflict."""
    taken = subnet.hidden['taken']
    if wanted is not None:
        found = str(address(wanted))
        if ipaddress.ip_address(found) not in network(subnet['cidr']):
            raise BadRequest(f'IP address {found} is not a valid IP for the specified subnet.', 'InvalidIpForSubnet')
        if found in taken:
            raise Conflict(f'IP address {found} already allocated in subnet {subnet.id}', 'IpAddressAlreadyAllocated')
    else:
        found = _free(subnet)
    taken[found] = port_id
    return found


def _free(subnet: Thing) -> str:
    taken, version, start = subnet.hidden['taken'], subnet['ip_version'], subnet.hidden['next']
    ranges = subnet.hidden['ranges']
    # From where the last search ended to the end, then from the beginning: freed ones come round again.
    after = [(max(low, start), high) for low, high in ranges]
    before = [(low, min(high, start - 1)) for low, high in ranges]
    for low, high in (*after, *before):
        for number in range(low, high + 1):
            found = text(number, version)
            if found not in taken:
                subnet.hidden['next'] = number + 1
                return found
    raise Conflict(f'No more IP addresses available on network {subnet["network_id"]}.', 'IpAddressGenerationFailure')


def give_back(subnet: Thing | None, found: str) -> None:
    if subnet is not None:
        subnet.hidden['taken'].pop(found, None)


def slaac(subnet: Thing, mac: str) -> str:
    """The address a guest would make of its MAC (EUI-64)."""
    parts = [int(part, 16) for part in mac.split(':')]
    parts[0] ^= 2
    low = int.from_bytes(bytes([*parts[:3], 0xff, 0xfe, *parts[3:]]), 'big')
    return str(ipaddress.IPv6Address(int(network(subnet['cidr']).network_address) | low))
