"""What a fresh Keystone holds, the same as the real small cloud that the simulator is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cloudsim.messages import Call
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.cloud import Cloud
    from cloudsim.services.identity import IdentityService

ROLES = ('admin', 'manager', 'member', 'reader', 'service', 'heat_stack_owner', 'heat_stack_user', 'creator',
         'load-balancer_member')
PROJECTS = ('admin', 'service', 'demo')
USERS: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {      # name: (domain, {where: roles})
    'admin': ('default', {'projects/admin': ('admin', 'heat_stack_owner'), 'system/all': ('admin',)}),
    'demo': ('default', {'projects/demo': ('member', 'heat_stack_owner', 'creator', 'load-balancer_member')}),
    'heat': ('default', {'projects/service': ('admin', 'service')}),
    'heat_domain_admin': ('heat', {'domains/heat': ('admin',)}),
}


def fill(service: IdentityService, call: Call) -> None:
    cloud = service.cloud

    def put(kind: str, name: str, id: str | None = None, **fields: Any) -> Thing:
        collection = service.collection(kind)
        data = {**collection.kind.blank(), 'name': name, **fields, 'id': id or cloud.seed_id(f'{kind}/{name}')}
        hidden = {'password': data.pop('password')} if 'password' in data else {}
        thing: Thing = collection.table.add(Thing(data['id'], None, data, hidden))
        return thing

    put('domains', 'Default', 'default', description='The default domain')
    ids = {'domains/default': 'default', 'system/all': 'all', 'domains/heat': put('domains', 'heat').id}
    for name in ROLES:
        ids[f'roles/{name}'] = put('roles', name).id
    for name in PROJECTS:
        ids[f'projects/{name}'] = put('projects', name, parent_id='default').id
    others = [each.description.title for each in cloud.services.values() if each is not service]
    people: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
        **{name: ('default', {'projects/service': ('admin', 'service')}) for name in others}, **USERS}
    for name, (domain, places) in people.items():
        user = put('users', name, domain_id=ids[f'domains/{domain}'], password=cloud.settings.password)
        for place, roles in places.items():
            for role in roles:
                service.assignments.add(f'{place.split("/")[0]}/{ids[place]}', f'users/{user.id}', ids[f'roles/{role}'])


def fill_region(service: IdentityService, region: Cloud) -> None:
    """A region with the endpoints of its services. All regions have the identity service of the first."""
    name, regions = region.settings.region, service.collection('regions')
    if regions.table.get(name) is None:
        regions.table.add(Thing(name, None, {**regions.kind.blank(), 'id': name}, {}))
    for each in region.services.values():
        for at, kind in enumerate(each.description.types):
            title = each.description.title + ('' if at == 0 else f'-{kind}')
            endpoint(service, region, kind, title, f'{each.cloud.url}/{each.name}{each.description.endpoint}')
    fill_outside(service, region)


def fill_outside(service: IdentityService, region: Cloud) -> None:
    for kind, url in region.outside.items():
        endpoint(service, region, kind, kind, url)


def endpoint(service: IdentityService, region: Cloud, kind: str, name: str, url: str) -> None:
    """A service with its three endpoints in a region."""
    id = service.cloud.seed_id(f'services/{kind}')
    services, endpoints = service.collection('services').table, service.collection('endpoints').table
    if services.get(id) is None:
        services.add(Thing(id, None, {'id': id, 'type': kind, 'name': name, 'enabled': True, 'description': ''}, {}))
    for interface in ('public', 'internal', 'admin'):
        own = region.seed_id(f'endpoints/{kind}/{interface}')
        old = endpoints.get(own)
        if old is not None:
            endpoints.remove(old)
        endpoints.add(Thing(own, None, {
            'id': own, 'interface': interface, 'service_id': id, 'region_id': region.settings.region,
            'region': region.settings.region, 'url': url, 'enabled': True}, {}))
    service.catalog.forget()
