"""Stores the networks that updates of a server have begun to give it, until such an update is complete.

They are stored before any call. If the update fails or is interrupted, the server may be in networks of its former and
of its new definition, or of neither, and the definition that it had counts as unchanged: nothing else says what is left
to be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heatlite.engine.clients.os.collection import without_none
from heatlite.engine.resources import stored_json

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Entity
    from heatlite.engine.resources.openstack.nova.server import Server
    from heatlite.engine.resources.openstack.nova.server_changes import ServerStep
    from heatlite.engine.resources.openstack.nova.server_network_mixin import Network

DATA_KEY = 'begun_networks'                 # list with the networks of each update, as JSON


def stored(server: Server) -> list[list[Network]]:
    """Return the networks of each update that was begun and not completed, the oldest first."""
    return stored_json.read(server, DATA_KEY, [])


def note(server: Server, wanted: Sequence[Network] | None) -> None:
    """Store what an update begins with; it is durable when the call returns."""
    known, networks = stored(server), [without_none(network) for network in wanted or ()]
    if networks not in known:
        stored_json.note(server, DATA_KEY, [*known, networks])


def forget(server: Server) -> None:
    """Delete the stored networks, after all steps of the update."""
    server.data_delete(DATA_KEY)


def steps(server: Server, found: Entity, begun: Sequence[Sequence[Network]], after: Sequence[Network] | None,
          security_groups: Sequence[str] | None) -> list[ServerStep]:
    """Return the steps to the networks `after`, from those that the server has now.

    `begun`: what updates that did not complete have begun. Only networks behind which there is a port count as those
    that it has. If Nova has chosen a network for one of the definitions, all other ports are of that.
    """
    lists = [server.properties[server.NETWORKS], *begun]
    wanted = [without_none(network) for network in server._named(after)]
    entries = _united(server, [server._named(networks) for networks in lists], wanted)
    _free_floating_addresses(server, entries, wanted)
    ports = server.client('neutron').list_ports(device_id=found.id)['ports']
    held = [(network, port) for network, port in server._held(ports, entries) if port is not None]
    before = [network for network, _port in held]
    if any(server._is_left_to_nova(networks) for networks in lists):
        taken = {port['id'] for _network, port in held}
        chosen = [port['id'] for port in ports if port['id'] not in taken]
        if chosen and server._is_left_to_nova(after):
            return server._detachments(ports, list(held))
        before += [{server.NETWORK_PORT: port} for port in chosen]
    return server._network_steps(found, before or [{}], after, security_groups)     # no entry: Nova would have chosen


def _united(server: Server, lists: Sequence[Sequence[Network]], wanted: Sequence[Network]) -> list[Network]:
    """Return the entries of all lists, those that are not wanted first. Of two for the same place that differ in
    something else, the one that is not wanted, as it is not known which of them was applied last."""
    def place(network: Network) -> list[object]:
        return [network.get(name) for name in (
            server.NETWORK_ID, server.NETWORK_SUBNET, server.NETWORK_PORT, server.NETWORK_FIXED_IP)]

    found: list[Network] = []
    for networks in lists:
        others = list(found)                    # that have no counterpart in this list yet
        for network in map(without_none, networks):
            same = next((other for other in others if other == network), None) or next(
                (other for other in others if place(other) == place(network)), None)
            if same is None:
                found.append(network)
                continue
            others.remove(same)
            if same in wanted and network not in wanted:
                found[found.index(same)] = network
    return sorted(found, key=lambda network: network in wanted)


def _free_floating_addresses(server: Server, entries: Sequence[Network], wanted: Sequence[Network]) -> None:
    kept = {network.get(server.NETWORK_FLOATING_IP) for network in wanted}
    for network in entries:
        if network.get(server.NETWORK_FLOATING_IP) not in kept:
            server._dissociate_floating_ip(network)
