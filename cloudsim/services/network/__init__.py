"""Neutron: networks and what hangs on them. No packet moves, every book is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cloudsim.messages import Call
from cloudsim.service import Route, Service
from cloudsim.services.network import (
    extensions,
    floating_ips,
    networks,
    pools,
    ports,
    qos,
    quotas,
    routers,
    security_groups,
    seeds,
    subnets,
    tags,
    trunks,
    vpn,
)


class NetworkService(Service):
    classes = {
        'networks': networks.Networks, 'subnets': subnets.Subnets, 'subnetpools': pools.SubnetPools,
        'ports': ports.Ports, 'routers': routers.Routers,
        'floatingips': floating_ips.FloatingIps, 'port_forwardings': floating_ips.PortForwardings,
        'security-groups': security_groups.SecurityGroups, 'security-group-rules': security_groups.SecurityGroupRules,
        'policies': qos.Policies, 'bandwidth_limit_rules': qos.QosRules, 'dscp_marking_rules': qos.QosRules,
        'minimum_bandwidth_rules': qos.QosRules, 'minimum_packet_rate_rules': qos.QosRules, 'trunks': trunks.Trunks,
        'rbac-policies': networks.RbacPolicies, 'segments': networks.Segments,
        'ikepolicies': vpn.VpnPolicies, 'ipsecpolicies': vpn.VpnPolicies,
    }

    def __init__(self, cloud: Any, description: Any) -> None:
        self.macs = 0                       # given out so far
        self.segmentation = 0               # the last number of a tunnel or VLAN
        super().__init__(cloud, description)

    def own_routes(self) -> Iterable[Route]:
        yield from routers.routes(self)
        yield from trunks.routes(self)
        yield from tags.routes(self)
        yield from quotas.routes(self)
        yield from extensions.routes(self)

    def seed(self, call: Call) -> None:
        seeds.fill(self, call)

    def thing(self, kind: str, id: Any) -> Any:
        """The thing of this service, whatever its project; None when it is gone."""
        return self.collection(kind).table.get(id) if id else None


SERVICE = NetworkService
