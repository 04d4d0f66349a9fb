"""AWS::EC2::NetworkInterface: a port.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from heatlite.engine import resource
from heatlite.engine.resources import catalogue, existing
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

TYPE = 'AWS::EC2::NetworkInterface'


class NetworkInterface(resource.Resource):
    """A port in a subnet, for an instance."""

    default_client_name = 'neutron'
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (DESCRIPTION, GROUP_SET, PRIVATE_IP_ADDRESS, SOURCE_DEST_CHECK, SUBNET_ID, TAGS) = (
        'Description', 'GroupSet', 'PrivateIpAddress', 'SourceDestCheck', 'SubnetId', 'Tags')

    def handle_create(self) -> None:
        subnet = self.properties[self.SUBNET_ID]
        address = {'subnet_id': subnet}
        if self.properties[self.PRIVATE_IP_ADDRESS]:
            address['ip_address'] = self.properties[self.PRIVATE_IP_ADDRESS]
        body: dict[str, object] = {'name': self.physical_resource_name(), 'admin_state_up': True,
                                   'network_id': self.client_plugin().network_id_from_subnet_id(subnet),
                                   'fixed_ips': [address]}
        if self.properties[self.GROUP_SET] is not None:
            body['security_groups'] = self.client_plugin().get_secgroup_uuids(self.properties[self.GROUP_SET])
        port_id = existing.create(self, lambda: str(self.client().create_port({'port': body})['port']['id']))
        self.resource_id_set(port_id)

    def find_existing(self) -> str | None:
        return existing.choose(self, self.client().list_ports(name=self.physical_resource_name())['ports'],
                               own_name=True)

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: dict[str, object]) -> None:
        if self.GROUP_SET in prop_diff:
            groups = self.client_plugin().get_secgroup_uuids(prop_diff[self.GROUP_SET] or ['default'])
            self.client().update_port(self.resource_id, {'port': {'security_groups': groups}})

    def handle_delete(self) -> None:
        if self.resource_id is not None:
            with self.client_plugin().ignore_not_found:
                self.client().delete_port(self.resource_id)

    def _resolve_attribute(self, name: str) -> object:
        if name != self.PRIVATE_IP_ADDRESS or self.resource_id is None:
            return None
        fixed = self.client().show_port(self.resource_id)['port']['fixed_ips']
        return fixed[0]['ip_address'] if fixed else None


def resource_mapping() -> dict[str, type[NetworkInterface]]:
    return {TYPE: NetworkInterface}
