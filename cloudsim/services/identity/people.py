"""Domains, projects, users, groups, roles, regions, endpoints: where they differ from any other collection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, Forbidden, NotFound, Problem, Reply
from cloudsim.service import Route
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.identity import IdentityService


class Linked(Collection):
    """Shows where it is, as Keystone does everywhere."""

    service: IdentityService

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {**thing.data, 'links': {'self': f'{self.cloud.url}/identity{self.kind.path}/{thing.id}'}}

    def do_list(self, call: Call, *parents: str) -> Any:
        status, content = super().do_list(call, *parents)
        return status, {**content, 'links': {'next': None, 'previous': None, 'self':
                                             f'{self.cloud.url}/identity{call.path}'}}


class Domains(Linked):
    def leaving(self, call: Call, thing: Thing) -> None:
        if thing['enabled']:
            raise Forbidden('Cannot delete a domain that is enabled, please disable it first.', 'Forbidden')

    def left(self, thing: Thing) -> None:
        self.service.assignments.forget('target', f'domains/{thing.id}')
        for kind in ('users', 'groups', 'projects'):
            collection = self.service.collection(kind)
            for each in collection.table:
                if each['domain_id'] == thing.id:
                    collection.drop(each)


class Projects(Linked):
    def permit(self, call: Call, verb: str) -> None:
        if verb != 'R':
            super().permit(call, verb)

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        parent = thing['parent_id']
        if parent is None:
            thing.data['parent_id'] = thing['domain_id']
        elif self.table.get(parent) is None and self.service.collection('domains').table.get(parent) is None:
            raise NotFound('Project', parent)

    def left(self, thing: Thing) -> None:
        self.service.assignments.forget('target', f'projects/{thing.id}')


class Users(Linked):
    def permit(self, call: Call, verb: str) -> None:
        if verb != 'R':
            super().permit(call, verb)

    def of_path(self, call: Call, ids: tuple[str, ...]) -> Thing:
        if not call.is_admin and call.identity is not None and call.identity.user_id != ids[-1]:
            raise Forbidden
        return super().of_path(call, ids)

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        thing.hidden['password'] = thing.data.pop('password', None)

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        if 'password' in changes:
            thing.hidden['password'] = changes.pop('password')

    def left(self, thing: Thing) -> None:
        self.service.assignments.forget('actor', f'users/{thing.id}')
        for group in self.service.collection('groups').table:
            group.hidden.get('members', {}).pop(thing.id, None)
        for name, field in (('trusts', 'trustor_user_id'), ('trusts', 'trustee_user_id'), ('credentials', 'user_id')):
            belongings = self.service.collection(name)
            for each in belongings.table.find(field, thing.id):
                belongings.drop(each)


class Groups(Linked):
    def left(self, thing: Thing) -> None:
        self.service.assignments.forget('actor', f'groups/{thing.id}')


class Roles(Linked):
    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        found = super().candidates(call, parent)
        return found if 'domain_id' in call.query else [each for each in found if each['domain_id'] is None]

    def left(self, thing: Thing) -> None:
        self.service.assignments.forget('role', thing.id)


class Regions(Linked):
    def routes(self) -> list[Any]:
        return [*super().routes(), ('PUT', self.item_path, self.do_put)]

    def do_put(self, call: Call, id: str) -> Any:
        thing = self.make(call, {**call.entity('region'), 'id': id})
        return 201, self.wrap(self.view(call, thing))

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        parent = thing['parent_region_id']
        if parent and self.table.get(parent) is None:
            raise NotFound('Region', parent)


class Endpoints(Linked):
    def check(self, given: dict[str, Any]) -> None:
        super().check(given)
        if given.get('interface', 'public') not in ('public', 'internal', 'admin'):
            raise BadRequest('Invalid interface')
        if 'region' in given:
            given['region_id'] = given['region']
        elif 'region_id' in given:
            given['region'] = given['region_id']

    def changed(self, call: Call, thing: Thing) -> None:
        self.service.catalog.forget()


def routes(service: IdentityService) -> Iterable[Route]:
    def member(call: Call, group_id: str, user_id: str) -> tuple[Thing, Thing]:
        if not call.is_admin:
            raise Forbidden
        return service.collection('groups').get(call, group_id), service.collection('users').get(call, user_id)

    def add(call: Call, group_id: str, user_id: str) -> Reply:
        group, user = member(call, group_id, user_id)
        group.hidden.setdefault('members', {})[user.id] = True
        return Reply(204)

    def check(call: Call, group_id: str, user_id: str) -> Reply:
        group, user = member(call, group_id, user_id)
        if user.id not in group.hidden.get('members', {}):
            raise NotFound('User', user_id)
        return Reply(204)

    def remove(call: Call, group_id: str, user_id: str) -> Reply:
        check(call, group_id, user_id)
        del service.collection('groups').table.get(group_id).hidden['members'][user_id]
        return Reply(204)

    def members(call: Call, group_id: str) -> Any:
        group = service.collection('groups').get(call, group_id)
        users = service.collection('users')
        return 200, {'users': [users.view(call, each) for id in group.hidden.get('members', {})
                               if (each := users.table.get(id)) is not None], 'links': {}}

    def groups_of(call: Call, user_id: str) -> Any:
        groups = service.collection('groups')
        return 200, {'groups': [groups.view(call, each) for each in groups.table
                                if user_id in each.hidden.get('members', {})], 'links': {}}

    def projects_of(call: Call, user_id: str) -> Any:
        service.collection('users').of_path(call, (user_id,))
        projects = service.collection('projects')
        return 200, {'projects': [projects.view(call, each) for each in service.assignments.projects_of(user_id)],
                     'links': {}}

    def change_password(call: Call, user_id: str) -> Reply:
        user, said = service.collection('users').get(call, user_id), call.entity('user')
        if user.hidden.get('password') != said.get('original_password'):
            raise Problem(401, 'The request you have made requires authentication.')
        user.hidden['password'] = said.get('password')
        return Reply(204)

    yield 'GET', '/v3/groups/{g}/users', members
    yield 'PUT', '/v3/groups/{g}/users/{u}', add
    yield 'HEAD', '/v3/groups/{g}/users/{u}', check
    yield 'GET', '/v3/groups/{g}/users/{u}', check
    yield 'DELETE', '/v3/groups/{g}/users/{u}', remove
    yield 'GET', '/v3/users/{u}/groups', groups_of
    yield 'GET', '/v3/users/{u}/projects', projects_of
    yield 'POST', '/v3/users/{u}/password', change_password
