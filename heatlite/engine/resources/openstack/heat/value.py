"""OS::Heat::Value.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.engine import properties, resource
from heatlite.engine.resources import catalogue
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

TYPE_NAME = 'OS::Heat::Value'


class Value(resource.Resource):
    """A value of any type under a name, to compute something once and use it in several places."""

    validates_at_creation = False           # its check is that of its properties
    support_status = catalogue.status(TYPE_NAME)
    properties_schema = catalogue.properties(TYPE_NAME)
    attributes_schema = catalogue.attribute_schemata(TYPE_NAME)
    idempotent_create = True
    validates_alone = True

    PROPERTIES = (VALUE, TYPE) = ('value', 'type')
    ATTRIBUTES = (VALUE_ATTR,) = ('value',)
    KINDS = {
        'string': properties.Schema.STRING, 'number': properties.Schema.NUMBER,
        'comma_delimited_list': properties.Schema.LIST, 'json': properties.Schema.MAP,
        'boolean': properties.Schema.BOOLEAN,
    }

    def reparse(self, client_resolve: bool = True) -> None:
        """`type` says what the value is checked against; it is handed out as it was given."""
        super().reparse(client_resolve)
        kind = self.properties.get_user_value(self.TYPE)
        if kind in self.KINDS:
            self.properties = properties.Properties(
                self._typed(kind), self.properties.given, self.properties.resolve, self.name, self.context,
                deferred=self.properties.deferred)

    def validate(self) -> object:
        self.reparse()
        return super().validate()

    def _typed(self, kind: str) -> Mapping[str, object]:
        typed = properties.Schema(self.KINDS[kind], required=True, update_allowed=True)
        return {**self.properties_schema, self.VALUE: typed}

    def handle_create(self) -> None:
        self.resource_id_set(self.physical_resource_name())

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> None:
        """The new value is stored with the properties; nothing else is to be done."""

    def _resolve_attribute(self, name: str) -> object:
        stored = self.frozen_definition().properties(self.properties_schema, self.context)
        return stored[self.VALUE] if name == self.VALUE_ATTR else None


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE_NAME: Value}
