"""Nova's collections, with the names plug-ins know from its library."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from heatlite.engine.clients.os.collection import (
    Client,
    Collection,
    Creating,
    Entity,
    EntityOrId,
    HasSpecs,
    id_of,
    plain,
    without_none,
)

if TYPE_CHECKING:
    from requests import Response


class NovaServer(Entity):
    manager: Servers

    @property
    def networks(self) -> dict[str, list[str]]:
        """Addresses by name of network."""
        return {name: [address['addr'] for address in found]
                for name, found in sorted((self._info.get('addresses') or {}).items())}


class Servers(Collection):
    client: ComputeClient
    path, key, plural, detail = '/servers', 'server', 'servers', '/detail'
    entity = NovaServer

    def create(self, name: str, image: EntityOrId | None = None, flavor: EntityOrId | None = None,
               **fields: object) -> Entity:
        """`fields`: as Nova's API, or as its library names them."""
        body: dict[str, object] = {'name': name, 'imageRef': id_of(image) if image else '', 'flavorRef': id_of(flavor)}
        body.update(_api_fields({key: value for key, value in fields.items() if value != '' or key in EMPTY_ALLOWED}))
        devices = body.get('block_device_mapping_v2')
        if image and isinstance(devices, list) and devices:
            body['block_device_mapping_v2'] = [_boot_device(image), *devices]
        request: dict[str, object] = {'server': body}
        hints = body.pop('scheduler_hints', None) or body.pop('os:scheduler_hints', None)
        if hints:
            request['os:scheduler_hints'] = hints
        return self._entity(self.http.post(self.path, json=request))

    def update(self, server: EntityOrId, **fields: object) -> Entity | None:        # type: ignore[override] # as novaclient names it
        return self._changed(self.http.put(self._url(server), json={'server': fields}))

    def action(self, server: EntityOrId, name: str, body: object = None) -> Response:
        return self.http.post(self._url(server, 'action'), json={name: body})

    def resize(self, server: EntityOrId, flavor: EntityOrId, disk_config: str | None = None) -> None:
        body = {'flavorRef': id_of(flavor)}
        if disk_config:
            body['OS-DCF:diskConfig'] = disk_config
        self.action(server, 'resize', body)

    def confirm_resize(self, server: EntityOrId) -> None:
        self.action(server, 'confirmResize')

    def revert_resize(self, server: EntityOrId) -> None:
        self.action(server, 'revertResize')

    def rebuild(self, server: EntityOrId, image: EntityOrId, password: str | None = None,
                **fields: Any) -> Entity | None:
        fields = without_none(fields)
        if password:
            fields['adminPass'] = password
        if isinstance(fields.get('files'), Mapping):
            fields['personality'] = personality(fields.pop('files'))
        if 'userdata' in fields:
            fields['user_data'] = encoded(fields.pop('userdata'))
        answer = self.action(server, 'rebuild', {'imageRef': id_of(image), **fields})
        return self._changed(answer)

    def suspend(self, server: EntityOrId) -> None:
        self.action(server, 'suspend')

    def resume(self, server: EntityOrId) -> None:
        self.action(server, 'resume')

    def start(self, server: EntityOrId) -> None:
        self.action(server, 'os-start')

    def stop(self, server: EntityOrId) -> None:
        self.action(server, 'os-stop')

    def pause(self, server: EntityOrId) -> None:
        self.action(server, 'pause')

    def unpause(self, server: EntityOrId) -> None:
        self.action(server, 'unpause')

    def reboot(self, server: EntityOrId, reboot_type: str = 'SOFT') -> None:
        self.action(server, 'reboot', {'type': reboot_type})

    def change_password(self, server: EntityOrId, password: str) -> None:
        self.action(server, 'changePassword', {'adminPass': password})

    def create_image(self, server: EntityOrId, image_name: str, metadata: Mapping[str, str] | None = None) -> str:
        """Return the id of the image that is being made."""
        answer = self.action(server, 'createImage', {'name': image_name, 'metadata': metadata or {}})
        if answer.content:
            return str(answer.json()['image_id'])
        return str(answer.headers['location']).rstrip('/').rpartition('/')[2]

    def force_delete(self, server: EntityOrId) -> None:
        self.action(server, 'forceDelete')

    def remote_console(self, server: EntityOrId, protocol: str, kind: str) -> dict[str, object]:
        answer = self.http.post(self._url(server, 'remote-consoles'),
                                json={'remote_console': {'protocol': protocol, 'type': kind}})
        found: dict[str, object] = answer.json()['remote_console']
        return found

    def set_meta(self, server: EntityOrId, metadata: Mapping[str, str]) -> None:
        self.http.post(self._url(server, 'metadata'), json={'metadata': metadata})

    def delete_meta(self, server: EntityOrId, keys: Iterable[str]) -> None:
        for key in keys:
            self.http.delete(self._url(server, 'metadata', key))

    def set_tags(self, server: EntityOrId, tags: list[str]) -> None:
        self.http.put(self._url(server, 'tags'), json={'tags': tags})

    def delete_all_tags(self, server: EntityOrId) -> None:
        self.http.delete(self._url(server, 'tags'))

    def tag_list(self, server: EntityOrId) -> list[str]:
        return list(self.http.get(self._url(server, 'tags')).json()['tags'])

    def interface_list(self, server: EntityOrId) -> list[Entity]:
        found = self.http.get(self._url(server, 'os-interface')).json()['interfaceAttachments']
        return [Entity(self, entry) for entry in found]

    def interface_attach(self, server: EntityOrId, port_id: str | None, net_id: str | None, fixed_ip: str | None,
                         tag: str | None = None) -> Entity:
        body: dict[str, object] = {}
        if port_id:
            body['port_id'] = port_id
        if net_id:
            body['net_id'] = net_id
        if fixed_ip:
            body['fixed_ips'] = [{'ip_address': fixed_ip}]
        if tag:
            body['tag'] = tag
        answer = self.http.post(self._url(server, 'os-interface'), json={'interfaceAttachment': body})
        return Entity(self, answer.json()['interfaceAttachment'])

    def interface_detach(self, server: EntityOrId, port_id: str) -> None:
        self.http.delete(self._url(server, 'os-interface', port_id))

    def add_security_group(self, server: EntityOrId, security_group: str) -> None:
        self.action(server, 'addSecurityGroup', {'name': security_group})

    def remove_security_group(self, server: EntityOrId, security_group: str) -> None:
        self.action(server, 'removeSecurityGroup', {'name': security_group})


