"""Trunks and their sub-ports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import Call, Conflict, NotFound
from cloudsim.service import Route
from cloudsim.services.network.neutral import NeutronCollection
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.network import NetworkService


class Trunks(NeutronCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        if self.table.find('port_id', thing['port_id']):
            raise Conflict(f'Port {thing["port_id"]} is in use by another trunk.', 'ParentPortInUse')
        said, thing.data['sub_ports'] = thing.data['sub_ports'] or [], []
        self.check_ports(call, thing, said)
        thing.data['sub_ports'] = said

    def check_ports(self, call: Call, trunk: Thing, said: list[dict[str, Any]]) -> None:
        for each in said:
            port = self.service.collection('ports').get(call, str(each.get('port_id')))
            each.setdefault('segmentation_type', 'vlan')
            for other in self.table:
                if other['port_id'] == port.id or any(one['port_id'] == port.id for one in other['sub_ports']):
                    raise Conflict(f'Port {port.id} is in use by another trunk.', 'DuplicateSubPort')
            if any(one['segmentation_id'] == each.get('segmentation_id') for one in trunk['sub_ports']):
                raise Conflict(f'segmentation_type vlan and segmentation_id {each.get("segmentation_id")} already in '
                               f'use on trunk {trunk.id}.', 'DuplicateSubPort')

    def add(self, call: Call, id: str) -> Any:
        trunk = self.enabled(call, id)
        said = call.json.get('sub_ports') or []
        self.check_ports(call, trunk, said)
        self.table.change(trunk, sub_ports=trunk['sub_ports'] + said)
        return 200, self.view(call, trunk)

    def remove(self, call: Call, id: str) -> Any:
        trunk = self.enabled(call, id)
        for each in call.json.get('sub_ports') or []:
            if all(one['port_id'] != each['port_id'] for one in trunk['sub_ports']):
                raise NotFound('SubPort', each['port_id'])
            self.table.change(trunk, sub_ports=[one for one in trunk['sub_ports']
                                                if one['port_id'] != each['port_id']])
        return 200, self.view(call, trunk)

    def enabled(self, call: Call, id: str) -> Thing:
        trunk = self.get(call, id)
        self.check_enabled(trunk)
        return trunk

    def check_enabled(self, trunk: Thing) -> None:
        if not trunk['admin_state_up']:
            raise Conflict(f'Trunk {trunk.id} is currently disabled.', 'TrunkDisabled')

    def leaving(self, call: Call, thing: Thing) -> None:
        self.check_enabled(thing)
        port = self.service.thing('ports', thing['port_id'])
        if port is not None and port['binding:host_id']:
            raise Conflict(f'Trunk {thing.id} is currently in use.', 'TrunkInUse')


def routes(service: NetworkService) -> Iterable[Route]:
    trunks = service.collection('trunks')
    yield 'PUT', '/v2.0/trunks/{id}/add_subports', trunks.add
    yield 'PUT', '/v2.0/trunks/{id}/remove_subports', trunks.remove
    yield 'GET', '/v2.0/trunks/{id}/get_subports', lambda call, id: (
        200, {'sub_ports': trunks.get(call, id)['sub_ports']})
