"""Tags, on every kind that has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Problem
from cloudsim.service import Route

if TYPE_CHECKING:
    from cloudsim.collection import Collection
    from cloudsim.services.network import NetworkService


def routes(service: NetworkService) -> Iterable[Route]:
    for collection in service.collections():
        if 'tags' not in collection.kind.fields:
            continue
        base = f'{collection.item_path}/tags'
        bound = Tags(collection)
        yield 'GET', base, bound.show
        yield 'PUT', base, bound.replace
        yield 'POST', base, bound.add_all
        yield 'DELETE', base, bound.clear
        yield 'GET', f'{base}/{{tag}}', bound.check
        yield 'PUT', f'{base}/{{tag}}', bound.add
        yield 'DELETE', f'{base}/{{tag}}', bound.remove


class Tags:
    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    def show(self, call: Call, id: str) -> Any:
        return 200, {'tags': self.collection.get(call, id)['tags']}

    def replace(self, call: Call, id: str) -> Any:
        said = call.json.get('tags') if isinstance(call.json, dict) else None
        if not isinstance(said, list):
            raise BadRequest('Invalid tags body', 'HTTPBadRequest')
        thing = self.collection.get(call, id)
        self.collection.table.change(thing, tags=sorted(set(said)))
        return 200, {'tags': thing['tags']}

    def add_all(self, call: Call, id: str) -> Any:
        thing = self.collection.get(call, id)
        self.collection.table.change(thing, tags=sorted({*thing['tags'], *(call.json.get('tags') or ())}))
        return 200, {'tags': thing['tags']}

    def clear(self, call: Call, id: str) -> Any:
        self.collection.table.change(self.collection.get(call, id), tags=[])
        return 204

    def check(self, call: Call, id: str, tag: str) -> Any:
        if tag not in self.collection.get(call, id)['tags']:
            raise Problem(404, f'Tag {tag} could not be found.', 'TagNotFound')
        return 204

    def add(self, call: Call, id: str, tag: str) -> Any:
        thing = self.collection.get(call, id)
        if tag not in thing['tags']:
            self.collection.table.change(thing, tags=[*thing['tags'], tag])
        return 201, None

    def remove(self, call: Call, id: str, tag: str) -> Any:
        self.check(call, id, tag)
        thing = self.collection.get(call, id)
        self.collection.table.change(thing, tags=[each for each in thing['tags'] if each != tag])
        return 204
