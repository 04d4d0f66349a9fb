"""Volume types with their extra specs, encryption and access; QoS specs and what they are associated with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim import listing
from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound, Problem
from cloudsim.service import Route
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.volume import VolumeService

PUBLIC = 'os-volume-type-access:is_public'
FOR_ALL = ('RESKEY:availability_zones', 'multiattach', 'replication_enabled')      # extra specs ordinary users see


class VolumeTypes(Collection):
    service: VolumeService

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        data['is_public'] = data[PUBLIC] = bool(given.get(PUBLIC, given.get('is_public', True)))
        data['extra_specs'] = dict(data['extra_specs'] or {})
        thing.hidden['projects'] = []

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        for field in ('is_public', PUBLIC):
            if field in changes:
                changes['is_public'] = changes[PUBLIC] = bool(changes[field])

    def named(self, wanted: Any) -> Thing:
        """By id or name. Raises Problem (404)."""
        found = self.table.get(str(wanted)) or next(iter(self.table.find('name', wanted)), None)
        if found is None:
            raise Problem(404, f'Volume type with name {wanted} could not be found.')
        return found

    def seen(self, call: Call, id: str) -> Thing | None:
        if id == 'default':
            return self.named('files')
        found = super().seen(call, id)
        if found is None or call.is_admin or found['is_public'] or call.project_id in found.hidden['projects']:
            return found
        return None

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        wanted = (call.asked('is_public') or '').lower()
        found = [each for each in super().candidates(call, parent) if self.seen(call, each.id) is not None]
        if call.is_admin and wanted and wanted != 'none':
            return [each for each in found if each['is_public'] == (wanted in listing.TRUE)]
        if call.is_admin and not wanted:
            return [each for each in found if each['is_public'] or call.project_id in each.hidden['projects']]
        return found

    def leaving(self, call: Call, thing: Thing) -> None:
        volumes = self.service.collection('volumes').table
        if any(each['volume_type_id'] == thing.id for each in volumes):
            raise BadRequest(f'Target volume type is still in use: {thing.id}')

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        if call.is_admin:
            return thing.data
        shown = {name: value for name, value in thing.data.items() if name != 'qos_specs_id'}
        shown['extra_specs'] = {name: value for name, value in thing['extra_specs'].items() if name in FOR_ALL}
        return shown


class QosSpecs(Collection):
    service: VolumeService

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        data['specs'] = {name: value for name, value in given.items() if name not in ('name', 'consumer', 'specs')}
        for name in data['specs']:
            data.pop(name, None)

    def amend(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        if 'consumer' in changes:
            thing.data['consumer'] = changes.pop('consumer')
        self.table.change(thing, specs={**thing['specs'], **changes})

    def do_update(self, call: Call, *ids: str) -> Any:
        self.permit(call, 'U')
        said = call.entity('qos_specs')
        self.amend(call, self.get(call, ids[-1]), dict(said))
        return 200, {'qos_specs': said}

    def types_of(self, thing: Thing) -> list[Thing]:
        return [each for each in self.service.collection('types').table if each['qos_specs_id'] == thing.id]

    def leaving(self, call: Call, thing: Thing) -> None:
        if self.types_of(thing):
            if not call.is_asked('force'):
                raise BadRequest(f'QoS Specs {thing.id} is still associated with entities.')
            for each in self.types_of(thing):
                each.data['qos_specs_id'] = None


def routes(service: VolumeService) -> Iterable[Route]:
    types, specs = service.collection('types'), service.collection('qos-specs')

    def admin(function: Any) -> Any:
        def checked(call: Call, *ids: str) -> Any:
            if not call.is_admin:
                raise Forbidden
            return function(call, *ids)

        return checked

    def extra_specs(call: Call, id: str) -> Any:
        return 200, {'extra_specs': types.get(call, id)['extra_specs']}

    def set_extra_specs(call: Call, id: str) -> Any:
        types.get(call, id)['extra_specs'].update(call.entity('extra_specs'))
        return 200, {'extra_specs': types.get(call, id)['extra_specs']}

    def one_spec(call: Call, id: str, name: str) -> Any:
        found = types.get(call, id)['extra_specs']
        if name not in found:
            raise NotFound('Volume Type extra spec', name)
        return 200, {name: found[name]}

    def set_spec(call: Call, id: str, name: str) -> Any:
        types.get(call, id)['extra_specs'][name] = call.json.get(name)
        return 200, {name: call.json.get(name)}

    def unset_spec(call: Call, id: str, name: str) -> Any:
        one_spec(call, id, name)
        del types.get(call, id)['extra_specs'][name]
        return 202

    def encryption(call: Call, id: str) -> Any:
        return 200, types.get(call, id).hidden.get('encryption') or {}

    def encrypt(call: Call, id: str) -> Any:
        kind, said = types.get(call, id), call.entity('encryption')
        if 'encryption' in kind.hidden:
            raise BadRequest(f'Volume type encryption for type {id} already exists.')
        if not said.get('provider') or said.get('control_location') not in ('front-end', 'back-end'):
            raise BadRequest('Invalid input received: provider and control_location are needed')
        kind.hidden['encryption'] = {
            'volume_type_id': id, 'provider': said['provider'], 'control_location': said['control_location'],
            'cipher': said.get('cipher'), 'key_size': said.get('key_size'), 'encryption_id': service.cloud.uuid(),
            'created_at': service.cloud.clock.stamp(), 'updated_at': None, 'deleted': False, 'deleted_at': None}
        return 200, {'encryption': kind.hidden['encryption']}

    def encryption_of(call: Call, id: str, encryption_id: str) -> dict[str, Any]:
        found = types.get(call, id).hidden.get('encryption')
        if found is None or encryption_id not in ('provider', found['encryption_id']):
            raise NotFound('Volume type encryption for type', id)
        return dict(found)

    def change_encryption(call: Call, id: str, encryption_id: str) -> Any:
        encryption_of(call, id, encryption_id)
        types.get(call, id).hidden['encryption'].update(call.entity('encryption'))
        return 200, {'encryption': call.entity('encryption')}

    def show_encryption(call: Call, id: str, name: str) -> Any:
        found = types.get(call, id).hidden.get('encryption') or {}
        if name in found:
            return 200, {name: found[name]}
        return 200, encryption_of(call, id, name)

    def decrypt(call: Call, id: str, encryption_id: str) -> Any:
        encryption_of(call, id, encryption_id)
        del types.get(call, id).hidden['encryption']
        return 202

    def access(call: Call, id: str) -> Any:
        kind = types.get(call, id)
        if kind['is_public']:
            raise NotFound('Access list not available for public volume types:', id)
        return 200, {'volume_type_access': [{'volume_type_id': id, 'project_id': each}
                                            for each in kind.hidden['projects']]}

    def refuse_public(kind: Thing) -> None:
        if kind['is_public']:
            raise BadRequest(f'Type access modification is not applicable to public volume type {kind.id}.')

    def act(call: Call, id: str) -> Any:
        kind = types.get(call, id)
        match call.json:
            case {'addProjectAccess': {'project': project}}:
                refuse_public(kind)
                if project in kind.hidden['projects']:
                    raise Conflict(f'Volume type access for {id} / {project} combination already exists.')
                kind.hidden['projects'].append(project)
            case {'removeProjectAccess': {'project': project}}:
                refuse_public(kind)
                if project not in kind.hidden['projects']:
                    raise NotFound('Volume type access for', f'{id} / {project} combination')
                kind.hidden['projects'].remove(project)
            case _:
                raise BadRequest('There is no such action.')
        return 202

    def associate(call: Call, id: str) -> Any:
        kind = types.get(call, call.asked('vol_type_id') or '')
        other = kind['qos_specs_id']
        if other not in (None, specs.get(call, id).id):
            raise BadRequest(f'Invalid volume type: Type {kind.id} is already associated with another qos specs: '
                             f'{other}')
        kind.data['qos_specs_id'] = id
        return 202

    def disassociate(call: Call, id: str) -> Any:
        specs.get(call, id)
        kind = types.get(call, call.asked('vol_type_id') or '')
        if kind['qos_specs_id'] == id:
            kind.data['qos_specs_id'] = None
        return 202

    def disassociate_all(call: Call, id: str) -> Any:
        for each in specs.types_of(specs.get(call, id)):
            each.data['qos_specs_id'] = None
        return 202

    def associations(call: Call, id: str) -> Any:
        return 200, {'qos_associations': [{'association_type': 'volume_type', 'name': each['name'], 'id': each.id}
                                          for each in specs.types_of(specs.get(call, id))]}

    def delete_keys(call: Call, id: str) -> Any:
        thing = specs.get(call, id)
        for name in call.json.get('keys') or ():
            if name not in thing['specs']:
                raise BadRequest(f'QoS specs {id} has no spec with key {name}.')
            del thing['specs'][name]
        return 202

    base = '/v3/types/{id}/extra_specs'
    yield 'GET', base, extra_specs
    yield 'POST', base, admin(set_extra_specs)
    yield 'GET', base + '/{name}', one_spec
    yield 'PUT', base + '/{name}', admin(set_spec)
    yield 'DELETE', base + '/{name}', admin(unset_spec)
    base = '/v3/types/{id}/encryption'
    yield 'GET', base, admin(encryption)
    yield 'POST', base, admin(encrypt)
    yield 'GET', base + '/{name}', admin(show_encryption)
    yield 'PUT', base + '/{name}', admin(change_encryption)
    yield 'DELETE', base + '/{name}', admin(decrypt)
    yield 'GET', '/v3/types/{id}/os-volume-type-access', admin(access)
    yield 'POST', '/v3/types/{id}/action', admin(act)
    base = '/v3/qos-specs/{id}/'
    yield 'GET', base + 'associate', admin(associate)
    yield 'GET', base + 'disassociate', admin(disassociate)
    yield 'GET', base + 'disassociate_all', admin(disassociate_all)
    yield 'GET', base + 'associations', admin(associations)
    yield 'PUT', base + 'delete_keys', admin(delete_keys)
