"""OS::Heatlite::StackSet.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_SET_TEXT
from heatlite.engine.properties import Values
from heatlite.engine.resources import catalogue, group_outputs, members
from heatlite.engine.resources.openstack.heat import remote_stack
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.template import Template
from heatlite.language.unknown import is_known
from heatlite.planning import waves

LOG = logging.getLogger(__name__)

NAME = 'OS::Heatlite::StackSet'
TEMPLATE_PARAM, VALUES_PARAM = 'template', 'values'     # of the nested stack
POLICIES = {'delete': 'Delete', 'keep': 'Retain'}


class StackSet(members.MemberGroup):
    """Stacks of one template in many regions and projects: a nested stack of remote stacks.

    Waves are dependencies between the members, so the traversal of the nested stack does all the work; how many
    members may fail goes with the request to it.
    """

    PROPERTIES = (MEMBERS, TEMPLATE, PARAMETERS, OVERRIDES, TIMEOUT, MAX_CONCURRENT, FAILURE_TOLERANCE, REGION_ORDER,
                  ON_REMOVAL) = (
        'members', 'template', 'parameters', 'overrides', 'timeout', 'max_concurrent', 'failure_tolerance',
        'region_order', 'on_removal')
    _MEMBER_KEYS = (MEMBER_NAME, REGION_NAME, CREDENTIAL_SECRET_ID, CA_CERT, SSL_INSECURE, PROJECT_ID) = (
        'name', 'region_name', 'credential_secret_id', 'ca_cert', 'insecure', 'project_id')
    ATTRIBUTES = (REFS, REFS_MAP, ATTR_ATTRIBUTES, STATES) = ('refs', 'refs_map', 'attributes', 'states')

    member_attributes = group_outputs.MemberAttributes(mapped=(ATTR_ATTRIBUTES,))
    keeps_token = True

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    validates_at_creation = True
    support_status = catalogue.status(NAME)

    # --- is it right? -------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Checks the list of the members. What a member's cloud says is its own failure, not that of the set."""
        super().validate()
        if not all(is_known(self.properties[name]) for name in (
                self.MEMBERS, self.OVERRIDES, self.FAILURE_TOLERANCE, self.REGION_ORDER)):
            return
        given = self._given()
        _refuse_twice([name for name, _member in given], _('The stack set has two members of the name %s.'))
        places: dict[tuple[str | None, ...], str] = {}
        for name, member in given:
            if member.get(self.PROJECT_ID) and member.get(self.CREDENTIAL_SECRET_ID):
                raise _wrong(_('Member %s of the stack set: a credential names its project, give no project_id with '
                               'it.') % name)
            other = places.setdefault(self._where(member), name)
            if other != name:
                raise _wrong(_('Members %(one)s and %(other)s of the stack set are in the same place.') % {
                    'one': other, 'other': name})
        names = [name for name, _member in given]
        unknown = sorted(set(self.properties[self.OVERRIDES] or {}) - set(names))
        if unknown:
            raise _wrong(_('overrides: the stack set has no member %s.') % ', '.join(unknown))
        if not all(isinstance(each, Mapping) for each in (self.properties[self.OVERRIDES] or {}).values()):
            raise _wrong(_('overrides: each member has a map of parameters.'))
        unknown = sorted(set(self.properties[self.REGION_ORDER] or ()) - set(self.regions().values()))
        if unknown:
            raise _wrong(_('region_order: the stack set has no member in %s.') % ', '.join(unknown))
        _refuse_twice(list(self.properties[self.REGION_ORDER] or ()), _('region_order: %s is named twice.'))
        if self.tolerance >= len(given):
            raise _wrong(_('failure_tolerance: %(most)d of %(members)d members may not all fail.') % {
                'most': self.tolerance, 'members': len(given)})
        self._check_size(names)
        self._check_regions(given)
        self._check_token(given)

    def _given(self) -> list[tuple[str, Mapping[str, object]]]:
        """Members with their names. Raises StackValidationFailed for one without a name."""
        found = []
        for member in self.properties[self.MEMBERS] or ():
            name = member.get(self.MEMBER_NAME) or member.get(self.REGION_NAME)
            if not name:
                raise _wrong(_('A member of the stack set has neither a name nor a region.'))
            found.append((str(name), member))
        return found

    def _where(self, member: Values) -> tuple[str | None, ...]:
        """The region, the credential, if the member has one of its own, and the project, if not."""
        secret = member.get(self.CREDENTIAL_SECRET_ID)
        project = None if secret else member.get(self.PROJECT_ID) or self.context.project_id
        return self._region(member), secret, project

    def _region(self, member: Mapping[str, object]) -> str:
        return str(member.get(self.REGION_NAME) or self.context.region_name or '')

    def _check_size(self, names: Sequence[str]) -> None:
        """Raise StackValidationFailed if the members get too much, before anything is made for each of them."""
        if not is_known(self.properties[self.PARAMETERS]):
            return
        overrides = self.properties[self.OVERRIDES] or {}
        each = len(json.dumps(self.properties[self.PARAMETERS] or {})) + len(str(self.properties[self.TEMPLATE]))
        size = each * len(names) + len(json.dumps(overrides))
        if size > MOST_SET_TEXT:
            raise _wrong(_(
                'The template and the parameters of all members of the stack set are %(size)d characters; it may have '
                '%(most)d. Give it fewer members, or a smaller template.') % {'size': size, 'most': MOST_SET_TEXT})

    def _check_regions(self, given: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        """Looks the regions up in the catalogue. Raises StackValidationFailed. Members with a credential of their own
        have another catalogue, which is read when their turn comes."""
        if not getattr(self.stack, 'strict_validate', True):
            return
        plugin, known = self.client_plugin('heat'), set()
        for name, member in given:
            region = member.get(self.REGION_NAME)
            if region is None or region in known or member.get(self.CREDENTIAL_SECRET_ID):
                continue
            known.add(region)
            try:
                plugin.elsewhere(str(region)).http.get_endpoint()
            except Exception as error:
                said = str(getattr(error, 'message', None) or error).partition('\n')[0]
                raise exception.StackValidationFailed(elsewhere=True, message=_(
                    'Member %(name)s of the stack set: the region "%(region)s" cannot be reached: %(reason)s') % {
                        'name': name, 'region': region, 'reason': said}) from error

    def _check_token(self, given: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        """Ask for a token of one of the other projects. Raises StackValidationFailed if that of the request cannot be
        exchanged at all; a project in which the caller has no role is the failure of its member."""
        if not getattr(self.stack, 'strict_validate', True) or (self.context.trust_id and not self.context.own_token):
            return
        for name, member in given:
            project = member.get(self.PROJECT_ID)
            if project in (None, self.context.project_id):
                continue
            try:
                self.client_plugin('heat').elsewhere(
                    self._region(member) or None, project=str(project)).http.get_endpoint()
            except exception.TokenNotExchangeable as error:
                raise exception.StackValidationFailed(elsewhere=True, message=_(
                    'Member %(name)s of the stack set: %(reason)s') % {'name': name, 'reason': error}) from error
            except Exception as error:
                LOG.debug('No token for project %s; its member of the stack set reports the error: %s', project, error)
            return

    # --- members ------------------------------------------------------------------------------------------

    def get_size(self) -> int:
        return len(self.properties[self.MEMBERS] or ())

    def regions(self) -> dict[str, str]:
        """{name of a member: region}, in the order of the members."""
        return {name: self._region(member) for name, member in self._given()}

    @property
    def tolerance(self) -> int:
        """How many members may fail while the others go on (reconcile.nesting)."""
        return waves.tolerated(self._number(self.FAILURE_TOLERANCE, '0'), self.get_size())

    def _number(self, name: str, otherwise: str) -> str:
        """A property; `otherwise` while a preview does not know it."""
        value = self.properties[name]
        return str(value) if is_known(value) and value is not None else otherwise

    def waves(self) -> list[list[str]]:
        size = waves.concurrent(self._number(self.MAX_CONCURRENT, '1'), self.get_size())
        return waves.waves(self.regions(), size, self.properties[self.REGION_ORDER] or ())

    def child_template(self) -> Template:
        given, before, found = dict(self._given()), list[str](), dict[str, members.Member]()
        for wave in self.waves():
            for name in wave:
                found[name] = self._definition(name, given[name], before)
            before = wave
        document = dict(self.assembled(found).document)
        return Template({**document, 'parameters': {
            TEMPLATE_PARAM: {'type': 'string'}, VALUES_PARAM: {'type': 'json'}}}, source='nested_stack')

    def _definition(self, name: str, member: Mapping[str, object], before: Sequence[str]) -> dict[str, object]:
        context = {
            self.REGION_NAME: self._region(member) or None, self.SSL_INSECURE: bool(member.get(self.SSL_INSECURE)),
            **{key: member.get(key) for key in (self.CREDENTIAL_SECRET_ID, self.CA_CERT, self.PROJECT_ID)}}
        found: dict[str, object] = {
            'type': remote_stack.NAME, 'deletion_policy': POLICIES[self.properties[self.ON_REMOVAL]],
            'properties': {
                'context': {key: value for key, value in context.items() if value is not None},
                'template': {'get_param': TEMPLATE_PARAM}, 'parameters': {'get_param': [VALUES_PARAM, name]},
                **({} if self.properties[self.TIMEOUT] is None else {'timeout': self.properties[self.TIMEOUT]})}}
        found['metadata'] = {remote_stack.SET_MEMBER: True}
        return {**found, **({'depends_on': list(before)} if before else {})}

    def child_params(self) -> Mapping[str, object]:
        common, overrides = self.properties[self.PARAMETERS] or {}, self.properties[self.OVERRIDES] or {}
        return {TEMPLATE_PARAM: self.properties[self.TEMPLATE],
                VALUES_PARAM: {name: {**common, **overrides.get(name, {})} for name, _member in self._given()}}

    # --- its life -----------------------------------------------------------------------------------------

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> object:
        self.take_properties(json_snippet)
        self._check_removals()
        return self.update_with_template(self.counted_template(), self.child_params())

    def _check_removals(self) -> None:
        """Raise NotSupported if an update changes `on_removal` and removes members: their deletion policies are stored
        with them, so the new one would not apply."""
        wanted, names = POLICIES[self.properties[self.ON_REMOVAL]], {name for name, _member in self._given()}
        late = sorted(name for name, member in self.current_members().items()
                      if name not in names and member.get('deletion_policy') != wanted)
        if late:
            raise exception.NotSupported(feature=_(
                'Changing on_removal of a stack set and removing members in one update (%s)') % ', '.join(late))

    # --- attributes ---------------------------------------------------------------------------------------

    def _resolve_attribute(self, name: str) -> object:
        if name == self.STATES:
            return {row.name: f'{row.action}_{row.status}' for row in self.member_rows() if row.replaced_by is None}
        return super()._resolve_attribute(name)


def _wrong(message: str) -> exception.StackValidationFailed:
    return exception.StackValidationFailed(message=message)


def _refuse_twice(names: Sequence[str], text: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise _wrong(text % name)
        seen.add(name)


def resource_mapping() -> dict[str, type[StackSet]]:
    return {NAME: StackSet}
