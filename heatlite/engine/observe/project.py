"""Reads the objects of a project from the lists of its services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.clients.inventory import ONCE
from heatlite.engine.clients.os.collection import Fields, next_page
from heatlite.planning import project_objects as objects
from heatlite.planning.project_template import FoundObject, ObjectReference

if TYPE_CHECKING:
    from heatlite.engine.clients import OpenStackClients
    from heatlite.engine.clients.os.swift import ObjectClient

Entry = Fields
T = TypeVar('T')
PAGE, MOST_PAGES = 1000, 50             # entries of one request of a list, and requests of one list
MOST_OBJECTS = 10_000                   # that are read of one project


@dataclass(frozen=True, slots=True)
class List:
    """A list of a service. `plugin`: the client plug-in; `many`: the key of the entries; `by_project`: administrators
    have to name the project."""

    plugin: str
    path: str
    many: str
    by_project: bool = False
    query: Mapping[str, str] = field(default_factory=dict)


LISTS: Mapping[str, List] = {
    'networks': List('neutron', '/networks', 'networks', True),
    'external networks': List('neutron', '/networks', 'networks', query={'router:external': 'True'}),
    'subnets': List('neutron', '/subnets', 'subnets', True),
    'routers': List('neutron', '/routers', 'routers', True),
    'ports': List('neutron', '/ports', 'ports', True),
    'security groups': List('neutron', '/security-groups', 'security_groups', True),
    'floating addresses': List('neutron', '/floatingips', 'floatingips', True),
    'servers': List('nova', '/servers/detail', 'servers'),
    'flavors': List('nova', '/flavors', 'flavors'),
    'server groups': List('nova', '/os-server-groups', 'server_groups'),
    'volumes': List('cinder', '/volumes/detail', 'volumes'),
    'images': List('glance', '/images', 'images'),
    'load balancers': List('octavia', '/lbaas/loadbalancers', 'loadbalancers', True),
    'listeners': List('octavia', '/lbaas/listeners', 'listeners', True),
    'pools': List('octavia', '/lbaas/pools', 'pools', True),
    'monitors': List('octavia', '/lbaas/healthmonitors', 'healthmonitors', True),
    'zones': List('designate', '/zones', 'zones'),
    'shares': List('manila', '/shares/detail', 'shares'),
    'share networks': List('manila', '/share-networks/detail', 'share_networks'),
}
MEMBERS, RECORDS, CONTAINERS = 'members', 'records', 'containers'
NAMED: Mapping[str, str] = {'image': 'images', 'flavor': 'flavors', 'external_network': 'external networks'}
"""Kind of a parameter -> the list that has the names."""


def log_in(clients: OpenStackClients) -> str | None:
    """Return the id of the project, and have a token for all lists: those that are read at once would wait for it."""
    found: str | None = clients.context.cloud_project_id
    return found


def read(clients: OpenStackClients, name: str, project_id: str | None) -> list[Entry]:
    """Return all entries of a list of LISTS. Errors are those of the client; RequestLimitExceeded for too many."""
    what = LISTS[name]
    params: dict[str, object] = {'limit': PAGE, **what.query}
    if what.by_project:
        params['project_id'] = project_id
    return list(_bounded(_pages(clients, what.plugin, what.path, what.many, params)))


def read_inside(clients: OpenStackClients, plugin: str, path: str, many: str,
                holders: Iterable[Entry]) -> list[tuple[Entry, Entry]]:
    """Return (entry, holder) of the lists that each holder has: one request for each. `path`: with `{id}`."""
    return list(_bounded((entry, holder) for holder in holders for entry in _pages(
        clients, plugin, path.format(id=holder['id']), many, {'limit': PAGE})))


def containers(clients: OpenStackClients) -> list[Entry]:
    """Return the containers of the account, page after page."""
    return list(_bounded(_containers(clients.client('swift'))))


def _containers(client: ObjectClient) -> Iterator[Entry]:
    marker = ''
    for _page in range(MOST_PAGES):
        _headers, found = client.get_account(limit=PAGE, marker=marker)
        yield from found
        if len(found) < PAGE:
            return
        marker = str(found[-1]['name'])


def _pages(clients: OpenStackClients, plugin: str, path: str, many: str,
           params: Mapping[str, object]) -> Iterator[Entry]:
    http = clients.client(plugin).http
    asked = dict(params)
    for _page in range(MOST_PAGES):
        body = http.get(path, params=asked, **ONCE).json()
        yield from body.get(many) or ()
        following = next_page(body, many)
        if following is None:
            return
        asked = {**asked, **following}


def _bounded(entries: Iterable[T]) -> Iterator[T]:
    for number, entry in enumerate(entries):
        if number >= MOST_OBJECTS:
            raise exception.RequestLimitExceeded(_('The project has more than %d objects of a kind.') % MOST_OBJECTS)
        yield entry


@dataclass(frozen=True)
class Listing:
    """What was read: name of a list -> entries, without those that were not read. `members`, `records`: with what holds
    them."""

    lists: Mapping[str, list[Entry]]
    members: list[tuple[Entry, Entry]] = field(default_factory=list)
    records: list[tuple[Entry, Entry]] = field(default_factory=list)
    containers: list[Entry] = field(default_factory=list)

    def of(self, name: str) -> list[Entry]:
        return self.lists.get(name, [])

    def objects(self) -> Iterator[FoundObject]:
        """Yield the objects of the project, without those that services make for themselves."""
        yield from self._network()
        yield from self._compute()
        for name, make in SIMPLE.items():
            yield from map(make, self.of(name))
        yield from (objects.member(entry, pool) for entry, pool in self.members)
        for entry, zone in self.records:
            found = objects.record(entry, zone)
            if found is not None:
                yield found
        yield from map(objects.container, self.containers)

    def network_ids(self, names: Iterable[str]) -> set[str]:
        """Return the ids of networks given by name or id. Raises EntityNotFound."""
        known: dict[str, set[str]] = {}
        for entry in (*self.of('networks'), *self.of('external networks')):
            known.setdefault(entry['name'], set()).add(entry['id'])
            known[entry['id']] = {entry['id']}
        missing = [name for name in names if name not in known]
        if missing:
            raise exception.EntityNotFound(entity='Network', name=missing[0])
        return set().union(*(known[name] for name in names))

    def label(self, ref: ObjectReference) -> str:
        """Return the name of the object of a parameter if it is the only one with it, else its id."""
        entries = self.of(NAMED[ref.kind]) if ref.kind in NAMED else []
        name = next((entry.get('name') for entry in entries if entry['id'] == ref.id), None)
        is_clear = name and sum(entry.get('name') == name for entry in entries) == 1
        return str(name) if is_clear else ref.id

    def _network(self) -> Iterator[FoundObject]:
        external = {entry['id'] for entry in self.of('external networks')}
        networks = [entry for entry in self.of('networks') if entry['id'] not in external]
        yield from map(objects.network, networks)
        yield from (objects.subnet(entry) for entry in self.of('subnets') if entry['network_id'] not in external)
        names = {entry['id']: entry['name'] for name in ('routers', 'subnets') for entry in self.of(name)}
        joined: dict[str, set[str]] = {}
        for port in filter(objects.is_interface, self.of('ports')):
            joined.setdefault(port['device_id'], set()).add(port['network_id'])
            yield from objects.interfaces(port, names)
        for router in self.of('routers'):
            yield objects.router(router, joined.get(router['id'], ()))
        yield from (objects.security_group(group) for group in self.of('security groups')
                    if group['name'] != 'default')
        servers = {entry['id']: entry['name'] for entry in self.of('servers')}
        places = {}
        for port in self.of('ports'):
            places[port['id']] = port['network_id']
            if not objects.is_of_service(port) and not _is_balancers(port):
                yield objects.port(port, servers.get(port.get('device_id') or '', ''))
        for address in self.of('floating addresses'):
            inside = places.get(address.get('port_id') or '')
            yield objects.floating_ip(address, [inside] if inside else [])

    def _compute(self) -> Iterator[FoundObject]:
        ports: dict[str, list[Entry]] = {}
        for port in self.of('ports'):
            ports.setdefault(port.get('device_id') or '', []).append(port)
        groups = {server: group['id'] for group in self.of('server groups') for server in group.get('members') or ()}
        names = {server['id']: server['name'] for server in self.of('servers')}
        without_image = {server['id'] for server in self.of('servers') if not server.get('image')}
        roots: dict[str, str] = {}
        for volume in self.of('volumes'):
            attached = [each for each in volume.get('attachments') or () if each.get('server_id') in names]
            networks = [port['network_id'] for each in attached for port in ports.get(each['server_id'], ())]
            yield objects.volume(volume, networks)
            for each in attached:
                server = each['server_id']
                if server in without_image and server not in roots and str(volume.get('bootable')).lower() == 'true':
                    roots[server] = volume['id']
                    continue
                yield objects.attachment(volume, each, names[server], networks)
        for server in self.of('servers'):
            yield objects.server(server, ports.get(server['id'], ()), roots.get(server['id']), groups.get(server['id']))


def _is_balancers(port: Entry) -> bool:
    """Whether a load balancer has made the port of its address, and removes it."""
    return str(port.get('device_owner') or '').lower() in ('octavia', 'neutron:loadbalancerv2')


SIMPLE: Mapping[str, Callable[[Entry], FoundObject]] = {
    'server groups': objects.server_group, 'load balancers': objects.load_balancer, 'pools': objects.pool,
    'listeners': objects.listener, 'monitors': objects.monitor, 'zones': objects.zone,
    'share networks': objects.share_network, 'shares': objects.share}
