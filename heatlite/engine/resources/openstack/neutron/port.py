"""OS::Neutron::Port.

Schema: heatlite/engine/resources/catalogue/neutron.yaml
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.engine import translation
from heatlite.engine.dependencies import Edges
from heatlite.engine.resources import catalogue, edges
from heatlite.engine.resources.openstack.neutron import neutron
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

if TYPE_CHECKING:
    from heatlite.engine.properties import Properties, PropertyDiff

TYPE = 'OS::Neutron::Port'
REMOVED = {'dns_name': '', 'propagate_uplink_status': True}
FIXED_IPS_KEPT = 'port_fip'                 # resource data: addresses given up for a replacement


class Port(neutron.NeutronResource):
    """A port of a network, which connects a server or a router, with its addresses and security groups."""

    entity = 'port'
    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (
        NAME, NETWORK_ID, NETWORK, FIXED_IPS, SECURITY_GROUPS, REPLACEMENT_POLICY, DEVICE_ID, DEVICE_OWNER, DNS_NAME,
        TAGS) = ('name', 'network_id', 'network', 'fixed_ips', 'security_groups', 'replacement_policy', 'device_id',
                 'device_owner', 'dns_name', 'tags')
    EXTRA_PROPERTIES = (
        VALUE_SPECS, ADMIN_STATE_UP, MAC_ADDRESS, ALLOWED_ADDRESS_PAIRS, VNIC_TYPE, QOS_POLICY, PORT_SECURITY_ENABLED,
        PROPAGATE_UPLINK_STATUS, NO_FIXED_IPS) = (
        'value_specs', 'admin_state_up', 'mac_address', 'allowed_address_pairs', 'binding:vnic_type', 'qos_policy',
        'port_security_enabled', 'propagate_uplink_status', 'no_fixed_ips')
    _FIXED_IP_KEYS = (FIXED_IP_SUBNET_ID, FIXED_IP_SUBNET, FIXED_IP_IP_ADDRESS) = ('subnet_id', 'subnet', 'ip_address')
    ATTRIBUTES = (
        ADMIN_STATE_UP_ATTR, DEVICE_ID_ATTR, DEVICE_OWNER_ATTR, FIXED_IPS_ATTR, MAC_ADDRESS_ATTR, NAME_ATTR,
        NETWORK_ID_ATTR, SECURITY_GROUPS_ATTR, STATUS, TENANT_ID, ALLOWED_ADDRESS_PAIRS_ATTR, SUBNETS_ATTR,
        PORT_SECURITY_ENABLED_ATTR, QOS_POLICY_ATTR, DNS_ASSIGNMENT, PROPAGATE_UPLINK_STATUS_ATTR, NETWORK_ATTR) = (
        'admin_state_up', 'device_id', 'device_owner', 'fixed_ips', 'mac_address', 'name', 'network_id',
        'security_groups', 'status', 'tenant_id', 'allowed_address_pairs', 'subnets', 'port_security_enabled',
        'qos_policy_id', 'dns_assignment', 'propagate_uplink_status', 'network')

    def translation_rules(self, properties: Properties) -> list[translation.TranslationRule]:
        rule, neutron_plugin = translation.TranslationRule, self.client_plugin()
        return [
            rule(properties, rule.REPLACE, [self.NETWORK], value_path=[self.NETWORK_ID]),
            rule(properties, rule.REPLACE, [self.FIXED_IPS, self.FIXED_IP_SUBNET], value_name=self.FIXED_IP_SUBNET_ID),
            rule(properties, rule.RESOLVE, [self.NETWORK], client_plugin=neutron_plugin,
                 finder='find_resourceid_by_name_or_id', entity='network'),
            rule(properties, rule.RESOLVE, [self.FIXED_IPS, self.FIXED_IP_SUBNET], client_plugin=neutron_plugin,
                 finder='find_resourceid_by_name_or_id', entity='subnet'),
        ]

    def add_dependencies(self, deps: Edges) -> None:
        """Subnets of its network: without them it would get no address."""
        super().add_dependencies(deps)
        network = edges.value(self, self.NETWORK)
        for subnet in edges.of_type(self, 'OS::Neutron::Subnet'):
            if network is not None and edges.value(subnet, 'network') == network:
                deps += (self, subnet)

    def validate(self) -> None:
        super().validate()
        if self.properties[self.NO_FIXED_IPS] is True and self.properties[self.FIXED_IPS]:
            raise exception.ResourcePropertyConflict(self.NO_FIXED_IPS, self.FIXED_IPS)

    # --- its life -----------------------------------------------------------------------------------------

    def handle_create(self) -> None:
        body = self.prepare_properties(self.properties, self.physical_resource_name())
        body['network_id'] = body.pop(self.NETWORK)
        tags = body.pop(self.TAGS, [])
        self._prepare_port_properties(body)
        port_id = self._created(lambda: str(self.client().create_port({'port': body})['port']['id']))
        self.resource_id_set(port_id)
        if tags:
            self.set_tags(tags)

    def find_existing(self) -> str | None:
        return self._find_by_name(network_id=self.properties[self.NETWORK])

    def check_create_complete(self, *args: object) -> bool:
        return self.is_built(self._show_resource())

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: PropertyDiff) -> None:
        if not prop_diff:
            return
        self.prepare_update_properties(prop_diff)
        if 'binding:profile' in prop_diff:
            prop_diff['binding:profile'] = {**(self._show_resource().get('binding:profile') or {}),
                                            **(prop_diff['binding:profile'] or {})}
        if self.TAGS in prop_diff:
            self.set_tags(prop_diff.pop(self.TAGS))
        after = json_snippet.properties(self.properties_schema, self.context)
        self._reset_removed(prop_diff)
        self._prepare_port_properties(prop_diff, after=after)
        if prop_diff:
            self.client().update_port(self.resource_id, {'port': prop_diff})

    def check_update_complete(self, *args: object) -> bool:
        return self.is_built(self._show_resource())

    def handle_delete(self) -> bool | None:
        return self._delete_entity()

    def _reset_removed(self, body: PropertyDiff) -> None:
        """Give properties that were removed what a new port has: Neutron takes no null for them."""
        for name, value in REMOVED.items():
            if body.get(name, value) is None:
                body[name] = value
        if body.get(self.PORT_SECURITY_ENABLED, True) is None:
            network = self.client().show_network(self._show_resource()['network_id'])['network']
            body[self.PORT_SECURITY_ENABLED] = network.get('port_security_enabled', True)

    def _prepare_port_properties(self, body: PropertyDiff, after: object = None) -> None:
        """Make the service's fields of the template's, in place. `after`: the new properties, for an update."""
        body.pop(self.REPLACEMENT_POLICY, None)
        no_fixed_ips = body.pop(self.NO_FIXED_IPS, None)
        if body.get(self.FIXED_IPS):
            body[self.FIXED_IPS] = [self._fixed_ip(entry) for entry in body[self.FIXED_IPS]]
        if no_fixed_ips:
            body[self.FIXED_IPS] = []
        elif after is not None and body.get(self.FIXED_IPS, '') is None:
            del body[self.FIXED_IPS]            # no longer asked for in particular: it keeps what it has
        for pair in body.get(self.ALLOWED_ADDRESS_PAIRS) or ():
            if self.MAC_ADDRESS in pair and pair[self.MAC_ADDRESS] is None:
                del pair[self.MAC_ADDRESS]
        if after is not None and body.get(self.ALLOWED_ADDRESS_PAIRS, '') is None:
            body[self.ALLOWED_ADDRESS_PAIRS] = []
        if self.SECURITY_GROUPS in body:
            groups = body[self.SECURITY_GROUPS]
            if groups is not None:
                body[self.SECURITY_GROUPS] = self.client_plugin().get_secgroup_uuids(groups)
            elif after is not None:             # none in particular is the project's default group
                body[self.SECURITY_GROUPS] = self.client_plugin().get_secgroup_uuids(['default'])
        if self.QOS_POLICY in body:
            policy = body.pop(self.QOS_POLICY)
            body['qos_policy_id'] = self.client_plugin().get_qos_policy_id(policy) if policy else None

    def _fixed_ip(self, entry: dict[str, object]) -> dict[str, object]:
        found = {key: value for key, value in entry.items() if value is not None}
        if self.FIXED_IP_SUBNET in found:
            found['subnet_id'] = found.pop(self.FIXED_IP_SUBNET)
        return found

    # --- attributes ---------------------------------------------------------------------------------------

    def _resolve_attribute(self, name: str) -> object:
        if not self.resource_id:
            return None
        shown = self._show_resource()
        match name:
            case self.SUBNETS_ATTR:
                return [self.client().show_subnet(entry['subnet_id'])['subnet'] for entry in shown['fixed_ips']
                        if entry.get('subnet_id')]
            case self.NETWORK_ATTR:
                return self.client().show_network(shown['network_id'])['network']
        return shown.get(name)

    def parse_live_resource_data(self, resource_properties: Properties,
                                 resource_data: Mapping[str, object]) -> dict[str, object]:
        live: PropertyDiff = super().parse_live_resource_data(resource_properties, resource_data)
        live.pop(self.VALUE_SPECS, None)
        if live.get(self.DNS_NAME) == str(resource_properties.get(self.DNS_NAME)).lower():
            del live[self.DNS_NAME]                 # stored in small letters
        for name in (self.DEVICE_ID, self.DEVICE_OWNER):
            if not resource_properties[name]:
                live.pop(name, None)                # set by the service that plugged it in: no drift
        if self.FIXED_IPS in live:
            live[self.FIXED_IPS] = [{self.FIXED_IP_SUBNET: entry['subnet_id'],
                                     self.FIXED_IP_IP_ADDRESS: entry['ip_address']} for entry in live[self.FIXED_IPS]]
        for name in (self.FIXED_IPS, self.ALLOWED_ADDRESS_PAIRS):
            if name in live and covers(live[name], resource_properties[name]):
                del live[name]                      # the service has filled in the rest
        # Groups and a policy are left out if they are the same, by other names, or not to be found.
        with contextlib.suppress(exception.HeatException):
            if resource_properties.get(self.QOS_POLICY):
                wanted = self.client_plugin().get_qos_policy_id(resource_properties[self.QOS_POLICY])
                if wanted != resource_data.get('qos_policy_id'):
                    live[self.QOS_POLICY] = resource_data.get('qos_policy_id')
        groups = live.pop(self.SECURITY_GROUPS, None)
        with contextlib.suppress(exception.HeatException):
            if groups is not None and set(groups) != set(
                    self.client_plugin().get_secgroup_uuids(resource_properties[self.SECURITY_GROUPS])):
                live[self.SECURITY_GROUPS] = groups
        return live

    # --- replacing ----------------------------------------------------------------------------------------

    always_inspected = False                # the policy decides about updates that look at the port

    def needs_replace(self, after_props: Properties) -> bool:
        return bool(after_props.get(self.REPLACEMENT_POLICY) == 'REPLACE_ALWAYS')

    def prepare_for_replace(self) -> None:
        """Give up its addresses, so that the replacement can have them; store them first, for an update that returns to
        it. A release that was interrupted has stored them: the port may have none any more."""
        if self.resource_id is None:
            return
        with self.client_plugin().ignore_not_found:
            if not self.was_released():
                self.data_set(FIXED_IPS_KEPT, json.dumps(self._show_resource().get('fixed_ips') or []))
                self.note_release()
            self.client().update_port(self.resource_id, {'port': {'fixed_ips': []}})

    def was_released(self) -> bool:
        return FIXED_IPS_KEPT in self.data()

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        """Take its addresses back from the replacement."""
        kept = self.data().get(FIXED_IPS_KEPT)
        if kept is None or self.resource_id is None:
            return
        replacement = self.stack.physical_id_of(self.replaced_by) if self.replaced_by else None
        if replacement:
            with self.client_plugin().ignore_not_found:
                self.client().update_port(replacement, {'port': {'fixed_ips': []}})
        with self.client_plugin().ignore_not_found:
            self.client().update_port(self.resource_id, {'port': {'fixed_ips': json.loads(kept)}})
        self.data_delete(FIXED_IPS_KEPT)


def covers(real: list[dict[str, object]], wanted: list[dict[str, object]]) -> bool:
    """Each entry has its counterpart that says the same, and perhaps more."""
    def says(entry: dict[str, object], asked: dict[str, object]) -> bool:
        return all(entry.get(key) == value for key, value in asked.items() if value is not None)
    return len(real) == len(wanted) and all(any(says(entry, asked) for entry in real) for asked in wanted)


def resource_mapping() -> dict[str, type[Port]]:
    return {TYPE: Port}
