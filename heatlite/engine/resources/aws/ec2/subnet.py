"""AWS::EC2::Subnet: a subnet that is plugged into the router of its VPC.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from heatlite.engine import resource
from heatlite.engine.resources import catalogue, existing
from heatlite.engine.resources.aws.ec2 import vpc

TYPE = 'AWS::EC2::Subnet'


class Subnet(resource.Resource):
    """A subnet of a VPC."""

    default_client_name = 'neutron'
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (AVAILABILITY_ZONE, CIDR_BLOCK, VPC_ID, TAGS) = ('AvailabilityZone', 'CidrBlock', 'VpcId', 'Tags')

    def handle_create(self) -> None:
        body = {'network_id': self.properties[self.VPC_ID], 'cidr': self.properties[self.CIDR_BLOCK],
                'name': self.physical_resource_name(), 'ip_version': 4}
        subnet_id = existing.create(self, lambda: str(self.client().create_subnet({'subnet': body})['subnet']['id']))
        self.resource_id_set(subnet_id)
        self._plug()

    def find_existing(self) -> str | None:
        """Return the id of the subnet that an interrupted create has made. The check adds it to the router."""
        return existing.choose(self, self.client().list_subnets(name=self.physical_resource_name())['subnets'],
                               own_name=True)

    def check_create_complete(self, *args: object) -> bool:
        self._plug()
        return True

    def _plug(self) -> None:
        router = vpc.router_for_vpc(self.client(), self.properties[self.VPC_ID])
        if router is None:
            return
        ports = self.client().list_ports(device_id=router['id'])['ports']
        if not any(ip['subnet_id'] == self.resource_id for port in ports for ip in port['fixed_ips']):
            self.client().add_interface_router(router['id'], {'subnet_id': self.resource_id})

    def handle_delete(self) -> None:
        if self.resource_id is None:
            return
        with self.client_plugin().ignore_not_found:
            router = vpc.router_for_vpc(self.client(), self.properties[self.VPC_ID])
            if router:
                self.client().remove_interface_router(router['id'], {'subnet_id': self.resource_id})
        with self.client_plugin().ignore_not_found:
            self.client().delete_subnet(self.resource_id)

    def _resolve_attribute(self, name: str) -> object:
        return self.properties[name] if name == self.AVAILABILITY_ZONE else None


def resource_mapping() -> dict[str, type[Subnet]]:
    return {TYPE: Subnet}
