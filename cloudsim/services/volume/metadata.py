"""Metadata of volumes and snapshots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import Call, Problem
from cloudsim.service import Route

if TYPE_CHECKING:
    from cloudsim.collection import Collection
    from cloudsim.services.volume import VolumeService


def routes(service: VolumeService) -> Iterable[Route]:
    for kind in ('volumes', 'snapshots'):
        bound = Metadata(service.collection(kind))
        base = f'/v3/{kind}/{{id}}/metadata'
        yield 'GET', base, bound.show
        yield 'PUT', base, bound.replace
        yield 'POST', base, bound.update
        yield 'GET', base + '/{key}', bound.one
        yield 'PUT', base + '/{key}', bound.set_one
        yield 'DELETE', base + '/{key}', bound.remove


class Metadata:
    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    def _put(self, call: Call, id: str, metadata: dict[str, Any]) -> Any:
        thing = self.collection.get(call, id)
        self.collection.table.change(thing, metadata=metadata)
        return 200, {'metadata': metadata}

    def show(self, call: Call, id: str) -> Any:
        return 200, {'metadata': self.collection.get(call, id)['metadata']}

    def replace(self, call: Call, id: str) -> Any:
        return self._put(call, id, dict(call.entity('metadata')))

    def update(self, call: Call, id: str) -> Any:
        return self._put(call, id, {**self.collection.get(call, id)['metadata'], **call.entity('metadata')})

    def one(self, call: Call, id: str, key: str) -> Any:
        found = self.collection.get(call, id)['metadata']
        if key not in found:
            raise Problem(404, f'Volume {id} has no metadata with key {key}.')
        return 200, {'meta': {key: found[key]}}

    def set_one(self, call: Call, id: str, key: str) -> Any:
        self._put(call, id, {**self.collection.get(call, id)['metadata'], **call.entity('meta')})
        return 200, {'meta': call.entity('meta')}

    def remove(self, call: Call, id: str, key: str) -> Any:
        self.one(call, id, key)
        now = self.collection.get(call, id)['metadata']
        self._put(call, id, {name: value for name, value in now.items() if name != key})
        return 200
