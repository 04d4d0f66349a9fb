"""Metadata and tags of servers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Problem
from cloudsim.service import Route

if TYPE_CHECKING:
    from cloudsim.services.compute import ComputeService


def routes(service: ComputeService) -> Iterable[Route]:
    servers = service.collection('servers')

    def show(call: Call, id: str) -> Any:
        return 200, {'metadata': servers.get(call, id)['metadata']}

    def replace(call: Call, id: str) -> Any:
        server = servers.get(call, id)
        servers.table.change(server, metadata=checked(call.entity('metadata')))
        return 200, {'metadata': server['metadata']}

    def update(call: Call, id: str) -> Any:
        server = servers.get(call, id)
        servers.table.change(server, metadata={**server['metadata'], **checked(call.entity('metadata'))})
        return 200, {'metadata': server['metadata']}

    def one(call: Call, id: str, key: str) -> Any:
        found = servers.get(call, id)['metadata']
        if key not in found:
            raise Problem(404, 'Metadata item was not found')
        return 200, {'meta': {key: found[key]}}

    def set_one(call: Call, id: str, key: str) -> Any:
        said = call.entity('meta')
        if list(said) != [key]:
            raise BadRequest('Request body and URI mismatch')
        server = servers.get(call, id)
        servers.table.change(server, metadata={**server['metadata'], **checked(said)})
        return 200, {'meta': said}

    def remove_one(call: Call, id: str, key: str) -> Any:
        one(call, id, key)
        server = servers.get(call, id)
        left = {name: value for name, value in server['metadata'].items() if name != key}
        servers.table.change(server, metadata=left)
        return 204

    def tags(call: Call, id: str) -> Any:
        return 200, {'tags': servers.get(call, id)['tags']}

    def set_tags(call: Call, id: str) -> Any:
        server = servers.get(call, id)
        servers.table.change(server, tags=list(dict.fromkeys(call.json.get('tags') or [])))
        return 200, {'tags': server['tags']}

    def clear_tags(call: Call, id: str) -> Any:
        servers.table.change(servers.get(call, id), tags=[])
        return 204

    def add_tag(call: Call, id: str, tag: str) -> Any:
        server = servers.get(call, id)
        if tag in server['tags']:
            return 204
        servers.table.change(server, tags=[*server['tags'], tag])
        return 201

    def has_tag(call: Call, id: str, tag: str) -> Any:
        if tag not in servers.get(call, id)['tags']:
            raise Problem(404, f"Server {id} has no tag '{tag}'")
        return 204

    def remove_tag(call: Call, id: str, tag: str) -> Any:
        has_tag(call, id, tag)
        server = servers.get(call, id)
        servers.table.change(server, tags=[each for each in server['tags'] if each != tag])
        return 204

    base = '/v2.1/servers/{id}/metadata'
    yield 'GET', base, show
    yield 'PUT', base, replace
    yield 'POST', base, update
    yield 'GET', base + '/{key}', one
    yield 'PUT', base + '/{key}', set_one
    yield 'DELETE', base + '/{key}', remove_one
    base = '/v2.1/servers/{id}/tags'
    yield 'GET', base, tags
    yield 'PUT', base, set_tags
    yield 'DELETE', base, clear_tags
    yield 'GET', base + '/{tag}', has_tag
    yield 'PUT', base + '/{tag}', add_tag
    yield 'DELETE', base + '/{tag}', remove_tag


def checked(said: dict[str, Any]) -> dict[str, Any]:
    """Raises BadRequest for what is not text."""
    for name, value in said.items():
        if not isinstance(value, str) or not 0 < len(name) <= 255 or len(value) > 255:
            raise BadRequest(f'Invalid input for field/attribute {name}. Value: {value}.')
    return said
