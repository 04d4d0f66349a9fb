"""Functions for the types in neutron.yaml that a description cannot express."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources import existing
from heatlite.engine.resources.edges import of_type
from heatlite.engine.resources.openstack.neutron import neutron, security_rules
from heatlite.engine.resources.rest import begun_additions, edges, subresources
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook
from heatlite.engine.resources.unknown_values import entries

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Fields
    from heatlite.engine.properties import Properties, Values
    from heatlite.engine.resource import Resource
    from heatlite.engine.resources.rest.described_resource import DescribedResource

PREFIX_LENGTHS = {4: (8, 32), 6: (64, 128)}         # of a pool: version -> the least and the most if none is given
NO_SHA1 = 'vpn-no-sha1-3des'
LAST_VLAN = 4094
NO_GATEWAY, CHOSEN_BY_NEUTRON = '', 'auto'


def refuse(text: str) -> exception.StackValidationFailed:
    return exception.StackValidationFailed(message=text)


@hook
def no_properties_in_value_specs(resource: DescribedResource) -> None:
    """In Heat, types with a check of their own, such as routers and subnets, do not check this."""
    found = neutron.refused_value_specs(resource.properties)
    if found is not None:
        raise refuse(found)


@hook
def subnet_gateway(resource: DescribedResource, body: dict[str, object], given: Mapping[str, object],
                   action: str) -> dict[str, object]:
    """'' means no gateway, 'auto' leaves it to Neutron, which it does only for a new subnet."""
    if body.get('gateway_ip') == NO_GATEWAY:
        body['gateway_ip'] = None
    elif body.get('gateway_ip') == CHOSEN_BY_NEUTRON:
        if action == 'update':
            raise refuse(_('The gateway_ip of a subnet cannot be changed to auto.'))
        del body['gateway_ip']
    if action == 'update':
        if 'segment' in given and resource.properties['segment'] is not None:
            raise refuse(_('The segment of a subnet can be set only once.'))
        body.update(_reset_addresses(given))
    return body


def _reset_addresses(given: Mapping[str, object]) -> dict[str, object]:
    """Return what a gateway and pools that were removed become: no gateway, and no addresses, as in Heat."""
    none: dict[str, object] = {'gateway_ip': None, 'allocation_pools': []}
    return {name: value for name, value in none.items() if name in given and given[name] is None}


@hook
def subnet_modes(resource: DescribedResource) -> None:
    given = resource.properties
    if given['ipv6_ra_mode'] and given['ipv6_address_mode'] and given['ipv6_ra_mode'] != given['ipv6_address_mode']:
        raise refuse(_('When both ipv6_ra_mode and ipv6_address_mode are set, they must be equal.'))
    gateway = given['gateway_ip']
    if gateway and gateway != CHOSEN_BY_NEUTRON and 'gateway_ip' not in given.deferred:
        try:
            ipaddress.ip_address(gateway)
        except ValueError:
            raise refuse(_('Gateway IP address "%s" is in invalid format.') % gateway)


@hook
def algorithm_of_the_cloud(resource: DescribedResource, body: dict[str, object], given: Values,
                           action: str) -> dict[str, object]:
    """Clouds of 2025 and later refuse the default of the schema, so they get their own one, as from Heat."""
    is_refused = action == 'create' and not resource.properties.is_given('auth_algorithm') and (
        resource.client_plugin().has_extension(NO_SHA1))
    return {**body, 'auth_algorithm': 'sha256'} if is_refused else body


@hook
def algorithm_as_given(resource: DescribedResource, wanted: Properties, found: Fields) -> dict[str, object]:
    """Compare the algorithm only if it is given; otherwise the service chooses it."""
    return {} if wanted.is_given('auth_algorithm') else {'auth_algorithm': wanted['auth_algorithm']}


@hook
def dns_of_a_new_address(resource: DescribedResource, body: dict[str, object], given: Values,
                         action: str) -> dict[str, object]:
    """Neutron takes them in a create only; a change is ignored, as in Heat: a replacement would be another address."""
    if action == 'update':
        return {name: value for name, value in body.items() if name not in ('dns_name', 'dns_domain')}
    return body


@hook
def pool_prefix_lengths(resource: DescribedResource, body: dict[str, object], given: Values,
                        action: str) -> dict[str, object]:
    """A length that is removed becomes what Neutron gives a new pool: it takes no null."""
    least, most = PREFIX_LENGTHS[ipaddress.ip_network(resource.properties['prefixes'][0], strict=False).version]
    for name, length in (('min_prefixlen', least), ('max_prefixlen', most)):
        if body.get(name, length) is None:
            body[name] = length
    if body.get('default_prefixlen', least) is None:
        body['default_prefixlen'] = body.get('min_prefixlen') or resource.properties['min_prefixlen'] or least
    return body


@hook
def prefixes_only_grow(resource: DescribedResource, calls: list[DescribedCall], changed: Values) -> list[DescribedCall]:
    new, old = changed.get('prefixes'), resource.properties['prefixes']
    if new is not None and joined([*old, *new]) != joined(new):
        raise refuse(_('Property %(key)s updated value %(new)s should be superset of existing value %(old)s.')
                     % {'key': 'prefixes', 'new': new, 'old': old})
    return calls


@hook
def prefixes_as_written(resource: DescribedResource, wanted: Values,
                        found: Fields) -> dict[str, object]:
    """Neutron joins prefixes that are next to each other, and sorts them."""
    given, now = wanted.get('prefixes'), found.get('prefixes')
    return {'prefixes': given} if given and now and joined(given) == joined(now) else {}


def joined(prefixes: Iterable[str]) -> list[object]:
    """The fewest networks with the same addresses, in their order."""
    networks = [ipaddress.ip_network(each, strict=False) for each in prefixes]
    return [network for version in (4, 6) for network in ipaddress.collapse_addresses(
        each for each in networks if each.version == version)]      # type: ignore[type-var]


@hook
def one_agent_unless_ha(resource: DescribedResource) -> None:
    given = resource.properties
    if given.is_given('l3_agent_id') and given.is_given('l3_agent_ids'):
        raise exception.ResourcePropertyConflict('l3_agent_id', 'l3_agent_ids')
    agents = given['l3_agent_ids']
    if not given['ha'] and isinstance(agents, list) and len(agents) > 1:
        raise refuse(_('Non HA routers can only have one L3 agent.'))


@hook
def interface_id(resource: DescribedResource, found: object) -> str:
    given = resource.properties
    kind = 'subnet' if given['subnet'] else 'port'
    return f'{given["router"]}:{kind}_id={given[kind]}'


@hook
def interface_of_the_id(resource: DescribedResource, calls: list[DescribedCall]) -> list[DescribedCall]:
    """The physical id says what was connected; the names of the template may lead elsewhere by now."""
    router, _colon, connected = str(resource.resource_id).partition(':')
    field, is_known, value = connected.partition('=')
    if not is_known:
        return calls
    return [replace(call, path=f'/routers/{quote(router, safe="")}/remove_router_interface', body={field: value})
            for call in calls]


@hook
def one_route_more(resource: DescribedResource, call: DescribedCall) -> DescribedCall:
    """A route that is there is refused, unless it has come since this resource began to be created."""
    routes, ours = _routes(resource)
    found = [str(ours)] if ours in routes and resource.resource_id is None else []
    existing.snapshot_candidates(resource, lambda: found)
    if found and existing.find_created(resource, {str(ours): ours}, lambda route: True) is None:
        raise exception.Error(_('Route duplicates an existing route.'))
    routes = [route for route in routes if route != ours]
    return replace(call, body={'router': {'routes': [*routes, ours]}})


@hook
def one_route_less(resource: DescribedResource, calls: list[DescribedCall]) -> list[DescribedCall]:
    routes, ours = _routes(resource)
    return [replace(call, body={'router': {'routes': [route for route in routes if route != ours]}}) for call in calls
            if ours in routes]


@hook
def refuse_present_routes(resource: DescribedResource, call: None) -> None:
    """A route that is there is another user's or resource's, from which the delete of the set would take it."""
    _refuse_present(resource, resource.properties, resource.properties['routes'])


@hook
def refuse_more_present_routes(resource: DescribedResource, calls: list[DescribedCall],
                               changed: Values) -> list[DescribedCall]:
    before = resource.before()
    own = subresources.items(before['routes']) + begun_additions.items(resource, 'routes')
    more = subresources.without(subresources.items(changed.get('routes')), own)
    if more:
        _refuse_present(resource, before, more)
    return calls


def _refuse_present(resource: DescribedResource, given: Values, routes: Iterable[object]) -> None:
    there = resource.read(DescribedCall('GET', f'/routers/{quote(given["router"], safe="")}',
                                        answer='router.routes')) or []
    for route in routes:
        match route:
            case {'destination': network, 'nexthop': address} if {'destination': network, 'nexthop': address} in there:
                raise exception.PhysicalResourceExists(name=f'{network} via {address}')


def _routes(resource: DescribedResource) -> tuple[list[object], dict[str, object]]:
    given = resource.last_known()
    found = resource.read(DescribedCall('GET', f'/routers/{quote(given["router_id"], safe="")}',
                                        answer='router.routes')) or []
    return found, {'destination': given['destination'], 'nexthop': given['nexthop']}


@hook
def interface_of_the_port(resource: DescribedResource, interface: Resource) -> bool:
    """The router interface is on a subnet of a port that this resource needs anyway."""
    subnet = edges.known(interface, 'subnet')
    for port in resource.t.dependencies(resource.stack):
        if not port.has_interface('OS::Neutron::Port'):
            continue
        given = edges.known(port, 'fixed_ips')
        places = range(len(given) if isinstance(given, list) else 0)
        pinned = [edges.known(port, f'fixed_ips.{place}.subnet') for place in places]
        if subnet is None or subnet in pinned:
            return True
        if not pinned and subnet in _subnets(resource, edges.known(port, 'network')):
            return True
    return False


def _subnets(resource: DescribedResource, network: object) -> set[object]:
    """References of the stack's own subnets of a network."""
    return {other.get_reference_id() or other.name for other in of_type(resource, 'OS::Neutron::Subnet')
            if network is not None and edges.known(other, 'network') == network}


