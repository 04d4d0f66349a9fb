"""Messages (Zaqar)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from heatlite.common import runtime as runtimes
from heatlite.engine import constraints
from heatlite.engine.clients.os import http, service
from heatlite.engine.clients.os.collection import Client, Collection, path_of

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter

LOG = logging.getLogger(__name__)
CLIENT_NAME = 'zaqar'
LONGEST_NAME = 64
CLIENT_ID = 'Client-ID'                     # every caller says which one it is


class Queue:
    """One queue, as its library shows it."""

    def __init__(self, http: Adapter, name: str) -> None:
        self._http = http
        self.name = name

    def _path(self, *parts: str) -> str:
        return path_of('queues', self.name, *parts)

    def ensure_exists(self) -> None:
        self._http.put(self._path())

    def delete(self) -> None:
        self._http.delete(self._path())

    def exists(self) -> bool:
        """Search the list: version 2 of the API answers for every name as if there was a queue."""
        queues = Collection(self, '/queues', None, 'queues')
        return any(each.name == self.name for each in queues.list(name=self.name))

    @property
    def http(self) -> Adapter:
        return self._http

    def metadata(self, new_meta: object = None, force_reload: bool = False) -> object:
        if new_meta is not None:
            self._http.put(self._path(), json=new_meta)
            return new_meta
        return self._http.get(self._path()).json()

    def post(self, messages: object) -> object:
        entries = messages if isinstance(messages, list) else [messages]
        return self._http.post(self._path('messages'), json={'messages': entries}).json()

    def pop(self, count: int = 1) -> list[QueueMessage]:
        """Take messages out of the queue. If one nests so deeply that it cannot be read, all of them are ignored: the
        service has deleted them."""
        answer = self._http.delete(self._path('messages'), params={'pop': count})
        try:
            return [QueueMessage(entry) for entry in answer.json()['messages']] if answer.content else []
        except RecursionError:
            LOG.warning('What was taken from queue %s nests too deeply to be read', self.name)
            return []

    def signed_url(self, paths: object = None, ttl_seconds: int | None = None,
                   methods: object = None) -> dict[str, object]:
        """Signature, expiry, paths, methods and project, good without a login."""
        body: dict[str, object] = {}
        if paths:
            body['paths'] = paths
        if methods:
            body['methods'] = methods
        if ttl_seconds:
            expires = runtimes.current().now().timestamp() + ttl_seconds
            body['expires'] = expires
        return dict(self._http.post(self._path('share'), json=body).json())

    def subscription(self, **fields: object) -> object:
        return self._http.post(self._path('subscriptions'), json=fields).json()


class QueueMessage:
    def __init__(self, info: dict[str, object]) -> None:
        self.body = info.get('body')
        self.id = info.get('id')
        self.ttl = info.get('ttl')


class MessageClient(Client):
    @property
    def api_url(self) -> str:
        return str(self.http.get_endpoint())

    def queue(self, name: str, **_more: object) -> Queue:
        return Queue(self.http, name)


class ZaqarClientPlugin(service.ServicePlugin[MessageClient]):
    option_group = CLIENT_NAME
    service_types = [MESSAGING] = ['messaging']
    api_version = {'min_version': '2', 'max_version': '2.latest'}
    client_class = MessageClient
    DEFAULT_TTL = 3600                      # seconds

    def adapter(self, service_type: str | None = None, **given: object) -> http.ServiceAdapter:
        given.setdefault('additional_headers', {CLIENT_ID: runtimes.current().uuid()})
        return super().adapter(service_type, **given)

    def _endpoint(self) -> str:
        """With the version of the API, which the URL in the catalogue need not have. Raises EndpointNotFound."""
        found = self.adapter().get_endpoint()
        if found is None:
            from keystoneauth1 import exceptions
            raise exceptions.EndpointNotFound(f'There is no endpoint of {self.MESSAGING}, version 2.')
        return found

    def create_for_tenant(self, tenant_id: str, token: str) -> MessageClient:
        """Return a client in another project, with a token of it."""
        from keystoneauth1 import token_endpoint

        auth = token_endpoint.Token(self._endpoint(), token)
        return MessageClient(http.ServiceAdapter(
            self.context.keystone_session, service_type=self.MESSAGING, auth=auth,
            additional_headers={CLIENT_ID: runtimes.current().uuid(), 'X-Project-Id': tenant_id}), self.context)

    def create_from_signed_url(self, project_id: str, paths: Iterable[str], expires: str, methods: Iterable[str],
                               signature: str) -> MessageClient:
        """Return a client that may only do what the signature covers."""
        from keystoneauth1 import noauth

        base = self._endpoint()
        headers = {CLIENT_ID: runtimes.current().uuid(), 'X-Project-Id': project_id, 'URL-Signature': signature,
                   'URL-Expires': expires, 'URL-Paths': ','.join(paths), 'URL-Methods': ','.join(methods)}
        return MessageClient(http.ServiceAdapter(
            self.context.keystone_session, service_type=self.MESSAGING, endpoint_override=base,
            auth=noauth.NoAuth(endpoint=base), additional_headers=headers), self.context)

    def get_queue(self, queue_name: str) -> Queue:
        if not isinstance(queue_name, str) or not 0 < len(queue_name) <= LONGEST_NAME:
            raise ValueError(f'Queue name length must be 1-{LONGEST_NAME}')
        return self.client().queue(queue_name)


class QueueConstraint(constraints.BaseCustomConstraint):
    """The form of the name only; the queue need not exist."""

    expected_exceptions = (ValueError,)
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_queue'
