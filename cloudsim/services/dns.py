"""Designate: zones and record sets. Everything is pending for a moment, also what is being deleted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from cloudsim import listing
from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, Conflict, Forbidden
from cloudsim.service import Route, Service
from cloudsim.store import Thing

UUID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


class Pending(Collection):
    def work(self, call: Call, thing: Thing, verb: str, **how: Any) -> None:
        self.table.change(thing, action=verb.upper())
        super().work(call, thing, verb, **how)

    def do_delete(self, call: Call, *ids: str) -> Any:
        thing = self.of_path(call, ids)
        self.discard(call, thing)
        return 202, self.view(call, thing)

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        path = self.kind.path.replace('{zone_id}', str(thing.hidden.get('parent')))
        return {**thing.data, 'links': {'self': f'{self.cloud.url}/dns{path}/{thing.id}'}}

    def do_list(self, call: Call, *parents: str) -> Any:
        answer = listing.page(call, self, self.candidates(call, self.parent(call, parents)))
        links = {'self': f'{self.cloud.url}/dns{call.path}'}
        following = answer.pop(f'{self.kind.collection_key}_links', None)
        if following:
            links['next'] = following[0]['href']
        key = self.kind.collection_key
        return 200, {**answer, 'links': links, 'metadata': {'total_count': len(answer[key])}}


class Zones(Pending):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        data['type'] = (data['type'] or 'PRIMARY').upper()
        if not data['name'].endswith('.'):
            raise BadRequest(f"Provided object does not match schema: '{data['name']}' is not a 'zonename'",
                             'InvalidObject')
        if data['type'] == 'PRIMARY' and not data['email']:
            raise BadRequest("Provided object does not match schema: 'email' is a required property", 'InvalidObject')
        if data['type'] == 'SECONDARY' and not data['masters']:
            raise BadRequest("Provided object does not match schema: 'masters' is a required property",
                             'InvalidObject')
        if self.table.find('name', data['name']):
            raise Conflict('Duplicate Zone', 'DuplicateZone')
        data['pool_id'] = self.cloud.seed_id('pools/default', dashes=True)
        data['serial'] = int(self.cloud.clock.now())

    def started(self, call: Call, thing: Thing) -> None:
        sets = self.service.collection('recordsets')
        asking = self.cloud.nobody(self.service, call)
        for kind, record in (('SOA', self.authority(thing)), ('NS', 'ns1.example.org.')):
            sets.make(asking, {'name': thing['name'], 'type': kind, 'records': [record]}, thing.id)

    def changed(self, call: Call, thing: Thing) -> None:
        thing.data['version'] += 1
        thing.data['serial'] += 1
        sets = self.service.collection('recordsets').table
        for each in sets.find('parent', thing.id):
            if each['type'] == 'SOA':
                sets.change(each, records=[self.authority(thing)])

    @staticmethod
    def authority(thing: Thing) -> str:
        """The SOA record, which names who is responsible for the zone."""
        return f'ns1.example.org. {(thing["email"] or "").replace("@", ".")}. 1 3600 600 86400 3600'


class RecordSets(Pending):
    def parent(self, call: Call, ids: tuple[str, ...]) -> str | None:
        for id in ids:
            if not UUID.fullmatch(id):
                raise BadRequest(f'Invalid UUID zone_id: {id}', 'invalid_uuid')
        return super().parent(call, ids)

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        zone, data = self.service.collection('zones').table.get(thing.hidden['parent']), thing.data
        if zone['status'] == 'PENDING' and zone['action'] == 'DELETE':
            raise BadRequest('Can not create a record set in a zone that is being deleted')
        if not (data['name'] == zone['name'] or data['name'].endswith('.' + zone['name'])):
            raise BadRequest(f'RecordSet is not contained within it\'s parent zone: {zone["name"]}',
                             'InvalidRecordsetLocation')
        for other in self.table.find('parent', zone.id):
            if (other['name'], other['type']) == (data['name'], data['type']):
                raise Conflict('Duplicate RecordSet', 'DuplicateRecordset')
        data.update(zone_id=zone.id, zone_name=zone['name'])

    def changed(self, call: Call, thing: Thing) -> None:
        thing.data['version'] += 1

    def leaving(self, call: Call, thing: Thing) -> None:
        if thing['type'] in ('SOA', 'NS') and thing['name'] == thing['zone_name']:
            raise Forbidden('Managed records may not be deleted')


class DnsService(Service):
    classes = {'zones': Zones, 'recordsets': RecordSets}

    def own_routes(self) -> Iterable[Route]:
        sets = self.collection('recordsets')

        def everything(call: Call) -> Any:
            found = sets.table.find('project_id', call.project_id)
            return 200, {**listing.page(call, sets, found), 'links': {}, 'metadata': {'total_count': len(found)}}

        def quotas(call: Call, project: str) -> Any:
            return 200, {'zones': self.limit(project, 'zones'), 'zone_recordsets': -1, 'zone_records': -1,
                         'recordset_records': -1, 'api_export_size': 1000}

        yield 'GET', '/v2/recordsets', everything
        yield 'GET', '/v2/quotas/{project}', quotas


SERVICE = DnsService
