"""Manila: shares, who may mount them, their networks and types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cloudsim import listing, quota_sets
from cloudsim.collection import Collection
from cloudsim.detailed_collection import DetailedCollection
from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound
from cloudsim.service import Route, Service
from cloudsim.store import Thing


class Shares(DetailedCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data, types = thing.data, self.service.collection('types')
        if data['share_proto'] not in ('NFS', 'CIFS', 'GlusterFS', 'HDFS', 'CephFS', 'MapRFS'):
            raise BadRequest(f'Invalid share protocol provided: {data["share_proto"]}.')
        kind = types.named(call, data['share_type'] or 'default')
        data.update(share_type=kind.id, share_type_name=kind['name'], size=int(data['size']),
                    user_id=call.identity.user_id if call.identity else None, metadata=data['metadata'] or {})
        thing.hidden['rules'] = {}

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        for field in ('name', 'description'):
            if f'display_{field}' in changes:
                changes[field] = changes.pop(f'display_{field}')

    def work(self, call: Call, thing: Thing, verb: str, **how: Any) -> None:
        place = f'127.0.0.1:/shares/{thing.id}'
        super().work(call, thing, verb, then=lambda: self.table.change(
            thing, export_location=place, export_locations=[place]))

    def leaving(self, call: Call, thing: Thing) -> None:
        if thing['status'] not in ('available', 'error', 'inactive', 'error_deleting'):
            raise Forbidden(f'Invalid share: Share status must be one of available, error; it is {thing["status"]}.')
        if self.service.collection('snapshots').table.find('share_id', thing.id):
            raise Forbidden('Invalid share: Share has dependent snapshots.')

    def act(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        name = next(iter(call.json), '')
        said: dict[str, Any] = call.json.get(name) or {}
        match name.removeprefix('os-'):
            case 'allow_access' | 'access_allow':
                return self.allow(call, thing, said)
            case 'deny_access' | 'access_deny':
                if thing.hidden['rules'].pop(said.get('access_id'), None) is None:
                    raise NotFound('Access rule', str(said))
                return 202
            case 'access_list':
                return 200, {'access_list': list(thing.hidden['rules'].values())}
            case 'extend' | 'shrink':
                self.table.change(thing, size=int(said['new_size']))
                return 202
            case 'reset_status':
                self.table.change(thing, status=said.get('status') or said.get('os-reset_status'))
                return 202
            case 'force_delete':
                self.drop(thing)
                return 202
        raise BadRequest('There is no such action.')

    def allow(self, call: Call, thing: Thing, said: dict[str, Any]) -> Any:
        if thing['status'] != 'available':
            raise BadRequest('New access rules cannot be applied while the share is not available.')
        for each in thing.hidden['rules'].values():
            if (each['access_type'], each['access_to']) == (said.get('access_type'), said.get('access_to')):
                raise BadRequest(f'Share access {said.get("access_type")}:{said.get("access_to")} exists.')
        id = self.cloud.uuid()
        rule: dict[str, Any] = {'id': id, 'share_id': thing.id, 'access_type': said.get('access_type'), 'access_to':
                said.get('access_to'), 'access_level': said.get('access_level') or 'rw', 'state': 'active',
                'access_key': None, 'created_at': self.cloud.clock.stamp(), 'updated_at': None, 'metadata': {}}
        thing.hidden['rules'][id] = rule
        return 200, {'access': rule}

    def rules(self, call: Call) -> Any:
        return 200, {'access_list': list(self.get(call, call.asked('share_id') or '').hidden['rules'].values())}

    def metadata(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        if call.method in ('POST', 'PUT'):
            said = call.entity('metadata')
            self.table.change(thing, metadata=said if call.method == 'PUT' else {**thing['metadata'], **said})
        return 200, {'metadata': thing['metadata']}

    def unset(self, call: Call, id: str, key: str) -> Any:
        thing = self.get(call, id)
        self.table.change(thing, metadata={name: value for name, value in thing['metadata'].items() if name != key})
        return 200

    def locations(self, call: Call, id: str) -> Any:
        return 200, {'export_locations': [{'id': id, 'path': each, 'preferred': False, 'is_admin_only': False}
                                          for each in self.get(call, id)['export_locations']]}


class ShareSnapshots(DetailedCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        share = self.service.collection('shares').get(call, thing['share_id'])
        thing.data.update(share_proto=share['share_proto'], share_size=share['size'], size=share['size'])


class ShareNetworks(DetailedCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        thing.hidden['services'] = []

    def act(self, call: Call, id: str) -> Any:
        thing, services = self.get(call, id), self.service.collection('security-services')
        match call.json:
            case {'add_security_service': {'security_service_id': wanted}}:
                if services.get(call, wanted).id in thing.hidden['services']:
                    raise Conflict('Security service is already associated.')
                thing.hidden['services'].append(wanted)
            case {'remove_security_service': {'security_service_id': wanted}}:
                if wanted not in thing.hidden['services']:
                    raise NotFound('Security service association', wanted)
                thing.hidden['services'].remove(wanted)
            case _:
                raise BadRequest('There is no such action.')
        return 200, {'share_network': self.view(call, thing)}


class SecurityServices(DetailedCollection):
    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        network = self.service.collection('share-networks').table.get(call.asked('share_network_id') or '')
        found = super().candidates(call, parent)
        return found if network is None else [each for each in found if each.id in network.hidden['services']]

    def filterable(self, thing: Thing, name: str) -> Any:
        return listing.MISSING if name == 'share_network_id' else super().filterable(thing, name)


class ShareTypes(Collection):
    def named(self, call: Call, wanted: str) -> Thing:
        found = self.table.get(wanted) or next(iter(self.table.find('name', wanted)), None)
        if found is None:
            raise NotFound('Share type', wanted)
        return found

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        public = given.get('share_type_access:is_public', given.get('os-share-type-access:is_public',
                                                                    data.pop('is_public', True)))
        data['share_type_access:is_public'] = data['os-share-type-access:is_public'] = public
        if 'driver_handles_share_servers' not in data['extra_specs']:
            raise BadRequest("Required extra specs: driver_handles_share_servers not specified.")
        data['required_extra_specs'] = {'driver_handles_share_servers':
                                        data['extra_specs']['driver_handles_share_servers']}

    def specs(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        if call.method == 'POST':
            thing['extra_specs'].update(call.entity('extra_specs'))
        return 200, {'extra_specs': thing['extra_specs']}

    def unset(self, call: Call, id: str, key: str) -> Any:
        if self.get(call, id)['extra_specs'].pop(key, None) is None:
            raise NotFound('Extra spec', key)
        return 202


class SharedFileSystemService(Service):
    classes = {'shares': Shares, 'snapshots': ShareSnapshots, 'share-networks': ShareNetworks,
               'security-services': SecurityServices, 'types': ShareTypes}

    def own_routes(self) -> Iterable[Route]:
        shares, networks, types = (self.collection(name) for name in ('shares', 'share-networks', 'types'))
        yield 'POST', '/v2/shares/{id}/action', shares.act
        yield 'GET', '/v2/share-access-rules', shares.rules
        for method in ('GET', 'POST', 'PUT'):
            yield method, '/v2/shares/{id}/metadata', shares.metadata
        yield 'DELETE', '/v2/shares/{id}/metadata/{key}', shares.unset
        yield 'GET', '/v2/shares/{id}/export_locations', shares.locations
        yield 'POST', '/v2/share-networks/{id}/action', networks.act
        yield 'GET', '/v2/types/{id}/extra_specs', types.specs
        yield 'POST', '/v2/types/{id}/extra_specs', types.specs
        yield 'DELETE', '/v2/types/{id}/extra_specs/{key}', types.unset
        yield from quota_sets.routes(self, '/v2/quota-sets', ('shares', 'gigabytes', 'snapshots', 'share_networks'),
                                     self.usage)
        yield 'GET', '/v2/limits', self.show_limits

    def usage(self, project: str | None) -> dict[str, int]:
        shares = [each.data for each in self.collection('shares').table if each.data['project_id'] == project]
        return {'shares': len(shares), 'gigabytes': sum(each['size'] for each in shares),
                'share_networks': self.collection('share-networks').table.count('project_id', project)}

    def show_limits(self, call: Call) -> Any:
        used, project = self.usage(call.project_id), call.project_id
        return 200, {'limits': {'rate': [], 'absolute': {
            'maxTotalShares': self.limit(project, 'shares'),
            'maxTotalShareGigabytes': self.limit(project, 'gigabytes'),
            'maxTotalShareNetworks': self.limit(project, 'share_networks'),
            'totalSharesUsed': used['shares'], 'totalShareGigabytesUsed': used['gigabytes'],
            'totalShareNetworksUsed': used['share_networks']}}}

    def seed(self, call: Call) -> None:
        self.collection('types').make(call, {'name': 'default', 'extra_specs': {
            'driver_handles_share_servers': 'False'}}, id=call.cloud.seed_id('share types/default', dashes=True))


SERVICE = SharedFileSystemService
