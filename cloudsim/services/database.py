"""Trove: database instances with the databases and users in them, and clusters of instances."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, NotFound, Problem
from cloudsim.service import Route, Service
from cloudsim.store import Thing

VERSION = '8.0'


class Instances(Collection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        flavor = self.flavor(data.pop('flavorRef'))
        thing.hidden.update(
            databases={each['name']: each for each in given.get('databases') or ()},
            users={each['name']: shown_user(each) for each in given.get('users') or ()})
        for name in ('databases', 'users', 'nics', 'availability_zone', 'replica_of', 'replica_count', 'restorePoint',
                     'configuration', 'modules', 'locality', 'slave_of', 'region_name'):
            data.pop(name, None)
        size = (given.get('volume') or {}).get('size')
        said = given.get('datastore') or {}
        data.update(flavor={'id': flavor, 'links': []}, volume={'size': int(size)} if size else {},
                    datastore={'type': said.get('type') or 'mysql', 'version': said.get('version') or VERSION},
                    hostname=f'{thing.id}.db.example.org', ip=['10.0.0.200'])

    def flavor(self, wanted: Any) -> str:
        id = str(wanted).rsplit('/', 1)[-1]
        if self.service.collection('flavors').table.get(id) is None:
            raise Problem(404, f'Flavor {wanted} could not be found.')
        return id

    def do_update(self, call: Call, *ids: str) -> Any:
        thing, said = self.get(call, ids[-1]), call.entity('instance')
        if 'name' in said:
            self.table.change(thing, name=said['name'])
        return 202

    def do_delete(self, call: Call, *ids: str) -> Any:
        thing = self.get(call, ids[-1])
        if thing['status'] in ('BUILD', 'RESIZE'):
            raise Problem(422, f'Instance {thing.id} is not ready.')
        return super().do_delete(call, *ids)

    def act(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        if thing['status'] != 'ACTIVE':
            raise Problem(422, f'Instance {id} is not currently available for an action to be performed '
                               f'(status was {thing["status"]}).')
        match call.json:
            case {'resize': {'flavorRef': flavor}}:
                wanted = self.flavor(flavor)
                if wanted == thing['flavor']['id']:
                    raise BadRequest('No change was requested in the size of the instance.')
                self.busy(call, thing, 'RESIZE', {'flavor': {'id': wanted, 'links': []}})
            case {'resize': {'volume': {'size': size}}}:
                if int(size) <= thing['volume'].get('size', 0):
                    raise BadRequest(f'The new volume \'size\' must be larger than the current volume size of '
                                     f'{thing["volume"].get("size")}.')
                self.busy(call, thing, 'RESIZE', {'volume': {'size': int(size)}})
            case {'restart': _}:
                self.busy(call, thing, 'REBOOT', {})
            case _:
                raise BadRequest('There is no such action.')
        return 202

    def busy(self, call: Call, thing: Thing, status: str, then: dict[str, Any]) -> None:
        self.table.change(thing, status=status)
        self.finish(call, thing, 'ERROR', lambda: self.table.change(thing, status='ACTIVE', **then))

    # What is inside.

    def inside(self, call: Call, id: str) -> tuple[dict[str, Any], str]:
        """Databases or users, as the path says."""
        name = 'users' if '/users' in call.path else 'databases'
        found: dict[str, Any] = self.get(call, id).hidden[name]
        return found, name

    def list_inside(self, call: Call, id: str) -> Any:
        found, name = self.inside(call, id)
        return 200, {name: list(found.values())}

    def add_inside(self, call: Call, id: str) -> Any:
        found, name = self.inside(call, id)
        for each in call.json.get(name) or ():
            if each['name'] in found:
                raise BadRequest(f'A {name[:-1]} with the name "{each["name"]}" already exists.')
            found[each['name']] = shown_user(each) if name == 'users' else each
        return 202

    def drop_inside(self, call: Call, id: str, key: str) -> Any:
        found, name = self.inside(call, id)
        if name == 'users':
            del found[self.known_user(found, key)['name']]
        elif found.pop(key, None) is None:
            raise NotFound(name[:-1].capitalize(), key)
        return 202

    @staticmethod
    def known_user(found: dict[str, Any], key: str) -> dict[str, Any]:
        """The user that a path means: `name@host`, or a name, whose host is `%` then."""
        name, host = key.rsplit('@', 1) if '@' in key else (key, '%')
        user: dict[str, Any] = found.get(name) or {}
        if user.get('host') != host:
            raise NotFound('User', key)
        return user

    def user(self, call: Call, id: str, key: str) -> Any:
        found, _ = self.inside(call, id)
        user = self.known_user(found, key)
        if call.method == 'PUT':
            changes = {name: value for name, value in (call.json.get('user') or {}).items() if name != 'password'}
            other = found.get(changes.get('name', user['name']))
            if changes and other is not None and other['host'] == changes.get('host', user['host']):
                raise BadRequest(f'A user with the name "{other["name"]}@{other["host"]}" already exists.')
            del found[user['name']]
            user.update(changes)
            found[user['name']] = user
            return 202
        return 200, {'user': user}

    def grants(self, call: Call, id: str, key: str, database: str | None = None) -> Any:
        user = self.known_user(self.inside(call, id)[0], key)
        if call.method == 'PUT':
            user['databases'] += [each for each in call.json.get('databases') or () if each not in user['databases']]
            return 202
        if call.method == 'DELETE':
            user['databases'] = [each for each in user['databases'] if each['name'] != database]
            return 202
        return 200, {'databases': user['databases']}


def shown_user(said: dict[str, Any]) -> dict[str, Any]:
    return {'name': said['name'], 'host': said.get('host') or '%', 'databases': list(said.get('databases') or ())}


class Clusters(Collection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        data['instances'] = [{'id': self.cloud.uuid(), 'name': f'{data["name"]}-member-{at + 1}', 'status': 'BUILD',
                              'flavor': {'id': each.get('flavorRef')}, 'volume': each.get('volume') or {}, 'ip': []}
                             for at, each in enumerate(given['instances'])]
        data['state'] = 'BUILDING'

    def set_state(self, thing: Thing, state: str) -> None:
        super().set_state(thing, state)
        busy = state not in ('NONE', 'ERROR')
        thing.data['task'] = {'name': state if busy else 'NONE', 'description': '', 'id': 1}
        for each in thing['instances']:
            each['status'] = 'BUILD' if busy else 'ACTIVE' if state == 'NONE' else 'ERROR'

    def act(self, call: Call, id: str) -> Any:
        self.get(call, id)
        return 202


class Datastores(Collection):
    def versions(self, call: Call, id: str, version: str | None = None) -> Any:
        found = self.get(call, id)['versions']
        if version is None:
            return 200, {'versions': found}
        for each in found:
            if version in (each['id'], each['name']):
                return 200, {'version': each}
        raise NotFound('Datastore version', version)


class DatabaseService(Service):
    classes = {'instances': Instances, 'clusters': Clusters, 'datastores': Datastores}

    def own_routes(self) -> Iterable[Route]:
        instances = self.collection('instances')
        base = '/v1.0/instances/{id}'
        yield 'POST', f'{base}/action', instances.act
        for name in ('databases', 'users'):
            yield 'GET', f'{base}/{name}', instances.list_inside
            yield 'POST', f'{base}/{name}', instances.add_inside
            yield 'DELETE', f'{base}/{name}/{{key}}', instances.drop_inside
        yield 'GET', f'{base}/users/{{key}}', instances.user
        yield 'PUT', f'{base}/users/{{key}}', instances.user
        yield 'GET', f'{base}/users/{{key}}/databases', instances.grants
        yield 'PUT', f'{base}/users/{{key}}/databases', instances.grants
        yield 'DELETE', f'{base}/users/{{key}}/databases/{{database}}', instances.grants
        yield 'POST', '/v1.0/clusters/{id}', self.collection('clusters').act
        yield 'GET', '/v1.0/datastores/{id}/versions', self.collection('datastores').versions
        yield 'GET', '/v1.0/datastores/{id}/versions/{version}', self.collection('datastores').versions

    def seed(self, call: Call) -> None:
        for flavor in self.cloud.table('compute.flavors'):
            self.collection('flavors').make(call, {'name': flavor['name'], 'ram': flavor['ram'], 'str_id': flavor.id,
                                                   'vcpus': flavor['vcpus'], 'disk': flavor['disk']}, id=flavor.id)
        for name in ('mysql', 'mariadb', 'postgresql', 'mongodb'):
            version = {'id': call.cloud.seed_id(f'datastores/{name}/{VERSION}', dashes=True), 'name': VERSION,
                       'active': 1, 'links': []}
            self.collection('datastores').make(
                call, {'name': name, 'versions': [version], 'default_version': version['id']},
                id=call.cloud.seed_id(f'datastores/{name}', dashes=True))


SERVICE = DatabaseService
