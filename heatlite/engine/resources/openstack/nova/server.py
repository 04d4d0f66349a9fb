"""OS::Nova::Server.

Schema: heatlite/engine/resources/catalogue/nova.yaml
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource, translation
from heatlite.engine.clients.os import service
from heatlite.engine.clients.os.nova import ConsoleUrls
from heatlite.engine.dependencies import Edges
from heatlite.engine.properties import Properties, PropertyDiff
from heatlite.engine.resources import catalogue, edges, existing, server_base
from heatlite.engine.resources.openstack.nova import begun_networks, server_changes, server_checks, suspending
from heatlite.engine.resources.openstack.nova.server_changes import ServerStep
from heatlite.engine.resources.openstack.nova.server_network_mixin import NeutronPort, ServerNetworkMixin
from heatlite.engine.resources.scheduler_hints import SchedulerHintsMixin
from heatlite.engine.resources.snapshots import Snapshotted
from heatlite.engine.resources.steps import work_off
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

if TYPE_CHECKING:
    from heatlite.engine.clients.os import nova_collections
    from heatlite.engine.clients.os.collection import Entity, Fields
    from heatlite.engine.clients.os.nova_collections import ComputeClient

TYPE = 'OS::Nova::Server'
TAGS_AT_ONCE = '2.52'                       # microversion from which a create takes tags
FILES_UNTIL = '2.56'                        # the last one in which a server can be made with files


class ServerDeletion(TypedDict):
    """`image`: the id of the one that is made of the server before, or None."""

    server: str | None
    image: str | None


class Server(suspending.Suspending, server_base.BaseServer, SchedulerHintsMixin, ServerNetworkMixin):
    """A virtual machine or bare metal server, with its networks, its disks and its initial data."""

    default_client_name = 'nova'
    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)
    properties_schema = catalogue.properties(TYPE)
    physical_resource_name_limit = 53
    attributes_from_options = {'physical_resource_name_limit': 'max_server_name_length'}
    first_collectors = ('ec2',)
    accepts_any_attribute = False           # `get_attribute` is for one that is declared

    PROPERTIES = (
        NAME, IMAGE, BLOCK_DEVICE_MAPPING, BLOCK_DEVICE_MAPPING_V2, FLAVOR, FLAVOR_UPDATE_POLICY, IMAGE_UPDATE_POLICY,
        KEY_NAME, ADMIN_USER, AVAILABILITY_ZONE, SECURITY_GROUPS, NETWORKS, SCHEDULER_HINTS, METADATA,
        USER_DATA_FORMAT, USER_DATA, RESERVATION_ID, CONFIG_DRIVE, DISK_CONFIG, PERSONALITY, ADMIN_PASS,
        SOFTWARE_CONFIG_TRANSPORT, USER_DATA_UPDATE, TAGS, DEPLOYMENT_SWIFT_DATA) = (
        'name', 'image', 'block_device_mapping', 'block_device_mapping_v2', 'flavor', 'flavor_update_policy',
        'image_update_policy', 'key_name', 'admin_user', 'availability_zone', 'security_groups', 'networks',
        'scheduler_hints', 'metadata', 'user_data_format', 'user_data', 'reservation_id', 'config_drive', 'diskConfig',
        'personality', 'admin_pass', 'software_config_transport', 'user_data_update_policy', 'tags',
        'deployment_swift_data')
    _BLOCK_DEVICE_MAPPING_KEYS = (
        BLOCK_DEVICE_MAPPING_DEVICE_NAME, BLOCK_DEVICE_MAPPING_VOLUME_ID, BLOCK_DEVICE_MAPPING_SNAPSHOT_ID,
        BLOCK_DEVICE_MAPPING_VOLUME_SIZE, BLOCK_DEVICE_MAPPING_DELETE_ON_TERM) = (
        'device_name', 'volume_id', 'snapshot_id', 'volume_size', 'delete_on_termination')
    _BLOCK_DEVICE_MAPPING_V2_KEYS = (
        BLOCK_DEVICE_MAPPING_DEVICE_NAME, BLOCK_DEVICE_MAPPING_VOLUME_ID, BLOCK_DEVICE_MAPPING_IMAGE_ID,
        BLOCK_DEVICE_MAPPING_IMAGE, BLOCK_DEVICE_MAPPING_SNAPSHOT_ID, BLOCK_DEVICE_MAPPING_SWAP_SIZE,
        BLOCK_DEVICE_MAPPING_DEVICE_TYPE, BLOCK_DEVICE_MAPPING_DISK_BUS, BLOCK_DEVICE_MAPPING_BOOT_INDEX,
        BLOCK_DEVICE_MAPPING_VOLUME_SIZE, BLOCK_DEVICE_MAPPING_DELETE_ON_TERM, BLOCK_DEVICE_MAPPING_EPHEMERAL_SIZE,
        BLOCK_DEVICE_MAPPING_EPHEMERAL_FORMAT, BLOCK_DEVICE_MAPPING_VOLUME_TYPE) = (
        'device_name', 'volume_id', 'image_id', 'image', 'snapshot_id', 'swap_size', 'device_type', 'disk_bus',
        'boot_index', 'volume_size', 'delete_on_termination', 'ephemeral_size', 'ephemeral_format', 'volume_type')
    _NETWORK_KEYS = (
        NETWORK_UUID, NETWORK_ID, NETWORK_FIXED_IP, NETWORK_PORT, NETWORK_SUBNET, NETWORK_PORT_EXTRA,
        NETWORK_FLOATING_IP, ALLOCATE_NETWORK, NIC_TAG) = (
        'uuid', 'network', 'fixed_ip', 'port', 'subnet', 'port_extra_properties', 'floating_ip', 'allocate_network',
        'tag')
    _IFACE_MANAGED_KEYS = (NETWORK_PORT, NETWORK_ID, NETWORK_FIXED_IP, NETWORK_SUBNET)
    _SOFTWARE_CONFIG_FORMATS = (HEAT_CFNTOOLS, RAW, SOFTWARE_CONFIG) = ('HEAT_CFNTOOLS', 'RAW', 'SOFTWARE_CONFIG')
    ATTRIBUTES = (
        NAME_ATTR, ADDRESSES, NETWORKS_ATTR, FIRST_ADDRESS, INSTANCE_NAME, ACCESSIPV4, ACCESSIPV6, CONSOLE_URLS,
        TAGS_ATTR, OS_COLLECT_CONFIG) = (
        'name', 'addresses', 'networks', 'first_address', 'instance_name', 'accessIPv4', 'accessIPv6', 'console_urls',
        'tags', 'os_collect_config')

    def translation_rules(self, properties: Properties) -> list[translation.TranslationRule]:
        rule, V2 = translation.TranslationRule, self.BLOCK_DEVICE_MAPPING_V2
        glance, neutron = self.client_plugin('glance'), self.client_plugin('neutron')
        found = [
            rule(properties, rule.REPLACE, [self.NETWORKS, self.NETWORK_ID], value_name=self.NETWORK_UUID),
            rule(properties, rule.RESOLVE, [self.FLAVOR], client_plugin=self.client_plugin('nova'),
                 finder='find_flavor_by_name_or_id'),
            rule(properties, rule.RESOLVE, [self.IMAGE], client_plugin=glance, finder='find_image_by_name_or_id'),
            rule(properties, rule.REPLACE, [V2, self.BLOCK_DEVICE_MAPPING_IMAGE],
                 value_name=self.BLOCK_DEVICE_MAPPING_IMAGE_ID),
            rule(properties, rule.RESOLVE, [V2, self.BLOCK_DEVICE_MAPPING_IMAGE], client_plugin=glance,
                 finder='find_image_by_name_or_id')]
        found += [rule(properties, rule.RESOLVE, [self.NETWORKS, key], client_plugin=neutron,
                       finder='find_resourceid_by_name_or_id', entity=entity)
                  for key, entity in ((self.NETWORK_ID, 'network'), (self.NETWORK_SUBNET, 'subnet'),
                                      (self.NETWORK_PORT, 'port'))]
        return found

    def add_dependencies(self, deps: Edges) -> None:
        """Subnets of its networks: without them it would get no address."""
        super().add_dependencies(deps)
        networks = edges.value(self, self.NETWORKS)
        ids = [network.get(self.NETWORK_ID) for network in (networks if isinstance(networks, list) else ())
               if isinstance(network, dict)]
        for subnet in edges.of_type(self, 'OS::Neutron::Subnet'):
            theirs = edges.value(subnet, 'network')
            for network in ids:
                if theirs is None or network is None or theirs == network:
                    deps += (self, subnet)
                    break

    def validate(self) -> None:
        super().validate()
        server_checks.check(self)

    # --- creating -----------------------------------------------------------------------------------------

    def _server_name(self) -> str:
        return str(self.properties[self.NAME] or self.physical_resource_name())

    def user_data_raw(self) -> bool:
        return bool(self.properties[self.USER_DATA_FORMAT] == self.RAW)

    def user_data_software_config(self) -> bool:
        return bool(self.properties[self.USER_DATA_FORMAT] == self.SOFTWARE_CONFIG)

    def userdata_of(self, props: Properties) -> str:
        """Return the user data of the server, where the id of a software config is replaced by its content."""
        content = props[self.USER_DATA]
        kind = props[self.USER_DATA_FORMAT]
        if kind in (self.RAW, self.SOFTWARE_CONFIG) and service.looks_like_uuid(content):
            content = self._config_text(content)
        metadata = self.metadata_get(True) or {}
        return str(self.client_plugin().build_userdata(metadata, content, user_data_format=kind))

    def _config_text(self, config_id: str) -> str:
        """The id itself when there is no such config: then it is just text that looks like one."""
        rpc = self.rpc_client()
        try:
            return str(rpc.show_software_config(self.context, config_id)['config'])
        except Exception as error:
            rpc.ignore_error_by_name('NotFound')(error)
            return config_id

    def handle_create(self) -> str:
        props = self.properties
        if self.user_data_software_config():
            self._create_transport_credentials(props)
            self._populate_deployments_metadata(copy.deepcopy(self.metadata_get(True) or {}), props)
        client = self._client_for(props)
        arguments = {
            'image': props[self.IMAGE], 'flavor': props[self.FLAVOR], 'key_name': props[self.KEY_NAME],
            'security_groups': props[self.SECURITY_GROUPS] or None, 'userdata': self.userdata_of(props),
            'meta': self.client_plugin().meta_serialize(props[self.METADATA] or {}) or None,
            'scheduler_hints': self._scheduler_hints(props[self.SCHEDULER_HINTS]),
            'nics': self._build_nics(props[self.NETWORKS], props[self.SECURITY_GROUPS]),
            'availability_zone': props[self.AVAILABILITY_ZONE],
            'block_device_mapping': self._build_block_device_mapping(props[self.BLOCK_DEVICE_MAPPING]),
            'block_device_mapping_v2': self._build_block_device_mapping_v2(props[self.BLOCK_DEVICE_MAPPING_V2]),
            'reservation_id': props[self.RESERVATION_ID], 'config_drive': props[self.CONFIG_DRIVE],
            'disk_config': props[self.DISK_CONFIG], 'files': props[self.PERSONALITY] or None,
            'admin_pass': props[self.ADMIN_PASS] or None, 'tags': self._tags_at_once(props)}
        server_id = existing.create(self, lambda: str(client.servers.create(self._server_name(), **arguments).id),
                                    self._namesakes if self.properties[self.NAME] else None)
        self.resource_id_set(server_id)
        return server_id

    def _client_for(self, props: Properties) -> ComputeClient:
        """Files are of the past: they need an old microversion."""
        found: ComputeClient = self.client(version=FILES_UNTIL) if props[self.PERSONALITY] else self.client()
        return found

    def _tags_at_once(self, props: Properties) -> object:
        return props[self.TAGS] if props[self.TAGS] and self._takes_tags_at_once() else None

    def _takes_tags_at_once(self) -> bool:
        return not self.properties[self.PERSONALITY] and self.client_plugin().is_version_supported(TAGS_AT_ONCE)

    def find_existing(self) -> str | None:
        return existing.choose(self, self._namesakes(), own_name=not self.properties[self.NAME],
                               wanted={'key_name': self.properties[self.KEY_NAME]})

    def _namesakes(self) -> list[Fields]:
        name = self._server_name()
        return [server for server in self.list_named(name) if server['name'] == name]

    def list_named(self, name: str | None) -> list[Fields]:
        """Nova takes a name as a regular expression."""
        query = {} if name is None else {'name': f'^{re.escape(name)}$'}
        return [server.to_dict() for server in self.client().servers.list(search_opts=query)]

    @classmethod
    def _build_block_device_mapping(cls, mappings: Sequence[Mapping[str, object]] | None) -> object:
        if not mappings:
            return None
        found = {}
        for mapping in mappings:
            snapshot = mapping.get(cls.BLOCK_DEVICE_MAPPING_SNAPSHOT_ID)
            size, delete = (mapping.get(cls.BLOCK_DEVICE_MAPPING_VOLUME_SIZE),
                            mapping.get(cls.BLOCK_DEVICE_MAPPING_DELETE_ON_TERM))
            parts = [f'{snapshot}:snap' if snapshot else f'{mapping.get(cls.BLOCK_DEVICE_MAPPING_VOLUME_ID)}:',
                     str(size) if size is not None else '']
            if delete is not None:
                parts.append(str(delete))
            found[mapping[cls.BLOCK_DEVICE_MAPPING_DEVICE_NAME]] = ':'.join(parts)
        return found

    @classmethod
    def _build_block_device_mapping_v2(cls, mappings: Sequence[Mapping[str, object]] | None) -> object:
        """Sources and destinations as Nova names them."""
        if not mappings:
            return None
        found = []
        for mapping in mappings:
            entry = {name: mapping[name] for name in (
                cls.BLOCK_DEVICE_MAPPING_DEVICE_NAME, cls.BLOCK_DEVICE_MAPPING_DEVICE_TYPE,
                cls.BLOCK_DEVICE_MAPPING_DISK_BUS, cls.BLOCK_DEVICE_MAPPING_BOOT_INDEX,
                cls.BLOCK_DEVICE_MAPPING_VOLUME_SIZE, cls.BLOCK_DEVICE_MAPPING_DELETE_ON_TERM,
                cls.BLOCK_DEVICE_MAPPING_VOLUME_TYPE) if mapping.get(name) is not None}
            if mapping.get(cls.BLOCK_DEVICE_MAPPING_VOLUME_ID):
                entry.update(uuid=mapping[cls.BLOCK_DEVICE_MAPPING_VOLUME_ID], source_type='volume',
                             destination_type='volume')
            elif mapping.get(cls.BLOCK_DEVICE_MAPPING_SNAPSHOT_ID):
                entry.update(uuid=mapping[cls.BLOCK_DEVICE_MAPPING_SNAPSHOT_ID], source_type='snapshot',
                             destination_type='volume')
            elif mapping.get(cls.BLOCK_DEVICE_MAPPING_IMAGE):
                entry.update(uuid=mapping[cls.BLOCK_DEVICE_MAPPING_IMAGE], source_type='image',
                             destination_type='volume')
            elif mapping.get(cls.BLOCK_DEVICE_MAPPING_SWAP_SIZE):
                entry.update(source_type='blank', destination_type='local', boot_index=-1, delete_on_termination=True,
                             guest_format='swap', volume_size=mapping[cls.BLOCK_DEVICE_MAPPING_SWAP_SIZE])
            elif mapping.get(cls.BLOCK_DEVICE_MAPPING_EPHEMERAL_SIZE) or mapping.get(
                    cls.BLOCK_DEVICE_MAPPING_EPHEMERAL_FORMAT):
                entry.update(source_type='blank', destination_type='local', boot_index=-1, delete_on_termination=True)
                if mapping.get(cls.BLOCK_DEVICE_MAPPING_EPHEMERAL_SIZE):
                    entry['volume_size'] = mapping[cls.BLOCK_DEVICE_MAPPING_EPHEMERAL_SIZE]
                if mapping.get(cls.BLOCK_DEVICE_MAPPING_EPHEMERAL_FORMAT):
                    entry['guest_format'] = mapping[cls.BLOCK_DEVICE_MAPPING_EPHEMERAL_FORMAT]
            found.append(entry)
        return found

    def check_create_complete(self, *args: object) -> bool:
        plugin = self.client_plugin()
        if plugin.is_under_way(self.resource_id, status='BUILD'):
            return False
        server = plugin.fetch_server(self.resource_id)
        if server is None or not plugin._check_active(server):
            return False
        if self.properties[self.TAGS] and not self._takes_tags_at_once():
            self._update_server_tags(self.properties[self.TAGS])
        return True

    def _update_server_tags(self, tags: list[str] | None) -> None:
        self.client().servers.set_tags(self.resource_id, tags or [])

    def handle_check(self) -> None:
        self._check_created()
        server = self.client().servers.get(self.resource_id)
        status = self.client_plugin().get_status(server)
        if status != 'ACTIVE':
            raise exception.Error(_("'status': expected 'ACTIVE', got '%s'") % status)

    # --- attributes ---------------------------------------------------------------------------------------

    def get_attribute(self, key: str, *path: object) -> object:
        """Console URLs are made when they are read, and only the one that is asked for."""
        if key != self.CONSOLE_URLS:
            return super().get_attribute(key, *path)
        if self.resource_id is None:
            return None
        urls: ConsoleUrls = self.client_plugin().get_console_urls(self.resource_id)
        return urls.get(str(path[0])) if path else dict(urls)

    def FnGetAtt(self, key: str, *path: object) -> object:
        return self.get_attribute(key, *path) if key == self.CONSOLE_URLS else super().FnGetAtt(key, *path)

    def _resolve_attribute(self, name: str) -> object:
        if self.resource_id is None:
            return self._server_name() if name == self.NAME_ATTR and self.id is not None else None
        match name:
            case self.NAME_ATTR:
                return self._server_name()
            case self.OS_COLLECT_CONFIG:
                return (self.metadata_get() or {}).get('os-collect-config', {})
            case self.FIRST_ADDRESS:
                return self.client_plugin().server_to_ipaddress(self.resource_id) or ''
            case self.CONSOLE_URLS:
                return dict(self.client_plugin().get_console_urls(self.resource_id))
        server = self.client_plugin().get_server(self.resource_id)
        match name:
            case self.ADDRESSES:
                return self._addresses(server)
            case self.NETWORKS_ATTR:
                return self._networks(server)
            case self.INSTANCE_NAME:
                return getattr(server, 'OS-EXT-SRV-ATTR:instance_name', None)
            case self.TAGS_ATTR:
                found = getattr(server, 'tags', None)
                return found if found is not None else self.client().servers.tag_list(self.resource_id)
        return getattr(server, name, None)

    def _ports(self, server: nova_collections.NovaServer) -> dict[str, NeutronPort]:
        """Return the ports of a server, by MAC address."""
        ports = self.client('neutron').list_ports(device_id=server.id)['ports']
        return {port['mac_address']: port for port in ports}

    def _addresses(self, server: nova_collections.NovaServer) -> dict[str, object]:
        """Return the addresses by name and id of each network; each has its port, its subnets and its network."""
        ports, shown = self._ports(server), {}
        neutron = self.client('neutron')

        def show(kind: str, wanted: str) -> object:
            if (kind, wanted) not in shown:
                shown[kind, wanted] = getattr(neutron, f'show_{kind}')(wanted)[kind]
            return shown[kind, wanted]

        found: dict[str, object] = {}
        for label, entries in (server.addresses or {}).items():
            addresses: list[dict[str, object]] = []
            for entry in entries:
                port = ports.get(entry.get(server_changes.MAC))
                extended = {**entry, 'port': port['id'] if port else None}
                if port:
                    extended['subnets'] = [show('subnet', ip['subnet_id']) for ip in port['fixed_ips']]
                    extended['network'] = show('network', port['network_id'])
                    found[port['network_id']] = addresses
                addresses.append(extended)
            found[label] = addresses
        return found

    def _networks(self, server: nova_collections.NovaServer) -> dict[str, list[str]]:
        """Return the addresses by name and id of each network."""
        ports = self._ports(server)
        found: dict[str, list[str]] = dict(server.networks)
        for label, entries in (server.addresses or {}).items():
            port = next((ports[entry[server_changes.MAC]] for entry in entries
                         if entry.get(server_changes.MAC) in ports), None)
            if port is not None:
                found[port['network_id']] = found[label]
        return found

    # --- updating -----------------------------------------------------------------------------------------

    def needs_replace_with_prop_diff(self, changed_properties_set: set[str], after_props: Properties,
                                     before_props: Properties) -> bool:
        policies = {self.FLAVOR: self.FLAVOR_UPDATE_POLICY, self.IMAGE: self.IMAGE_UPDATE_POLICY,
                    self.USER_DATA: self.USER_DATA_UPDATE}
        return any(name in changed_properties_set and after_props.get(policy) == 'REPLACE'
                   for name, policy in policies.items())

    def needs_replace_failed(self) -> bool:
        if not self.resource_id:
            return True
        with self.client_plugin().ignore_not_found:
            server = self.client().servers.get(self.resource_id)
            if server.status not in ('ERROR', 'DELETED', 'SOFT_DELETED'):
                return False
        return True

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: PropertyDiff) -> list[ServerStep]:
        """Send the changes that take effect at once. Return the others as steps for `check_update_complete`."""
        if tmpl_diff.metadata_changed():
            self.metadata_set(json_snippet.metadata(), merge_metadata=server_base.merge_metadata)
            if self.user_data_software_config():
                self.push_metadata(self.metadata_get())
        steps = server_changes.from_difference(self, json_snippet, prop_diff)
        plugin, servers = self.client_plugin(), self.client().servers
        if self.METADATA in prop_diff:
            plugin.meta_update(servers.get(self.resource_id), prop_diff[self.METADATA] or {})
        if self.TAGS in prop_diff:
            self._update_server_tags(prop_diff[self.TAGS])
        if self.NAME in prop_diff:
            plugin.rename(self.resource_id, prop_diff[self.NAME] or self.physical_resource_name())
        if prop_diff.get(self.ADMIN_PASS) and not any(step['do'] == 'rebuild' for step in steps):
            servers.change_password(self.resource_id, prop_diff[self.ADMIN_PASS])
        if self.SOFTWARE_CONFIG_TRANSPORT in prop_diff or self.DEPLOYMENT_SWIFT_DATA in prop_diff:
            self._update_software_config_transport(
                prop_diff, json_snippet.properties(self.properties_schema, self.context))
        return steps

    def check_update_complete(self, steps: list[ServerStep]) -> bool:
        if not work_off(self, steps, server_changes.STEPS):
            return False
        begun_networks.forget(self)
        return True

    def has_unfinished_update(self) -> bool:
        return bool(begun_networks.stored(self))

    def get_live_resource_data(self) -> tuple[Entity, Fields]:
        """Return the server and its fields: plug-ins read both. Raises EntityNotFound."""
        try:
            server = self.client().servers.get(self.resource_id)
        except Exception as error:
            if self.client_plugin().is_not_found(error):
                raise exception.EntityNotFound(entity='Resource', name=self.name) from error
            raise
        if server.status in ('DELETED', 'SOFT_DELETED'):
            raise exception.EntityNotFound(entity='Resource', name=self.name)
        return server, server.to_dict()

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, object]:
        """Flavor, image, metadata and name. Networks are left as they are: what is plugged in has many reasons."""
        _server, found = resource_data
        live: dict[str, object] = {self.METADATA: found.get('metadata')}
        wanted = resource_properties.get(self.METADATA)
        if wanted is not None and self.client_plugin().meta_serialize(wanted) == live[self.METADATA]:
            live[self.METADATA] = wanted        # maps and lists are JSON there
        flavor = found.get('flavor') or {}
        if 'id' in flavor:
            live[self.FLAVOR] = flavor['id']
        elif flavor.get('original_name'):
            live[self.FLAVOR] = self._flavor_id(flavor['original_name'])
        image = found.get('image')
        if resource_properties.get(self.IMAGE) and isinstance(image, dict) and image.get('id'):
            live[self.IMAGE] = image['id']
        if resource_properties.get(self.NAME) is not None:
            live[self.NAME] = found.get('name')
        return live

    def _flavor_id(self, name: str) -> str:
        """The name itself if there is no such flavor any more, which does not touch servers that have it."""
        try:
            return str(self.client_plugin().find_flavor_by_name_or_id(name))
        except exception.HeatException:
            return name

    def data_when_imported(self, data: object) -> dict[str, str]:
        return self._data_of_own_ports()

    # --- replacing ----------------------------------------------------------------------------------------

    def prepare_for_replace(self) -> None:
        self.prepare_ports_for_replace()

    def was_released(self) -> bool:
        return self.has_released_ports()

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        self.restore_ports_after_rollback(convergence)

    # --- deleting -----------------------------------------------------------------------------------------

    def handle_delete(self) -> ServerDeletion:
        return self._begin_delete()

    def handle_snapshot_delete(self, state: tuple[str, str]) -> ServerDeletion:
        """Begin an image, after which the server is deleted. None is made of a server that has failed or is gone."""
        if state[1] != self.FAILED and self.resource_id:
            with self.client_plugin().ignore_not_found:
                image = self.client().servers.create_image(self.resource_id, self.physical_resource_name())
                return {'server': self.resource_id, 'image': image}
        return self._begin_delete()

    def _begin_delete(self) -> ServerDeletion:
        if self.resource_id is not None:
            with self.client_plugin().ignore_not_found:
                self.client().servers.delete(self.resource_id)
        return {'server': self.resource_id, 'image': None}

    def check_delete_complete(self, progress: ServerDeletion) -> bool:
        if progress['image'] is not None:
            if not self._image_is_there(progress['image']):
                return False
            progress.update(self._begin_delete())
            return False
        if progress['server'] is not None and not self.client_plugin().check_delete_server_complete(progress['server']):
            return False
        self._delete_internal_ports()
        if self.user_data_software_config():
            self._delete_transport()
        return True

    def _image_is_there(self, image_id: str) -> bool:
        """Raise Error when it failed."""
        image = self.client('glance').images.get(image_id)
        if image.status.lower() in ('killed', 'deleted', 'error'):
            raise exception.Error(image.status)
        return bool(image.status.lower() == 'active')

    # --- snapshots ----------------------------------------------------------------------------------------

    def handle_snapshot(self) -> str | None:
        if self.resource_id is None:                # its create has failed
            return None
        image_id = self.client().servers.create_image(self.resource_id, self.physical_resource_name())
        self.data_set('snapshot_image_id', image_id)
        return str(image_id)

    def check_snapshot_complete(self, image_id: str | None) -> bool:
        return image_id is None or self._image_is_there(image_id)

    def handle_delete_snapshot(self, snapshot: Snapshotted) -> None:
        image_id = (snapshot.get('resource_data') or {}).get('snapshot_image_id')
        if image_id is not None:
            with self.client_plugin('glance').ignore_not_found:
                self.client('glance').images.delete(image_id)

    def handle_restore(self, defn: ResourceDefinition, restore_data: Snapshotted) -> object:
        """The definition whose server is made of the saved image, and of nothing else."""
        image_id = (restore_data.get('resource_data') or {})['snapshot_image_id']
        given = defn.freeze()._properties or {}
        kept = {name: value for name, value in given.items() if value is not None}
        for name in (self.BLOCK_DEVICE_MAPPING, self.BLOCK_DEVICE_MAPPING_V2):
            kept.pop(name, None)
        return defn.freeze(properties={**kept, self.IMAGE: image_id})


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: Server}
