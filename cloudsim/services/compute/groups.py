"""Server groups and host aggregates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound
from cloudsim.service import Route
from cloudsim.services.compute.hosts import HOST
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.compute import ComputeService

POLICIES = ('affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity')


class ServerGroups(Collection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        if call.version >= (2, 64):
            policy = given.get('policy')
            if 'policies' in given:
                raise BadRequest("Additional properties are not allowed ('policies' was unexpected)")
        else:
            policy = (given.get('policies') or [None])[0]
        if policy not in POLICIES:
            raise BadRequest(f'Invalid input for field/attribute policy. Value: {policy}.')
        data.update(policy=policy, policies=[policy], members=[],
                    user_id=call.identity.user_id if call.identity else '')

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        hidden = ('policies', 'metadata') if call.version >= (2, 64) else ('policy', 'rules')
        return {name: value for name, value in thing.data.items() if name not in hidden}

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        return super().candidates(call, parent)


class Aggregates(Collection):
    service: ComputeService

    def new_id(self, data: dict[str, Any]) -> str:
        return str(self.table.made + 1)

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        zone = thing['availability_zone']
        thing.data.update(uuid=self.cloud.uuid(), hosts=[], metadata={'availability_zone': zone} if zone else {})

    def changed(self, call: Call, thing: Thing) -> None:
        if thing['availability_zone']:
            thing['metadata']['availability_zone'] = thing['availability_zone']

    def leaving(self, call: Call, thing: Thing) -> None:
        if thing['hosts']:
            raise BadRequest(f'Cannot remove host from aggregate {thing.id}. Reason: Host aggregate is not empty.')

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {**thing.data, 'id': int(thing.id)}

    def act(self, call: Call, id: str) -> Any:
        if not call.is_admin:
            raise Forbidden
        thing = self.get(call, id)
        match call.json:
            case {'add_host': {'host': host}}:
                if host != HOST:
                    raise NotFound('Compute host', host)
                if host in thing['hosts']:
                    raise Conflict(f'Cannot add host to aggregate {id}. Reason: host already in it.')
                thing['hosts'].append(host)
            case {'remove_host': {'host': host}}:
                if host not in thing['hosts']:
                    raise NotFound(f'Cannot remove host from aggregate {id}. Host', host)
                thing['hosts'].remove(host)
            case {'set_metadata': {'metadata': dict(said)}}:
                for name, value in said.items():
                    if value is None:
                        thing['metadata'].pop(name, None)
                    else:
                        thing['metadata'][name] = value
            case _:
                raise BadRequest('There is no such action.')
        return 200, {'aggregate': self.view(call, thing)}


def routes(service: ComputeService) -> Iterable[Route]:
    yield 'POST', '/v2.1/os-aggregates/{id}/action', service.collection('os-aggregates').act
