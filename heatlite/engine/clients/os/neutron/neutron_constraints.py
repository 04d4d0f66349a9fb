"""Checks that a value names something in the network service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import constraints
from heatlite.engine.clients.os import collection

if TYPE_CHECKING:
    from heatlite.engine.clients import OpenStackClients
    from heatlite.engine.clients.os.neutron import NeutronClientPlugin

FAILURES = (exception.EntityNotFound, exception.PhysicalResourceNameAmbiguity, collection.AmbiguousMatch)


class NeutronConstraint(constraints.BaseCustomConstraint):
    """Subclasses say `resource_name`, and `extension` when the thing is an optional part of the API."""

    expected_exceptions = FAILURES
    resource_name = ''
    extension: str | None = None

    def validate_with_client(self, client: OpenStackClients, value: str) -> None:
        plugin: NeutronClientPlugin = client.client_plugin('neutron')
        if self.extension and not plugin.has_extension(self.extension):
            raise exception.EntityNotFound(entity=_('neutron extension'), name=self.extension)
        self._look(plugin, value)

    def _look(self, plugin: NeutronClientPlugin, value: str) -> None:
        plugin.find_resourceid_by_name_or_id(self.resource_name, value)


class NeutronExtConstraint(NeutronConstraint):
    """For things that are found in the list of an extension."""

    def _look(self, plugin: NeutronClientPlugin, value: str) -> None:
        plugin.resolve_ext_resource(self.resource_name, value)


class NetworkConstraint(NeutronConstraint):
    resource_name = 'network'


class PortConstraint(NeutronConstraint):
    resource_name = 'port'


class RouterConstraint(NeutronConstraint):
    resource_name = 'router'


class SubnetConstraint(NeutronConstraint):
    resource_name = 'subnet'


class SubnetPoolConstraint(NeutronConstraint):
    resource_name = 'subnetpool'


class SecurityGroupConstraint(NeutronConstraint):
    resource_name = 'security_group'


class AddressScopeConstraint(NeutronConstraint):
    resource_name, extension = 'address_scope', 'address-scope'


class QoSPolicyConstraint(NeutronConstraint):
    resource_name, extension = 'policy', 'qos'


class PortPairConstraint(NeutronExtConstraint):
    resource_name, extension = 'port_pair', 'sfc'


class PortPairGroupConstraint(NeutronExtConstraint):
    resource_name, extension = 'port_pair_group', 'sfc'


class FlowClassifierConstraint(NeutronExtConstraint):
    resource_name, extension = 'flow_classifier', 'sfc'


class TapServiceConstraint(NeutronConstraint):
    resource_name, extension = 'tap_service', 'taas'


class TapFlowConstraint(NeutronConstraint):
    resource_name, extension = 'tap_flow', 'taas'


class LoadbalancerConstraint(NeutronConstraint):
    resource_name, extension = 'loadbalancer', 'lbaasv2'


class ListenerConstraint(NeutronConstraint):
    resource_name, extension = 'listener', 'lbaasv2'


class PoolConstraint(NeutronConstraint):
    resource_name, extension = 'lbaas_pool', 'lbaasv2'


class LBaasV2ProviderConstraint(constraints.BaseCustomConstraint):
    """A listed provider of load balancers."""

    def validate_with_client(self, client: OpenStackClients, value: str) -> None:
        providers = client.client('neutron').get('/service-providers')['service_providers']
        names = [entry['name'] for entry in providers if entry['service_type'] in ('LOADBALANCERV2', 'LOADBALANCER')]
        if value not in names:
            raise exception.EntityNotFound(entity=_('LBaaS provider'), name=value)
