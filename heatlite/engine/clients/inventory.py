"""Reads what services say of a project: quotas and what is used of them, flavors, images, zones, what is in use.

Each function sends one request, or one for each list. Errors are those of the clients.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from heatlite.common.context import RequestContext
from heatlite.common.limits import UNLIMITED
from heatlite.engine.clients.os import generic_client
from heatlite.planning.checks import Hold, Image, Limit
from heatlite.planning.costs.consumption import (
    COMPUTE,
    IMAGE,
    LOAD_BALANCER,
    NETWORK,
    SHARED_FILES,
    VOLUME,
    Flavor,
    Meter,
)
from heatlite.planning.costs.quotes import Rated

if TYPE_CHECKING:
    from heatlite.engine.clients import OpenStackClients

ONCE: Mapping[str, int] = {'connect_retries': 0, 'status_code_retries': 0}     # the caller does not wait for long
LISTED = 1000                           # the most entries that are read of a list without end
PLUGINS: Mapping[str, str] = {COMPUTE: 'nova', VOLUME: 'cinder', NETWORK: 'neutron', IMAGE: 'glance',
                              LOAD_BALANCER: 'octavia', SHARED_FILES: 'manila'}
OF_THE_NETWORK = ('network:dhcp', 'network:distributed', 'network:ha_router_replicated_interface',
                  'network:floatingip_agent_gateway', 'network:router_centralized_snat')
"""Owners of ports that the service removes by itself."""


class Named(NamedTuple):
    """What a service calls the limit of a meter, and what is used of it."""

    limit: str
    used: str


RATING = 'rating'
COMPUTE_LIMITS: Mapping[Meter, Named] = {
    Meter.INSTANCES: Named('maxTotalInstances', 'totalInstancesUsed'),
    Meter.VCPUS: Named('maxTotalCores', 'totalCoresUsed'),
    Meter.RAM: Named('maxTotalRAMSize', 'totalRAMUsed'),
    Meter.SERVER_GROUPS: Named('maxServerGroups', 'totalServerGroupsUsed'),
}
VOLUME_LIMITS: Mapping[Meter, Named] = {
    Meter.VOLUMES: Named('maxTotalVolumes', 'totalVolumesUsed'),
    Meter.VOLUME_SIZE: Named('maxTotalVolumeGigabytes', 'totalGigabytesUsed'),
}
NETWORK_LIMITS: Mapping[Meter, str] = {
    Meter.NETWORKS: 'network', Meter.SUBNETS: 'subnet', Meter.PORTS: 'port', Meter.ROUTERS: 'router',
    Meter.FLOATING_ADDRESSES: 'floatingip', Meter.SECURITY_GROUPS: 'security_group',
    Meter.SECURITY_GROUP_RULES: 'security_group_rule',
}
SHARE_LIMITS: Mapping[Meter, Named] = {
    Meter.SHARES: Named('maxTotalShares', 'totalSharesUsed'),
    Meter.SHARE_SIZE: Named('maxTotalShareGigabytes', 'totalShareGigabytesUsed'),
    Meter.SHARE_NETWORKS: Named('maxTotalShareNetworks', 'totalShareNetworksUsed'),
}
# The service does not say what is used: it is counted. Meter -> its name in quotas, the list; members are in pools.
BALANCER_LIMITS: Mapping[Meter, tuple[str, str]] = {
    Meter.LOAD_BALANCERS: ('load_balancer', 'loadbalancers'), Meter.LISTENERS: ('listener', 'listeners'),
    Meter.POOLS: ('pool', 'pools'), Meter.POOL_MEMBERS: ('member', 'pools'),
    Meter.HEALTH_MONITORS: ('health_monitor', 'healthmonitors'),
}
PORTS_OF: Mapping[str, str] = {             # type -> how a list of ports is asked for those of one object
    'OS::Neutron::Subnet': 'fixed_ips', 'OS::Neutron::Net': 'network_id', 'OS::Neutron::ProviderNet': 'network_id',
    'OS::Neutron::SecurityGroup': 'security_groups'}
PORT_FIELDS = ['id', 'project_id', 'device_id', 'device_owner', 'network_id', 'security_groups', 'fixed_ips']
VOLUME_TYPES = frozenset({'OS::Cinder::Volume', 'AWS::EC2::Volume'})


def _get(clients: OpenStackClients, service: str, path: str, params: Mapping[str, object] | None = None) -> Any:
    return clients.client(PLUGINS[service]).http.get(path, params=params, **ONCE).json()


# --- quotas --------------------------------------------------------------------------------------------------

def limits(clients: OpenStackClients, service: str) -> dict[Meter, Limit]:
    """Return the quotas of the project at a service of LIMITS."""
    return LIMITS[service](clients)


def _network_limits(clients: OpenStackClients) -> dict[Meter, Limit]:
    project = clients.context.cloud_project_id
    found = _get(clients, NETWORK, f'/quotas/{project}/details.json')['quota']
    return {meter: Limit(found[name]['limit'], found[name]['used'] + int(found[name].get('reserved') or 0))
            for meter, name in NETWORK_LIMITS.items() if name in found}


def _balancer_limits(clients: OpenStackClients) -> dict[Meter, Limit]:
    project = clients.context.cloud_project_id
    quota = _get(clients, LOAD_BALANCER, f'/lbaas/quotas/{project}')['quota']
    limited = {meter: plural for meter, (name, plural) in BALANCER_LIMITS.items()
               if (quota.get(name) if quota.get(name) is not None else UNLIMITED) != UNLIMITED}
    lists = {plural: _get(clients, LOAD_BALANCER, f'/lbaas/{plural}', {'project_id': project, 'limit': LISTED})[plural]
             for plural in sorted(set(limited.values()))}
    return {meter: Limit(int(quota[BALANCER_LIMITS[meter][0]]), sum(
        len(entry.get('members') or ()) if meter is Meter.POOL_MEMBERS else 1 for entry in lists[plural]))
        for meter, plural in limited.items()}


def _absolute(service: str, names: Mapping[Meter, Named]) -> Callable[[OpenStackClients], dict[Meter, Limit]]:
    def read(clients: OpenStackClients) -> dict[Meter, Limit]:
        found = _get(clients, service, '/limits')['limits']['absolute']
        return {meter: Limit(found[name.limit], found.get(name.used, 0)) for meter, name in names.items()
                if found.get(name.limit, UNLIMITED) != UNLIMITED}
    return read


LIMITS: Mapping[str, Callable[[OpenStackClients], dict[Meter, Limit]]] = {
    COMPUTE: _absolute(COMPUTE, COMPUTE_LIMITS), VOLUME: _absolute(VOLUME, VOLUME_LIMITS), NETWORK: _network_limits,
    LOAD_BALANCER: _balancer_limits, SHARED_FILES: _absolute(SHARED_FILES, SHARE_LIMITS)}


# --- what there is -------------------------------------------------------------------------------------------

def flavors(clients: OpenStackClients) -> dict[str, Flavor]:
    """Return the flavors that the project may use, by id and by name."""
    found = [Flavor(*each) for each in clients.client_plugin(PLUGINS[COMPUTE]).flavor_sizes()]
    return {**{each.name: each for each in found}, **{each.id: each for each in found}}


def quote(context: RequestContext, rated: Sequence[Rated]) -> Decimal | None:
    """Return what the rating service takes for objects in one of its periods; None if it is not in the catalogue."""
    plugin = generic_client.plugin(context, RATING)
    if not plugin.does_endpoint_exist(RATING, RATING):
        return None
    body = {'resources': [each.to_json() for each in rated]}
    return Decimal(str(plugin.client().http.post('/v1/rating/quote', json=body, **ONCE).json()))


def images(clients: OpenStackClients, wanted: Collection[str], by: str) -> dict[str, Image]:
    """Return the images with one of these values of `by`, which is id or name, by that value. A text with a comma or a
    quotation mark is not looked for."""
    asked = [text for text in wanted if not {',', '"'} & set(text)]
    found = _get(clients, IMAGE, '/images', {by: f'in:{",".join(asked)}', 'limit': LISTED})['images']
    return {each[by]: Image(each['id'], each['name'] or each['id'], each.get('min_disk') or 0, each.get('min_ram') or 0)
            for each in found}


def zones(clients: OpenStackClients, service: str) -> frozenset[str]:
    """Return the names of the availability zones: COMPUTE or VOLUME."""
    found = _get(clients, service, '/os-availability-zone')['availabilityZoneInfo']
    return frozenset(each['zoneName'] for each in found)


# --- what is in use ------------------------------------------------------------------------------------------

def volumes_in_use(clients: OpenStackClients, ids: Collection[str], own: Collection[str]) -> list[Hold]:
    """Return what holds these volumes. `own`: ids of objects that do not count, as they belong to the stack."""
    found = _get(clients, VOLUME, '/volumes/detail', {'status': 'in-use', 'limit': LISTED})['volumes']
    return [Hold(volume['id'], f"server {attached['server_id']}") for volume in found if volume['id'] in ids
            for attached in volume.get('attachments') or () if attached.get('server_id') not in own]


def ports_in_use(clients: OpenStackClients, kind: str, ids: Collection[str], own: Collection[str]) -> list[Hold]:
    """Return the ports that hold objects of a type of `PORTS_OF`. `own`: as `volumes_in_use`.

    An administrator also sees ports of other projects: the project learns that there are some, and not which.
    """
    project = clients.context.cloud_project_id
    field = PORTS_OF[kind]
    wanted = [f'subnet_id={each}' if field == 'fixed_ips' else each for each in ids]
    found = _get(clients, NETWORK, '/ports', {field: wanted, 'limit': LISTED, 'fields': PORT_FIELDS})['ports']
    foreign = (port for port in found if not _belongs(port, own))
    return [Hold(held, f"port {port['id']}" if port['project_id'] == project else 'a port of another project')
            for port in foreign for held in _held(port, field) if held in ids]


def _belongs(port: Mapping[str, object], own: Collection[str]) -> bool:
    """Whether a port is the stack's, one of a server or router of the stack, or the service's own."""
    device = str(port.get('device_id') or '')
    return (port['id'] in own or device.removeprefix('lb-') in own
            or str(port.get('device_owner') or '').startswith(OF_THE_NETWORK))


def _held(port: Mapping[str, object], field: str) -> Iterator[str]:
    value = port.get(field)
    entries: Iterable[object] = value if isinstance(value, list) else (value,)
    for each in entries:
        yield str(each['subnet_id'] if isinstance(each, Mapping) else each)
