"""A segment of a network, as a class: the base of plug-ins that know other kinds of networks.

The built-in type is a description; this says the same for those who subclass.
"""

from __future__ import annotations

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import translation
from heatlite.engine.properties import Properties
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.openstack.neutron import neutron
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

TYPE = 'OS::Neutron::Segment'


class Segment(neutron.NeutronResource):
    """A layer 2 piece of a network."""

    entity = 'segment'
    required_service_extension = 'segment'
    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (NETWORK, NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID, NAME, DESCRIPTION) = (
        'network', 'network_type', 'physical_network', 'segmentation_id', 'name', 'description')
    NETWORK_TYPES = ['local', 'vlan', 'vxlan', 'gre', 'geneve', 'flat']

    def translation_rules(self, properties: Properties) -> list[translation.TranslationRule]:
        rule = translation.TranslationRule
        return [rule(properties, rule.RESOLVE, [self.NETWORK], client_plugin=self.client_plugin('neutron'),
                     finder='find_resourceid_by_name_or_id', entity='network')]

    def validate(self) -> None:
        """Raise StackValidationFailed: numbers and physical networks go with some kinds only."""
        super().validate()
        kind = self.properties[self.NETWORK_TYPE]
        number, physical = self.properties[self.SEGMENTATION_ID], self.properties[self.PHYSICAL_NETWORK]
        if physical is not None and kind not in ('vlan', 'flat', None):
            raise exception.StackValidationFailed(message=_(
                'physical_network cannot be specified for %s network type.') % kind)
        if number is not None and kind == 'flat':
            raise exception.StackValidationFailed(message=_(
                'segmentation_id cannot be specified except 0 for using flat network type.'))

    def handle_create(self) -> None:
        body = self.prepare_properties(self.properties, self.physical_resource_name())
        body['network_id'] = body.pop(self.NETWORK)
        segment_id = self._created(
            lambda: str(self.client().create_segment({'segment': body})['segment']['id']))
        self.resource_id_set(segment_id)

    def find_existing(self) -> str | None:
        return self._find_by_name()

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: dict[str, object]) -> None:
        if prop_diff:
            self.prepare_update_properties(prop_diff)
            self.client().update_segment(self.resource_id, {'segment': prop_diff})

    def handle_delete(self) -> bool | None:
        return self._delete_entity()

    def needs_replace_failed(self) -> bool:
        if not self.resource_id:
            return True
        return self._not_found_in_call(self._show_resource)
