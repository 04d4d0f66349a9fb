"""QoS policies show their rules inside."""

from __future__ import annotations

from typing import Any

from cloudsim.messages import Call, Conflict
from cloudsim.services.network.neutral import NeutronCollection
from cloudsim.store import Thing


class Policies(NeutronCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        thing.data['rules'] = []


class QosRules(NeutronCollection):
    """One class for the four kinds of rules."""

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        for other in self.table.find('parent', thing.hidden['parent']):
            if other.get('direction') == thing.get('direction'):
                raise Conflict(f'QoS Rule conflict: a rule of type {self.kind.item_key} is there already.',
                               'QoSRulesConflict')

    def started(self, call: Call, thing: Thing) -> None:
        policy = self.service.thing('policies', thing.hidden['parent'])
        thing.hidden['shown'] = {**thing.data, 'type': self.type, 'qos_policy_id': policy.id}
        policy.data['rules'].append(thing.hidden['shown'])

    def changed(self, call: Call, thing: Thing) -> None:
        thing.hidden['shown'].update(thing.data)

    def left(self, thing: Thing) -> None:
        policy = self.service.thing('policies', thing.hidden['parent'])
        if policy is not None:
            policy.data['rules'] = [each for each in policy.data['rules'] if each is not thing.hidden['shown']]

    @property
    def type(self) -> str:
        return str(self.kind.item_key).removesuffix('_rule')
