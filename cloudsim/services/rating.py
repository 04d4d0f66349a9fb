"""CloudKitty: quotes by the prices of the hashmap module, without groups and thresholds; nothing is collected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from cloudsim.messages import BadRequest, Call, Forbidden, NotFound
from cloudsim.service import Route, Service

HASHMAP = '/v1/rating/module_config/hashmap'
# What an administrator makes -> the key of its id, and the keys it takes. A mapping belongs to a service or a field.
KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    'services': ('service_id', ('name',)), 'fields': ('field_id', ('service_id', 'name')),
    'mappings': ('mapping_id', ('service_id', 'field_id', 'value', 'type', 'cost'))}
FLAT, RATE = 'flat', 'rate'


class RatingService(Service):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._made: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in KINDS}

    def own_routes(self) -> Iterable[Route]:
        for kind in KINDS:
            yield 'POST', f'{HASHMAP}/{kind}', partial(self._make, kind)
            yield 'GET', f'{HASHMAP}/{kind}', partial(self._list, kind)
            yield 'DELETE', f'{HASHMAP}/{kind}/{{id}}', partial(self._remove, kind)
        yield 'POST', '/v1/rating/quote', self._quote

    def _make(self, kind: str, call: Call) -> Any:
        self._check_admin(call)
        key, names = KINDS[kind]
        made = {key: self.cloud.uuid(), **{name: call.json.get(name) for name in names}}
        self._made[kind][made[key]] = made
        return 201, made

    def _list(self, kind: str, call: Call) -> Any:
        return 200, {kind: list(self._made[kind].values())}

    def _remove(self, kind: str, call: Call, id: str) -> Any:
        self._check_admin(call)
        if self._made[kind].pop(id, None) is None:
            raise NotFound(kind, id)
        return 204, None

    @staticmethod
    def _check_admin(call: Call) -> None:
        if not call.is_admin:
            raise Forbidden

    def _quote(self, call: Call) -> Any:
        resources = call.json.get('resources')
        if not isinstance(resources, list):
            raise BadRequest('Invalid input for field/attribute resources.')
        return 200, float(sum((self._price(each) for each in resources), Decimal(0)))

    def _price(self, resource: Mapping[str, Any]) -> Decimal:
        """The mappings of the service, and those of its fields whose value the description has."""
        flat, rate = Decimal(0), Decimal(1)
        for mapping in self._applied(resource):
            if mapping['type'] == RATE:
                rate *= Decimal(str(mapping['cost']))
            else:
                flat += Decimal(str(mapping['cost']))
        return flat * rate * Decimal(str(resource.get('volume', 0)))

    def _applied(self, resource: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        metadata = (resource.get('desc') or {}).get('metadata') or {}
        for mapping in self._made['mappings'].values():
            field = self._made['fields'].get(mapping['field_id'] or '')
            owner = self._made['services'].get((field or mapping)['service_id'] or '')
            if owner is None or owner['name'] != resource.get('service'):
                continue
            if field is None or str(metadata.get(field['name'])) == mapping['value']:
                yield mapping


SERVICE = RatingService
