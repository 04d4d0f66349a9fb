"""AWS::EC2::VPC: a network, and a router of the same name.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.resources import catalogue, existing
from heatlite.engine.resources.openstack.neutron.neutron import NeutronResource

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Fields
    from heatlite.engine.clients.os.neutron.client import NetworkClient

TYPE = 'AWS::EC2::VPC'


class VPC(resource.Resource):
    """A network of its own. Its subnets are connected to its router, which is found by the network's name."""

    default_client_name = 'neutron'
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (CIDR_BLOCK, INSTANCE_TENANCY, TAGS) = ('CidrBlock', 'InstanceTenancy', 'Tags')

    def handle_create(self) -> None:
        network_id = existing.create(self, lambda: str(self.client().create_network(
            {'network': {'name': self.physical_resource_name()}})['network']['id']))
        self.resource_id_set(network_id)
        self._router()

    def find_existing(self) -> str | None:
        found = self.client().list_networks(name=self.physical_resource_name())['networks']
        return existing.choose(self, found, own_name=True)

    def _router(self) -> Fields:
        """Return the router. Makes it if there is none, as after a crash when only the network was made."""
        found = router_for_vpc(self.client(), str(self.resource_id))
        return found or self.client().create_router({'router': {'name': self.physical_resource_name()}})['router']

    def check_create_complete(self, *args: object) -> bool:
        network = self.client().show_network(self.resource_id)['network']
        return NeutronResource.is_built(network) and NeutronResource.is_built(self._router())

    def handle_delete(self) -> None:
        if self.resource_id is None:
            return
        with self.client_plugin().ignore_not_found:
            router = router_for_vpc(self.client(), str(self.resource_id))
            if router:
                self.client().delete_router(router['id'])
        with self.client_plugin().ignore_not_found:
            self.client().delete_network(self.resource_id)


def router_for_vpc(client: NetworkClient, network_id: str) -> Fields | None:
    """The VPC's own router; None when there is none."""
    name = client.show_network(network_id)['network']['name']
    found = [router for router in client.list_routers(name=name)['routers'] if router['name'] == name]
    return found[0] if found else None


def external_network_id(client: NetworkClient) -> str:
    """Return the id of the only external network. Raises Error when there is none, or more than one."""
    found = client.list_networks(**{'router:external': True})['networks']
    if len(found) != 1:
        raise exception.Error(_('Expected 1 external network, found %d') % len(found))
    return str(found[0]['id'])


def resource_mapping() -> dict[str, type[VPC]]:
    return {TYPE: VPC}
