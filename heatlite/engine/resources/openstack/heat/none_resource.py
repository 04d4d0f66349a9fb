"""OS::Heat::None.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatlite.engine import attributes, properties, resource, rsrc_defn
from heatlite.engine.resources import catalogue

if TYPE_CHECKING:
    from heatlite.engine.properties import Properties
    from heatlite.engine.resource_update import Updates

TYPE = 'OS::Heat::None'


class NoneResource(resource.Resource):
    """Stands in for any type: accepts every property, and every attribute of it is null.

    An environment maps a type to it where nothing of that type is wanted.
    """

    validates_at_creation = False
    support_status = catalogue.status(TYPE)
    idempotent_create = True
    accepts_anything = accepts_any_attribute = True     # no property is unknown, and no attribute

    properties_schema: dict[str, properties.Schema] = {}
    attributes_schema: dict[str, attributes.Schema] = {}

    def reparse(self, client_resolve: bool = True) -> None:
        self.properties = properties.Properties(self.properties_schema, {}, parent_name=self.name)

    def frozen_definition(self) -> rsrc_defn.ResourceDefinition:
        return self.t.freeze(properties={})

    def properties_to_store(self, definition: object = None) -> dict[str, object]:
        return {}

    def validate(self) -> None:
        """Accept all properties."""

    def handle_create(self) -> None:
        self.resource_id_set(self.runtime.uuid())

    always_inspected = False

    def _needs_update(self, after: object, before: object, after_props: Properties, before_props: Properties,
                      prev_resource: Updates, check_init_complete: bool = True) -> bool:
        return False

    def get_attribute(self, key: str, *path: object) -> None:
        return None


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: NoneResource}
