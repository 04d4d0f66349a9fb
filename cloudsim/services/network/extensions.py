"""What the network service says it can do; clients look here before they use a feature."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import Call, NotFound
from cloudsim.service import Route

if TYPE_CHECKING:
    from cloudsim.services.network import NetworkService

ALIASES = """
    address-group address-scope agent allowed-address-pairs auto-allocated-topology availability_zone
    binding binding-extended bgpvpn default-subnetpools dhcp_agent_scheduler dns-integration
    dns-domain-ports dns-integration-domain-keywords expose-port-forwarding-in-fip ext-gw-mode
    external-gateway-multihoming external-net extra_dhcp_opt extraroute extraroute-atomic filter-validation
    fip-port-details flavors floating-ip-port-forwarding floating-ip-port-forwarding-description
    floatingip-pools ip-substring-filtering ip_allocation l2_adjacency l3-ha l3-flavors l3_agent_scheduler
    l2-gateway l2-gateway-connection metering multi-provider net-mtu net-mtu-writable
    network-ip-availability network_availability_zone pagination port-mac-address-regenerate port-security
    port-security-groups-filtering project-id provider qos qos-bw-limit-direction qos-bw-minimum-ingress qos-default
    qos-fip qos-pps qos-pps-minimum qos-rule-type-details quota_details quotas rbac-policies rbac-address-scope
    rbac-security-groups rbac-subnetpool revision-if-match router router_availability_zone security-group
    security-groups-default-rules security-groups-normalized-cidr security-groups-remote-address-group
    security-groups-shared-filtering segment segments-peer-subnet-host-routes service-type sfc sorting
    standard-attr-description standard-attr-revisions standard-attr-segment standard-attr-tag
    standard-attr-timestamp stateful-security-group subnet-dns-publish-fixed-ip subnet-segmentid-writable
    subnet-service-types subnet_allocation subnet_onboard subnetpool-prefix-ops taas tap-mirror trunk
    trunk-details uplink-status-propagation vpnaas vpn-endpoint-groups vpn-flavors vpn-no-sha1-3des dvr
"""


def routes(service: NetworkService) -> Iterable[Route]:
    shown = [{'alias': each, 'name': each.replace('-', ' ').replace('_', ' ').capitalize(),
              'description': f'The {each} extension', 'updated': '2026-01-01T00:00:00-00:00', 'links': []}
             for each in ALIASES.split()]
    by_alias = {each['alias']: each for each in shown}

    def show(call: Call, alias: str) -> Any:
        if alias not in by_alias:
            raise NotFound('Extension', alias)
        return 200, {'extension': by_alias[alias]}

    def zones(call: Call) -> Any:
        return 200, {'availability_zones': [{'name': 'nova', 'resource': kind, 'state': 'available'}
                                            for kind in ('network', 'router')]}

    def availability(call: Call, id: str) -> Any:
        network = service.collection('networks').get(call, id)
        subnets = [service.thing('subnets', each) for each in network['subnets']]
        rows = [{'subnet_id': each.id, 'subnet_name': each['name'], 'cidr': each['cidr'],
                 'ip_version': each['ip_version'], 'used_ips': len(each.hidden['taken']),
                 'total_ips': sum(high - low + 1 for low, high in each.hidden['ranges'])} for each in subnets]
        return 200, {'network_ip_availability': {
            'network_id': network.id, 'network_name': network['name'], 'tenant_id': network.project_id,
            'project_id': network.project_id, 'total_ips': sum(each['total_ips'] for each in rows),
            'used_ips': sum(each['used_ips'] for each in rows), 'subnet_ip_availability': rows}}

    yield 'GET', '/v2.0/extensions', lambda call: (200, {'extensions': shown})
    yield 'GET', '/v2.0/extensions/{alias}', show
    yield 'GET', '/v2.0/availability_zones', zones
    yield 'GET', '/v2.0/network-ip-availabilities/{id}', availability
    yield 'GET', '/v2.0/service-providers', lambda call: (200, {'service_providers': []})
