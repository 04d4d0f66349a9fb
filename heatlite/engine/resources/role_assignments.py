"""The part of plug-ins' types of users and groups that grants their roles, by a property `roles`.

It is `KeystoneRoleAssignmentMixin` of `heat.engine.resources.openstack.keystone.role_assignments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import constraints, properties

if TYPE_CHECKING:
    from heatlite.engine.clients.os.keystone import KeystoneClientPlugin
    from heatlite.engine.clients.os.keystone.client import IdentityClient

Assignment = Mapping[str, str | None]              # the id or name of a role, and that of a project or a domain


def _text(description: str, kind: str, *, required: bool = False) -> properties.Schema:
    return properties.Schema(properties.Schema.STRING, description, required=required,
                             constraints=[constraints.CustomConstraint(f'keystone.{kind}')])


class KeystoneRoleAssignmentMixin:
    """A type has `mixin_properties_schema` among its properties, and a client of Keystone that has `roles`."""

    PROPERTIES: tuple[str, ...] | str = 'roles'
    ROLES = 'roles'
    _ROLES_MAPPING_PROPERTIES = (ROLE, DOMAIN, PROJECT) = ('role', 'domain', 'project')

    mixin_properties_schema = {
        ROLES: properties.Schema(
            properties.Schema.LIST, _('Roles that are granted.'), update_allowed=True,
            schema=properties.Schema(
                properties.Schema.MAP, _('A role in a project or in a domain.'),
                schema={ROLE: _text(_('The role.'), 'role', required=True),
                        PROJECT: _text(_('The project.'), 'project'), DOMAIN: _text(_('The domain.'), 'domain')}))}

    client: Callable[[], IdentityClient]
    client_plugin: Callable[[], KeystoneClientPlugin]
    properties: properties.Properties

    def validate_assignment_properties(self) -> None:
        """Raise ResourcePropertyConflict, StackValidationFailed."""
        for entry in self.properties.get(self.ROLES) or ():
            project, domain = entry.get(self.PROJECT), entry.get(self.DOMAIN)
            if project is not None and domain is not None:
                raise exception.ResourcePropertyConflict(self.PROJECT, self.DOMAIN)
            if project is None and domain is None:
                raise exception.StackValidationFailed(
                    message=_('Either project or domain must be specified for role %s') % entry.get(self.ROLE))

    def create_assignment(self, user_id: str | None = None, group_id: str | None = None) -> None:
        self._grant(self._normalize_to_id(self.properties.get(self.ROLES)), user_id, group_id)

    def update_assignment(self, prop_diff: Mapping[str, list[Assignment]], user_id: str | None = None,
                          group_id: str | None = None) -> None:
        if self.ROLES in prop_diff:
            before, after = (self._normalize_to_id(roles)
                             for roles in (self.properties[self.ROLES], prop_diff[self.ROLES]))
            self._grant([entry for entry in after if entry not in before], user_id, group_id)
            self._revoke([entry for entry in before if entry not in after], user_id, group_id)

    def delete_assignment(self, user_id: str | None = None, group_id: str | None = None) -> None:
        self._revoke(self._normalize_to_id(self.properties[self.ROLES]), user_id, group_id)

    def parse_list_assignments(self, user_id: str | None = None,
                               group_id: str | None = None) -> list[dict[str, str | None]]:
        """Return the assignments that exist, by ids; None for what is not their scope."""
        holder = _holder(user_id, group_id)
        found = []
        for shown in self.client().role_assignments.list(**holder) if holder else ():
            entry = shown.to_dict()
            role, scope = (entry.get('role') or {}).get('id'), entry.get('scope') or {}
            if role:
                found.append({self.ROLE: role, **{
                    where: (scope.get(where) or {}).get('id') for where in (self.DOMAIN, self.PROJECT)}})
        return found

    def _normalize_to_id(self, assignments: Iterable[Assignment] | None) -> list[dict[str, str | None]]:
        """Return the assignments with ids in place of names."""
        plugin = self.client_plugin()
        found = []
        for entry in assignments or ():
            project, domain = entry.get(self.PROJECT), entry.get(self.DOMAIN)
            found.append({self.ROLE: plugin.get_role_id(str(entry[self.ROLE])),
                          self.PROJECT: plugin.get_project_id(project) if project else None,
                          self.DOMAIN: plugin.get_domain_id(domain) if domain else None})
        return found

    def _grant(self, assignments: Iterable[Assignment], user_id: str | None, group_id: str | None) -> None:
        for where in self._arguments(assignments, user_id, group_id):
            self.client().roles.grant(**where)

    def _revoke(self, assignments: Iterable[Assignment], user_id: str | None, group_id: str | None) -> None:
        """Take back the assignments, but for those that do not exist (any more)."""
        wanted = list(assignments)
        existing = self.parse_list_assignments(user_id, group_id) if wanted else []
        for where in self._arguments([entry for entry in wanted if entry in existing], user_id, group_id):
            self.client().roles.revoke(**where)

    def _arguments(self, assignments: Iterable[Assignment], user_id: str | None,
                   group_id: str | None) -> Iterator[dict[str, str]]:
        """Yield the arguments of the client for each assignment."""
        holder = _holder(user_id, group_id)
        for entry in assignments if holder else ():
            where = self.PROJECT if entry[self.PROJECT] is not None else self.DOMAIN
            scope = entry[where]
            if scope is not None:
                yield {self.ROLE: str(entry[self.ROLE]), where: scope, **holder}


def _holder(user_id: str | None, group_id: str | None) -> dict[str, str]:
    """Return the argument that names who has the roles; {} for none of them."""
    if user_id is not None:
        return {'user': user_id}
    return {'group': group_id} if group_id is not None else {}
