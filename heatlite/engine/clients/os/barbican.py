"""Secrets (Barbican). Things are named by their URL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from keystoneauth1 import exceptions

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients import library_errors
from heatlite.engine.clients.os import collection, service

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter

    from heatlite.engine.clients.os.collection import Fields

CLIENT_NAME = 'barbican'


def _id_in(ref: object) -> str:
    return urlsplit(str(ref)).path.rstrip('/').rpartition('/')[2]


class DraftEntity:
    """What is not in the service until `store()` or `submit()`, both of which return the URL that it then has."""

    def __init__(self, http: Adapter, path: str, body: Mapping[str, object], ref: str) -> None:
        self._http, self._path, self._body, self._ref = http, path, body, ref

    def store(self) -> str:
        return str(self._http.post(self._path, json=self._body).json()[self._ref])

    submit = store


class Secret(collection.Entity):
    @property
    def payload(self) -> str | bytes:
        """Text where the secret is text, else bytes."""
        return payload(self.manager.http, _id_in(self.secret_ref), self._info)


class Order(collection.Entity):
    """What the service does not say of an order, since it is not there yet or never will be, is None."""

    def __getattr__(self, name: str) -> object:
        found = self.__dict__.get('_info', {}).get(name)
        if found is None and name not in ('container_ref', 'secret_ref', 'error_reason', 'error_status_code'):
            raise AttributeError(name)
        return found


class SecretContainer(collection.Entity):
    """Its secrets are attributes, by their names in the container."""

    manager: SecretContainers

    def __getattr__(self, name: str) -> object:
        for entry in self.__dict__.get('_info', {}).get('secret_refs', ()):
            if entry['name'] == name:
                return self.manager.client.secrets.get(entry['secret_ref'])
        return super().__getattr__(name)


class References(collection.Collection):
    """Things that are named by their URL.

    An error that one is not there begins with "Not Found", as that of the library: its users search the text for it.
    """

    def get(self, what: collection.EntityOrId) -> collection.Entity:
        with _not_found():
            return super().get(_id_in(what))

    def delete(self, what: collection.EntityOrId) -> None:
        with _not_found():
            super().delete(_id_in(what))


@contextmanager
def _not_found() -> Iterator[None]:
    try:
        yield
    except exceptions.NotFound as error:
        raise library_errors.with_status(
            exceptions.NotFound(f'Not Found: {error.message}'), BarbicanClientPlugin.KEY_MANAGER, 404) from error


class Secrets(References):
    path, plural = '/secrets', 'secrets'
    entity = Secret

    def create(self, **fields: object) -> DraftEntity:
        return DraftEntity(self.http, self.path, self._wrapped(fields), 'secret_ref')


class Orders(References):
    path, plural = '/orders', 'orders'
    entity = Order

    def create(self, type: str = 'key', **meta: object) -> DraftEntity:
        """`meta`: what the service makes of it depends on the type: key, asymmetric or certificate."""
        return DraftEntity(self.http, self.path, {'type': type, 'meta': self._wrapped(meta)}, 'order_ref')


class SecretContainers(References, collection.Creating):
    client: KeyManagerClient
    path, plural = '/containers', 'containers'
    entity = SecretContainer


class KeyManagerClient(collection.Client):
    secrets = cached_property(Secrets)
    orders = cached_property(Orders)
    containers = cached_property(SecretContainers)


def payload(http: Adapter, secret_id: str, secret: Fields) -> str | bytes:
    kind = (secret.get('content_types') or {}).get('default', 'application/octet-stream')
    answer = http.get(collection.path_of('secrets', secret_id, 'payload'), headers={'Accept': kind})
    return answer.text if kind.startswith('text/') else answer.content


class BarbicanClientPlugin(service.ServicePlugin[KeyManagerClient]):
    option_group = CLIENT_NAME
    service_types = [KEY_MANAGER] = ['key-manager']
    api_version = {'min_version': '1', 'max_version': '1.latest'}
    client_class = KeyManagerClient

    def _read(self, entity: str, plural: str, ref: str) -> Fields:
        """Return the object. Raises EntityNotFound."""
        wanted = _id_in(ref)
        found = self._got(collection.path_of(plural, wanted), None)
        if found is None:
            raise exception.EntityNotFound(entity=entity, name=ref)
        return found

    def get_secret_by_ref(self, secret_ref: str) -> collection.Entity:
        return collection.Entity(None, self._read('Secret', 'secrets', secret_ref))

    def get_secret_payload_by_ref(self, secret_ref: str) -> str | bytes:
        """Text where the secret is text, else bytes."""
        return payload(self.client().http, _id_in(secret_ref), self._read('Secret', 'secrets', secret_ref))

    def get_container_by_ref(self, container_ref: str) -> collection.Entity:
        return collection.Entity(None, self._read('Container', 'containers', container_ref))

    def _create_container(self, kind: str, name: str | None, refs: dict[str, str]) -> str:
        body = {'type': kind, 'name': name,
                'secret_refs': [{'name': key, 'secret_ref': ref} for key, ref in refs.items() if ref]}
        return str(self.client().http.post('/containers', json=body).json()['container_ref'])

    def create_generic_container(self, name: str | None = None, secret_refs: Mapping[str, str] | None = None) -> str:
        return self._create_container('generic', name, dict(secret_refs or {}))

    def create_certificate(self, name: str | None = None, **refs: str) -> str:
        return self._create_container('certificate', name, _plain(refs))

    def create_rsa(self, name: str | None = None, **refs: str) -> str:
        return self._create_container('rsa', name, _plain(refs))


def _plain(refs: dict[str, str]) -> dict[str, str]:
    return {key.removesuffix('_ref'): ref for key, ref in refs.items()}


class SecretConstraint(constraints.BaseCustomConstraint):
    is_of_user = True                       # its ACL may name users
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_secret_by_ref'


class ContainerConstraint(constraints.BaseCustomConstraint):
    is_of_user = True
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_container_by_ref'
