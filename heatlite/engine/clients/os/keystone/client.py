"""Keystone's API v3 with the calls plug-ins know from its library."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NotRequired, TypedDict

from heatlite.engine.clients.os.collection import Client, Collection, Creating, Entity, EntityOrId, id_of


def _ids(fields: Mapping[str, object]) -> dict[str, object]:
    """`domain=...` is sent as `domain_id`; nothing that is not given is sent."""
    renamed = {'domain': 'domain_id', 'default_project': 'default_project_id', 'parent': 'parent_id',
               'service': 'service_id', 'region': 'region_id', 'parent_region': 'parent_region_id',
               'project': 'project_id', 'user': 'user_id'}
    return {renamed.get(name, name): id_of(value) if name in renamed else value
            for name, value in fields.items() if value is not None}


class Things(Collection):
    update_verb = 'PATCH'

    def create(self, name: str | None = None, domain: EntityOrId | None = None, **fields: object) -> Entity:
        wanted = _ids({'name': name, 'domain': domain, **fields})
        return self._entity(self.http.post(self.path, json=self._wrapped(wanted)))

    def update(self, what: EntityOrId | None = None, **fields: Any) -> Entity | None:
        """Update an entity; `what` is also taken under the name that the library gives it, as in
        `projects.update(project=...)`."""
        what = what if what is not None else fields.pop(str(self.key), None)
        if what is None:
            raise TypeError(f'update() needs {self.key}')
        return super().update(what, **_ids(fields))

    def list(self, **filters: object) -> list[Entity]:            # type: ignore[override]
        filters.pop('detailed', None)
        return super().list(search_opts=_ids(filters))

    def findall(self, **fields: object) -> builtins.list[Entity]:
        wanted = _ids(fields)
        return [each for each in self.list(**fields)
                if all(getattr(each, name, None) == value for name, value in wanted.items())]


class Project(TypedDict):
    """What is used of a project."""

    id: str
    name: str
    enabled: NotRequired[bool]
    is_domain: NotRequired[bool]
    domain_id: NotRequired[str | None]
    parent_id: NotRequired[str | None]
    tags: NotRequired[list[str] | None]


class KeystoneProjects(Things):
    path, key, plural = '/projects', 'project', 'projects'

    def own(self) -> builtins.list[Project]:
        """Those in which the user of the token has a role. Needs no right."""
        found: builtins.list[Project] = self.http.get('/auth/projects').json()[self.plural]
        return found


class Domains(Things):
    path, key, plural = '/domains', 'domain', 'domains'


class Groups(Things):
    path, key, plural = '/groups', 'group', 'groups'


class KeystoneServices(Things):
    path, key, plural = '/services', 'service', 'services'


class Endpoints(Things):
    path, key, plural = '/endpoints', 'endpoint', 'endpoints'


class Regions(Things):
    path, key, plural = '/regions', 'region', 'regions'


class Users(Things):
    path, key, plural = '/users', 'user', 'users'

    def add_to_group(self, user: EntityOrId, group: EntityOrId) -> None:
        self.http.put(f'/groups/{id_of(group)}/users/{id_of(user)}')

    def remove_from_group(self, user: EntityOrId, group: EntityOrId) -> None:
        self.http.delete(f'/groups/{id_of(group)}/users/{id_of(user)}')


class Roles(Things):
    path, key, plural = '/roles', 'role', 'roles'

    def _grant(self, role: EntityOrId, user: EntityOrId | None = None, group: EntityOrId | None = None,
               domain: EntityOrId | None = None, project: EntityOrId | None = None, **_more: object) -> str:
        scope = f'/projects/{id_of(project)}' if project else f'/domains/{id_of(domain)}'
        holder = f'/users/{id_of(user)}' if user else f'/groups/{id_of(group)}'
        return f'{scope}{holder}/roles/{id_of(role)}'

    def grant(self, role: EntityOrId, **where: EntityOrId | None) -> None:
        self.http.put(self._grant(role, **where))

    def revoke(self, role: EntityOrId, **where: EntityOrId | None) -> None:
        self.http.delete(self._grant(role, **where))

    def check(self, role: EntityOrId, **where: EntityOrId | None) -> None:
        self.http.head(self._grant(role, **where))


class RoleAssignments(Collection):
    path, plural = '/role_assignments', 'role_assignments'

    def list(self, **filters: object) -> list[Entity]:            # type: ignore[override]
        names = {'user': 'user.id', 'group': 'group.id', 'role': 'role.id', 'project': 'scope.project.id',
                 'domain': 'scope.domain.id'}
        return [Entity(self, entry) for entry in self._pages(
            self.path, {names.get(name, name): id_of(value) for name, value in filters.items() if value is not None})]


class Ec2Credentials(Collection):
    def create(self, user_id: str, project_id: str) -> Entity:
        answer = self.http.post(f'/users/{user_id}/credentials/OS-EC2', json={'tenant_id': project_id})
        return Entity(self, answer.json()['credential'])

    def get(self, user_id: str | None, access: str) -> Entity:            # type: ignore[override]
        return Entity(self, self.http.get(f'/users/{user_id}/credentials/OS-EC2/{access}').json()['credential'])

    def list(self, user_id: str) -> list[Entity]:                  # type: ignore[override]
        found = self.http.get(f'/users/{user_id}/credentials/OS-EC2').json()['credentials']
        return [Entity(self, entry) for entry in found]

    def delete(self, user_id: str | None, access: str) -> None:        # type: ignore[override]
        self.http.delete(f'/users/{user_id}/credentials/OS-EC2/{access}')


class Trusts(Creating):
    path, key, plural = '/OS-TRUST/trusts', 'trust', 'trusts'


class KeystoneCredentials(Creating):
    path, key, plural = '/credentials', 'credential', 'credentials'
    update_verb = 'PATCH'


class IdentityClient(Client):
    projects = cached_property(KeystoneProjects)
    tenants = cached_property(KeystoneProjects)
    domains = cached_property(Domains)
    groups = cached_property(Groups)
    services = cached_property(KeystoneServices)
    endpoints = cached_property(Endpoints)
    regions = cached_property(Regions)
    users = cached_property(Users)
    roles = cached_property(Roles)
    role_assignments = cached_property(RoleAssignments)
    ec2 = cached_property(Ec2Credentials)
    trusts = cached_property(Trusts)
    credentials = cached_property(KeystoneCredentials)
