"""AWS::EC2::RouteTable: a router beside the VPC's own; AWS::EC2::SubnetRouteTableAssociation moves a subnet to it.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from heatlite.engine import resource
from heatlite.engine.resources import catalogue, existing
from heatlite.engine.resources.aws.ec2 import vpc
from heatlite.engine.resources.openstack.neutron.neutron import NeutronResource

TYPE, ASSOCIATION_TYPE = 'AWS::EC2::RouteTable', 'AWS::EC2::SubnetRouteTableAssociation'
INTERFACES = 'network:router_interface'         # how the owner of a router's port in a subnet begins


class RouteTable(resource.Resource):
    """A router that leads where the VPC's own one leads."""

    default_client_name = 'neutron'
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (VPC_ID, TAGS) = ('VpcId', 'Tags')

    def handle_create(self) -> None:
        router_id = existing.create(self, lambda: str(self.client().create_router(
            {'router': {'name': self.physical_resource_name()}})['router']['id']))
        self.resource_id_set(router_id)

    def find_existing(self) -> str | None:
        return existing.choose(self, self.client().list_routers(name=self.physical_resource_name())['routers'],
                               own_name=True)

    def check_create_complete(self, *args: object) -> bool:
        if not NeutronResource.is_built(self.client().show_router(self.resource_id)['router']):
            return False
        default = vpc.router_for_vpc(self.client(), self.properties[self.VPC_ID])
        gateway = default.get('external_gateway_info') if default else None
        if gateway:
            self.client().add_gateway_router(self.resource_id, {'network_id': gateway['network_id']})
        return True

    def handle_delete(self) -> None:
        if self.resource_id is not None:
            with self.client_plugin().ignore_not_found:
                self.client().delete_router(self.resource_id)


class SubnetRouteTableAssociation(resource.Resource):
    """Connects a subnet to the router of a route table instead of the VPC's own, until it is deleted."""

    default_client_name = 'neutron'
    support_status = catalogue.status(ASSOCIATION_TYPE)
    properties_schema = catalogue.properties(ASSOCIATION_TYPE)
    attributes_schema = catalogue.attribute_schemata(ASSOCIATION_TYPE)
    repaired_in_place = True

    PROPERTIES = (ROUTE_TABLE_ID, SUBNET_ID) = ('RouteTableId', 'SubnetId')

    def handle_create(self) -> None:
        target = self.properties[self.ROUTE_TABLE_ID]
        for source in self._routers() - {target}:       # the VPC's own, or that of an association which this replaces
            self._leave(source)
        self._join(target)
        self.resource_id_set(self.physical_resource_name())     # there is nothing of its own

    def find_existing(self) -> None:
        """Moving again does no harm."""

    def object_key(self) -> object:
        return self.properties[self.SUBNET_ID], self.properties[self.ROUTE_TABLE_ID]

    def handle_delete(self) -> None:
        if self.is_taken_over():
            return
        with self.client_plugin().ignore_not_found:
            self._leave(self.properties[self.ROUTE_TABLE_ID])
            default = self._default_router()
            if default and not self._routers():
                self._join(default)

    def _default_router(self) -> str | None:
        network = self.client_plugin().network_id_from_subnet_id(self.properties[self.SUBNET_ID])
        router = vpc.router_for_vpc(self.client(), network)
        return str(router['id']) if router else None

    def _leave(self, router: str) -> None:
        if router in self._routers():
            with self.client_plugin().ignore_not_found:
                self.client().remove_interface_router(router, {'subnet_id': self.properties[self.SUBNET_ID]})

    def _join(self, router: str) -> None:
        if router not in self._routers():
            self.client().add_interface_router(router, {'subnet_id': self.properties[self.SUBNET_ID]})

    def _routers(self) -> set[str]:
        """The one that is the gateway of the subnet, if there is one."""
        subnet = self.client().show_subnet(self.properties[self.SUBNET_ID])['subnet']
        ports = self.client().list_ports(fixed_ips=f'subnet_id={subnet["id"]}')['ports']
        return {str(port['device_id']) for port in ports if str(port['device_owner']).startswith(INTERFACES)
                and any(ip['ip_address'] == subnet['gateway_ip'] for ip in port['fixed_ips'])}


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: RouteTable, ASSOCIATION_TYPE: SubnetRouteTableAssociation}
