"""OS::Heat::SoftwareConfig, and the base of all types that are a config.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from heatlite.common.context import RequestContext
from heatlite.engine import resource
from heatlite.engine.resources import catalogue
from heatlite.rpc.software import ConfigEntry, ShownConfig

NAME = 'OS::Heat::SoftwareConfig'
EMPTY = {'String': '', 'Number': 0, 'CommaDelimitedList': [], 'Json': {}, 'Boolean': False}


class SoftwareConfig(resource.Resource):
    """A configuration for servers as a text, with inputs and outputs. It never changes: an update makes a new one."""

    default_client_name = 'heat'
    entity = 'software_configs'

    PROPERTIES: tuple[str, ...]
    PROPERTIES = (GROUP, CONFIG, OPTIONS, INPUTS, OUTPUTS) = ('group', 'config', 'options', 'inputs', 'outputs')
    ATTRIBUTES: tuple[str, ...]
    ATTRIBUTES = (CONFIG_ATTR,) = ('config',)

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    @classmethod
    def is_service_available(cls, context: RequestContext) -> tuple[bool, str | None]:
        """The service is this one."""
        return True, None

    # --- what it is ---------------------------------------------------------------------------------------

    def fields(self) -> dict[str, object]:
        """Return the fields of the config as stored."""
        return {'group': self.properties[self.GROUP], 'config': self.properties[self.CONFIG],
                'options': self.properties[self.OPTIONS], 'inputs': self.declared_inputs(),
                'outputs': self.declared_outputs()}

    def declared_inputs(self) -> list[ConfigEntry]:
        found: list[ConfigEntry] = []
        for given in self.properties[self.INPUTS] or ():
            kind = given['type']
            default = given['default'] if given['default'] is not None else EMPTY[kind]
            entry: ConfigEntry = {'name': given['name'], 'type': kind, 'default': default,
                     'description': given['description'] or ''}
            if given['replace_on_change']:
                entry['replace_on_change'] = True
            found.append(entry)
        return found

    def declared_outputs(self) -> list[ConfigEntry]:
        return [{'name': given['name'], 'type': given['type'], 'description': given['description'] or '',
                 'error_output': bool(given['error_output'])} for given in self.properties[self.OUTPUTS] or ()]

    # --- life ---------------------------------------------------------------------------------------------

    def handle_create(self) -> None:
        """The config has the id of the resource, so that it is made once, whatever happens."""
        made = self.rpc_client().create_software_config(
            self.context, config_id=self.uuid, name=self.physical_resource_name(), **self.fields())
        self.resource_id_set(made['id'])

    def find_existing(self) -> str | None:
        """Return the id of the resource, which is also that of the config; None if there is no config."""
        with self.rpc_client().ignore_error_by_name('NotFound'):
            return str(self.rpc_client().show_software_config(self.context, str(self.uuid))['id'])
        return None

    def handle_delete(self) -> None:
        if self.resource_id is not None:
            with self.rpc_client().ignore_error_by_name('NotFound'):
                self.rpc_client().delete_software_config(self.context, self.resource_id)

    # --- attributes ---------------------------------------------------------------------------------------

    def _stored(self) -> ShownConfig | None:
        if self.resource_id is None:
            return None
        with self.rpc_client().ignore_error_by_name('NotFound'):
            return self.rpc_client().show_software_config(self.context, self.resource_id)
        return None

    def _resolve_attribute(self, name: str) -> object:
        stored = self._stored()
        return stored['config'] if stored is not None and name == self.CONFIG_ATTR else None

    shows_none_when_gone = True

    def _show_resource(self) -> object:
        return self._stored()


def resource_mapping() -> dict[str, type[SoftwareConfig]]:
    return {NAME: SoftwareConfig}
