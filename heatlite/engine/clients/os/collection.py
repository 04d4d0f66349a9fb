"""Collections of a service as objects: `client.servers.get(id)`, as plug-ins know it from client libraries."""

from __future__ import annotations

import builtins
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar
from urllib.parse import parse_qs, quote, urlsplit

from keystoneauth1 import exceptions

from heatlite.engine.clients import library_errors

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter
    from requests import Response

    from heatlite.common.context import RequestContext

MOST_PAGES = 10000
V = TypeVar('V')

Fields: TypeAlias = Mapping[str, Any]
"""An object of a service as its answers have it, decoded from JSON. Which fields it has, and of what types they are,
says the documentation of the service."""


def without_none(fields: Mapping[str, V]) -> dict[str, V]:
    """Return the fields that have a value, as services take them."""
    return {name: value for name, value in fields.items() if value is not None}


class Entity:
    """One thing of a service. Its fields are attributes; `to_dict()` is all of them."""

    def __init__(self, manager: Collection | None, info: Mapping[str, object]) -> None:
        if manager is not None:             # without one it is plain data, which cannot be read again
            self.manager = manager
        self._info: dict[str, Any] = dict(info)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__['_info'][name]
        except KeyError:
            raise AttributeError(name) from None

    def to_dict(self) -> dict[str, Any]:
        return copy.deepcopy(self._info)

    def get(self) -> None:
        """Read it again."""
        self._info = self.manager.get(self.id).to_dict()

    def delete(self) -> None:
        self.manager.delete(self.id)

    def update(self, **fields: object) -> Entity | None:
        return self.manager.update(self.id, **fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entity) and self._info == other._info

    def __hash__(self) -> int:
        return hash(self._info.get('id'))

    def __repr__(self) -> str:
        return f'<{type(self).__name__} {self._info.get("id") or self._info.get("name")}>'


