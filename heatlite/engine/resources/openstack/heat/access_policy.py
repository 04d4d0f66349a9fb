"""OS::Heat::AccessPolicy.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.resources import catalogue

NAME = 'OS::Heat::AccessPolicy'


class AccessPolicy(resource.Resource):
    """Names the resources whose metadata a user inside the stack can read. The API reads it from the database."""

    validates_at_creation = True
    ALLOWED_RESOURCES = 'AllowedResources'
    idempotent_create = True

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def handle_create(self) -> None:
        self.resource_id_set(self.physical_resource_name())

    def validate(self) -> object:
        found = super().validate()
        allowed = self.properties[self.ALLOWED_RESOURCES]
        for name in allowed if isinstance(allowed, list) else ():       # else it is not known yet
            if isinstance(name, str) and name not in self.stack:
                raise exception.StackValidationFailed(
                    message=_('AccessPolicy resource %s not in stack') % name)
        return found

    def access_allowed(self, resource_name: str) -> bool:
        return resource_name in self.properties[self.ALLOWED_RESOURCES]


def resource_mapping() -> dict[str, type[AccessPolicy]]:
    return {NAME: AccessPolicy}