EMPTY_ALLOWED = frozenset({'userdata', 'files'})        # fields of a server that mean something when they are empty
LIBRARY_NAMES = {'meta': 'metadata', 'userdata': 'user_data', 'nics': 'networks',
                 'reservation_id': 'return_reservation_id',
                 'disk_config': 'OS-DCF:diskConfig', 'admin_pass': 'adminPass', 'files': 'personality',
                 'block_device_mapping_v2': 'block_device_mapping_v2', 'access_ip_v4': 'accessIPv4',
                 'access_ip_v6': 'accessIPv6'}


def _api_fields(fields: Mapping[str, Any]) -> dict[str, object]:
    """Return what Nova's library takes, as its API wants it; nothing that is not given."""
    body: dict[str, object] = {}
    for name, value in fields.items():
        if value is None:
            continue
        match name:
            case 'userdata':
                value = encoded(value)
            case 'files':
                value = personality(value)
            case 'nics' if isinstance(value, list):
                value = [_nic(nic) for nic in value]
            case 'security_groups':
                value = [{'name': group} if isinstance(group, str) else group for group in value]
            case 'block_device_mapping' if isinstance(value, Mapping):
                value = [_old_device(device, text) for device, text in value.items()]
        body[LIBRARY_NAMES.get(name, name)] = value
    return body


def _boot_device(image: EntityOrId) -> dict[str, object]:
    """Return the disk that a server boots from, which Nova wants among its devices if there are others."""
    return {'uuid': id_of(image), 'source_type': 'image', 'destination_type': 'local', 'boot_index': 0,
            'delete_on_termination': True}


def encoded(text: str | bytes) -> str:
    raw = text.encode() if isinstance(text, str) else text
    return base64.b64encode(raw).decode('ascii')


def personality(files: object) -> object:
    if not isinstance(files, Mapping):
        return files
    return [{'path': path, 'contents': encoded(contents)} for path, contents in sorted(files.items())]


def _nic(nic: Mapping[str, object]) -> dict[str, object]:
    names = {'net-id': 'uuid', 'port-id': 'port', 'v4-fixed-ip': 'fixed_ip', 'v6-fixed-ip': 'fixed_ip'}
    return {names.get(name, name): value for name, value in nic.items() if value is not None}


def _old_device(device: str, text: str) -> dict[str, object]:
    """`<id>:[snap]:[size]:[delete on termination]`."""
    parts = (str(text).split(':') + ['', '', ''])[:4]
    entry: dict[str, object] = {'device_name': device, 'delete_on_termination': parts[3] in ('1', 'True', 'true')}
    entry['snapshot_id' if parts[1].startswith('snap') else 'volume_id'] = parts[0]
    if parts[2]:
        entry['volume_size'] = int(float(parts[2]))
    return entry


class Flavors(HasSpecs):
    path, key, plural, detail = '/flavors', 'flavor', 'flavors', '/detail'
    specs = 'os-extra_specs'

    def create(self, name: str, ram: int, vcpus: int, disk: int,       # type: ignore[override] # as in novaclient
               flavorid: str | None = 'auto', ephemeral: int = 0, swap: int = 0, rxtx_factor: float = 1.0,
               is_public: bool = True, description: str | None = None) -> object:
        """`ram`, `swap`: MiB; `disk`, `ephemeral`: GiB. `flavorid`: None and 'auto': the service chooses one."""
        return super().create(**{
            'name': name, 'ram': ram, 'vcpus': vcpus, 'disk': disk, 'id': None if flavorid == 'auto' else flavorid,
            'swap': swap, 'OS-FLV-EXT-DATA:ephemeral': ephemeral, 'rxtx_factor': rxtx_factor,
            'os-flavor-access:is_public': is_public, 'description': description})


