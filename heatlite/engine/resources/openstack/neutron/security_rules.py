"""Rules of security groups as Neutron stores and compares them, and the requests that make a group's rules so.

Neutron refuses a rule that it takes for one of the group's (409), so a comparison of any other kind fails there.
Source: neutron/db/securitygroups_db.py, `_make_canonical_port_range`, `_make_canonical_ipv6_icmp_protocol`,
`_validate_ip_prefix`, `_rule_to_key`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from heatlite.engine.clients.os.neutron import NeutronClientPlugin

Rule: TypeAlias = Mapping[str, object]

# What makes two rules the same; a description may differ.
IDENTITY = ('direction', 'ethertype', 'port_range_min', 'port_range_max', 'protocol', 'remote_group_id',
            'remote_address_group_id', 'remote_ip_prefix')
NUMBERS = {
    'ah': 51, 'dccp': 33, 'egp': 8, 'esp': 50, 'gre': 47, 'icmp': 1, 'icmpv6': 58, 'igmp': 2, 'ipip': 4,
    'ipv6-encap': 41, 'ipv6-frag': 44, 'ipv6-icmp': 58, 'ipv6-nonxt': 59, 'ipv6-opts': 60, 'ipv6-route': 43,
    'ospf': 89, 'pgm': 113, 'rsvp': 46, 'sctp': 132, 'tcp': 6, 'udp': 17, 'udplite': 136, 'vrrp': 112}
ANY_PROTOCOL = 'any'
ALL_PORTS = ('1', '65535')
EVERYWHERE = ('0.0.0.0/0', '::/0')
IPV6_ICMP = {'icmp': 'ipv6-icmp', 'icmpv6': 'ipv6-icmp', '1': '58'}     # as it is sent for IPv6 -> as it is stored


def as_stored(rule: Rule) -> dict[str, object]:
    """Return the rule with the values that Neutron stores for those it is sent."""
    found = dict(rule)
    protocol = _text(rule, 'protocol')
    if str(rule.get('ethertype')).lower() == 'ipv6' and protocol in IPV6_ICMP:
        found['protocol'] = IPV6_ICMP[protocol]
    if (_text(rule, 'port_range_min'), _text(rule, 'port_range_max')) == ALL_PORTS:
        del found['port_range_min'], found['port_range_max']
    if rule.get('remote_ip_prefix'):
        found['remote_ip_prefix'] = _prefix(str(rule['remote_ip_prefix']))
    return found


def key_of(rule: Rule) -> tuple[str | None, ...]:
    """Return a value that is equal for rules of one group that Neutron takes for the same."""
    stored = as_stored(rule)
    words = {name: _text(stored, name) for name in IDENTITY}
    if words['remote_ip_prefix'] in EVERYWHERE:
        words['remote_ip_prefix'] = None
    protocol = words['protocol']
    if protocol is not None:
        words['protocol'] = None if protocol == ANY_PROTOCOL else str(NUMBERS.get(protocol, protocol))
    return tuple(words.values())


def described_otherwise(rule: Rule, wanted: Rule) -> bool:
    """Return whether the description of `rule` has to change. A `wanted` rule without one accepts every description."""
    return wanted.get('description') is not None and wanted['description'] != (rule.get('description') or '')


def make_so(plugin: NeutronClientPlugin, group_id: str | None, there: Sequence[Rule], wanted: Iterable[Rule],
            is_free: Callable[[Rule], bool] = lambda rule: False) -> None:
    """Make the rules of a group, `there`, equal to `wanted`. What stays is never interrupted: missing rules are created
    in one request before others are deleted. A rule whose description changes is deleted first, as Neutron neither
    changes a rule nor takes a second one. `is_free(rule)`: whether a rule that is not wanted stays.
    """
    client = plugin.client()
    present = {key_of(rule): rule for rule in there}
    asked = {key_of(rule): rule for rule in wanted}
    changed = [key for key in asked if key in present and described_otherwise(present[key], asked[key])]
    missing = [rule for key, rule in asked.items() if key not in present or key in changed]
    _delete(plugin, [present[key] for key in changed])
    if missing:
        client.post('/security-group-rules', {'security_group_rules': [
            {**rule, 'security_group_id': group_id} for rule in missing]})
    _delete(plugin, [rule for rule in there if key_of(rule) not in asked and not is_free(rule)])


def _delete(plugin: NeutronClientPlugin, rules: Iterable[Rule]) -> None:
    for rule in rules:
        with plugin.ignore_not_found:
            plugin.client().delete_security_group_rule(rule['id'])


def _text(rule: Rule, name: str) -> str | None:
    value = rule.get(name)
    return None if value in (None, '') else str(value).lower()


def _prefix(written: str) -> str:
    """Return a prefix in canonical form, with its length; other text unchanged."""
    try:
        return ipaddress.ip_interface(written).with_prefixlen
    except ValueError:
        return written
