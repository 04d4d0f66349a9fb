"""Compute (Nova)."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from keystoneauth1 import exceptions as keystone_exceptions
from oslo_config import cfg

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.microversion_mixin import MicroversionMixin
from heatlite.engine.clients.os import collection, nova_userdata, service
from heatlite.engine.clients.os.collection import Entity, EntityOrId
from heatlite.engine.clients.os.nova_collections import ComputeClient
from heatlite.engine.clients.os.pending_servers import StatusListCache

LOG = logging.getLogger(__name__)

NOVA_API_VERSION = '2.1'
CLIENT_NAME = 'nova'
NEWEST = '2.90'                             # microversion; from 2.91 on unshelving and from 2.92 on key pairs differ
TASKS_FROM = '2.83'                         # microversion from which everybody may filter lists by the task
TASKS_WHILE_DELETED = ('deleting',)
# States of a server that is still on its way somewhere: not yet an error, not yet there.
DEFERRED_STATUSES = ('BUILD', 'HARD_REBOOT', 'PASSWORD', 'REBOOT', 'RESCUE', 'RESIZE', 'REVERT_RESIZE', 'SHUTOFF',
                     'SUSPENDED', 'VERIFY_RESIZE')


class NovaClientPlugin(MicroversionMixin[ComputeClient], service.ServicePlugin[ComputeClient]):
    deferred_server_statuses = list(DEFERRED_STATUSES)
    option_group = CLIENT_NAME
    service_types = [COMPUTE] = ['compute']
    api_version = {'min_version': '2.1', 'max_version': '2.latest'}
    client_class = ComputeClient

    def _create(self, version: str | None = None) -> ComputeClient:
        return ComputeClient(self.adapter(default_microversion=version), self.context)

    # --- microversions ------------------------------------------------------------------------------------

    @shared.MEMOIZE_EXTENSIONS
    def _offered(self) -> str:
        """Return the newest microversion of the service."""
        found = self.adapter().get_endpoint_data()
        newest = getattr(found, 'max_microversion', None)
        return '.'.join(str(part) for part in newest) if newest else NOVA_API_VERSION

    def _usable(self) -> str:
        """Return the newest microversion of the service that the operator allows."""
        offered: str = self._offered()
        return min(offered, cfg.CONF.max_nova_api_microversion or offered, key=_number)

    def get_max_microversion(self) -> str:
        return min(self._usable(), NEWEST, key=_number)

    def is_version_supported(self, version: str) -> bool:
        return _number(version) <= _number(self._usable())

    # --- errors -------------------------------------------------------------------------------------------

    def is_unprocessable_entity(self, ex: BaseException) -> bool:
        return service.status_of(ex) == 422

    # --- servers ------------------------------------------------------------------------------------------

    def get_server(self, server: str) -> Entity:
        """Return a server. Raises EntityNotFound."""
        try:
            return self.client().servers.get(server)
        except Exception as error:
            if self.is_not_found(error):
                raise exception.EntityNotFound(entity='Server', name=server) from error
            raise

    def fetch_server(self, server_id: str) -> Entity | None:
        """None when the service cannot tell just now; not found is an error."""
        try:
            return self.client().servers.get(server_id)
        except Exception as error:
            if not self._is_passing(error):
                raise
            LOG.warning('Server %s: %s', server_id, error)
            return None

    def _is_passing(self, error: BaseException) -> bool:
        status = service.status_of(error)
        return self.is_over_limit(error) or (status is not None and status in (500, 503))

    def fetch_server_attr(self, server_id: str, attr: str) -> object:
        return getattr(self.fetch_server(server_id), attr, None)

    def refresh_server(self, server: Entity) -> None:
        """Read it again; keep what it has when the service cannot tell just now."""
        try:
            server.get()
        except Exception as error:
            if not self._is_passing(error):
                raise
            LOG.warning('Server %s: %s', getattr(server, 'id', server), error)

    def is_under_way(self, server_id: str, **state: str) -> bool:
        """Return whether the server is surely still in `state`, a filter of lists such as status='BUILD', or the
        service cannot tell just now. False: look at the server itself."""
        key = tuple(state.items())
        if key not in self._status_lists:
            self._status_lists[key] = StatusListCache(
                lambda: [server.id for server in self.client().servers.list(detailed=False, search_opts=state)])
        try:
            return self._status_lists[key].has(server_id)
        except Exception as error:
            if not self._is_passing(error):
                raise
            LOG.warning('Servers with %s: %s', state, error)
            return True

    @functools.cached_property
    def _status_lists(self) -> dict[object, StatusListCache]:
        return {}

    def get_status(self, server: Entity) -> str:
        """Without the task some clouds append in brackets."""
        return str(server.status).split('(')[0]

    def get_ip(self, server: EntityOrId, net_type: str, net_version: int) -> str | None:
        """Return the first address of a network (`net_type` is its name) and an IP version."""
        for address in (getattr(server, 'addresses', None) or {}).get(net_type, ()):
            if address['version'] == net_version:
                return str(address['addr'])
        return None

    def server_to_ipaddress(self, server: str) -> str | None:
        """Return the first address of any network. None, and a warning, for a server that does not exist."""
        try:
            found = self.client().servers.get(server)
        except Exception as error:
            self.ignore_not_found(error)
            LOG.warning('Instance (%s) not found: %s', server, error)
            return None
        return next((address['addr'] for network in found.addresses.values() for address in network), None)

    def check_delete_server_complete(self, server_id: str) -> bool:
        """Return whether the server is deleted. Raises ResourceInError when the deletion failed."""
        if self.is_version_supported(TASKS_FROM) and self.is_under_way(server_id, task_state='deleting'):
            return False
        try:
            server = self.fetch_server(server_id)
        except Exception as error:
            self.ignore_not_found(error)
            return True
        if server is None:
            return False
        task = getattr(server, 'OS-EXT-STS:task_state', None)
        match self.get_status(server):
            case 'DELETED' | 'SOFT_DELETED':
                return True
            case 'ERROR' if task not in TASKS_WHILE_DELETED:
                raise exception.ResourceInError(resource_status='ERROR', status_reason=_fault_of(server))
        return False

    def check_server_active(self, server: Entity, res_name: str = 'Server') -> bool:
        """Return whether the server is active. Raises ResourceInError, ResourceUnknownStatus."""
        status = self.get_status(server)
        if status == 'ACTIVE':
            return True
        if status in self.deferred_server_statuses:
            return False
        if status == 'ERROR':
            raise exception.ResourceInError(resource_status=status, status_reason=_fault_of(server))
        raise exception.ResourceUnknownStatus(resource_status=server.status,
                                              result=_('%s is not active') % res_name)

    _check_active = check_server_active

    # --- flavors, keys, hosts -----------------------------------------------------------------------------

    @shared.MEMOIZE_FINDER
    def find_flavor_by_name_or_id(self, flavor: str) -> str:
        """Return the id of a flavor. Raises EntityNotFound."""
        client = self.client()
        found = self._got(collection.path_of('flavors', flavor), 'flavor')
        if found is not None:
            return str(found['id'])
        named = [each for each in client.flavors.list(is_public='None') if each.name == flavor]
        return str(service.the_only_one('Flavor', flavor, named).id)

    get_flavor_id = find_flavor_by_name_or_id

    @shared.MEMOIZE_FINDER
    def flavor_sizes(self) -> list[list[str | int]]:
        """Return [id, name, vCPU, MiB of memory, GiB of disk] of all flavors that the project may use."""
        return [[each.id, each.name, each.vcpus, each.ram, each.disk] for each in self.client().flavors.list()]

    def get_flavor(self, flavor_identifier: str) -> Entity:
        return self.client().flavors.get(self.find_flavor_by_name_or_id(flavor_identifier))

    @shared.MEMOIZE_FINDER
    def flavor_capacity(self, flavor_identifier: str) -> list[int]:
        """Return [MiB of memory, GiB of disk] of a flavor, public or not."""
        flavor = self.get_flavor(flavor_identifier)
        return [flavor.ram, flavor.disk]

    @shared.MEMOIZE_FINDER
    def get_keypair(self, key_name: str) -> Entity:
        """Return a key pair. Raises EntityNotFound."""
        try:
            return self.client().keypairs.get(key_name)
        except Exception as error:
            if self.is_not_found(error):
                raise exception.EntityNotFound(entity='Key', name=key_name) from error
            raise

    def get_host(self, hypervisor_hostname: str) -> Entity:
        """Return a host. Raises EntityNotFound."""
        try:
            found = self.client().hypervisors.search(hypervisor_hostname)
        except Exception as error:
            if not self.is_not_found(error):
                raise
            found = []
        for hypervisor in found:
            if hypervisor_hostname in (hypervisor.hypervisor_hostname, getattr(hypervisor, 'id', None)):
                return hypervisor
        raise exception.EntityNotFound(entity='Host', name=hypervisor_hostname)

    def availability_zones(self) -> list[str]:
        return [zone.zoneName for zone in self.client().availability_zones.list(detailed=False)]

    def absolute_limits(self) -> Entity:
        """Server-side limits such as maxServerMeta, maxPersonality, maxPersonalitySize."""
        return self.client().limits.absolute()

    @shared.MEMOIZE_FINDER
    def server_limits(self) -> list[int]:
        """Return [entries of metadata, files, bytes of a file] that a server may have at most; -1: any number."""
        found = self.absolute_limits()
        return [getattr(found, name, -1) for name in ('maxServerMeta', 'maxPersonality', 'maxPersonalitySize')]

    # --- user data and metadata ---------------------------------------------------------------------------

    def build_userdata(self, metadata: object, userdata: object = None, instance_user: str | None = None,
                       user_data_format: str = 'HEAT_CFNTOOLS') -> str:
        """Return what the server is started with, by format; see `nova_userdata`."""
        url = watch_url = None
        if user_data_format == nova_userdata.HEAT_CFNTOOLS:
            try:
                url = self.clients.client_plugin('heat').get_cfn_metadata_server_url()
                watch_url = self.clients.client_plugin('heat').get_watch_server_url()
            except keystone_exceptions.EndpointNotFound:    # then its agents have nothing to ask, but it can start
                LOG.warning('There is no CFN API in the catalogue whose address a server could get')
        return nova_userdata.build(metadata, userdata, instance_user, user_data_format, url, watch_url)

    @staticmethod
    def meta_serialize(metadata: Mapping[str, object]) -> dict[str, str]:
        """Values that are no text become JSON; Nova takes text only."""
        return {str(key): value if isinstance(value, str) else json.dumps(value) for key, value in metadata.items()}

    def meta_update(self, server: EntityOrId, metadata: Mapping[str, object]) -> None:
        """Set the server's metadata to `metadata`: what is not in it is deleted."""
        wanted = self.meta_serialize(metadata)
        servers = self.client().servers
        there = getattr(server, 'metadata', None) or {}
        gone = [key for key in there if key not in wanted]
        if gone:
            servers.delete_meta(server, gone)
        if wanted and wanted != {key: there.get(key) for key in wanted}:
            servers.set_meta(server, wanted)

    # --- changes of a server ------------------------------------------------------------------------------

    def rename(self, server: EntityOrId, name: str) -> None:
        self.client().servers.update(server, name=name)

    def _act(self, server_id: str, act: Callable[[Entity], object]) -> bool:
        """Return False when the service could not even look; the caller tries again."""
        server = self.fetch_server(server_id)
        if server is None:
            return False
        act(server)
        return True

    def resize(self, server_id: str, flavor_id: str) -> bool:
        return self._act(server_id, lambda server: self.client().servers.resize(server, flavor_id))

    def check_resize(self, server_id: str, flavor: object = None) -> bool:
        """Return True once the server waits for the confirmation. Raises ResourceUnknownStatus."""
        server = self.fetch_server(server_id)
        if server is None or (self.get_status(server) in ('ACTIVE', 'RESIZE', 'SHUTOFF') \
                and getattr(server, 'OS-EXT-STS:task_state', None)):
            return False
        match self.get_status(server):
            case 'VERIFY_RESIZE':
                return True
            case 'RESIZE' | 'ACTIVE':
                return False
        raise exception.Error(_("Resizing to '%(flavor)s' failed, status '%(status)s'")
                              % {'flavor': flavor, 'status': server.status})

    def verify_resize(self, server_id: str) -> bool:
        server = self.fetch_server(server_id)
        if server is None:
            return False
        if self.get_status(server) != 'VERIFY_RESIZE':
            raise exception.ResourceUnknownStatus(result=_('Could not confirm resize of server %s') % server_id,
                                                  resource_status=server.status)
        self.client().servers.confirm_resize(server)
        return True

    def check_verify_resize(self, server_id: str) -> bool:
        server = self.fetch_server(server_id)
        if server is None:
            return False
        if self.get_status(server) in ('ACTIVE', 'SHUTOFF'):
            return True
        task = getattr(server, 'OS-EXT-STS:task_state', None)
        if self.get_status(server) == 'VERIFY_RESIZE' or task == 'resize_finish':
            return False
        raise exception.ResourceUnknownStatus(result=_('Confirm resize for server %s failed') % server_id,
                                              resource_status=server.status)

    def rebuild(self, server_id: str, image_id: str, password: str | None = None,
                preserve_ephemeral: bool = False, meta: object = None, files: object = None, **more: object) -> bool:
        return self._act(server_id, lambda server: self.client().servers.rebuild(
            server, image_id, password=password, preserve_ephemeral=preserve_ephemeral or None, metadata=meta,
            personality=files or None, **more))

    def check_rebuild(self, server_id: str) -> bool:
        server = self.fetch_server(server_id)
        if server is None or self.get_status(server) == 'REBUILD' or getattr(server, 'OS-EXT-STS:task_state', None):
            return False
        if self.get_status(server) == 'ERROR':
            raise exception.Error(_('Rebuilding server failed, status ERROR'))
        return True

    def get_console_urls(self, server: EntityOrId) -> ConsoleUrls:
        """Return a mapping from console type to URL; each is fetched when it is read, unavailable ones give the
        reason."""
        return ConsoleUrls(self, server)

    # --- volumes and interfaces ---------------------------------------------------------------------------

    def attach_volume(self, server_id: str, volume_id: str, device: str | None) -> str | Literal[False]:
        """Return the id of the attachment; False when it cannot be done just now."""
        try:
            made = self.client().volumes.create_server_volume(server_id, volume_id, device)
        except Exception as error:
            if self.is_conflict(error):
                return False
            if self.is_client_exception(error):
                raise exception.Error(_('Failed to attach volume %(vol)s to server %(srv)s - %(err)s')
                                      % {'vol': volume_id, 'srv': server_id, 'err': error}) from error
            raise
        return str(made.id)

    def detach_volume(self, server_id: str, attach_id: str) -> bool:
        """Return False when it cannot be done just now."""
        try:
            self.client().volumes.delete_server_volume(server_id, attach_id)
        except Exception as error:
            if self.is_conflict(error):
                return False
            if not self.is_not_found(error) and not self.is_bad_request(error):
                raise exception.Error(_('Could not detach attachment %(att)s from server %(srv)s: %(err)s')
                                      % {'srv': server_id, 'att': attach_id, 'err': error}) from error
        return True

    def check_detach_volume_complete(self, server_id: str, attach_id: str) -> bool:
        return self.not_found_in_call(self.client().volumes.get_server_volume, server_id, attach_id)

    def interface_detach(self, server_id: str, port_id: str) -> bool:
        with self.ignore_not_found:
            server = self.fetch_server(server_id)
            if server is not None:
                self.client().servers.interface_detach(server_id, port_id)
                return True
        return False

    def interface_attach(self, server_id: str, port_id: str | None = None, net_id: str | None = None,
                         fip: str | None = None, security_groups: object = None, tag: str | None = None) -> bool:
        """`fip`: a fixed address; a port has its own. `security_groups`: ids, for the port that Nova makes."""
        made = self.attached_port(server_id, port_id, net_id, fip, tag)
        if made and not port_id and security_groups:
            self.set_groups(made, security_groups)
        return made is not None

    def attached_port(self, server_id: str, port_id: str | None, net_id: str | None, fip: str | None,
                      tag: str | None = None) -> str | None:
        """As `interface_attach`, without groups. Return the id of the port; None: the server cannot be asked now."""
        if self.fetch_server(server_id) is None:
            return None
        made = self.client().servers.interface_attach(server_id, port_id, net_id, None if port_id else fip, tag)
        return str(made.port_id)

    def set_groups(self, port_id: str, security_groups: object) -> None:
        self.clients.client('neutron').update_port(port_id, {'port': {'security_groups': security_groups}})

    def _interfaces(self, server_id: str) -> list[str]:
        return [interface.port_id for interface in self.client().servers.interface_list(server_id)]

    def check_interface_detach(self, server_id: str, port_id: str) -> bool:
        with self.ignore_not_found:
            if port_id in self._interfaces(server_id):
                return False
        return True

    def check_interface_attach(self, server_id: str, port_id: str | None) -> bool:
        return not port_id or port_id in self._interfaces(server_id)

    # --- floating addresses -------------------------------------------------------------------------------

    def associate_floatingip(self, server_id: str, floatingip_id: str) -> None:
        """To the first IPv4 address of the server's first interface. Raises Error without one."""
        interfaces = self.client().servers.interface_list(server_id)
        if not interfaces:
            raise exception.Error(_('No fixed IP addresses found for server %s.') % server_id)
        first = interfaces[0]
        address = next((ip['ip_address'] for ip in first.fixed_ips if ':' not in ip['ip_address']), None)
        body: dict[str, object] = {'port_id': first.port_id}
        if address:
            body['fixed_ip_address'] = address
        self.clients.client('neutron').update_floatingip(floatingip_id, {'floatingip': body})

    def dissociate_floatingip(self, floatingip_id: str) -> None:
        self.clients.client('neutron').update_floatingip(floatingip_id, {'floatingip': {'port_id': None}})

    def associate_floatingip_address(self, server_id: str, fip_address: str) -> None:
        self.associate_floatingip(server_id, self._floatingip_of(fip_address))

    def dissociate_floatingip_address(self, fip_address: str) -> None:
        self.dissociate_floatingip(self._floatingip_of(fip_address))

    def _floatingip_of(self, address: str) -> str:
        found = self.clients.client('neutron').list_floatingips(floating_ip_address=address)['floatingips']
        if not found:
            raise exception.EntityNotFound(entity='Floating IP', name=address)
        return str(found[0]['id'])


