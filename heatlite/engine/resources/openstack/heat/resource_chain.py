"""OS::Heat::ResourceChain.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.engine.resources import catalogue, group_outputs, members, packed_types
from heatlite.language.template import Template

NAME = 'OS::Heat::ResourceChain'


class ResourceChain(members.MemberGroup):
    """One member for each type of a list, all with the same properties, created one after the other."""

    PROPERTIES = (RESOURCES, CONCURRENT, RESOURCE_PROPERTIES) = ('resources', 'concurrent', 'resource_properties')
    ATTRIBUTES = (REFS, ATTR_ATTRIBUTES) = ('refs', 'attributes')

    member_attributes = group_outputs.INDEXED
    nested_members = staticmethod(packed_types.chain_members)

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def get_size(self) -> int:
        return len(self.properties[self.RESOURCES] or ())

    def _resource_names(self) -> list[str]:
        return [str(place) for place in range(len(self.properties[self.RESOURCES] or ()))]

    def child_template(self) -> Template:
        """Concurrent members need no order among themselves: how many start at once is the engine's business."""
        self.check_size(self.get_size())
        given = self.properties[self.RESOURCE_PROPERTIES] or {}
        found: dict[str, Mapping[str, object]] = {}
        for place, type_name in enumerate(self.properties[self.RESOURCES]):
            member: dict[str, object] = {'type': type_name, 'properties': given}
            if place and not self.properties[self.CONCURRENT]:
                member['depends_on'] = [str(place - 1)]
            found[str(place)] = member
        return self.assembled(found)


def resource_mapping() -> dict[str, type[ResourceChain]]:
    return {NAME: ResourceChain}
