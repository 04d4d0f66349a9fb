"""Aodh: alarms that are kept and never evaluated; their state changes when somebody sets it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call
from cloudsim.service import Route, Service
from cloudsim.store import Thing

STATES = ('ok', 'alarm', 'insufficient data')
TYPES = ('event', 'composite', 'prometheus', 'loadbalancer_member_health', 'gnocchi_resources_threshold',
         'gnocchi_aggregation_by_metrics_threshold', 'gnocchi_aggregation_by_resources_threshold')


class Alarms(Collection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        self.check_rule(given)
        thing.data['user_id'] = call.identity.user_id if call.identity else ''

    def check_rule(self, given: dict[str, Any]) -> None:
        kind = given.get('type')
        if kind not in TYPES:
            raise BadRequest(f"Invalid input for field/attribute type. Value: '{kind}'.")
        if f'{kind}_rule' not in given:
            raise BadRequest(f'{kind}_rule must be set for {kind} type alarm')

    def amend(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        """A PUT says the whole alarm; what it leaves out has its default again."""
        self.check_rule(changes)
        kept = {name: thing[name] for name in ('user_id', 'project_id')}
        if changes.get('state', self.kind.fields['state']) == thing['state']:
            kept.update({name: thing[name] for name in ('state_timestamp', 'state_reason')})
        else:
            kept['state_reason'] = 'Manually set via API'
        super().amend(call, thing, {**self.kind.blank(), **kept, **changes})

    def do_state(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        if call.method == 'PUT':
            if call.json not in STATES:
                raise BadRequest('state invalid')
            self.table.change(thing, state=call.json, state_reason='Manually set via API')
        return 200, thing['state']


class AlarmingService(Service):
    classes = {'alarms': Alarms}

    def own_routes(self) -> Iterable[Route]:
        alarms = self.collection('alarms')
        yield 'GET', '/v2/alarms/{id}/state', alarms.do_state
        yield 'PUT', '/v2/alarms/{id}/state', alarms.do_state
        yield 'GET', '/v2/alarms/{id}/history', lambda call, id: (200, [])
        yield 'GET', '/v2/capabilities', lambda call: (200, {'api': {}, 'alarm_storage': {}})


SERVICE = AlarmingService
