"""Networks, their segments, and who else may use them."""

from __future__ import annotations

from typing import Any

from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound
from cloudsim.services.network.neutral import NeutronCollection
from cloudsim.store import Thing

ADMIN_ONLY = ('shared', 'router:external', 'provider:network_type', 'provider:physical_network',
              'provider:segmentation_id', 'segments')
SEGMENT = ('provider:network_type', 'provider:physical_network', 'provider:segmentation_id')
NUMBERED = ('vxlan', 'vlan', 'gre')         # kinds of networks with a segmentation id
# Ports that go with their network or subnet instead of holding it.
VANISHING = ('network:dhcp', 'network:distributed')


class Networks(NeutronCollection):
    def check(self, given: dict[str, Any]) -> None:
        super().check(given)
        for field in ('admin_state_up', 'shared', 'router:external', 'port_security_enabled'):
            if field in given and not isinstance(given[field], bool):
                given[field] = str(given[field]).lower() in ('true', '1')

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        self.admin_fields(call, thing.data, thing.data)
        data = thing.data
        if data['provider:segmentation_id'] is None and data['provider:network_type'] in NUMBERED:
            self.service.segmentation += 1
            data['provider:segmentation_id'] = self.service.segmentation
        data['subnets'] = []

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        self.admin_fields(call, changes, thing.data)
        if changes.get('provider:network_type', NUMBERED[0]) not in NUMBERED:
            changes.setdefault('provider:segmentation_id', None)

    def changed(self, call: Call, thing: Thing) -> None:
        super().changed(call, thing)
        segments = self.service.collection('segments').table
        found = segments.find('network_id', thing.id)
        if len(found) == 1:                     # a network with several has none of these fields of its own
            segments.change(found[0], **{name.partition(':')[2]: thing[name] for name in SEGMENT})

    def admin_fields(self, call: Call, given: dict[str, Any], now: dict[str, Any]) -> None:
        if call.is_admin:
            return
        for field in ADMIN_ONLY:
            if given.get(field) not in (None, False, self.kind.fields.get(field), now.get(field) if now is not given
                                        else None):
                raise Forbidden(f'rule:create_network:{field} is disallowed by policy')

    def started(self, call: Call, thing: Thing) -> None:
        segments = self.service.collection('segments')
        said = thing.data.pop('segments', None) or [{name: thing[name] for name in SEGMENT}]
        for each in said:
            segments.system_make({'network_id': thing.id, **{
                name.partition(':')[2]: value for name, value in each.items()}})

    def is_visible(self, call: Call, thing: Thing) -> bool:
        return super().is_visible(call, thing) or self.is_granted(call, thing)

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        found = super().candidates(call, parent)
        if call.is_admin:
            return found
        granted = [self.table.get(each['object_id']) for each in self.service.collection('rbac-policies').table]
        return found + [each for each in granted if each is not None and each not in found
                        and self.is_granted(call, each)]

    def is_granted(self, call: Call, thing: Thing) -> bool:
        policies = self.service.collection('rbac-policies').table.find('object_id', thing.id)
        return any(each['target_tenant'] in ('*', call.project_id) for each in policies)

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {name: value for name, value in thing.data.items()
                if (call.is_admin or not name.startswith('provider:'))
                and (name != 'is_default' or thing['router:external'])}

    def leaving(self, call: Call, thing: Thing) -> None:
        ports = self.service.collection('ports')
        found = ports.table.find('network_id', thing.id)
        if any(each['device_owner'] not in VANISHING for each in found):
            raise Conflict(f'Unable to complete operation on network {thing.id}. There are one or more ports still in '
                           'use on the network.', 'NetworkInUse')
        for each in found:
            ports.drop(each)

    def left(self, thing: Thing) -> None:
        for kind in ('subnets', 'segments'):
            collection = self.service.collection(kind)
            for each in collection.table.find('network_id', thing.id):
                collection.drop(each)
        for agent in self.service.collection('agents').table:
            if thing.id in agent.hidden.get('networks', ()):
                agent.hidden['networks'].remove(thing.id)


class Segments(NeutronCollection):
    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        return super().candidates(call, parent)


class RbacPolicies(NeutronCollection):
    KINDS = {'network': 'networks', 'qos_policy': 'policies', 'security_group': 'security-groups',
             'address_scope': 'address-scopes', 'subnetpool': 'subnetpools', 'address_group': 'address-groups'}

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        kind = self.KINDS.get(thing['object_type'])
        if kind is None:
            raise BadRequest(f'{thing["object_type"]} is not a valid object type.', 'RbacPolicyInvalidType')
        found = self.service.collection(kind).seen(call, thing['object_id'])
        if found is None:
            raise NotFound('Object', thing['object_id'])
        for each in self.table.find('object_id', thing['object_id']):
            if (each['action'], each['target_tenant']) == (thing['action'], thing['target_tenant']):
                raise Conflict('An RBAC policy already exists with those values.', 'DuplicatePolicy')
        thing.data['target_project'] = thing['target_tenant']

    def changed(self, call: Call, thing: Thing) -> None:
        super().changed(call, thing)
        self.table.change(thing, target_project=thing['target_tenant'])
