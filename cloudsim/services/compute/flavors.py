"""Flavors, their extra specs, and who may use those that are not public."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim import listing
from cloudsim.detailed_collection import DetailedCollection
from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound, Problem
from cloudsim.service import Route
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.compute import ComputeService

PUBLIC = 'os-flavor-access:is_public'
SEEDS = (('m1.nano', 128, 1, 1), ('m1.tiny', 512, 1, 1), ('m1.small', 2048, 20, 1), ('m1.medium', 4096, 40, 2))


class Flavors(DetailedCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        if given.get('id') in ('auto', 'None'):
            thing.id = data['id'] = self.cloud.uuid()
        for name in ('ram', 'vcpus', 'disk'):
            data[name] = int(data[name] or 0)
        if data['ram'] < 1 or data['vcpus'] < 1:
            raise BadRequest('Invalid input for field/attribute ram or vcpus.')
        data['swap'] = data['swap'] or ''
        thing.hidden.update(specs={}, projects=[])

    def is_visible(self, call: Call, thing: Thing) -> bool:
        return call.is_admin or thing[PUBLIC] or call.project_id in thing.hidden['projects']

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        wanted = (call.asked('is_public') or '').lower()
        found = []
        for each in super().candidates(call, parent):
            if not call.is_admin or wanted == '':
                keep = each[PUBLIC] or call.project_id in each.hidden['projects']
            else:
                keep = wanted == 'none' or each[PUBLIC] == (wanted in listing.TRUE)
            if keep and each['ram'] >= int(call.asked('minRam') or 0) \
                    and each['disk'] >= int(call.asked('minDisk') or 0):
                found.append(each)
        return found

    def brief(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {'id': thing.id, 'name': thing['name'], 'links': self.links(thing),
                **({'description': thing['description']} if call.version >= (2, 55) else {})}

    def filterable(self, thing: Thing, name: str) -> Any:
        return listing.MISSING

    def links(self, thing: Thing) -> list[dict[str, str]]:
        return [{'rel': 'self', 'href': f'{self.cloud.url}/compute/v2.1/flavors/{thing.id}'},
                {'rel': 'bookmark', 'href': f'{self.cloud.url}/compute/flavors/{thing.id}'}]

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        shown = {**thing.data, 'links': self.links(thing)}
        if call.version < (2, 55):
            del shown['description']
        if call.version >= (2, 61):
            shown['extra_specs'] = thing.hidden['specs']
        if call.version >= (2, 75):
            shown['swap'] = thing['swap'] or 0
        return shown


def seed(service: ComputeService, call: Call) -> None:
    for name, ram, disk, vcpus in SEEDS:
        service.collection('flavors').make(call, {'name': name, 'ram': ram, 'disk': disk, 'vcpus': vcpus},
                                           id=call.cloud.seed_id('flavors/' + name, dashes=True))


def routes(service: ComputeService) -> Iterable[Route]:
    flavors = service.collection('flavors')

    def specs(call: Call, id: str) -> Any:
        return 200, {'extra_specs': flavors.get(call, id).hidden['specs']}

    def set_specs(call: Call, id: str) -> Any:
        admins_only(call)
        flavor = flavors.get(call, id)
        flavor.hidden['specs'].update({name: str(value) for name, value in call.entity('extra_specs').items()})
        return 200, {'extra_specs': flavor.hidden['specs']}

    def one_spec(call: Call, id: str, name: str) -> Any:
        found = flavors.get(call, id).hidden['specs']
        if name not in found:
            raise Problem(404, f'Flavor {id} has no extra specs with key {name}.')
        return 200, {name: found[name]}

    def set_spec(call: Call, id: str, name: str) -> Any:
        admins_only(call)
        flavors.get(call, id).hidden['specs'][name] = call.json[name]
        return 200, {name: call.json[name]}

    def unset_spec(call: Call, id: str, name: str) -> Any:
        admins_only(call)
        one_spec(call, id, name)
        del flavors.get(call, id).hidden['specs'][name]
        return 200

    def access(call: Call, id: str) -> Any:
        admins_only(call)
        flavor = flavors.get(call, id)
        if flavor[PUBLIC]:
            raise NotFound('Access list not available for public flavors:', id)
        return 200, {'flavor_access': [{'flavor_id': id, 'tenant_id': each} for each in flavor.hidden['projects']]}

    def act(call: Call, id: str) -> Any:
        admins_only(call)
        flavor = flavors.get(call, id)
        projects = flavor.hidden['projects']
        match call.json:
            case {'addTenantAccess': {'tenant': project}}:
                if flavor[PUBLIC]:
                    raise Conflict('Can not add access to a public flavor.')
                if project in projects:
                    raise Conflict(f'Flavor access already exists for flavor {id} and project {project} combination.')
                projects.append(project)
            case {'removeTenantAccess': {'tenant': project}}:
                if project not in projects:
                    raise Problem(404, f'Flavor access not found for {id} / {project} combination.')
                projects.remove(project)
            case _:
                raise BadRequest('There is no such action.')
        return 200, {'flavor_access': [{'flavor_id': id, 'tenant_id': each} for each in projects]}

    base = '/v2.1/flavors/{id}/os-extra_specs'
    yield 'GET', base, specs
    yield 'POST', base, set_specs
    yield 'GET', base + '/{name}', one_spec
    yield 'PUT', base + '/{name}', set_spec
    yield 'DELETE', base + '/{name}', unset_spec
    yield 'GET', '/v2.1/flavors/{id}/os-flavor-access', access
    yield 'POST', '/v2.1/flavors/{id}/action', act


def admins_only(call: Call) -> None:
    if not call.is_admin:
        raise Forbidden