class ConsoleUrls(Mapping[str, str]):
    """Made on each read: a console URL is only good once."""

    # type in templates -> protocol and type of POST /servers/{id}/remote-consoles
    TYPES = {'novnc': ('vnc', 'novnc'), 'xvpvnc': ('vnc', 'xvpvnc'), 'spice-html5': ('spice', 'spice-html5'),
             'rdp-html5': ('rdp', 'rdp-html5'), 'serial': ('serial', 'serial'), 'webmks': ('mks', 'webmks')}

    def __init__(self, plugin: NovaClientPlugin, server: EntityOrId) -> None:
        self._plugin = plugin
        self._server = server

    def __getitem__(self, console_type: str) -> str:
        if console_type not in self.TYPES:
            raise KeyError(console_type)
        protocol, kind = self.TYPES[console_type]
        try:
            return str(self._plugin.client().servers.remote_console(self._server, protocol, kind)['url'])
        except Exception as error:
            if self._plugin.is_client_exception(error) and service.status_of(error) in (400, 404, 409, 501):
                return _('Cannot get console url: %s') % error
            raise

    def __iter__(self) -> Iterator[str]:
        return iter(self.TYPES)

    def __len__(self) -> int:
        return len(self.TYPES)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() and len(part) < 10 else 10 ** 6 for part in str(version).split('.'))


class NovaBaseConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME


class ServerConstraint(NovaBaseConstraint):
    resource_getter_name = 'get_server'


class KeypairConstraint(NovaBaseConstraint):
    is_of_user = True
    resource_getter_name = 'get_keypair'

    def validate_with_client(self, client: object, key_name: object) -> None:
        if key_name:                        # none at all is fine
            super().validate_with_client(client, key_name)


class FlavorConstraint(NovaBaseConstraint):
    expected_exceptions = (exception.EntityNotFound, exception.PhysicalResourceNameAmbiguity)
    resource_getter_name = 'find_flavor_by_name_or_id'


class HostConstraint(NovaBaseConstraint):
    resource_getter_name = 'get_host'


__all__ = ['CLIENT_NAME', 'ConsoleUrls', 'FlavorConstraint', 'HostConstraint', 'KeypairConstraint',
           'NovaBaseConstraint', 'NovaClientPlugin', 'ServerConstraint']


def _fault_of(server: EntityOrId) -> str:
    """Return what Nova says of a server in ERROR."""
    fault = getattr(server, 'fault', None) or {}
    return _('Message: %(message)s, Code: %(code)s') % {
        'message': str(fault.get('message', _('Unknown'))).strip(), 'code': fault.get('code', _('Unknown'))}
