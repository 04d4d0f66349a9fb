"""OS::Neutron::SecurityGroup.

Schema: heatlite/engine/resources/catalogue/neutron.yaml
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.clients.os.collection import Fields, without_none
from heatlite.engine.properties import Properties, PropertyDiff
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.openstack.neutron import neutron, security_rules
from heatlite.engine.resources.openstack.neutron.security_rules import Rule
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

TYPE = 'OS::Neutron::SecurityGroup'
STATEFUL_EXTENSION = 'stateful-security-group'
SHOWN = ('direction', 'ethertype', 'port_range_min', 'port_range_max', 'protocol', 'remote_group_id',
         'remote_ip_prefix', 'description')     # of a rule that drifted
DEFAULT_RULES = ({'direction': 'egress', 'ethertype': 'IPv4'}, {'direction': 'egress', 'ethertype': 'IPv6'})


class SecurityGroup(neutron.NeutronResource):
    """A set of rules for the traffic of ports. The rules are exactly those of the template.

    Without rules for what goes out, everything may.
    """

    entity = 'security_group'
    required_service_extension = 'security-group'
    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (NAME, DESCRIPTION, RULES, STATEFUL) = ('name', 'description', 'rules', 'stateful')
    _RULE_KEYS = (RULE_DIRECTION, RULE_ETHERTYPE, RULE_PORT_RANGE_MIN, RULE_PORT_RANGE_MAX, RULE_PROTOCOL,
                  RULE_REMOTE_MODE, RULE_REMOTE_GROUP_ID, RULE_REMOTE_IP_PREFIX, RULE_DESCRIPTION) = (
        'direction', 'ethertype', 'port_range_min', 'port_range_max', 'protocol', 'remote_mode', 'remote_group_id',
        'remote_ip_prefix', 'description')

    def validate(self) -> None:
        super().validate()
        if self.properties[self.NAME] == 'default':
            raise exception.StackValidationFailed(message=_(
                'Security groups cannot be assigned the name "default".'))
        if self.properties.is_given(self.STATEFUL) and not self.client_plugin().has_extension(STATEFUL_EXTENSION):
            raise exception.StackValidationFailed(message=_(
                'Property %(name)s is not supported: the extension %(alias)s is missing.') % {
                    'name': self.STATEFUL, 'alias': STATEFUL_EXTENSION})

    # --- its life -----------------------------------------------------------------------------------------

    def handle_create(self) -> None:
        body = self.prepare_properties(self.properties, self.physical_resource_name())
        body.pop(self.RULES, None)
        group_id = self._created(
            lambda: str(self.client().create_security_group({'security_group': body})['security_group']['id']))
        self.resource_id_set(group_id)

    def find_existing(self) -> str | None:
        """Return the id of a group that an interrupted create has left. `check_create_complete` adds its rules."""
        return self._find_by_name()

    def check_create_complete(self, *args: object) -> bool:
        """Rules are made sure of here: a group found after a crash may have none yet."""
        self._make_rules_so(self.properties[self.RULES])
        return True

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: PropertyDiff) -> None:
        if not prop_diff:
            return
        changes_rules = self.RULES in prop_diff
        rules = prop_diff.pop(self.RULES, None)
        self.prepare_update_properties(prop_diff)
        if prop_diff.get(self.DESCRIPTION, '') is None:
            prop_diff[self.DESCRIPTION] = ''
        if prop_diff:
            self.client().update_security_group(self.resource_id, {'security_group': prop_diff})
        if changes_rules:
            self._make_rules_so(rules, self.properties[self.RULES])

    def handle_delete(self) -> bool | None:
        """Rules first: two groups whose rules name each other could not be deleted otherwise."""
        if self.resource_id is None:
            return None
        with self.client_plugin().ignore_not_found:
            for rule in self._show_resource()['security_group_rules']:
                with self.client_plugin().ignore_not_found:
                    self.client().delete_security_group_rule(rule['id'])
        return self._delete_entity()

    # --- rules --------------------------------------------------------------------------------------------

    def _make_rules_so(self, wanted: Iterable[Rule] | None, before: Iterable[Rule] | None = None) -> None:
        """`before`: the rules of the former definition; one that is no longer described loses its description."""
        described = set(self._described(before))
        rules = [{'description': '', **rule} if security_rules.key_of(rule) in described else rule
                 for rule in self._complete(wanted)]
        security_rules.make_so(self.client_plugin(), self.resource_id, self._show_resource()['security_group_rules'],
                               rules)

    def _described(self, rules: Iterable[Rule] | None) -> Iterator[tuple[str | None, ...]]:
        """Yield the keys of rules with a description; a remote group may be gone by now."""
        for rule in rules or ():
            if rule.get(self.RULE_DESCRIPTION):
                with contextlib.suppress(exception.HeatException):
                    yield security_rules.key_of(self._format_rule(rule))

    def _complete(self, wanted: Iterable[Rule] | None) -> list[dict[str, object]]:
        found = [self._format_rule(rule) for rule in wanted or ()]
        if not any(rule['direction'] == 'egress' for rule in found):
            found += [dict(rule) for rule in DEFAULT_RULES]
        return found

    def _format_rule(self, rule: Rule) -> dict[str, object]:
        """A rule as the service has it: what is not given is left out."""
        found = without_none(rule)
        mode = found.pop(self.RULE_REMOTE_MODE, self.RULE_REMOTE_IP_PREFIX)
        if mode == self.RULE_REMOTE_GROUP_ID:
            found.pop(self.RULE_REMOTE_IP_PREFIX, None)
            group = found.get(self.RULE_REMOTE_GROUP_ID)        # without one: this group itself
            found[self.RULE_REMOTE_GROUP_ID] = self.client_plugin().find_resourceid_by_name_or_id(
                'security_group', group) if group else self.resource_id
        else:
            found.pop(self.RULE_REMOTE_GROUP_ID, None)
        if str(found.get('protocol', '')) == '0':               # any protocol
            del found['protocol']
        return found

    def needs_replace_with_prop_diff(self, changed_properties_set: set[str], after_props: Properties,
                                     before_props: Properties) -> bool:
        """The service refuses the change as long as ports use the group."""
        if self.STATEFUL not in changed_properties_set:
            return False
        return bool(self.client().list_ports(security_groups=self.resource_id, fields=['id'])['ports'])

    def parse_live_resource_data(self, resource_properties: Properties,
                                 resource_data: Fields) -> dict[str, object]:
        """Rules are compared by what the service makes of them, so only a difference shows.

        A group without rules of its own is left to those that add some, such as resources of the same stack.
        """
        live = super().parse_live_resource_data(resource_properties, resource_data)
        live.pop(self.RULES, None)
        if not self.properties.is_given(self.RULES):
            return live
        try:
            rules = self._complete(resource_properties[self.RULES])
        except exception.HeatException:         # a remote group is not found: nothing tells what the rules should be
            return live
        wanted = {security_rules.key_of(rule): rule for rule in rules}
        there = {security_rules.key_of(rule): rule for rule in resource_data['security_group_rules']}
        if wanted.keys() != there.keys() or any(
                security_rules.described_otherwise(there[key], rule) for key, rule in wanted.items()):
            live[self.RULES] = [{name: rule.get(name) for name in SHOWN} for rule in there.values()]
        return live


def resource_mapping() -> dict[str, type[SecurityGroup]]:
    return {TYPE: SecurityGroup}
