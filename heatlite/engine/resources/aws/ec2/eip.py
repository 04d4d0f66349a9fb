"""AWS::EC2::EIP: a floating address; AWS::EC2::EIPAssociation: where it leads.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.clients.os import http
from heatlite.engine.clients.os.collection import Fields
from heatlite.engine.properties import Properties, PropertyDiff, Values
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.aws.ec2 import vpc
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

TYPE, ASSOCIATION_TYPE = 'AWS::EC2::EIP', 'AWS::EC2::EIPAssociation'


class ElasticIp(resource.Resource):
    """A floating IP address of the only external network. Its reference is the address."""

    default_client_name = 'nova'
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (DOMAIN, INSTANCE_ID) = ('Domain', 'InstanceId')
    ATTRIBUTES = (ALLOCATION_ID,) = ('AllocationId',)

    def handle_create(self) -> None:
        neutron = self.client('neutron')
        body = {'floating_network_id': vpc.external_network_id(neutron), 'description': self.physical_resource_name()}
        try:
            made = neutron.create_floatingip({'floatingip': body})['floatingip']
        except Exception as error:
            found = self._by_mark() if http.reply_was_lost(error) else None
            if found is None:
                raise
            made = found
        self.data_set('address', made['floating_ip_address'])
        self.resource_id_set(made['id'])
        if self.properties[self.INSTANCE_ID]:
            self.client_plugin().associate_floatingip(self.properties[self.INSTANCE_ID], made['id'])

    def _by_mark(self) -> Fields | None:
        """An address has no name; ours carry the resource's as description."""
        mark = self.physical_resource_name()
        found = self.client('neutron').list_floatingips(description=mark)['floatingips']
        return next((each for each in found if each.get('description') == mark), None)

    def find_existing(self) -> str | None:
        found = self._by_mark()
        return str(found['id']) if found else None

    def _ipaddress(self) -> str | None:
        kept = self.data().get('address')
        if kept is None and self.resource_id is not None:
            with self.client_plugin('neutron').ignore_not_found:
                return str(self.client('neutron').show_floatingip(
                    self.resource_id)['floatingip']['floating_ip_address'])
        return kept

    def get_reference_id(self) -> str:
        return self._ipaddress() or str(self.name)

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: dict[str, object]) -> None:
        if self.INSTANCE_ID not in prop_diff:
            return
        if prop_diff[self.INSTANCE_ID]:
            self.client_plugin().associate_floatingip(prop_diff[self.INSTANCE_ID], self.resource_id)
        else:
            self.client_plugin().dissociate_floatingip(self.resource_id)

    def handle_delete(self) -> None:
        if self.resource_id is not None:
            with self.client_plugin('neutron').ignore_not_found:
                self.client('neutron').delete_floatingip(self.resource_id)

    def _resolve_attribute(self, name: str) -> object:
        return self.resource_id if name == self.ALLOCATION_ID else None


