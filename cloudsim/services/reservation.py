"""Blazar: leases of hosts."""

from __future__ import annotations

from typing import Any

from cloudsim.collection import Collection
from cloudsim.messages import Call
from cloudsim.service import Service
from cloudsim.store import Thing


class Leases(Collection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        data['start_date'] = data['start_date'] or data.pop('start', None)
        data['end_date'] = data['end_date'] or data.pop('end', None)
        for name in ('start', 'end'):
            data.pop(name, None)
        data['user_id'] = call.identity.user_id if call.identity else None
        data['reservations'] = [{**each, 'id': self.cloud.uuid(), 'lease_id': thing.id, 'status': 'pending',
                                 'resource_id': self.cloud.uuid(), 'missing_resources': False,
                                 'resources_changed': False} for each in data['reservations'] or ()]
        data['events'] = [{**each, 'id': self.cloud.uuid(), 'lease_id': thing.id, 'status': 'UNDONE'}
                          for each in data['events'] or ()]

    def set_state(self, thing: Thing, state: str) -> None:
        super().set_state(thing, state)
        for each in thing['reservations']:
            each['status'] = {'ACTIVE': 'active', 'ERROR': 'error'}.get(state, 'pending')


class Hosts(Collection):
    def new_id(self, data: dict[str, Any]) -> str:
        return str(self.table.made + 1)

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        thing.data['hypervisor_hostname'] = thing.data['service_name'] = thing['name']


class ReservationService(Service):
    classes = {'leases': Leases, 'os-hosts': Hosts}


SERVICE = ReservationService
