"""Says which request a method of Neutron's library makes, from its name: the verb and the thing, or an action.

Where the collection of the thing is not "/<things>", a table has it. `{}` in a path is an id, in the order of the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

VERBS = {'create': 'POST', 'show': 'GET', 'update': 'PUT', 'delete': 'DELETE', 'list': 'LIST'}
VOWELS = 'aeiou'
# The methods of things in these collections take the id of the thing before the id of what it is in.
CHILD_FIRST = ('/qos/', '/lbaas/')

PATHS = {                                   # plural -> path, where it is not the plural with dashes
    'auto_allocated_topologies': '/auto-allocated-topology', 'availability_zones': '/availability_zones',
    'service_profiles': '/service_profiles',
    'port_bindings': '/ports/{}/bindings', 'port_forwardings': '/floatingips/{}/port_forwardings',

    'firewalls': '/fw/firewalls', 'firewall_policies': '/fw/firewall_policies',
    'firewall_rules': '/fw/firewall_rules', 'fwaas_firewall_groups': '/fwaas/firewall_groups',
    'fwaas_firewall_policies': '/fwaas/firewall_policies', 'fwaas_firewall_rules': '/fwaas/firewall_rules',

    'sfc_flow_classifiers': '/sfc/flow_classifiers', 'flow_classifiers': '/sfc/flow_classifiers',
    'sfc_port_chains': '/sfc/port_chains', 'port_chains': '/sfc/port_chains',
    'sfc_port_pairs': '/sfc/port_pairs', 'port_pairs': '/sfc/port_pairs',
    'sfc_port_pair_groups': '/sfc/port_pair_groups', 'port_pair_groups': '/sfc/port_pair_groups',
    'sfc_service_graphs': '/sfc/service_graphs',

    'endpoint_groups': '/vpn/endpoint-groups', 'ikepolicies': '/vpn/ikepolicies',
    'ipsecpolicies': '/vpn/ipsecpolicies', 'ipsec_site_connections': '/vpn/ipsec-site-connections',
    'vpnservices': '/vpn/vpnservices',

    'metering_labels': '/metering/metering-labels', 'metering_label_rules': '/metering/metering-label-rules',
    'network_logs': '/log/logs', 'network_loggable_resources': '/log/loggable-resources',
    'tap_services': '/taas/tap_services', 'tap_flows': '/taas/tap_flows',

    'qos_policies': '/qos/policies', 'policies': '/qos/policies', 'qos_rule_types': '/qos/rule-types',
    'bandwidth_limit_rules': '/qos/policies/{}/bandwidth_limit_rules',
    'dscp_marking_rules': '/qos/policies/{}/dscp_marking_rules',
    'minimum_bandwidth_rules': '/qos/policies/{}/minimum_bandwidth_rules',
    'minimum_packet_rate_rules': '/qos/policies/{}/minimum_packet_rate_rules',
    'packet_rate_limit_rules': '/qos/policies/{}/packet_rate_limit_rules',

    'bgpvpns': '/bgpvpn/bgpvpns', 'bgpvpn_network_assocs': '/bgpvpn/bgpvpns/{}/network_associations',
    'bgpvpn_port_assocs': '/bgpvpn/bgpvpns/{}/port_associations',
    'bgpvpn_router_assocs': '/bgpvpn/bgpvpns/{}/router_associations',

    'health_monitors': '/lb/health_monitors', 'members': '/lb/members', 'pools': '/lb/pools', 'vips': '/lb/vips',
    'loadbalancers': '/lbaas/loadbalancers', 'lbaas_loadbalancers': '/lbaas/loadbalancers',
    'listeners': '/lbaas/listeners', 'lbaas_healthmonitors': '/lbaas/healthmonitors',
    'lbaas_l7policies': '/lbaas/l7policies', 'lbaas_l7rules': '/lbaas/l7policies/{}/rules',
    'lbaas_pools': '/lbaas/pools', 'lbaas_members': '/lbaas/pools/{}/members',
}

ACTIONS = {                                 # method -> request, where its name is not a verb and a thing
    'activate_port_binding': ('PUT', '/ports/{}/bindings/{}/activate'),
    'add_interface_router': ('PUT', '/routers/{}/add_router_interface'),
    'remove_interface_router': ('PUT', '/routers/{}/remove_router_interface'),
    'add_extra_routes_to_router': ('PUT', '/routers/{}/add_extraroutes'),
    'remove_extra_routes_from_router': ('PUT', '/routers/{}/remove_extraroutes'),
    'onboard_network_subnets': ('PUT', '/subnetpools/{}/onboard_network_subnets'),
    'get_auto_allocated_topology': ('GET', '/auto-allocated-topology/{}'),

    'add_tag': ('PUT', '/{}/{}/tags/{}'), 'remove_tag': ('DELETE', '/{}/{}/tags/{}'),
    'replace_tag': ('PUT', '/{}/{}/tags'), 'remove_tag_all': ('DELETE', '/{}/{}/tags'),

    'get_quotas_tenant': ('GET', '/quotas/tenant'), 'show_quota_details': ('GET', '/quotas/{}/details.json'),
    'show_quota_default': ('GET', '/quotas/{}/default'),

    'trunk_add_subports': ('PUT', '/trunks/{}/add_subports'),
    'trunk_remove_subports': ('PUT', '/trunks/{}/remove_subports'),
    'trunk_get_subports': ('GET', '/trunks/{}/get_subports'),

    'connect_network_gateway': ('PUT', '/network-gateways/{}/connect_network'),
    'disconnect_network_gateway': ('PUT', '/network-gateways/{}/disconnect_network'),
    'associate_flavor': ('POST', '/flavors/{}/service_profiles'),
    'disassociate_flavor': ('DELETE', '/flavors/{}/service_profiles/{}'),

    'list_dhcp_agent_hosting_networks': ('GET', '/networks/{}/dhcp-agents'),
    'list_networks_on_dhcp_agent': ('GET', '/agents/{}/dhcp-networks'),
    'add_network_to_dhcp_agent': ('POST', '/agents/{}/dhcp-networks'),
    'remove_network_from_dhcp_agent': ('DELETE', '/agents/{}/dhcp-networks/{}'),
    'list_l3_agent_hosting_routers': ('GET', '/routers/{}/l3-agents'),
    'list_routers_on_l3_agent': ('GET', '/agents/{}/l3-routers'),
    'add_router_to_l3_agent': ('POST', '/agents/{}/l3-routers'),
    'remove_router_from_l3_agent': ('DELETE', '/agents/{}/l3-routers/{}'),

    'add_peer_to_bgp_speaker': ('PUT', '/bgp-speakers/{}/add_bgp_peer'),
    'remove_peer_from_bgp_speaker': ('PUT', '/bgp-speakers/{}/remove_bgp_peer'),
    'add_network_to_bgp_speaker': ('PUT', '/bgp-speakers/{}/add_gateway_network'),
    'remove_network_from_bgp_speaker': ('PUT', '/bgp-speakers/{}/remove_gateway_network'),
    'list_route_advertised_from_bgp_speaker': ('GET', '/bgp-speakers/{}/get_advertised_routes'),
    'list_dragents_hosting_bgp_speaker': ('GET', '/bgp-speakers/{}/bgp-dragents'),
    'list_bgp_speaker_on_dragent': ('GET', '/agents/{}/bgp-drinstances'),
    'add_bgp_speaker_to_dragent': ('POST', '/agents/{}/bgp-drinstances'),
    'remove_bgp_speaker_from_dragent': ('DELETE', '/agents/{}/bgp-drinstances/{}'),

    'firewall_policy_insert_rule': ('PUT', '/fw/firewall_policies/{}/insert_rule'),
    'firewall_policy_remove_rule': ('PUT', '/fw/firewall_policies/{}/remove_rule'),
    'insert_rule_fwaas_firewall_policy': ('PUT', '/fwaas/firewall_policies/{}/insert_rule'),
    'remove_rule_fwaas_firewall_policy': ('PUT', '/fwaas/firewall_policies/{}/remove_rule'),

    'associate_health_monitor': ('POST', '/lb/pools/{}/health_monitors'),
    'disassociate_health_monitor': ('DELETE', '/lb/pools/{}/health_monitors/{}'),
    'retrieve_pool_stats': ('GET', '/lb/pools/{}/stats'),
    'get_lbaas_agent_hosting_pool': ('GET', '/lb/pools/{}/loadbalancer-agent'),
    'list_pools_on_lbaas_agent': ('GET', '/agents/{}/loadbalancer-pools'),
    'retrieve_loadbalancer_stats': ('GET', '/lbaas/loadbalancers/{}/stats'),
    'retrieve_loadbalancer_status': ('GET', '/lbaas/loadbalancers/{}/statuses'),
    'get_lbaas_agent_hosting_loadbalancer': ('GET', '/lbaas/loadbalancers/{}/loadbalancer-hosting-agent'),
    'list_loadbalancers_on_lbaas_agent': ('GET', '/agents/{}/agent-loadbalancers'),
}


@dataclass(frozen=True)
class NetworkRequest:
    """What a method asks for. `verb`: of HTTP, or LIST: all pages of a collection."""

    method: str
    verb: str
    path: str

    def split(self, given: Sequence[object]) -> tuple[str, Sequence[object]]:
        """Return the path with the ids that begin the arguments of a call, and the other arguments, at most one.

        Raises TypeError for too few or too many."""
        count = self.path.count('{}')
        if not count <= len(given) <= count + (self.verb in ('POST', 'PUT', 'LIST')):
            raise TypeError(f'{self.method}() takes {count} ids for {self.path}, and {len(given)} arguments were given')
        ids = given[:count]
        if self.path.startswith(CHILD_FIRST) and self.method not in ACTIONS:
            ids = ids[::-1]
        return self.path.format(*ids), given[count:]


def request_of(method: str) -> NetworkRequest | None:
    """Return the request that a method of the library makes; None for a name that can be none of it."""
    if method in ACTIONS:
        return NetworkRequest(method, *ACTIONS[method])
    verb, _underscore, thing = method.partition('_')
    if verb not in VERBS or not thing:
        return None
    path = path_of(thing if verb == 'list' else plural_of(thing))
    return NetworkRequest(method, VERBS[verb], path if verb in ('create', 'list') else f'{path}/{{}}')


def plural_of(thing: str) -> str:
    """Return the name of the collection of a thing."""
    if thing.endswith('y') and thing[-2:-1] not in VOWELS:
        return f'{thing[:-1]}ies'
    return f'{thing}s'


def path_of(plural: str) -> str:
    """Return the path of a collection, below the API's version."""
    return PATHS.get(plural, '/' + plural.replace('_', '-'))


def key_of(plural: str) -> str:
    """Return the key of a list in the answer."""
    return path_of(plural).rpartition('/')[2].replace('-', '_')
