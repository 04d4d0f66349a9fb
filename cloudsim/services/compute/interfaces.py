"""The network side of servers: ports found or made, shown as addresses, given back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Conflict, NotFound
from cloudsim.service import Route
from cloudsim.services.compute.hosts import HOST, ZONES
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.compute import ComputeService
    from cloudsim.services.compute.servers import Servers

OWNER = 'compute:' + ZONES[0]


def wanted(servers: Servers, call: Call, given: dict[str, Any]) -> list[dict[str, Any]]:
    """What the request says, one map per interface; `auto` and silence mean the only network there is."""
    said = given.get('networks')
    if said == 'none':
        return []
    if isinstance(said, list) and said:
        return said
    own = [each for each in visible_networks(servers, call) if not each['router:external'] and each['subnets']]
    mine = [each for each in own if each.project_id == call.project_id] or own
    if len(mine) > 1:
        raise Conflict('Multiple possible networks found, use a Network ID to be more specific.')
    return [{'uuid': each.id} for each in mine]


def visible_networks(servers: Servers, call: Call) -> list[Thing]:
    networks = servers.cloud.service('network').collection('networks')
    found: list[Thing] = networks.candidates(network_call(servers, call), None)
    return [each for each in found if each.project_id == call.project_id or each['shared']]


def network_call(servers: Servers, call: Call) -> Call:
    """The same user, asking the network service."""
    other = servers.cloud.nobody(servers.cloud.service('network'), call)
    other.identity = call.identity
    return other


def check(servers: Servers, call: Call, given: dict[str, Any]) -> None:
    """What the API refuses at once. Raises Problem."""
    asking = network_call(servers, call)
    network = servers.cloud.service('network')
    for each in wanted(servers, call, given):
        if each.get('port'):
            port = network.collection('ports').seen(asking, each['port'])
            if port is None:
                raise BadRequest(f'Port id {each["port"]} could not be found.')
            if port['device_id']:
                raise Conflict(f'Port {port.id} is still in use.')
        elif each.get('uuid'):
            found = network.collection('networks').seen(asking, each['uuid'])
            if found is None:
                raise BadRequest(f'Network {each["uuid"]} could not be found.')
            if not found['subnets'] and not each.get('fixed_ip'):
                raise BadRequest(f'Network {found.id} requires a subnet in order to boot instances on.')
            if each.get('fixed_ip'):
                check_address(servers, found, each['fixed_ip'])
        else:
            raise BadRequest('Invalid input for field/attribute networks: uuid or port is needed.')
    groups = network.collection('security-groups').table
    for name in given.get('security_groups') or ():
        said = name.get('name')
        if said != 'default' and not [each for each in (*groups.find('name', said), groups.get(said or ''))
                                      if each is not None and each.project_id == call.project_id]:
            raise BadRequest(f'Security group {said} not found for project {call.project_id}.')


def check_address(servers: Servers, network: Thing, address: str) -> None:
    """Raises BadRequest if a port of the network has the address, also a port of no server."""
    for port in servers.cloud.table('network.ports').find('network_id', network.id):
        if any(each['ip_address'] == address for each in port['fixed_ips']):
            raise BadRequest(f'Fixed IP address {address} is already in use on instance {port["device_id"]}.')


def plug(servers: Servers, call: Call, server: Thing, given: dict[str, Any]) -> None:
    server.hidden['ports'] = []                     # (id, made by us)
    for each in wanted(servers, call, given):
        add(servers, call, server, each)


def add(servers: Servers, call: Call, server: Thing, said: dict[str, Any]) -> Thing:
    """One interface: the port that is said, or a new one in a network. Raises Problem."""
    ports = servers.cloud.service('network').collection('ports')
    bound = {'device_id': server.id, 'device_owner': OWNER, 'binding:host_id': HOST}
    if said.get('port'):
        port = ports.seen(network_call(servers, call), said['port'])
        if port is None:
            raise NotFound('Port id', said['port'])
        if port['device_id'] not in ('', server.id):
            raise Conflict(f'Port {port.id} is still in use.')
        ports.amend(servers.cloud.nobody(ports.service), port, dict(bound))
    else:
        request = {'network_id': said['uuid'], **bound}
        if said.get('fixed_ip'):
            request['fixed_ips'] = [{'ip_address': said['fixed_ip']}]
        groups = group_ids(servers, server)
        if groups:
            request['security_groups'] = groups
        if said.get('tag'):
            request['tags'] = [said['tag']]
        port = ports.system_make(request, server.project_id)
    server.hidden.setdefault('ports', []).append((port.id, not said.get('port')))
    found: Thing = port
    return found


def group_ids(servers: Servers, server: Thing) -> list[str]:
    """Ids of the groups the request named; nothing for the default one alone."""
    names = server.hidden['groups']
    if names == ['default']:
        return []
    collection = servers.cloud.service('network').collection('security-groups')
    found = []
    for name in names:
        if name == 'default':
            found.append(collection.default(server.project_id).id)
            continue
        found += [each.id for each in (*collection.table.find('name', name), collection.table.get(name))
                  if each is not None and each.project_id == server.project_id][:1]
    return found


def groups_of(servers: Servers, server: Thing) -> list[Thing]:
    """The security groups of its ports, each once."""
    groups = servers.cloud.table('network.security-groups')
    ids = dict.fromkeys(id for port in ports_of(servers, server) for id in port['security_groups'])
    return [group for id in ids if (group := groups.get(id)) is not None]


def shown_groups(servers: Servers, server: Thing) -> list[dict[str, str]]:
    """By name; while there is no port yet, as they were asked for."""
    if not ports_of(servers, server):
        return [{'name': each} for each in server.hidden['groups']]
    return [{'name': each['name']} for each in groups_of(servers, server)]


def remove(servers: Servers, server: Thing, port_id: str) -> None:
    """A port we made goes; one that was handed to us is only let go."""
    ports = servers.cloud.service('network').collection('ports')
    port = ports.table.get(port_id)
    ours = (port_id, True) in server.hidden.get('ports', ())
    forget(server, port_id)
    if port is None:
        return
    if ours:
        ports.drop(port)
    else:
        ports.amend(servers.cloud.nobody(ports.service), port,
                    {'device_id': '', 'device_owner': '', 'binding:host_id': ''})


def forget(server: Thing, port_id: str) -> None:
    server.hidden['ports'] = [each for each in server.hidden.get('ports', ()) if each[0] != port_id]


def unplug_all(servers: Servers, server: Thing) -> None:
    for port_id, _ in list(server.hidden.get('ports', ())):
        remove(servers, server, port_id)


def ports_of(servers: Servers, server: Thing) -> list[Thing]:
    table = servers.cloud.table('network.ports')
    return [port for id, _ in server.hidden.get('ports', ()) if (port := table.get(id)) is not None]


def addresses(servers: Servers, server: Thing) -> dict[str, list[dict[str, Any]]]:
    networks, floating = servers.cloud.table('network.networks'), servers.cloud.table('network.floatingips')
    found: dict[str, list[dict[str, Any]]] = {}
    for port in ports_of(servers, server):
        network = networks.get(port['network_id'])
        rows = found.setdefault(network['name'] if network is not None else '', [])
        for each in port['fixed_ips']:
            rows.append(row(each['ip_address'], 'fixed', port['mac_address']))
        for each in floating.find('port_id', port.id):
            rows.append(row(each['floating_ip_address'], 'floating', port['mac_address']))
    for name, rows in server.hidden.get('detached', {}).values():
        found.setdefault(name, []).extend(rows)
    return found


def detach_later(servers: Servers, server: Thing, port_id: str) -> None:
    """The port goes after the work that this takes. Its addresses are still shown for a while: Nova shows them from a
    cache, which follows later."""
    clock, settings = servers.cloud.clock, servers.cloud.settings

    def detach() -> None:
        port = servers.cloud.table('network.ports').get(port_id)
        if port is not None:
            network = servers.cloud.table('network.networks').get(port['network_id'])
            server.hidden.setdefault('detached', {})[port_id] = (
                network['name'] if network is not None else '',
                [row(each['ip_address'], 'fixed', port['mac_address']) for each in port['fixed_ips']])
            clock.after(settings.cache, lambda: server.hidden['detached'].pop(port_id, None))
        remove(servers, server, port_id)

    clock.after(settings.work, detach)


def row(address: str, kind: str, mac: str) -> dict[str, Any]:
    return {'version': 6 if ':' in address else 4, 'addr': address, 'OS-EXT-IPS:type': kind,
            'OS-EXT-IPS-MAC:mac_addr': mac}


def view(port: Thing) -> dict[str, Any]:
    return {'port_id': port.id, 'net_id': port['network_id'], 'mac_addr': port['mac_address'],
            'port_state': port['status'], 'fixed_ips': port['fixed_ips'], 'tag': None}


def routes(service: ComputeService) -> Iterable[Route]:
    servers = service.collection('servers')

    def everything(call: Call, id: str) -> Any:
        return 200, {'interfaceAttachments': [view(each) for each in ports_of(servers, servers.get(call, id))]}

    def find(call: Call, id: str, port_id: str) -> tuple[Thing, Thing]:
        server = servers.get(call, id)
        port = next((each for each in ports_of(servers, server) if each.id == port_id), None)
        if port is None:
            raise NotFound('Port id', port_id)
        return server, port

    def one(call: Call, id: str, port_id: str) -> Any:
        return 200, {'interfaceAttachment': view(find(call, id, port_id)[1])}

    def attach(call: Call, id: str) -> Any:
        server = servers.get(call, id)
        servers.need_state(server, 'attach_interface', ('ACTIVE', 'PAUSED', 'SHUTOFF'))
        said = call.json.get('interfaceAttachment') or {}
        request: dict[str, Any] = {'port': said.get('port_id'), 'uuid': said.get('net_id')}
        if said.get('port_id') and (said.get('net_id') or said.get('fixed_ips')):
            raise BadRequest('Must not input both network_id and port_id' if said.get('net_id') else
                             'Must input network_id when request IP address')
        if said.get('fixed_ips'):
            request['fixed_ip'] = said['fixed_ips'][0].get('ip_address')
        if not request['port'] and not request['uuid']:
            request = wanted(servers, call, {})[0]
        if not request.get('port'):
            check(servers, call, {'networks': [request]})
        return 200, {'interfaceAttachment': view(add(servers, call, server, request))}

    def detach(call: Call, id: str, port_id: str) -> Any:
        server, _ = find(call, id, port_id)
        servers.need_state(server, 'detach_interface', ('ACTIVE', 'PAUSED', 'SHUTOFF'))
        detach_later(servers, server, port_id)
        return 202

    base = '/v2.1/servers/{id}/os-interface'
    yield 'GET', base, everything
    yield 'POST', base, attach
    yield 'GET', base + '/{port}', one
    yield 'DELETE', base + '/{port}', detach
