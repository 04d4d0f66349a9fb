"""AWS::EC2::InternetGateway, which is nothing but a name, and AWS::EC2::VPCGatewayAttachment, which does the work.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from heatlite.engine import resource
from heatlite.engine.dependencies import Edges
from heatlite.engine.resources import catalogue, edges
from heatlite.engine.resources.aws.ec2 import vpc

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource

TYPE, ATTACHMENT_TYPE = 'AWS::EC2::InternetGateway', 'AWS::EC2::VPCGatewayAttachment'


class InternetGateway(resource.Resource):
    """The gateway of a VPC to the external network."""

    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)
    idempotent_create = True

    def handle_create(self) -> None:
        self.resource_id_set(self.physical_resource_name())

    def handle_delete(self) -> None:
        """Do nothing: no object of a service belongs to it."""


class VPCGatewayAttachment(resource.Resource):
    """Gives every route table of the VPC, in this stack, a gateway to the external network."""

    default_client_name = 'neutron'
    support_status = catalogue.status(ATTACHMENT_TYPE)
    properties_schema = catalogue.properties(ATTACHMENT_TYPE)
    attributes_schema = catalogue.attribute_schemata(ATTACHMENT_TYPE)
    idempotent_create = True
    repaired_in_place = True

    PROPERTIES = (VPC_ID, INTERNET_GATEWAY_ID, VPN_GATEWAY_ID) = ('VpcId', 'InternetGatewayId', 'VpnGatewayId')

    def add_dependencies(self, deps: Edges) -> None:
        super().add_dependencies(deps)
        for table in self._route_tables():
            deps += (self, table)

    def _route_tables(self) -> Iterator[Resource]:
        mine = edges.value(self, self.VPC_ID)
        for table in edges.of_type(self, 'AWS::EC2::RouteTable'):
            if mine is not None and edges.value(table, 'VpcId') == mine:
                yield table

    def handle_create(self) -> None:
        network = vpc.external_network_id(self.client())
        for table in self._route_tables():
            self.client().add_gateway_router(table.resource_id, {'network_id': network})
        self.resource_id_set(self.physical_resource_name())     # there is nothing of its own

    def object_key(self) -> object:
        return self.properties[self.VPC_ID]

    def handle_delete(self) -> None:
        if self.is_taken_over():
            return
        for table in self._route_tables():
            if table.resource_id is not None:
                with self.client_plugin().ignore_not_found:
                    self.client().remove_gateway_router(table.resource_id)


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: InternetGateway, ATTACHMENT_TYPE: VPCGatewayAttachment}