@hook
def rule_as_stored(resource: DescribedResource, body: dict[str, object], given: Values,
                   action: str) -> dict[str, object]:
    """So that a rule whose reply was lost is recognized."""
    return security_rules.as_stored(body)


@hook
def number_of_a_vlan(resource: DescribedResource) -> None:
    given = resource.properties
    number = given['segmentation_id']
    if given['network_type'] == 'vlan' and isinstance(number, int) and number > LAST_VLAN:
        raise refuse(_('The segmentation_id of a vlan segment must be at most %(most)s, not %(number)s.') % {
            'most': LAST_VLAN, 'number': number})


@hook
def devices_changed(resource: DescribedResource, changed: set[str], after: object, before: object) -> bool:
    return 'devices' in changed


@hook
def gateway_connections(resource: DescribedResource) -> None:
    for entry in entries(resource.properties, 'connections'):
        kind, number = entry.get('segmentation_type'), entry.get('segmentation_id')
        if kind == 'vlan' and number is None:
            raise refuse(_('segmentation_id must be specified for using vlan'))
        if kind == 'flat' and number:
            raise refuse(_('segmentation_id cannot be specified except 0 for using flat'))


@hook
def has_gateway(resource: DescribedResource, given: Values, found: Fields) -> bool:
    """Whether it leads to the network; if its name leads nowhere by now, whether there is one."""
    network = (found.get('router', found).get('external_gateway_info') or {}).get('network_id')
    return bool(network == given['network'] or (network and 'network' in getattr(given, 'unresolved', ())))


@hook
def has_route(resource: DescribedResource, given: Values, found: Fields) -> bool:
    return {'destination': given['destination'], 'nexthop': given['nexthop']} in (found.get('routes') or [])


@hook
def has_routes(resource: DescribedResource, given: Values, found: Fields) -> bool:
    """A set is there if one of its routes is, or if it has none."""
    there = found.get('routes') or []
    return not given['routes'] or any(
        {'destination': each['destination'], 'nexthop': each['nexthop']} in there for each in given['routes'])


@hook
def segments_of_the_network(resource: DescribedResource, name: str) -> list[Fields]:
    """Return segments without a name first, as in Heat: templates take the one that Neutron has made by its place."""
    found = resource.read(DescribedCall('GET', '/segments', query={'network_id': resource.resource_id},
                                        answer='segments')) or []
    return sorted(found, key=lambda segment: segment.get('name') is not None)
