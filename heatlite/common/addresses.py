"""Parses networks and host names in options, and matches addresses against them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


_NAT64 = ipaddress.ip_network('64:ff9b::/96')
_COMPATIBLE = ipaddress.ip_network('::/96')


def parsed(text: str) -> Address:
    """Parse an address; an IPv6 address that embeds an IPv4 one (mapped, NAT64, 6to4) gives the latter.

    Raises ValueError.
    """
    found = ipaddress.ip_address(text.split('%', 1)[0])
    if isinstance(found, ipaddress.IPv4Address):
        return found
    if found.ipv4_mapped or found.sixtofour:
        return found.ipv4_mapped or found.sixtofour or found
    if found in _NAT64 or (found in _COMPATIBLE and int(found) > 0xffff):
        return ipaddress.IPv4Address(int(found) & 0xffffffff)
    return found


class Networks:
    """A list of addresses, networks (`10.0.0.0/8`) and host names (`files.example.com`, `*.example.com`).

    Raises ValueError, naming the entry, for any other text.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        self._names: set[str] = set()
        self._domains: list[str] = []
        for text in texts:
            try:
                self._networks.append(ipaddress.ip_network(text, strict=False))
            except ValueError:
                self._add_name(text)

    def _add_name(self, text: str) -> None:
        name = text.strip().lower().rstrip('.')
        if not name or '/' in name or ':' in name or name.replace('.', '').isdigit():
            raise ValueError(f'{text!r} is neither an address, nor a network, nor the name of a host')
        if name.startswith('*.'):
            self._domains.append(name[1:])
        else:
            self._names.add(name)

    def include(self, address: str) -> bool:
        """Whether an address, given as text, belongs to one of the networks."""
        try:
            found = parsed(address)
        except ValueError:
            return False
        return any(found in network for network in self._networks)

    def name(self, host: str) -> bool:
        """Whether a host name is one of the names."""
        host = host.lower().rstrip('.')
        return host in self._names or any(host.endswith(domain) for domain in self._domains)
