"""AWS::EC2::Instance.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.properties import Properties, PropertyDiff
from heatlite.engine.resources import catalogue, existing
from heatlite.engine.resources.openstack.nova import own_ports, server_changes, suspending
from heatlite.engine.resources.openstack.nova.server_changes import ServerStep
from heatlite.engine.resources.scheduler_hints import SchedulerHintsMixin
from heatlite.engine.resources.steps import work_off
from heatlite.engine.resources.unknown_values import entries, is_set
from heatlite.engine.rsrc_defn import Metadata, ResourceDefinition, ResourceDefinitionDiff

TYPE = 'AWS::EC2::Instance'
NO_ADDRESS = '0.0.0.0'                      # what the address attributes say before there is one


class Creation(TypedDict):
    """`attached`: ids of volumes."""

    server: str
    attached: list[str]


class Instance(suspending.Suspending, resource.Resource, SchedulerHintsMixin):
    """A server, with the properties of Amazon EC2."""

    default_client_name = 'nova'
    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)
    physical_resource_name_limit = 53
    attributes_from_options = {'physical_resource_name_limit': 'max_server_name_length'}

    PROPERTIES = (
        IMAGE_ID, INSTANCE_TYPE, KEY_NAME, AVAILABILITY_ZONE, SECURITY_GROUPS, SECURITY_GROUP_IDS, NETWORK_INTERFACES,
        SUBNET_ID, TAGS, NOVA_SCHEDULER_HINTS, USER_DATA, VOLUMES, BLOCK_DEVICE_MAPPINGS) = (
        'ImageId', 'InstanceType', 'KeyName', 'AvailabilityZone', 'SecurityGroups', 'SecurityGroupIds',
        'NetworkInterfaces', 'SubnetId', 'Tags', 'NovaSchedulerHints', 'UserData', 'Volumes', 'BlockDeviceMappings')
    ATTRIBUTES = (AVAILABILITY_ZONE_ATTR, PRIVATE_DNS_NAME, PUBLIC_DNS_NAME, PRIVATE_IP, PUBLIC_IP) = (
        'AvailabilityZone', 'PrivateDnsName', 'PublicDnsName', 'PrivateIp', 'PublicIp')
    INSTANCE_USER = 'ec2-user'          # whose account gets the key, as on the images of Amazon
    # Names the steps of a server use.
    FLAVOR = INSTANCE_TYPE

    def validate(self) -> None:
        """Raise ResourcePropertyConflict, StackValidationFailed."""
        super().validate()
        groups, interfaces = self.properties[self.SECURITY_GROUPS], self.properties[self.NETWORK_INTERFACES]
        if groups and interfaces and is_set(groups) and is_set(interfaces):
            raise exception.ResourcePropertyConflict(
                '/'.join([self.SECURITY_GROUPS, self.SECURITY_GROUP_IDS]), self.NETWORK_INTERFACES)
        for mapping in entries(self.properties, self.BLOCK_DEVICE_MAPPINGS):
            ebs = mapping.get('Ebs')
            if not ebs:
                raise exception.StackValidationFailed(message=_('Ebs is missing, this is required'))
            if isinstance(ebs, Mapping) and not ebs.get('SnapshotId') and not (
                    self.BLOCK_DEVICE_MAPPINGS in self.t.deferred and 'SnapshotId' in ebs):
                raise exception.StackValidationFailed(message=_('SnapshotId is missing, this is required when '
                                                                'specifying BlockDeviceMappings.'))

    # --- creating -----------------------------------------------------------------------------------------

    def handle_create(self) -> Creation:
        props, plugin = self.properties, self.client_plugin()
        groups = self._get_security_groups()
        arguments = {
            'image': self.client_plugin('glance').find_image_by_name_or_id(props[self.IMAGE_ID]),
            'flavor': plugin.find_flavor_by_name_or_id(props[self.INSTANCE_TYPE]), 'key_name': props[self.KEY_NAME],
            'security_groups': groups,
            'userdata': plugin.build_userdata(self.metadata_get(True), props[self.USER_DATA], self.INSTANCE_USER),
            'meta': self._tags(props[self.TAGS]), 'scheduler_hints': self._scheduler_hints(self._hints()),
            'nics': self._build_nics(props[self.NETWORK_INTERFACES], props[self.SUBNET_ID], groups) or 'auto',
            'availability_zone': props[self.AVAILABILITY_ZONE],
            'block_device_mapping': self._devices()}
        server_id = existing.create(self, lambda: str(self.client().servers.create(
            str(self.physical_resource_name()), **arguments).id))
        self.resource_id_set(server_id)
        return {'server': server_id, 'attached': []}

    def find_existing(self) -> str | None:
        name = str(self.physical_resource_name())
        servers = [server.to_dict() for server in self.client().servers.list(search_opts={'name': f'^{name}$'})]
        return existing.choose(self, [entry for entry in servers if entry['name'] == name], own_name=True)

    def _get_security_groups(self) -> list[str] | None:
        """Return the names and the ids of the security groups; None if there are none."""
        found = [*(self.properties[self.SECURITY_GROUPS] or ()), *(self.properties[self.SECURITY_GROUP_IDS] or ())]
        return found or None

    @staticmethod
    def _tags(tags: Iterable[Mapping[str, str]] | None) -> dict[str, str] | None:
        return {tag['Key']: tag['Value'] for tag in tags} if tags else None

    def _hints(self) -> dict[str, object] | None:
        """A key that comes several times has a list."""
        found: dict[str, object] = {}
        for hint in self.properties[self.NOVA_SCHEDULER_HINTS] or ():
            key, value = hint['Key'], hint['Value']
            before = found.get(key)
            found[key] = [*(before if isinstance(before, list) else [before]), value] if key in found else value
        return found or None

    def _devices(self) -> dict[str, str] | None:
        found = {}
        for mapping in self.properties[self.BLOCK_DEVICE_MAPPINGS] or ():
            ebs = mapping['Ebs']
            found[mapping['DeviceName']] = ':'.join([
                str(ebs['SnapshotId']), 'snap', str(ebs.get('VolumeSize') or ''), str(ebs['DeleteOnTermination'])])
        return found or None

    def _build_nics(self, interfaces: Iterable[dict[str, str] | str] | None, subnet_id: str | None,
                    groups: list[str] | None) -> list[dict[str, str]] | None:
        if interfaces:
            return [{'port': port} for port in ordered(interfaces)]
        if subnet_id:
            return [{'port': self._own_port(subnet_id, groups)}]
        return None

    def _own_port(self, subnet_id: str, groups: list[str] | None) -> str:
        """Return the id of the port that is made for SubnetId. Takes one that an interrupted attempt has left."""
        neutron = self.client('neutron')
        name = f'{self.physical_resource_name()}-port'
        found = [port for port in neutron.list_ports(name=name)['ports'] if port['name'] == name
                 and any(ip['subnet_id'] == subnet_id for ip in port['fixed_ips'])]
        if found:
            port_id = found[0]['id']
        else:
            plugin = self.client_plugin('neutron')
            body: dict[str, object] = {'name': name, 'admin_state_up': True, 'fixed_ips': [{'subnet_id': subnet_id}],
                                       'network_id': plugin.network_id_from_subnet_id(subnet_id)}
            if groups:
                body['security_groups'] = plugin.get_secgroup_uuids(groups)
            port_id = neutron.create_port({'port': body})['port']['id']
        self.data_set('port_id', port_id)
        return str(port_id)

    def check_create_complete(self, progress: Creation | None) -> bool:
        """First the server, then its volumes, one after the other. Without `progress`: found after a crash."""
        if progress is None:
            self._build_nics(self.properties[self.NETWORK_INTERFACES], self.properties[self.SUBNET_ID], None)
            progress = {'server': str(self.resource_id), 'attached': []}
        plugin = self.client_plugin()
        if plugin.is_under_way(progress['server'], status='BUILD'):
            return False
        server = plugin.fetch_server(progress['server'])
        if server is None or not plugin._check_active(server, 'Instance'):
            return False
        for volume in self.properties[self.VOLUMES] or ():
            if volume['VolumeId'] not in progress['attached']:
                if self._attach(progress['server'], volume):
                    progress['attached'].append(volume['VolumeId'])
                return False
            if not self.client_plugin('cinder').check_attach_volume_complete(volume['VolumeId']):
                return False
        return True

    def _attach(self, server: str, volume: dict[str, object]) -> bool:
        if any(each.volumeId == volume['VolumeId'] for each in self.client().volumes.get_server_volumes(server)):
            return True                     # done before a restart
        return bool(self.client_plugin().attach_volume(server, volume['VolumeId'], volume['Device']))

    def handle_check(self) -> None:
        self._check_created()
        server = self.client().servers.get(self.resource_id)
        self._verify_check_conditions([{'attr': 'status', 'expected': 'ACTIVE',
                                        'current': self.client_plugin().get_status(server)}])

    # --- attributes ---------------------------------------------------------------------------------------

    def _resolve_attribute(self, name: str) -> object:
        if name != self.AVAILABILITY_ZONE_ATTR:
            found = self.client_plugin().server_to_ipaddress(self.resource_id) if self.resource_id else None
            return found or NO_ADDRESS
        if self.properties[self.AVAILABILITY_ZONE]:
            return self.properties[self.AVAILABILITY_ZONE]
        if self.resource_id is None:
            return None
        return self.client_plugin().fetch_server_attr(self.resource_id, 'OS-EXT-AZ:availability_zone')

    def data_when_imported(self, data: object) -> dict[str, str]:
        """The port that was made for SubnetId."""
        given = ordered(self.properties[self.NETWORK_INTERFACES] or ())
        found = own_ports.of_server(self.client('neutron'), self.resource_id, given)
        return {'port_id': found[0]} if found else {}

    def _live_object(self) -> object:
        return self.client().servers.get(self.resource_id).to_dict() if self.resource_id else None

    # --- updating -----------------------------------------------------------------------------------------

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: PropertyDiff) -> list[ServerStep]:
        """Send the changes that take effect at once. Return the others as steps for `check_update_complete`."""
        if tmpl_diff.metadata_changed():
            self.metadata_set(json_snippet.metadata())
        plugin, steps = self.client_plugin(), list[ServerStep]()
        if self.TAGS in prop_diff:
            plugin.meta_update(self.client().servers.get(self.resource_id), self._tags(prop_diff[self.TAGS]) or {})
        if self.INSTANCE_TYPE in prop_diff:
            flavor = plugin.find_flavor_by_name_or_id(prop_diff[self.INSTANCE_TYPE])
            steps += [{'do': 'resize', 'flavor': flavor}, {'do': 'confirm'}]
        if self.NETWORK_INTERFACES in prop_diff or self.SUBNET_ID in prop_diff:
            steps += self._interface_steps(json_snippet.properties(self.properties_schema, self.context))
        return steps

    def _interface_steps(self, after: Properties) -> list[ServerStep]:
        there = [port['id'] for port in self.client('neutron').list_ports(device_id=self.resource_id)['ports']]
        own = self.data().get('port_id')
        wanted = [nic['port'] for nic in self._build_nics(
            after[self.NETWORK_INTERFACES], after[self.SUBNET_ID], self._get_security_groups()) or ()]
        attach: list[ServerStep] = [{'do': 'attach', 'port': port, 'network': None, 'address': None}
                                    for port in wanted if port not in there]
        if not wanted:                      # as it was at the start without any: the service chooses
            attach = [{'do': 'attach', 'port': None, 'network': None, 'address': None}]
        detach: list[ServerStep] = [{'do': 'detach', 'port': port, 'internal': port == own}
                                    for port in there if port not in wanted]
        return [*detach, *attach]

    def _delete_internal_port(self, port_id: str) -> None:
        """Delete the port that was made for SubnetId. Does nothing if it is gone."""
        with self.client_plugin('neutron').ignore_not_found:
            self.client('neutron').delete_port(port_id)
        if self.data().get('port_id') == port_id:
            self.data_delete('port_id')

    def check_update_complete(self, steps: list[ServerStep]) -> bool:
        return work_off(self, steps, server_changes.STEPS)

    def metadata_update(self, new_metadata: Metadata | None = None) -> None:
        self.metadata_set(new_metadata if new_metadata is not None else self.t.metadata())

    # --- deleting -----------------------------------------------------------------------------------------

    def handle_delete(self) -> str | None:
        if self.resource_id is not None:
            with self.client_plugin().ignore_not_found:
                self.client().servers.delete(self.resource_id)
        return self.resource_id

    def check_delete_complete(self, server_id: str | None) -> bool:
        if server_id is not None and not self.client_plugin().check_delete_server_complete(server_id):
            return False
        if self.data().get('port_id'):
            self._delete_internal_port(self.data()['port_id'])
        return True


def ordered(interfaces: Iterable[dict[str, str] | str]) -> list[str]:
    """Ports by their DeviceIndex; plain ids as they come."""
    entries = [entry if isinstance(entry, dict) else {'NetworkInterfaceId': entry, 'DeviceIndex': str(place)}
               for place, entry in enumerate(interfaces)]
    return [str(entry['NetworkInterfaceId']) for entry in sorted(entries, key=lambda entry: int(entry['DeviceIndex']))]


def resource_mapping() -> dict[str, type[Instance]]:
    return {TYPE: Instance}
