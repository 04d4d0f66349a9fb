"""Properties with which a resource of any described type can be made, taken from the facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KNOWN = 'known'                             # ids and names that begin like this exist in the generic service

BY_CONSTRAINT = {
    'ip_addr': '10.0.0.7', 'net_cidr': '10.0.0.0/24', 'ip_or_cidr': '10.0.0.0/24', 'mac_addr': 'fa:16:3e:00:00:07',
    'cron_expression': '0 5 * * *', 'timezone': 'UTC', 'json_string': '{"a": 1}', 'dns_name': 'lamp.acme',
    'rel_dns_name': 'lamp', 'dns_domain': 'acme.', 'expiration': '2999-01-01T00:00:00',
    'iso_8601': '2999-01-01T00:00:00',
}
BY_NAME = {
    'start_date': '2999-01-01 00:00', 'end_date': '2999-01-02 00:00', 'before_end_date': '2999-01-01 12:00',
    'subscriber': 'http://lamp.acme', 'email': 'a@lamp.acme', 'url': 'http://lamp.acme', 'vlan_filter': '1-3',
    'kernel_id': '11111111-1111-1111-1111-111111111111', 'ramdisk_id': '11111111-1111-1111-1111-111111111111',
    'certificate_ref': 'http://x/secrets/known-1', 'private_key_ref': 'http://x/secrets/known-2',
}
OTHERS = {'email': 'b@lamp.acme', 'url': 'https://lamp.acme', 'subscriber': 'https://lamp.acme',
          'flavor_data': '{}', 'availability_zone_data': '{}', 'prefixes': '10.0.0.0/16',
          'internal_ip_address': '10.0.0.8'}
# What makes the required properties of a type a whole: rules between properties, choices.
EXTRA: Mapping[str, Mapping[str, Any]] = {
    'OS::Neutron::Subnet': {'cidr': '10.0.0.0/24'},
    'OS::Neutron::RouterInterface': {'subnet': 'known-subnet'},
    'OS::Neutron::RouterGateway': {'network': 'known-network'},
    'OS::Neutron::ProviderNet': {'network_type': 'vlan', 'physical_network': 'lamp'},
    'OS::Neutron::Segment': {'network_type': 'vlan', 'physical_network': 'lamp'},
    'OS::Neutron::Quota': {'port': 3}, 'OS::Cinder::Quota': {'volumes': 3}, 'OS::Nova::Quota': {'cores': 3},
    'OS::Octavia::Quota': {'pool': 3},
    'OS::Octavia::Pool': {'loadbalancer': 'known-balancer'},
    'OS::Octavia::L7Policy': {'action': 'REJECT'},
    'OS::Designate::Zone': {'email': 'a@lamp.acme'},
    'OS::Mistral::CronTrigger': {'pattern': '0 5 * * *'},
    'OS::Barbican::Order': {'type': 'key', 'algorithm': 'aes', 'bit_length': 256},
    'OS::Magnum::ClusterTemplate': {'coe': 'kubernetes'},
    'OS::Glance::WebImage': {'container_format': 'bare', 'disk_format': 'qcow2'},
    'OS::Keystone::UserRoleAssignment': {'roles': [{'role': 'known-role', 'project': 'known-project'}]},
    'OS::Keystone::GroupRoleAssignment': {'roles': [{'role': 'known-role', 'domain': 'known-domain'}]},
    'OS::Neutron::ExtraRouteSet': {'routes': [{'destination': '10.1.0.0/24', 'nexthop': '10.0.0.1'}]},
    'OS::Neutron::RBACPolicy': {'object_type': 'network', 'action': 'access_as_shared'},
    'OS::Zaqar::SignedQueueURL': {'queue': 'lamps'},
    'OS::Aodh::CompositeAlarm': {'composite_rule': {'operator': 'or', 'rules': [{'a': 1}, {'b': 2}]}},
}


# What finders look for in whole lists, so that it must be there: path -> fields.
THERE: Mapping[str, Mapping[str, Any]] = {
    **{f'/{path}/known-{name}{again}': {} for again in ('', '-a', '-b') for path, name in (
        ('types', 'volume_type'), ('types', 'volume_types'), ('qos-specs', 'qos_specs'),
        ('security-services', 'security_services'),
        ('sfc/port_pairs', 'port_pairs'), ('sfc/port_pair_groups', 'port_pair_groups'), ('sfc/flow_classifiers', 'a'),
        ('sfc/flow_classifiers', 'flow_classifiers'), ('taas/tap_services', 'tap_service'))},
    '/os-hosts/known-host': {}, '/routers/known-router': {},
    '/ports/known-port': {'device_id': 'known-server_id', 'fixed_ips': [{'ip_address': '10.0.0.7'}]},
    '/ports/known-other': {'device_id': 'known-server_id-b', 'fixed_ips': [{'ip_address': '10.0.0.8'}]},
    '/networks/known-outside': {'router:external': 'True'},
    '/datastores/known-datastore_type/versions/known-datastore_version': {
        'id': 'known-datastore_version', 'name': 'known-datastore_version'},
}


def required(type_name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The least with which the type can be made."""
    given = {name: value(name, body) for name, body in facts.get('properties', {}).items()
             if body.get('required') and not hidden(body)}
    return {**given, **EXTRA.get(type_name, {})}


def hidden(body: Mapping[str, Any]) -> bool:
    return body.get('support_status', {}).get('status') in ('HIDDEN', 'UNSUPPORTED')


def another(name: str, body: Mapping[str, Any], given: Any) -> Any:
    """A value that is neither the given one nor the default."""
    known = (given, body.get('default'))
    return next(found for found in (value(name, body, True), value(name, body)) if found not in known
                and str(found).lower() not in [str(each).lower() for each in known])


def value(name: str, body: Mapping[str, Any], other: bool = False) -> Any:
    """A value for a property; with `other` one that differs from the first."""
    limits = {limit['kind']: limit['value'] for limit in body.get('constraints', ())}
    if 'allowed_values' in limits:
        allowed = limits['allowed_values']
        chosen = allowed[-1 if other else 0]
        return [chosen] if body['type'] == 'list' else chosen
    match body['type']:
        case 'boolean':
            return not other
        case 'integer' | 'number':
            least = limits.get('range', {}).get('min') or 1
            return max(least, 1) + (1 if other else 0)
        case 'list':
            inner = body.get('schema', {}).get('*')
            return [value(name, inner, other)] if inner else [f'{KNOWN}-{"b" if other else "a"}']
        case 'map':
            schema = body.get('schema')
            if not schema:
                return {'color': 'blue' if other else 'red'}
            return {key: value(key, inner, other) for key, inner in schema.items()
                    if inner.get('required') and not hidden(inner)}
    if other and name in OTHERS:
        return OTHERS[name]
    if 'custom_constraint' in limits and limits['custom_constraint'] in BY_CONSTRAINT:
        return BY_CONSTRAINT[limits['custom_constraint']]
    return BY_NAME.get(name, f'{KNOWN}-{name}{"-b" if other else ""}')
