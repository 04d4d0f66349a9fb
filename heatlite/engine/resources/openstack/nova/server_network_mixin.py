"""A server's places in networks: NICs for its start, ports of its own, moves between networks, hand-over of ports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.clients.os import http
from heatlite.engine.clients.os.collection import Fields, without_none
from heatlite.engine.properties import Values
from heatlite.engine.resources.openstack.neutron.port import Port
from heatlite.engine.resources.openstack.nova import fixed_addresses, own_ports
from heatlite.engine.resources.unknown_values import is_set, may_be_set

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Entity
    from heatlite.engine.resource import Resource
    from heatlite.engine.resources.openstack.nova.server_changes import ServerStep

else:
    Resource = object      # for `class X(Resource, ServerNetworkMixin)` of plug-ins: no base stands before its subclass

DETACH_TURNS = 30                           # seconds to wait for a port to come free before a replacement is made
Network: TypeAlias = Values                 # an entry of `networks`, without what is not set
NeutronPort: TypeAlias = Fields             # as Neutron shows it
Placed = tuple[int, Network]                      # an entry and its place
Held = tuple[Network, NeutronPort | None]
INTERNAL, EXTERNAL = 'internal_ports', 'external_ports'         # resource data: lists of {'id': port}, as JSON


class ServerNetworkMixin(Resource):
    """Part of types that plug into networks. They name NETWORKS, its keys and SECURITY_GROUPS."""

    SECURITY_GROUPS: str
    NETWORKS: str
    NETWORK_ID: str
    NETWORK_UUID: str
    NETWORK_FIXED_IP: str
    NETWORK_PORT: str
    NETWORK_SUBNET: str
    NETWORK_PORT_EXTRA: str
    NETWORK_FLOATING_IP: str
    ALLOCATE_NETWORK: str
    NIC_TAG: str

    # --- what the template must not say -------------------------------------------------------------------

    def _validate_network(self, network: Network) -> None:
        """Raise StackValidationFailed, ResourcePropertyConflict."""
        net_id, port = network.get(self.NETWORK_ID), network.get(self.NETWORK_PORT)
        subnet, auto = network.get(self.NETWORK_SUBNET), network.get(self.ALLOCATE_NETWORK)
        if not any(map(may_be_set, (net_id, network.get(self.NETWORK_UUID), port, subnet, auto))):
            raise exception.StackValidationFailed(message=_(
                'One of the properties "%(id)s", "%(port_id)s", "%(str_network)s" or "%(subnet)s" should be set for '
                'the specified network of server "%(server)s".') % {
                    'id': self.NETWORK_ID, 'port_id': self.NETWORK_PORT, 'str_network': self.ALLOCATE_NETWORK,
                    'subnet': self.NETWORK_SUBNET, 'server': self.name})
        if auto and is_set(auto) and sum(map(is_set, network.values())) > 1:
            raise exception.StackValidationFailed(message=_(
                'Can not specify "%s" with other keys of networks at the same time.') % self.ALLOCATE_NETWORK)
        if is_set(port) and is_set(network.get(self.NETWORK_FIXED_IP)):
            raise exception.ResourcePropertyConflict(
                '/'.join([self.NETWORKS, self.NETWORK_FIXED_IP]), '/'.join([self.NETWORKS, self.NETWORK_PORT]))
        if is_set(network.get(self.NETWORK_FLOATING_IP)) and is_set(net_id) and not any(
                map(may_be_set, (port, subnet))):
            raise exception.StackValidationFailed(message=_(
                'Property "%(fip)s" is not supported if only "%(net)s" is specified, because the corresponding port '
                'can not be retrieved.') % {'fip': self.NETWORK_FLOATING_IP, 'net': self.NETWORK_ID})

    def _validate_belonging_subnet_to_net(self, network: Network) -> None:
        """Raise StackValidationFailed when the subnet is of another network."""
        subnet, wanted = network.get(self.NETWORK_SUBNET), network.get(self.NETWORK_ID)
        if network.get(self.NETWORK_PORT) is not None or subnet is None or wanted is None:
            return
        found = self.client_plugin('neutron').network_id_from_subnet_id(subnet)
        if found != wanted:
            raise exception.StackValidationFailed(message=_(
                'Specified subnet %(subnet)s does not belongs to network %(network)s.') % {
                    'subnet': subnet, 'network': wanted})

    def _str_network(self, networks: Sequence[Mapping[str, object]]) -> str | None:
        """`auto` or `none`, when the template leaves the networks to the service."""
        return next((str(network[self.ALLOCATE_NETWORK]) for network in networks
                     if network.get(self.ALLOCATE_NETWORK) in ('auto', 'none')), None)

    # --- starting -----------------------------------------------------------------------------------------

    def _build_nics(self, networks: Sequence[Network] | None,
                    security_groups: Sequence[str] | None = None) -> str | list[dict[str, object]]:
        """Return the networks as Nova takes them: a list, `auto` or `none`."""
        if not networks:
            return 'auto'
        word = self._str_network(networks)
        if word:
            return word
        nics = []
        for place, network in enumerate(networks):
            self._validate_belonging_subnet_to_net(network)
            nic: dict[str, object] = {}
            port = network.get(self.NETWORK_PORT)
            if not port and self._needs_own_port(network):
                port = self._create_internal_port(network, place, security_groups)
            if port:
                nic['port'] = port
                self._associate_floating_ip(network, port)
            else:
                nic['uuid'] = network[self.NETWORK_ID]
                if network.get(self.NETWORK_FIXED_IP):
                    nic['fixed_ip'] = network[self.NETWORK_FIXED_IP]
            if network.get(self.NIC_TAG):
                nic['tag'] = network[self.NIC_TAG]
            nics.append(nic)
        return nics

    def _needs_own_port(self, network: Network) -> bool:
        return any(network.get(name) for name in (self.NETWORK_SUBNET, self.NETWORK_PORT_EXTRA,
                                                  self.NETWORK_FLOATING_IP))

    def _network_of(self, network: Network) -> str:
        found = network.get(self.NETWORK_ID)
        return str(found or self.client_plugin('neutron').network_id_from_subnet_id(network[self.NETWORK_SUBNET]))

    def _internal_port_body(self, network: Network, security_groups: Sequence[str] | None) -> dict[str, object]:
        """Fields that can be given at any time; the network is not among them."""
        body: dict[str, object] = {}
        extra = network.get(self.NETWORK_PORT_EXTRA) or {}
        address = {key: value for key, value in (('subnet_id', network.get(self.NETWORK_SUBNET)),
                                                 ('ip_address', network.get(self.NETWORK_FIXED_IP))) if value}
        if address:
            body['fixed_ips'] = [address]
        if security_groups:
            body['security_groups'] = self.client_plugin('neutron').get_secgroup_uuids(security_groups)
        for name, value in extra.items():
            if value is None:
                continue
            match name:
                case Port.VALUE_SPECS:
                    body.update(value)
                case Port.QOS_POLICY:
                    body['qos_policy_id'] = self.client_plugin('neutron').get_qos_policy_id(value)
                case Port.NO_FIXED_IPS:
                    if value:
                        body['fixed_ips'] = []
                case Port.ALLOWED_ADDRESS_PAIRS:
                    body[name] = [{key: part for key, part in pair.items() if part is not None} for pair in value]
                case _:
                    body[name] = value
        return body

    def _create_internal_port(self, network: Network, place: int,
                              security_groups: Sequence[str] | None = None) -> str:
        """The id of a port of its own; one that an interrupted try has left is taken."""
        name = f'{self.physical_resource_name()}-port-{place}'
        neutron = self.client('neutron')

        def find() -> str | None:
            return next((str(port['id']) for port in neutron.list_ports(name=name)['ports'] if port['name'] == name),
                        None)

        port_id = find()
        if port_id is None:
            body = {'name': name, 'network_id': self._network_of(network),
                    **self._internal_port_body(network, security_groups)}
            try:
                port_id = str(neutron.create_port({'port': body})['port']['id'])
            except Exception as error:
                port_id = find() if http.reply_was_lost(error) else None
                if port_id is None:
                    raise
        self._data_update_ports(port_id, 'add')
        return port_id

    def _associate_floating_ip(self, network: Network, port_id: str) -> None:
        floating = network.get(self.NETWORK_FLOATING_IP)
        if floating:
            body = {'port_id': port_id}
            if network.get(self.NETWORK_FIXED_IP):
                body['fixed_ip_address'] = network[self.NETWORK_FIXED_IP]
            self.client('neutron').update_floatingip(floating, {'floatingip': body})

    def _dissociate_floating_ip(self, network: Network) -> None:
        floating = network.get(self.NETWORK_FLOATING_IP)
        if floating:
            with self.client_plugin('neutron').ignore_not_found:
                self.client('neutron').update_floatingip(floating, {'floatingip': {'port_id': None}})

    # --- ports in the resource's data ---------------------------------------------------------------------

    def _data_get_ports(self, port_type: str = INTERNAL) -> list[dict[str, str]]:
        found: list[dict[str, str]] = json.loads(self.data().get(port_type) or '[]')
        return found

    def _data_update_ports(self, port_id: str, action: str, port_type: str = INTERNAL) -> None:
        ports = [port for port in self._data_get_ports(port_type) if port['id'] != port_id]
        if action == 'add':
            ports.append({'id': port_id})
        self.data_set(port_type, json.dumps(ports))

    def _data_of_own_ports(self) -> dict[str, str]:
        """Return the resource data for a server that another stack has created: the ports that were made for it."""
        found = own_ports.of_server(self.client('neutron'), self.resource_id, list(self._given_ports()))
        return {INTERNAL: json.dumps([{'id': port} for port in found])} if found else {}

    def _delete_internal_port(self, port_id: str) -> None:
        """Delete a port of the server. Does nothing if it is gone."""
        with self.client_plugin('neutron').ignore_not_found:
            self.client('neutron').delete_port(port_id)
        self._data_update_ports(port_id, 'delete')

    def _delete_internal_ports(self) -> None:
        for port in self._data_get_ports():
            self._delete_internal_port(port['id'])
        self.data_delete(INTERNAL)

    # --- moving between networks --------------------------------------------------------------------------

    def _network_steps(self, server: Entity, before: Sequence[Network] | None, after: Sequence[Network] | None,
                       security_groups: Sequence[str] | None = None) -> list[ServerStep]:
        """From the entries `before` to those `after`: attach what is new, detach what is gone.

        What is new comes first, so that traffic is not cut; but an address that only one can have is freed before.
        Without entries, or with the word `auto`, Nova has chosen, or chooses, a network.
        """
        was_chosen, is_chosen = self._is_left_to_nova(before), self._is_left_to_nova(after)
        if was_chosen and is_chosen:
            return []
        before, after = self._named(before), self._named(after)
        ports = self.client('neutron').list_ports(device_id=server.id)['ports']
        old = self._held(ports, before)
        new: list[tuple[int, Network]] = list(enumerate(without_none(network) for network in after))
        for is_kept in (_is_same, self._is_same_place, self._is_fitting):       # the best match first
            old, new = self._kept(old, new, is_kept)
        detach = self._detachments(ports, None if was_chosen else old)
        attach = [self._attachment(network, place, security_groups, after) for place, network in new]
        if is_chosen:
            attach.append({'do': 'attach', 'port': None, 'network': None, 'address': None,
                           'groups': self._group_ids(security_groups)})
        freed = {network.get(name) for network, _port in old for name in (self.NETWORK_FIXED_IP, self.NETWORK_PORT)}
        waiting = [step for step in attach if {step['address'], step['port']} & (freed - {None})]
        return [*(step for step in attach if step not in waiting), *detach, *waiting]

    def _held(self, ports: Sequence[NeutronPort], networks: Sequence[Network]) -> list[Held]:
        """The port behind each entry of the networks. Entries that say most choose first."""
        entries = [without_none(network) for network in networks]
        found: list[NeutronPort | None] = [None] * len(entries)
        taken: set[str] = set()

        def says(place: int) -> list[bool]:
            return [bool(entries[place].get(name)) for name in (
                self.NETWORK_PORT, self.NETWORK_FIXED_IP, self.NETWORK_SUBNET, self.NETWORK_ID)]

        for place in sorted(range(len(entries)), key=says, reverse=True):
            port = next((port for port in ports if port['id'] not in taken and self._fits(port, entries[place])), None)
            found[place] = port
            if port is not None:
                taken.add(port['id'])
        return list(zip(entries, found, strict=True))

    def _kept(self, old: list[Held], new: list[Placed],
              is_kept: Callable[[Network, NeutronPort | None, Network], bool]) -> tuple[list[Held], list[Placed]]:
        """Pair entries whose ports remain, and change these ports at once. Return the entries without a pair."""
        rest_old = []
        for network, port in old:
            same = next((item for item in new if is_kept(network, port, item[1])), None)
            if same is None:
                rest_old.append((network, port))
                continue
            new = [item for item in new if item is not same]
            if port is not None:
                self._change_port(port['id'], network, same[1])
        return rest_old, new

    def _is_same_place(self, network: Network, port: NeutronPort | None, wanted: Network) -> bool:
        return port is not None and all(network.get(name) == wanted.get(name) for name in (
            self.NETWORK_ID, self.NETWORK_SUBNET, self.NETWORK_PORT, self.NETWORK_FIXED_IP, self.NIC_TAG))

    def _is_fitting(self, network: Network, port: NeutronPort | None, wanted: Network) -> bool:
        return port is not None and network.get(self.NIC_TAG) == wanted.get(self.NIC_TAG) and self._fits(port, wanted)

    def _fits(self, port: NeutronPort, network: Network) -> bool:
        """Whether the entry may mean this port."""
        if network.get(self.NETWORK_PORT):
            return bool(port['id'] == network[self.NETWORK_PORT])
        wanted, subnet, address = (network.get(name) for name in (
            self.NETWORK_ID, self.NETWORK_SUBNET, self.NETWORK_FIXED_IP))
        fixed = port.get('fixed_ips') or []
        return (not wanted or port.get('network_id') == wanted) \
            and (not subnet or any(entry.get('subnet_id') == subnet for entry in fixed)) \
            and (not address or any(entry.get('ip_address') == address for entry in fixed)) \
            and bool(wanted or subnet or address)

    def _change_port(self, port_id: str, network: Network, wanted: Network) -> None:
        if network.get(self.NETWORK_FLOATING_IP) != wanted.get(self.NETWORK_FLOATING_IP):
            self._dissociate_floating_ip(network)
            self._associate_floating_ip(wanted, port_id)
        extra = wanted.get(self.NETWORK_PORT_EXTRA)
        if extra and network.get(self.NETWORK_PORT_EXTRA) != extra:
            body = self._internal_port_body(wanted, None)
            body.pop('fixed_ips', None)
            self.client('neutron').update_port(port_id, {'port': body})

    def _is_left_to_nova(self, networks: Sequence[Network] | None) -> bool:
        return not networks or self._str_network(networks) == 'auto'

    def _named(self, networks: Sequence[Network] | None) -> Sequence[Network]:
        """Return the entries that name a network: none, if a word stands for them."""
        return () if not networks or self._str_network(networks) else networks

    def _group_ids(self, security_groups: Sequence[str] | None) -> list[str] | None:
        found: list[str] = self.client_plugin('neutron').get_secgroup_uuids(security_groups) if security_groups else []
        return found or None

    def _detachments(self, ports: Sequence[NeutronPort], old: list[Held] | None) -> list[ServerStep]:
        """`old` None: Nova had chosen the networks, so all go that the server has."""
        internal = {port['id'] for port in self._data_get_ports()}
        if old is None:
            gone = [port['id'] for port in ports]
        else:
            gone = []
            for network, port in old:
                self._dissociate_floating_ip(network)
                if port is not None or network.get(self.NETWORK_PORT):
                    gone.append(port['id'] if port is not None else network[self.NETWORK_PORT])
        return [{'do': 'detach', 'port': port, 'internal': port in internal} for port in gone]

    def _attachment(self, network: Network, place: int, security_groups: Sequence[str] | None,
                    after: Sequence[object]) -> ServerStep:
        port = network.get(self.NETWORK_PORT)
        if not port and self._needs_own_port(network):
            taken = len(self._data_get_ports())
            port = self._create_internal_port(network, max(place, taken + len(after)), security_groups)
        if port:
            self._associate_floating_ip(network, port)
        return {'do': 'attach', 'port': port, 'network': None if port else network.get(self.NETWORK_ID),
                'address': network.get(self.NETWORK_FIXED_IP), 'tag': network.get(self.NIC_TAG),
                'groups': None if port else self._group_ids(security_groups)}

    # --- hand-over around a replacement -------------------------------------------------------------------

    def _given_ports(self) -> Iterator[str]:
        """Ports that the template names: only one server can have them."""
        for network in self.properties[self.NETWORKS] or ():
            if network.get(self.NETWORK_PORT):
                yield network[self.NETWORK_PORT]

    def prepare_ports_for_replace(self) -> None:
        """Unplugs the ports and frees the fixed addresses that the replacement will need; waits until they are free.

        Ports we made for a server that is gone or broken are deleted: they may hold an address it will ask for. What is
        released is stored before.
        Raises InterfaceDetachFailed.
        """
        if self.resource_id is None:
            return
        plugin = self.client_plugin('nova')
        given, addressed = list(self._given_ports()), fixed_addresses.of_template(self)
        if not given and not addressed and not self._data_get_ports():
            return
        status = self._status_now()
        if status is not None:
            self._note_released(given, addressed)
        if status in (None, 'ERROR'):
            self._delete_internal_ports()
        if status is None:
            return
        if addressed:
            fixed_addresses.release(self, self.resource_id, addressed, is_broken=status == 'ERROR')
        for port in given:
            with plugin.ignore_conflict_and_not_found:
                plugin.interface_detach(self.resource_id, port)
        self._wait_until_free(self.resource_id, given)

    def _note_released(self, given: Sequence[str], addressed: Sequence[Placed]) -> None:
        """Store the ports and the addresses that are about to be released."""
        if given:
            self.data_set(EXTERNAL, json.dumps([{'id': port} for port in given]))
        if addressed:
            self.data_set(fixed_addresses.RELEASED, json.dumps(addressed))
        if given or addressed:
            self.note_release()

    def has_released_ports(self) -> bool:
        """Whether ports or addresses are released that `restore_ports_after_rollback` takes back."""
        return not self.data().keys().isdisjoint((EXTERNAL, fixed_addresses.RELEASED))

    def _status_now(self) -> str | None:
        """None: the server is gone."""
        try:
            return str(self.client('nova').servers.get(self.resource_id).status)
        except Exception as error:
            self.client_plugin('nova').ignore_not_found(error)
            return None

    def _wait_until_free(self, server_id: str, ports: Sequence[str]) -> None:
        """Raise InterfaceDetachFailed."""
        plugin = self.client_plugin('nova')
        for port in ports:
            for _turn in range(DETACH_TURNS):
                if plugin.check_interface_detach(server_id, port):
                    break
                self.runtime.sleep(1)
            else:
                raise exception.InterfaceDetachFailed(port=port, server=server_id)

    def restore_ports_after_rollback(self, convergence: bool) -> None:
        """Take the ports and the fixed addresses back from the replacement."""
        if self.resource_id is None:
            return
        replacement = self.stack.physical_id_of(self.replaced_by) if self.replaced_by else None
        fixed_addresses.restore(self, self.resource_id, replacement)
        kept = [port['id'] for port in self._data_get_ports(EXTERNAL)]
        if not kept:
            return
        plugin = self.client_plugin('nova')
        if replacement:
            self._take_ports_from(replacement, kept)
        for port in kept:
            with plugin.ignore_conflict_and_not_found:
                plugin.interface_attach(self.resource_id, port)
        self.data_delete(EXTERNAL)

    def _take_ports_from(self, server_id: str, ports: Sequence[str]) -> None:
        """Detach the ports from a replacement that is given up. One that was never active is deleted here, because Nova
        refuses to detach its ports."""
        plugin = self.client_plugin('nova')
        for port in ports:
            try:
                plugin.interface_detach(server_id, port)
            except Exception as error:
                if not plugin.is_conflict(error):
                    raise
                with plugin.ignore_not_found:
                    plugin.client().servers.delete(server_id)
                break
        self._wait_until_free(server_id, ports)


def _is_same(network: Network, _port: NeutronPort | None, wanted: Network) -> bool:
    return network == wanted
