"""OS::Zun::Container.

Schema: heatlite/engine/resources/catalogue/zun.yaml
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource, translation
from heatlite.engine.properties import Properties
from heatlite.engine.resources import catalogue, existing
from heatlite.engine.resources.steps import StoredStep
from heatlite.engine.resources.unknown_values import entries, is_set
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

TYPE = 'OS::Zun::Container'
SENT_AS_THEY_ARE = ('image', 'command', 'cpu', 'environment', 'workdir', 'labels', 'image_pull_policy', 'interactive',
                    'image_driver', 'hints', 'hostname', 'tty')

Network: TypeAlias = Mapping[str, str]      # an entry of `networks`


class ContainerStep(StoredStep, total=False):
    network: Network


class Container(resource.Resource):
    """A container that runs by itself, without a cluster around it."""

    default_client_name = 'zun'
    entity = 'containers'
    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (NAME, IMAGE, COMMAND, CPU, MEMORY, NETWORKS, MOUNTS, SECURITY_GROUPS, RESTART_POLICY, INTERACTIVE) = (
        'name', 'image', 'command', 'cpu', 'memory', 'networks', 'mounts', 'security_groups', 'restart_policy',
        'interactive')
    _NETWORK_KEYS = (NETWORK_ID, NETWORK_FIXED_IP, NETWORK_PORT) = ('network', 'fixed_ip', 'port')
    ATTRIBUTES = (NAME_ATTR, ADDRESSES) = ('name', 'addresses')

    def translation_rules(self, properties: Properties) -> list[translation.TranslationRule]:
        rule, neutron = translation.TranslationRule, self.client_plugin('neutron')
        return [rule(properties, rule.RESOLVE, [self.NETWORKS, key], client_plugin=neutron,
                     finder='find_resourceid_by_name_or_id', entity=key)
                for key in (self.NETWORK_ID, self.NETWORK_PORT)]

    def validate(self) -> None:
        """Raise StackValidationFailed, ResourcePropertyConflict."""
        super().validate()
        policy = self.properties[self.RESTART_POLICY]
        if policy and not policy.startswith('on-failure') and ':' in policy:
            raise exception.StackValidationFailed(message=_(
                'restart_policy "%s" is invalid. Valid values are "no", "on-failure[:max-retry]", "always", '
                '"unless-stopped".') % policy)
        for network in entries(self.properties, self.NETWORKS):
            if not (network.get(self.NETWORK_ID) or network.get(self.NETWORK_PORT)):
                raise exception.PropertyUnspecifiedError(self.NETWORK_ID, self.NETWORK_PORT)
        for mount in entries(self.properties, self.MOUNTS):
            given = [name for name in ('volume_id', 'volume_size') if mount.get(name)]
            if len(given) > 1 and all(is_set(mount[name]) for name in given):
                raise exception.ResourcePropertyConflict('/'.join([self.MOUNTS, given[0]]),
                                                         '/'.join([self.MOUNTS, given[1]]))
            if not given:
                raise exception.PropertyUnspecifiedError('/'.join([self.MOUNTS, 'volume_id']),
                                                         '/'.join([self.MOUNTS, 'volume_size']))

    # --- creating -----------------------------------------------------------------------------------------

    def _name(self) -> str:
        return str(self.properties[self.NAME] or self.physical_resource_name())

    def handle_create(self) -> str:
        props = self.properties
        body: dict[str, object] = {name: props[name] for name in SENT_AS_THEY_ARE if props[name] is not None}
        body['name'] = self._name()
        if props[self.MEMORY] is not None:
            body['memory'] = str(props[self.MEMORY])
        if props[self.RESTART_POLICY] is not None:
            body['restart_policy'] = self._restart_policy(props[self.RESTART_POLICY])
        if props[self.SECURITY_GROUPS]:
            body['security_groups'] = self.client_plugin('neutron').get_secgroup_uuids(props[self.SECURITY_GROUPS])
        nets = [self._net(network) for network in props[self.NETWORKS] or ()]
        if nets:
            body['nets'] = nets
        mounts = [self._mount(mount) for mount in props[self.MOUNTS] or ()]
        if mounts:
            body['mounts'] = mounts
        container_id = existing.create(self, lambda: str(self.client().containers.run(**body).uuid),
                                       self._namesakes if self.properties[self.NAME] else None)
        self.resource_id_set(container_id)
        return container_id

    @staticmethod
    def _restart_policy(policy: str) -> dict[str, str]:
        name, colon, count = policy.partition(':')
        return {'Name': name, 'MaximumRetryCount': count if colon else '0'}

    def _net(self, network: Network) -> dict[str, str]:
        found: dict[str, str] = {'port': network[self.NETWORK_PORT]} if network.get(self.NETWORK_PORT) else \
            {'network': network[self.NETWORK_ID]}
        address = network.get(self.NETWORK_FIXED_IP)
        if address:
            found['v6-fixed-ip' if ':' in address else 'v4-fixed-ip'] = address
        return found

    @staticmethod
    def _mount(mount: Mapping[str, object]) -> dict[str, object]:
        found = {'destination': mount['mount_path']}
        if mount.get('volume_id'):
            return {**found, 'source': mount['volume_id']}
        return {**found, 'size': str(mount['volume_size'])}

    def find_existing(self) -> str | None:
        return existing.choose(self, self._namesakes(), own_name=not self.properties[self.NAME])

    def _namesakes(self) -> list[dict[str, object]]:
        name = self._name()
        return [{**each.to_dict(), 'id': each.uuid} for each in self.client().containers.list() if each.name == name]

    def check_create_complete(self, *args: object) -> bool:
        container = self.client().containers.get(self.resource_id)
        match container.status:
            case 'Creating' | 'Created':
                return False
            case 'Running':
                return True
            case 'Stopped' if not self.properties[self.INTERACTIVE]:
                return True
            case 'Stopped' | 'Error':
                raise exception.ResourceInError(resource_status=container.status,
                                                status_reason=container.status_reason or _('Unknown'))
        raise exception.ResourceUnknownStatus(resource_status=container.status, result=_('Container creation failed'))

    # --- updating -----------------------------------------------------------------------------------------

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: dict[str, object]) -> list[ContainerStep]:
        """Send the changes that take effect at once. Return the others as steps for `check_update_complete`."""
        changes: dict[str, object] = {}
        if self.NAME in prop_diff:
            changes['name'] = prop_diff[self.NAME] or self.physical_resource_name()
        if prop_diff.get(self.CPU) is not None:
            changes['cpu'] = prop_diff[self.CPU]
        if prop_diff.get(self.MEMORY) is not None:
            changes['memory'] = str(prop_diff[self.MEMORY])
        self.client_plugin().update_container(self.resource_id, **changes)
        if self.NETWORKS not in prop_diff:
            return []
        after = json_snippet.properties(self.properties_schema, self.context)
        self.translate_properties(after)
        old, new = self.properties[self.NETWORKS] or [], after[self.NETWORKS] or []
        detach: list[ContainerStep] = [{'do': 'detach', 'network': each} for each in old if each not in new]
        attach: list[ContainerStep] = [{'do': 'attach', 'network': each} for each in new if each not in old]
        return [*detach, *attach]

    def check_update_complete(self, steps: list[ContainerStep]) -> bool:
        plugin = self.client_plugin()
        for step in steps:
            if step.get('done'):
                continue
            network = step['network']
            port = network.get(self.NETWORK_PORT)
            if step['do'] == 'detach':
                found = port or self._port_in(network)
                if found is None or plugin.check_network_detach(self.resource_id, found):
                    step['done'] = True
                    continue
                if not step.get('called'):
                    step['called'] = plugin.network_detach(self.resource_id, found)
                return False
            if not step.get('called'):
                plugin.network_attach(self.resource_id, port_id=port, net_id=None if port else network[self.NETWORK_ID],
                                      fip=network.get(self.NETWORK_FIXED_IP))
                step['called'] = True
                return False
            if not plugin.check_network_attach(self.resource_id, port):
                return False
            step['done'] = True
        return True

    def _port_in(self, network: Mapping[str, object]) -> str | None:
        for entry in self.client().containers.network_list(self.resource_id):
            if entry.net_id == network[self.NETWORK_ID]:
                return str(entry.port_id)
        return None

    # --- deleting -----------------------------------------------------------------------------------------

    def handle_delete(self) -> str | None:
        if self.resource_id is None:
            return None
        if self.client_plugin().not_found_in_call(self.client().containers.delete, self.resource_id, stop=True):
            return None
        return self.resource_id

    def check_delete_complete(self, container_id: str | None) -> bool:
        if container_id is None:
            return True
        try:
            container = self.client().containers.get(container_id)
        except Exception as error:
            self.client_plugin().ignore_not_found(error)
            return True
        if container.status == 'Error':
            raise exception.ResourceInError(resource_status=container.status,
                                            status_reason=container.status_reason or _('Unknown'))
        return bool(container.status == 'Deleted')

    def _resolve_attribute(self, name: str) -> object:
        if name == self.NAME_ATTR and self.id is not None:
            return self._name()
        if self.resource_id is None:
            return None
        container = self.client().containers.get(self.resource_id)
        return self._addresses(container.addresses or {}) if name == self.ADDRESSES else getattr(container, name, None)

    def _addresses(self, by_id: Mapping[str, list[object]]) -> dict[str, list[object]]:
        """Return the addresses under the id and under the name of each network. Networks of one name share a list."""
        found = dict(by_id)
        if by_id:
            for network in self.client('neutron').list_networks(id=list(by_id))['networks']:
                if network['name']:
                    found[network['name']] = [*found.get(network['name'], ()), *by_id[network['id']]]
        return found


def resource_mapping() -> dict[str, type[Container]]:
    return {TYPE: Container}