class FlavorAccess(Collection):
    """The projects that may use a flavor that is not public."""

    path, plural = '/flavors', 'flavor_access'

    def list(self, flavor: EntityOrId, **_more: object) -> list[Entity]:             # type: ignore[override]
        return [Entity(self, entry) for entry in self._pages(self._url(flavor, 'os-flavor-access'), {})]

    def add_tenant_access(self, flavor: EntityOrId, tenant: str) -> None:
        self.http.post(self._url(flavor, 'action'), json={'addTenantAccess': {'tenant': tenant}})

    def remove_tenant_access(self, flavor: EntityOrId, tenant: str) -> None:
        self.http.post(self._url(flavor, 'action'), json={'removeTenantAccess': {'tenant': tenant}})


class Keypairs(Creating):
    path, key, plural = '/os-keypairs', 'keypair', 'keypairs'

    def list(self, user_id: str | None = None, **params: object) -> list[Entity]:     # type: ignore[override]
        return [Entity(self, entry['keypair']) for entry in self._pages(self.path, {'user_id': user_id, **params})]

    def get(self, keypair: EntityOrId, user_id: str | None = None) -> Entity:
        params = {'user_id': user_id} if user_id else None
        return self._entity(self.http.get(self._url(getattr(keypair, 'name', keypair)), params=params))

    def delete(self, key: EntityOrId, user_id: str | None = None) -> None:
        self.http.delete(self._url(getattr(key, 'name', key)), params={'user_id': user_id} if user_id else None)


class VolumeAttachments(Collection):
    """Attachments of volumes to servers."""

    def create_server_volume(self, server_id: str, volume_id: str, device: str | None = None) -> Entity:
        body = {'volumeId': volume_id, **({'device': device} if device else {})}
        answer = self.http.post(f'/servers/{server_id}/os-volume_attachments', json={'volumeAttachment': body})
        return _attachment(self, answer.json()['volumeAttachment'])

    def get_server_volume(self, server_id: str, attachment_id: str) -> Entity:
        answer = self.http.get(f'/servers/{server_id}/os-volume_attachments/{attachment_id}')
        return _attachment(self, answer.json()['volumeAttachment'])

    def get_server_volumes(self, server_id: str) -> list[Entity]:
        answer = self.http.get(f'/servers/{server_id}/os-volume_attachments')
        return [_attachment(self, entry) for entry in answer.json()['volumeAttachments']]

    def delete_server_volume(self, server_id: str, attachment_id: str) -> None:
        self.http.delete(f'/servers/{server_id}/os-volume_attachments/{attachment_id}')


def _attachment(owner: Collection, info: Mapping[str, object]) -> Entity:
    """From microversion 2.89 on the answer has no `id`: it was the volume's."""
    return Entity(owner, {'id': info.get('volumeId'), **info})


class Hypervisors(Collection):
    path, key, plural, detail = '/os-hypervisors', 'hypervisor', 'hypervisors', '/detail'

    def search(self, hypervisor_match: str, servers: bool = False) -> list[Entity]:
        return self.list(detailed=False, hypervisor_hostname_pattern=hypervisor_match)


class NovaLimits(Collection):
    def absolute(self) -> Entity:
        return Entity(self, self.http.get('/limits').json()['limits']['absolute'])

    def get(self, what: object = None) -> Entity:
        found = self.http.get('/limits').json()['limits']
        return Entity(self, {**found, 'absolute': found['absolute']})


class Aggregates(Creating):
    path, key, plural = '/os-aggregates', 'aggregate', 'aggregates'

    def _action(self, aggregate: EntityOrId, name: str, body: Mapping[str, object]) -> Entity:
        return self._entity(self.http.post(self._url(aggregate, 'action'), json={name: body}))

    def add_host(self, aggregate: EntityOrId, host: str) -> Entity:
        return self._action(aggregate, 'add_host', {'host': host})

    def remove_host(self, aggregate: EntityOrId, host: str) -> Entity:
        return self._action(aggregate, 'remove_host', {'host': host})

    def set_metadata(self, aggregate: EntityOrId, metadata: Mapping[str, object]) -> Entity:
        return self._action(aggregate, 'set_metadata', {'metadata': metadata})


class ComputeClient(Client):
    servers = cached_property(Servers)
    flavors = cached_property(Flavors)
    flavor_access = cached_property(FlavorAccess)
    keypairs = cached_property(Keypairs)
    volumes = cached_property(VolumeAttachments)
    hypervisors = cached_property(Hypervisors)
    limits = cached_property(NovaLimits)
    aggregates = cached_property(Aggregates)
    server_groups = cached_property(plain('/os-server-groups', 'server_group', 'server_groups'))
    availability_zones = cached_property(plain('/os-availability-zone', None, 'availabilityZoneInfo'))
    quotas = cached_property(plain('/os-quota-sets', 'quota_set'))
    services = cached_property(plain('/os-services', 'service', 'services'))
