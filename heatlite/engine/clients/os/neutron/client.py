"""Neutron's API as its library shows it: `create_port({'port': {...}})`, `list_networks(name=...)`, answers as is.

A method's name says the request: see `paths`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from keystoneauth1 import exceptions

from heatlite.engine.clients import library_errors
from heatlite.engine.clients.os import collection
from heatlite.engine.clients.os.collection import Fields
from heatlite.engine.clients.os.neutron import paths

if TYPE_CHECKING:
    from requests import Response


class NetworkClient(collection.Client):
    """Methods not written here are made from their names. `list_*` follows pages."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        request = paths.request_of(name)
        if request is None:
            raise AttributeError(name)
        match request.verb:
            case 'LIST':
                return functools.partial(self._list, request)
            case 'GET':
                return lambda *ids, **params: self.get(request.split(ids)[0], params=params)
            case 'DELETE':
                return lambda *ids: self.delete(request.split(ids)[0])
        return functools.partial(self._send, request)

    def _send(self, request: paths.NetworkRequest, /, *given: object, body: object = None,
              revision_number: object = None) -> object:
        """Send a body, which is the last argument. `revision_number`: refuse the update of another revision (412)."""
        path, rest = request.split(given)
        headers = None if revision_number is None else {'If-Match': f'revision_number={revision_number}'}
        return _body(self.http.request(path, request.verb, json=rest[0] if rest else body, headers=headers))

    def _list(self, request: paths.NetworkRequest, /, *given: object, retrieve_all: bool = True,
              **filters: object) -> dict[str, list[Fields]]:
        """Return all pages as one: `retrieve_all`, also after the ids, has no effect."""
        path, _retrieve_all = request.split(given)
        return self._pages(paths.key_of(request.method.partition('_')[2]), path, filters)

    def _pages(self, key: str, path: str, filters: Mapping[str, object]) -> dict[str, list[Fields]]:
        pages = collection.Collection(self, path, None, key)
        return {key: list(pages._pages(path, filters))}

    def find_resource(self, resource: str, name_or_id: str, project_id: str | None = None,
                      cmd_resource: str | None = None, parent_id: str | None = None, fields: object = None) -> Fields:
        """One thing by its id, else by its name, as a dictionary. Raises NotFound; AmbiguousMatch for several.

        `cmd_resource`: what its collection is called, where that is another word. `parent_id`: of what it is in.
        """
        plural = paths.plural_of(cmd_resource or resource)
        listed, within = getattr(self, f'list_{plural}'), () if parent_id is None else (parent_id,)
        params = {'fields': fields, **({'tenant_id': project_id} if project_id else {})}
        for field in ('id', 'name'):
            entries: list[Fields] = listed(*within, **{field: name_or_id}, **params)[paths.key_of(plural)]
            found = [entry for entry in entries if entry.get(field) == name_or_id]
            if len(found) > 1:
                raise library_errors.no_unique_match(collection.AmbiguousMatch(
                    f"Multiple {resource} matches found for name '{name_or_id}', use an ID to be more specific."),
                    self.http.service_type)
            if found:
                return found[0]
        raise library_errors.with_status(
            exceptions.NotFound(f"Unable to find {resource} with name or id '{name_or_id}'"),
            self.http.service_type, 404)

    # --- requests -----------------------------------------------------------------------------------------

    def get(self, path: str, params: Mapping[str, object] | None = None) -> Fields:
        found: Fields = self.http.get(path, params=params).json()
        return found

    def post(self, path: str, body: object = None) -> object:
        return _body(self.http.post(path, json=body))

    def put(self, path: str, body: object = None) -> object:
        return _body(self.http.put(path, json=body))

    def delete(self, path: str) -> None:
        self.http.delete(path)

    # --- what is not one request with the arguments as they are --------------------------------------------

    def add_gateway_router(self, router: str, body: object) -> object:
        return self.put(f'/routers/{router}', {'router': {'external_gateway_info': body}})

    def remove_gateway_router(self, router: str) -> object:
        return self.put(f'/routers/{router}', {'router': {'external_gateway_info': {}}})

    def list_ext(self, collection: str, path: str, retrieve_all: bool = True,
                 **filters: object) -> dict[str, list[Fields]]:
        """Return the entries of the list at `path`. `collection`: its key in the answer."""
        return self._pages(collection, path, filters)

    def show_ext(self, path: str, id: str, **params: object) -> Fields:
        """Return what is at `path`, which has `%s` for the id."""
        return self.get(path % id, params)

    def create_ext(self, path: str, body: object = None) -> object:
        return self.post(path, body)

    def update_ext(self, path: str, id: str, body: object = None) -> object:
        return self.put(path % id, body)

    def delete_ext(self, path: str, id: str) -> None:
        self.delete(path % id)


def _body(answer: Response) -> object:
    return answer.json() if answer.content else None
