"""One simulated service: its description, its collections, its routes, its quotas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import yaml

from cloudsim import kind, versions
from cloudsim.collection import Collection
from cloudsim.kind import Kind
from cloudsim.messages import Call, Problem
from cloudsim.routing import Routes
from cloudsim.store import Table

if TYPE_CHECKING:
    from cloudsim.cloud import Cloud

Route = tuple[str, str, Callable[..., Any]]


@dataclass(frozen=True)
class Description:
    """What a service's YAML file says of the service; `kinds` has its collections."""

    name: str                                           # one word for faults and counts: network
    title: str                                          # neutron
    types: tuple[str, ...]                              # in the catalog
    errors: str                                         # see cloudsim.errors
    endpoint: str = ''                                  # below /<name>; may hold %(project_id)s
    request_id: str = 'x-openstack-request-id'
    versions: tuple[Mapping[str, Any], ...] = ()        # see cloudsim.versions
    microversion: Mapping[str, str] = field(default_factory=dict)     # type, header (older name), least, greatest
    skip: str = ''                                      # pattern of a path's start that says nothing: /v3/<project>
    onto: str = ''                                      # and what stands in its place
    over_quota: int = 403
    kinds: Mapping[str, Kind] = field(default_factory=dict)


@cache
def describe(name: str) -> Description:
    """Reads services/NAME/service.yaml, or services/NAME.yaml when a description is all there is."""
    here = resources.files('cloudsim') / 'services'
    place = here / name / 'service.yaml'
    said = yaml.load((place if place.is_file() else here / f'{name}.yaml').read_text(),
                     Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))
    common = {word.replace('-', '_'): value for word, value in said.pop('all', {}).items()}
    kinds = {each: kind.parse(each, entry or {}, common) for each, entry in said.pop('kinds', {}).items()}
    said['types'] = tuple(said['types'].split())
    said['versions'] = tuple(said.get('versions', ()))
    return Description(name=name, kinds=kinds, **said)


class Service:
    """A service of one cloud. Subclasses name their own collections and routes."""

    classes: Mapping[str, type[Collection]] = {}

    def __init__(self, cloud: Cloud, description: Description) -> None:
        self.cloud = cloud
        self.description = description
        self.name = description.name
        self.limits: dict[str, dict[str, int]] = {}         # project -> resource -> limit; not there: none
        self._skip = re.compile(description.skip) if description.skip else None
        self._collections = {name: self.classes.get(name, Collection)(cloud, self, each)
                             for name, each in description.kinds.items()}
        self._children: dict[str, list[Collection]] = {}
        for collection in self._collections.values():
            nearest = [*collection.kind.parents.values()][-1:]
            for parent in nearest:
                self._children.setdefault(parent, []).append(collection)
            for held in collection.kind.held_by:
                self._index(held)
        self.routes = Routes()
        for method, path, handler in self.all_routes():
            self.routes.add(method, path, handler)

    def _index(self, held: str) -> None:
        name, field_name = held.rsplit('.', 1)
        if '.' in name:
            self.cloud.when_built(lambda: self.cloud.table(name).index(field_name))
        else:
            self._collections[name].table.index(field_name)

    def all_routes(self) -> Iterable[Route]:
        """Later ones win over equal earlier ones."""
        yield from versions.routes(self)
        for collection in self._collections.values():
            yield from collection.routes()
        yield from self.own_routes()

    def own_routes(self) -> Iterable[Route]:
        """What is not a plain method on a collection."""
        return ()

    def seed(self, call: Call) -> None:
        """Fills it as a fresh installation is. `call` is made by nobody, with all rights."""

    # Parts of it.

    def collection(self, name: str) -> Any:
        """By the name of its kind. Any: callers know the class."""
        return self._collections[name]

    def collections(self) -> Iterable[Collection]:
        return self._collections.values()

    def tables(self) -> Iterable[Table]:
        """All that holds things somebody made."""
        return [collection.table for collection in self._collections.values()]

    def children(self, name: str) -> list[Collection]:
        """Collections whose things live below those of this kind."""
        return self._children.get(name, [])

    # Requests.

    def shorten(self, path: str) -> str:
        """The path without what says nothing (a project's id behind the version)."""
        if self._skip is None:
            return path
        return self._skip.sub(self.description.onto, path, count=1)

    def agree(self, call: Call) -> None:
        """Settles the microversion of a request. Raises Problem (406)."""
        call.version = versions.agreed(self.description, call)

    def answer_headers(self, call: Call) -> dict[str, str]:
        return versions.headers(self.description, call)

    # Quotas.

    def limit(self, project: str | None, resource: str) -> int:
        """How many a project may have; -1: any number."""
        return self.limits.get(project or '', {}).get(resource, -1)

    def charge(self, project: str | None, resource: str, used: int, more: int) -> None:
        """Raises Problem when `more` on top of `used` is too much."""
        limit = self.limit(project, resource)
        if 0 <= limit < used + more:
            raise self.over_quota(resource)

    def over_quota(self, resource: str) -> Problem:
        return Problem(self.description.over_quota, f'Quota exceeded for {resource}.', 'OverQuota')


def named(description: Description, name: str) -> Description:
    """The same, under the name that stands in URLs (a file's name cannot hold a dash)."""
    return replace(description, name=name)
