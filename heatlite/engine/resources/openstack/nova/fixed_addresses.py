"""Hand-over of fixed addresses around the replacement of a server.

An entry of `networks` with an address and without a port gets a port from Nova, or one that the type makes for its
server. The replacement needs another port with the same address, which Neutron refuses while the first one exists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from heatlite.engine.resources.openstack.nova import own_ports

if TYPE_CHECKING:
    from heatlite.engine.resources.openstack.nova.server_network_mixin import (
        Network,
        NeutronPort,
        Placed,
        ServerNetworkMixin,
    )

RELEASED = 'released_addresses'             # resource data: list of [place, entry of `networks`], as JSON


def of_template(server: ServerNetworkMixin) -> list[Placed]:
    """Return the entries of `networks`, with their places, that name an address but no port."""
    networks = server.properties[server.NETWORKS] or ()
    return [(place, {name: value for name, value in network.items() if value is not None})
            for place, network in enumerate(networks)
            if network.get(server.NETWORK_FIXED_IP) and not network.get(server.NETWORK_PORT)]


def release(server: ServerNetworkMixin, server_id: str, entries: list[Placed], is_broken: bool) -> None:
    """Free the addresses of the entries, which are in RELEASED already. Raises InterfaceDetachFailed.

    `is_broken`: Nova detaches nothing from the server, so the ports are deleted; ports of others are left alone.
    """
    internal = {port['id'] for port in server._data_get_ports()}
    for _place, network in entries:
        for port in _holders(server, network):
            if port['device_id'] == server_id and not is_broken:
                with server.client_plugin('nova').ignore_conflict_and_not_found:
                    server.client_plugin('nova').interface_detach(server_id, port['id'])
                server._wait_until_free(server_id, [port['id']])
            is_of_nova = port['device_id'] == server_id and not port['name']
            if port['id'] in internal or (is_broken and is_of_nova):
                server._delete_internal_port(port['id'])


def restore(server: ServerNetworkMixin, server_id: str, replacement: str | None) -> None:
    """Take the released addresses back from the server `replacement`, or from the ports that were made for it.

    An entry is forgotten when its request is sent: an interrupted restore goes on with the next one.
    Raises InterfaceDetachFailed.
    """
    entries: list[Placed] = json.loads(server.data().get(RELEASED) or '[]')
    while entries:
        place, network = entries[0]
        holders = _holders(server, network)
        if not any(port['device_id'] == server_id for port in holders):
            _free(server, holders, replacement)
            _attach(server, server_id, place, network)
        entries = entries[1:]
        server.data_set(RELEASED, json.dumps(entries))
    if RELEASED in server.data():
        server.data_delete(RELEASED)


def _holders(server: ServerNetworkMixin, network: Network) -> list[NeutronPort]:
    address = network[server.NETWORK_FIXED_IP]
    found = server.client('neutron').list_ports(fixed_ips=f'ip_address={address}')['ports']
    return [port for port in found if server._fits(port, network)]


def _free(server: ServerNetworkMixin, holders: Iterable[NeutronPort], replacement: str | None) -> None:
    """Names tell which ports were made for this resource, also if the replacement itself was never made."""
    prefix = str(server.physical_resource_name()).rpartition('-')[0] + '-'
    for port in holders:
        if replacement is not None and port['device_id'] == replacement:
            server._take_ports_from(replacement, [port['id']])
        elif port['device_id']:
            continue
        if own_ports.NAME.search(port['name']) and port['name'].startswith(prefix):
            server._delete_internal_port(port['id'])


def _attach(server: ServerNetworkMixin, server_id: str, place: int, network: Network) -> None:
    groups = server.properties[server.SECURITY_GROUPS]
    port = None
    if server._needs_own_port(network):
        port = server._create_internal_port(network, place, groups)
        server._associate_floating_ip(network, port)
    plugin = server.client_plugin('nova')
    with plugin.ignore_conflict_and_not_found:
        plugin.interface_attach(server_id, port, None if port else network[server.NETWORK_ID],
                                network[server.NETWORK_FIXED_IP], None if port else server._group_ids(groups),
                                network.get(server.NIC_TAG))
