"""What the client plug-ins of OpenStack's services share: errors by HTTP status, and finding an id by a name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from keystoneauth1 import exceptions as keystone_exceptions
from keystoneauth1.exceptions import http as http_exceptions

from heatlite.common import exception
from heatlite.engine.clients import client_plugin
from heatlite.engine.clients.os import collection, http

UUID = re.compile(r'[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}', re.IGNORECASE)


def looks_like_uuid(value: object) -> bool:
    return bool(UUID.fullmatch(str(value)))


C = TypeVar('C')                        # the class of the client
T = TypeVar('T')
R = TypeVar('R', bound=collection.Client)


class StatusPlugin(client_plugin.ClientPlugin[C]):
    """What errors mean, by their HTTP status. Subclasses say `service_types`, `option_group` and `api_version`."""

    exceptions_module = [http_exceptions, keystone_exceptions]

    def _get_service_name(self) -> str:
        return self.option_group or super()._get_service_name()

    # --- errors -------------------------------------------------------------------------------------------

    def is_client_exception(self, ex: BaseException) -> bool:
        return super().is_client_exception(ex) or isinstance(ex, keystone_exceptions.ClientException)

    def is_not_found(self, ex: BaseException) -> bool:
        return is_not_found(ex)

    def is_conflict(self, ex: BaseException) -> bool:
        return status_of(ex) == 409

    def is_over_limit(self, ex: BaseException) -> bool:
        return status_of(ex) in (413, 429)

    def is_bad_request(self, ex: BaseException) -> bool:
        return status_of(ex) == 400

    def is_forbidden(self, ex: BaseException) -> bool:
        return status_of(ex) == 403


class ServicePlugin(StatusPlugin[R]):
    """A service whose client is one of ours: subclasses say `client_class`, too."""

    client_class: type[R]

    def _create(self, version: str | None = None) -> R:
        return self.client_class(self.adapter(), self.context)

    def _listed(self, path: str, plural: str, **filters: object) -> list[collection.Fields]:
        return list(collection.Collection(self.client(), path, None, plural)._pages(path, filters))

    def _got(self, path: str, key: str | None) -> collection.Fields | None:
        """One thing; None when there is none. A path without its last part, an empty name, is one of all things."""
        if path.endswith('/'):
            return None
        try:
            body = self.client().http.get(path).json()
        except Exception as error:
            if status_of(error) in (400, 404):
                return None
            raise
        found: collection.Fields = body[key] if key else body
        return found

    def _find(self, entity: str, path: str, key: str, plural: str, wanted: object, *, field: str = 'id',
              filters: Mapping[str, object] | None = None) -> str:
        """Return the id of what has the id or the name `wanted`. Raises EntityNotFound,
        PhysicalResourceNameAmbiguity."""
        if not wanted:                      # no name of things without one
            raise exception.EntityNotFound(entity=entity, name=wanted)
        found = self._got(f'{path}{collection.path_of(wanted)}', key)
        if found is not None:
            return str(found[field])
        named = [entry for entry in self._listed(path, plural, name=wanted, **(filters or {}))
                 if entry.get('name') == wanted]
        return str(the_only_one(entity, wanted, named)[field])


def status_of(error: BaseException) -> int | None:
    """Return the status of a service's error; ours have other meanings."""
    return None if isinstance(error, exception.HeatException) else http.status_of(error)


def is_not_found(error: BaseException) -> bool:
    """Return whether a service does not have the object, or a search by name has not found it."""
    return isinstance(error, exception.EntityNotFound) or status_of(error) == 404


def the_only_one(entity: str, wanted: object, found: Sequence[T]) -> T:
    """Return the only one of `found`. Raises EntityNotFound, PhysicalResourceNameAmbiguity."""
    if not found:
        raise exception.EntityNotFound(entity=entity, name=wanted)
    if len(found) > 1:
        raise exception.PhysicalResourceNameAmbiguity(name=wanted)
    return found[0]
