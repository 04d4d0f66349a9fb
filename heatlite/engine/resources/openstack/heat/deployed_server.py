"""OS::Heat::DeployedServer.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.common.context import RequestContext
from heatlite.engine.resources import catalogue, server_base
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

TYPE = 'OS::Heat::DeployedServer'


class DeployedServer(server_base.BaseServer):
    """A server that the stack does not make, whose agents fetch software configurations from this service."""

    default_client_name = 'heat'
    PROPERTIES = (NAME, METADATA, SOFTWARE_CONFIG_TRANSPORT, DEPLOYMENT_SWIFT_DATA) = (
        'name', 'metadata', 'software_config_transport', 'deployment_swift_data')
    ATTRIBUTES = (NAME_ATTR, OS_COLLECT_CONFIG) = ('name', 'os_collect_config')

    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)
    support_status = catalogue.status(TYPE)

    @classmethod
    def is_service_available(cls, context: RequestContext) -> tuple[bool, str | None]:
        """The service is this one."""
        return True, None

    def handle_create(self) -> None:
        self.resource_id_set(self.uuid)
        self._create_transport_credentials(self.properties)
        self._populate_deployments_metadata(dict(self.metadata_get(True) or {}), self.properties)

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> None:
        after = json_snippet.properties(self.properties_schema, self.context)
        if tmpl_diff.metadata_changed():
            self.metadata_update(json_snippet.metadata())
        if self.SOFTWARE_CONFIG_TRANSPORT in prop_diff or self.DEPLOYMENT_SWIFT_DATA in prop_diff:
            self._update_software_config_transport(prop_diff, after)

    def handle_delete(self) -> None:
        self._delete_transport()

    def handle_snapshot_delete(self, state: object) -> None:
        """Delete without a snapshot: the server is not managed by the stack."""
        self._delete_transport()

    def _resolve_attribute(self, name: str) -> object:
        match name:
            case 'name':
                return self.properties[self.NAME] or self.physical_resource_name()
            case 'os_collect_config':
                return (self.metadata_get(refresh=True) or {}).get('os-collect-config')
        return None

    def _show_resource(self) -> None:
        return None


def resource_mapping() -> dict[str, type[DeployedServer]]:
    return {TYPE: DeployedServer}