class Specified(Entity):
    """A flavor or a type: the service keeps a map of texts for it, its extra specifications, under its own URL."""

    manager: HasSpecs

    def _specs(self, *key: str) -> str:
        return self.manager._url(self.id, self.manager.specs, *key)

    def get_keys(self) -> dict[str, str]:
        return dict(self.manager.http.get(self._specs()).json()['extra_specs'])

    def set_keys(self, metadata: Mapping[str, object]) -> object:
        return self.manager.http.post(self._specs(), json={'extra_specs': metadata}).json()['extra_specs']

    def unset_keys(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.manager.http.delete(self._specs(key))


EntityOrId: TypeAlias = Entity | str      # what a method takes that is about one entity


def id_of(what: object) -> str:
    """Return the id of an entity, or `what` itself when it is one."""
    return str(getattr(what, 'id', what))


def path_of(*parts: object) -> str:
    """Return the path with these parts, each quoted: names may have signs that mean something in a URL. A `#` or `?` in
    one would lead to another object."""
    return ''.join(f'/{quote(id_of(part), safe=":@")}' for part in parts)


class HasHttp(Protocol):
    """What a collection needs of its client."""

    @property
    def http(self) -> Adapter: ...


class Collection:
    """One collection. Subclasses add what it can do beyond these."""

    path = ''
    key: str | None = None                  # of one thing in a body; None: the body is the thing
    plural: str | None = None               # of the list
    detail = ''                             # appended to the path for a list with all fields
    update_verb = 'PUT'
    entity: type[Entity] = Entity

    def __init__(self, client: HasHttp, path: str | None = None, key: str | None = None,
                 plural: str | None = None) -> None:
        self.client = client
        self.http = client.http
        self.path = path or self.path
        self.key = key or self.key
        self.plural = plural or self.plural

    # --- requests -----------------------------------------------------------------------------------------

    def _url(self, *parts: object) -> str:
        """Return a path below the collection. Raises NotFound when a part is empty: the path would be another one's."""
        if any(part in (None, '') for part in parts):
            raise self._not_found(f'No {self.key or "entry"} without an id.')
        return f'{self.path}{path_of(*parts)}'

    def _wrapped(self, fields: Mapping[str, object]) -> dict[str, object]:
        body = without_none(fields)
        return {self.key: body} if self.key else body

    def _entity(self, answer: Response) -> Entity:
        """Return the thing in an answer."""
        body = answer.json()
        return self.entity(self, body.get(self.key, body) if self.key else body)

    def _changed(self, answer: Response) -> Entity | None:
        """Return the thing in an answer that may have no body."""
        return self._entity(answer) if answer.content else None

    def _pages(self, url: str, params: Mapping[str, object]) -> Iterator[Fields]:
        """Yield the list's entries, page after page."""
        params = without_none(params)
        for _page in range(MOST_PAGES):
            body = self.http.get(url, params=params).json()
            yield from body[self.plural] if self.plural else body
            following = next_page(body, self.plural or '')
            if following is None:
                return
            params = {**params, **following}

    # --- what every collection can do ---------------------------------------------------------------------

    def list(self, detailed: bool = True, search_opts: Mapping[str, object] | None = None,
             **params: object) -> list[Entity]:
        url = f'{self.path}{self.detail}' if detailed else self.path
        return [self.entity(self, entry) for entry in self._pages(url, {**(search_opts or {}), **params})]

    def get(self, what: EntityOrId) -> Entity:
        return self._entity(self.http.get(self._url(what)))

    def update(self, what: EntityOrId, **fields: object) -> Entity | None:
        body = {self.key: fields} if self.key else fields
        return self._changed(self.http.request(self._url(what), self.update_verb, json=body))

    def delete(self, what: EntityOrId) -> None:
        self.http.delete(self._url(what))

    def findall(self, **fields: object) -> builtins.list[Entity]:
        return [each for each in self.list() if all(getattr(each, name, None) == value
                                                    for name, value in fields.items())]

    def find(self, **fields: object) -> Entity:
        """Return the only one. Raises NotFound; AmbiguousMatch when there are several."""
        found = self.findall(**fields)
        if not found:
            raise self._not_found(f'No {self.key or "entry"} matching {fields}.')
        if len(found) > 1:
            raise library_errors.no_unique_match(
                AmbiguousMatch(f'Multiple {self.plural or "entries"} matching {fields}.'), self.http.service_type)
        return found[0]

    def _not_found(self, text: str) -> exceptions.NotFound:
        return library_errors.with_status(exceptions.NotFound(text), self.http.service_type, 404)


class Creating(Collection):
    """A collection whose things are created from their fields, whatever these are."""

    def create(self, **fields: object) -> Entity:
        return self._entity(self.http.post(self.path, json=self._wrapped(fields)))


class HasSpecs(Creating):
    """A collection of flavors or types."""

    entity = Specified
    specs = 'extra_specs'                   # the last part of the URL of a thing's specifications


class AmbiguousMatch(exceptions.ClientException):
    """Several things have the name."""


def next_page(body: object, plural: str) -> dict[str, object] | None:
    """Return the query of the next page, as services of this family write its link; None on the last."""
    if not isinstance(body, Mapping):
        return None
    links = body.get(f'{plural}_links') or body.get('links')
    link = body.get('next')
    if isinstance(links, Mapping):
        link = links.get('next')
    elif isinstance(links, list):
        link = next((each['href'] for each in links if each.get('rel') == 'next'), None)
    if not link:
        return None
    return {name: values[-1] for name, values in parse_qs(urlsplit(link).query).items()} or None


def plain(path: str, key: str | None = None, plural: str | None = None) -> Callable[[Client], Creating]:
    """Return a collection that can do no more than all of them."""
    return lambda client: Creating(client, path, key, plural)


class Client:
    """A service's client: `http` is its adapter. Subclasses name its collections, each made when it is first used:
    `servers = cached_property(Servers)`, or `cached_property(plain(path, key, plural))`."""

    def __init__(self, http: Adapter, context: RequestContext) -> None:
        self.http = http
        self.context = context
