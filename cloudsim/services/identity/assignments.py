"""Who has which role where: on projects, on domains, on the system; directly or through a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cloudsim.messages import Call, Forbidden, NotFound, Reply
from cloudsim.store import Table, Thing

if TYPE_CHECKING:
    from cloudsim.services.identity import IdentityService

IMPLIED = {'admin': 'manager', 'manager': 'member', 'member': 'reader'}


class Assignments:
    """One thing each; its id is the path it is set with: projects/P/users/U/roles/R."""

    def __init__(self, service: IdentityService) -> None:
        self.service = service
        self.table = Table('identity.role_assignments', ('target', 'actor', 'role'))

    def routes(self) -> list[tuple[str, str, Any]]:
        found: list[tuple[str, str, Any]] = [('GET', '/v3/role_assignments', self.show_all)]
        for target in ('projects', 'domains'):
            for actor in ('users', 'groups'):
                base = f'/v3/{target}/{{t}}/{actor}/{{a}}/roles'

                def bind(function: Any, target: str = target, actor: str = actor) -> Any:
                    return lambda call, *ids: function(call, target, ids[0], actor, *ids[1:])

                found += [('GET', base, bind(self.do_list)), ('PUT', f'{base}/{{r}}', bind(self.do_add)),
                          ('HEAD', f'{base}/{{r}}', bind(self.do_check)), ('GET', f'{base}/{{r}}', bind(self.do_check)),
                          ('DELETE', f'{base}/{{r}}', bind(self.do_remove))]
        for actor in ('users', 'groups'):
            base = f'/v3/system/{actor}/{{a}}/roles'

            def bind_system(function: Any, actor: str = actor) -> Any:
                return lambda call, *ids: function(call, 'system', 'all', actor, *ids)

            found += [('GET', base, bind_system(self.do_list)), ('PUT', f'{base}/{{r}}', bind_system(self.do_add)),
                      ('HEAD', f'{base}/{{r}}', bind_system(self.do_check)),
                      ('DELETE', f'{base}/{{r}}', bind_system(self.do_remove))]
        return found

    # HTTP.

    def do_list(self, call: Call, target: str, target_id: str, actor: str, actor_id: str) -> Any:
        place, who = self.ends(call, target, target_id, actor, actor_id)
        roles = self.service.collection('roles').table
        found = [each for each in self.table.find('target', place) if each['actor'] == who]
        return 200, {'roles': [role.data for each in found if (role := roles.get(each['role'])) is not None],
                     'links': {}}

    def do_add(self, call: Call, target: str, target_id: str, actor: str, actor_id: str, role: str) -> Reply:
        place, who = self.ends(call, target, target_id, actor, actor_id)
        self.service.collection('roles').get(call, role)
        self.add(place, who, role)
        return Reply(204)

    def do_check(self, call: Call, target: str, target_id: str, actor: str, actor_id: str, role: str) -> Reply:
        place, who = self.ends(call, target, target_id, actor, actor_id)
        if self.table.get(f'{place}/{who}/roles/{role}') is None:
            raise NotFound('Role assignment', role)
        return Reply(204)

    def do_remove(self, call: Call, target: str, target_id: str, actor: str, actor_id: str, role: str) -> Reply:
        place, who = self.ends(call, target, target_id, actor, actor_id)
        found = self.table.get(f'{place}/{who}/roles/{role}')
        if found is None:
            raise NotFound('Role assignment', role)
        self.table.remove(found)
        return Reply(204)

    def ends(self, call: Call, target: str, target_id: str, actor: str, actor_id: str) -> tuple[str, str]:
        if not call.is_admin:
            raise Forbidden
        if target != 'system':
            self.service.collection(target).get(call, target_id)
        self.service.collection(actor).get(call, actor_id)
        return f'{target}/{target_id}', f'{actor}/{actor_id}'

    def show_all(self, call: Call) -> Any:
        wanted = {name: call.asked(name) for name in
                  ('user.id', 'group.id', 'role.id', 'scope.project.id', 'scope.domain.id', 'scope.system')}
        effective = 'effective' in call.query and (call.asked('effective') or '').lower() not in ('0', 'false')
        if not call.is_admin and (call.identity is None or wanted['user.id'] != call.identity.user_id):
            raise Forbidden
        found = []
        for each in self.table:
            for actor in self.expanded(each['actor']) if effective else [each['actor']]:
                shown = self.view(call, each, actor)
                if all(value is None or _dig(shown, name.split('.')) == value
                       for name, value in wanted.items() if name != 'scope.system') \
                        and (wanted['scope.system'] is None or 'system' in shown['scope']):
                    found.append(shown)
        return 200, {'role_assignments': found, 'links': {}}

    def expanded(self, actor: str) -> list[str]:
        """A group's members in its place."""
        kind, id = actor.split('/')
        if kind == 'users':
            return [actor]
        group = self.service.collection('groups').table.get(id)
        return [] if group is None else [f'users/{member}' for member in group.hidden.get('members', ())]

    def view(self, call: Call, assignment: Thing, actor: str) -> dict[str, Any]:
        named = call.is_asked('include_names') or 'include_names' in call.query
        actor_kind, actor_id = actor.split('/')
        target_kind, target_id = assignment['target'].split('/')

        def shown(kind: str, id: str) -> dict[str, Any]:
            thing = self.service.collection(kind).table.get(id)
            if not named or thing is None:
                return {'id': id}
            found = {'id': id, 'name': thing['name']}
            if thing.get('domain_id'):
                domain = self.service.collection('domains').table.get(thing['domain_id'])
                found['domain'] = {'id': thing['domain_id'], 'name': domain['name'] if domain else ''}
            return found

        scope = {'system': {'all': True}} if target_kind == 'system' else \
            {target_kind[:-1]: shown(target_kind, target_id)}
        return {'role': shown('roles', assignment['role']), actor_kind[:-1]: shown(actor_kind, actor_id),
                'scope': scope, 'links': {'assignment': f'{self.service.cloud.url}/identity/v3/{assignment.id}'}}

    # For the rest of the service.

    def add(self, target: str, actor: str, role: str) -> None:
        id = f'{target}/{actor}/roles/{role}'
        if self.table.get(id) is None:
            self.table.add(Thing(id, None, {'target': target, 'actor': actor, 'role': role, 'name': None}, {}))

    def forget(self, field: str, value: str) -> None:
        """All of one target, actor or role that is gone."""
        for each in self.table.find(field, value):
            self.table.remove(each)

    def roles(self, user_id: str, target: str) -> list[Thing]:
        """What a user has there, also through groups and by implication."""
        actors = self.actors(user_id)
        table = self.service.collection('roles').table
        found: dict[str, Thing] = {}
        for each in self.table.find('target', target):
            role = table.get(each['role']) if each['actor'] in actors else None
            while role is not None:
                found[role.id] = role
                implied = table.find('name', IMPLIED.get(role['name']))
                role = implied[0] if implied else None
        return list(found.values())

    def actors(self, user_id: str) -> set[str]:
        groups = self.service.collection('groups').table
        return {f'users/{user_id}', *(f'groups/{each.id}' for each in groups
                                      if user_id in each.hidden.get('members', ()))}

    def projects_of(self, user_id: str) -> list[Thing]:
        return self._targets(user_id, 'projects')

    def domains_of(self, user_id: str) -> list[Thing]:
        return self._targets(user_id, 'domains')

    def _targets(self, user_id: str, kind: str) -> list[Thing]:
        table = self.service.collection(kind).table
        found: dict[str, Thing] = {}
        for actor in self.actors(user_id):
            for each in self.table.find('actor', actor):
                target_kind, id = each['target'].split('/')
                thing = table.get(id) if target_kind == kind else None
                if thing is not None:
                    found[id] = thing
        return list(found.values())


def _dig(value: Any, path: list[str]) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value