class ElasticIpAssociation(resource.Resource):
    """Associates a floating IP address with an instance, or with one of its interfaces."""

    default_client_name = 'nova'
    repaired_in_place = True
    validates_at_creation = True
    support_status = catalogue.status(ASSOCIATION_TYPE)
    properties_schema = catalogue.properties(ASSOCIATION_TYPE)
    attributes_schema = catalogue.attribute_schemata(ASSOCIATION_TYPE)

    PROPERTIES = (INSTANCE_ID, EIP, ALLOCATION_ID, NETWORK_INTERFACE_ID) = (
        'InstanceId', 'EIP', 'AllocationId', 'NetworkInterfaceId')

    def get_reference_id(self) -> str:
        return self.physical_resource_name() or str(self.name)

    def validate(self) -> None:
        """Raise ResourcePropertyConflict, PropertyUnspecifiedError, ResourcePropertyDependency."""
        super().validate()
        deferred = self.t.deferred
        given = {name for name in self.PROPERTIES if name in deferred or self.properties[name]}
        if {self.EIP, self.ALLOCATION_ID} <= given:
            raise exception.ResourcePropertyConflict(self.EIP, self.ALLOCATION_ID)
        if not {self.EIP, self.ALLOCATION_ID} & given:
            raise exception.PropertyUnspecifiedError(self.EIP, self.ALLOCATION_ID)
        if self.EIP in given and self.INSTANCE_ID not in given:
            raise exception.ResourcePropertyDependency(prop1=self.EIP, prop2=self.INSTANCE_ID)
        if self.ALLOCATION_ID in given and not {self.INSTANCE_ID, self.NETWORK_INTERFACE_ID} & given:
            raise exception.PropertyUnspecifiedError(self.INSTANCE_ID, self.NETWORK_INTERFACE_ID)

    def find_existing(self) -> None:
        """Associating again does no harm."""

    def handle_create(self) -> None:
        self._associate({name: self.properties[name] for name in self.PROPERTIES})
        self.resource_id_set(self.properties[self.EIP] or self.properties[self.ALLOCATION_ID])

    def _associate(self, wanted: Values) -> None:
        if wanted[self.EIP]:
            self.client_plugin().associate_floatingip_address(wanted[self.INSTANCE_ID], wanted[self.EIP])
            return
        port = self._port(wanted)
        self._open_way(wanted[self.ALLOCATION_ID], port['network_id'])
        self.client('neutron').update_floatingip(wanted[self.ALLOCATION_ID], {'floatingip': {'port_id': port['id']}})

    def _port(self, wanted: Mapping[str, object]) -> Fields:
        """Raise Error when the instance has none."""
        neutron = self.client('neutron')
        if wanted[self.NETWORK_INTERFACE_ID]:
            port: Fields = neutron.show_port(wanted[self.NETWORK_INTERFACE_ID])['port']
            return port
        found: list[Fields] = neutron.list_ports(device_id=wanted[self.INSTANCE_ID])['ports']
        if not found:
            raise exception.Error(_('No port of instance %s was found.') % wanted[self.INSTANCE_ID])
        return found[0]

    def _open_way(self, floating_id: str, network_id: str) -> None:
        """The VPC's router must lead to the network of the address."""
        neutron = self.client('neutron')
        router = vpc.router_for_vpc(neutron, network_id)
        if router is not None and not router.get('external_gateway_info'):
            floating = neutron.show_floatingip(floating_id)['floatingip']
            neutron.add_gateway_router(router['id'], {'network_id': floating['floating_network_id']})

    def _dissociate(self) -> None:
        plugin = self.client_plugin()
        with self.client_plugin('neutron').ignore_not_found:
            if self.properties[self.EIP]:
                plugin.dissociate_floatingip_address(self.properties[self.EIP])
            else:
                plugin.dissociate_floatingip(self.properties[self.ALLOCATION_ID])

    def needs_replace_with_prop_diff(self, changed_properties_set: set[str], after_props: Properties,
                                     before_props: Properties) -> bool:
        """An address stays with one resource as long as one of both ends does."""
        ends = ({self.EIP, self.ALLOCATION_ID}, {self.INSTANCE_ID, self.NETWORK_INTERFACE_ID})
        return all(end & changed_properties_set for end in ends)

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: PropertyDiff) -> None:
        if not prop_diff and not self.is_uncertain:
            return
        wanted = {name: prop_diff.get(name, self.properties[name]) for name in self.PROPERTIES}
        if self.EIP in prop_diff or self.ALLOCATION_ID in prop_diff:
            self._dissociate()
        self._associate(wanted)
        self.resource_id_set(wanted[self.EIP] or wanted[self.ALLOCATION_ID])

    def handle_delete(self) -> None:
        if self.resource_id is not None:
            self._dissociate()


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: ElasticIp, ASSOCIATION_TYPE: ElasticIpAssociation}
