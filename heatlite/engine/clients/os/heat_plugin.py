"""This service itself, as servers and other regions reach it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from keystoneauth1 import exceptions
from oslo_config import cfg

from heatlite.engine import clients
from heatlite.engine.clients import remote_cloud
from heatlite.engine.clients.os import collection, service

if TYPE_CHECKING:
    from heatlite.common.context import RequestContext

CLIENT_NAME = 'heat'


class RemoteStacks(collection.Creating):
    path, key, plural = '/stacks', 'stack', 'stacks'

    def create(self, **fields: object) -> collection.Entity:
        return self._entity(self.http.post(self.path, json=fields))

    def update(self, stack_id: collection.EntityOrId, **fields: object) -> None:     # type: ignore[override] # as heatclient names it
        self.http.request(self.path_of(stack_id), 'PATCH' if fields.pop('existing', False) else 'PUT', json=fields)

    def delete(self, stack_id: collection.EntityOrId) -> None:
        self.http.delete(self.path_of(stack_id))

    def validate(self, **fields: object) -> object:
        return self.http.post('/validate', json=fields).json()

    def _url(self, *parts: object) -> str:
        """Return a path. A stack's name and id, with a slash between them, are two parts of it."""
        return super()._url(*(piece for part in parts for piece in (
            part.split('/') if isinstance(part, str) else (part,))))

    def path_of(self, stack_id: collection.EntityOrId) -> str:
        """`/stacks/<name>/<id>`: writing takes no redirect."""
        if '/' in str(stack_id):
            return self._url(stack_id)
        found = self.get(stack_id)
        return f'{self.path}/{found.stack_name}/{found.id}'

    def snapshot(self, stack_id: collection.EntityOrId, name: str | None = None) -> collection.Fields:
        answer = self.http.post(f'{self.path_of(stack_id)}/snapshots', json={'name': name} if name else {})
        return dict(answer.json())

    def snapshot_show(self, stack_id: collection.EntityOrId, snapshot_id: str) -> collection.Fields:
        return dict(self.http.get(f'{self.path_of(stack_id)}/snapshots/{snapshot_id}').json())

    def snapshot_delete(self, stack_id: collection.EntityOrId, snapshot_id: str) -> None:
        self.http.delete(f'{self.path_of(stack_id)}/snapshots/{snapshot_id}')

    def restore(self, stack_id: collection.EntityOrId, snapshot_id: str) -> None:
        self.http.post(f'{self.path_of(stack_id)}/snapshots/{snapshot_id}/restore')


class RemoteActions(collection.Collection):
    client: OrchestrationClient

    def _act(self, stack_id: collection.EntityOrId, name: str) -> None:
        self.http.post(f'{self.client.stacks.path_of(stack_id)}/actions', json={name: None})

    def suspend(self, stack_id: collection.EntityOrId) -> None:
        self._act(stack_id, 'suspend')

    def resume(self, stack_id: collection.EntityOrId) -> None:
        self._act(stack_id, 'resume')

    def check(self, stack_id: collection.EntityOrId) -> None:
        self._act(stack_id, 'check')


class OrchestrationClient(collection.Client):
    stacks = cached_property(RemoteStacks)
    actions = cached_property(RemoteActions)


class HeatClientPlugin(service.ServicePlugin[OrchestrationClient]):
    option_group = CLIENT_NAME
    service_types = [ORCHESTRATION, CLOUDFORMATION] = ['orchestration', 'cloudformation']
    CLOUDWATCH = 'cloudwatch'
    api_version = {'min_version': '1', 'max_version': '1.latest'}
    client_class = OrchestrationClient

    def __init__(self, context: RequestContext) -> None:
        super().__init__(context)
        self._elsewhere: dict[tuple[str | bool | None, ...], OrchestrationClient] = {}

    def _service_type(self) -> str:
        return self.ORCHESTRATION

    def elsewhere(self, region: str | None, secret: str | None = None, ca_cert: str | None = None,
                  insecure: bool = False, project: str | None = None) -> OrchestrationClient:
        """Return the client of another region or `project`, or, with the id of a `secret` with a login, of another
        cloud.

        `ca_cert`: text. Kept as long as this plug-in. Raises EntityNotFound, Error, keystoneauth1's errors.
        """
        if project == self.context.project_id:
            project = None
        if region == self.context.region_name and not (secret or ca_cert or insecure or project):
            return self.client()
        wanted = (region, secret, ca_cert, insecure, project)
        if wanted not in self._elsewhere:
            login = self.clients.client_plugin('barbican').get_secret_payload_by_ref(secret) if secret else None
            there = remote_cloud.context(self.context, region, login=login, ca_cert=ca_cert,
                                         insecure=insecure, project=project)
            self._elsewhere[wanted] = clients.of(there).client(CLIENT_NAME)
        return self._elsewhere[wanted]

    def get_heat_url(self) -> str:
        """With the caller's project at its end."""
        configured = self._get_client_option(CLIENT_NAME, 'url')
        if configured:
            return str(configured) % {'tenant_id': self.context.project_id, 'project_id': self.context.project_id}
        return self.url_for(service_type=self.ORCHESTRATION, interface=self.interface())

    def get_heat_cfn_url(self) -> str:
        return self.url_for(service_type=self.CLOUDFORMATION, interface=self.interface())

    def get_cfn_metadata_server_url(self) -> str:
        """Return the CFN API as servers reach it, ending in `/v1/`."""
        configured = cfg.CONF.heat_metadata_server_url
        if not configured:
            return self.get_heat_cfn_url().rstrip('/') + '/'
        url = str(configured).rstrip('/')
        return f'{url}/' if urlsplit(url).path.endswith('/v1') else f'{url}/v1/'

    def get_watch_server_url(self) -> str | None:
        """Return the CloudWatch API as servers reach it, ending in `/v1/`; None: there is none."""
        found = cfg.CONF.heat_watch_server_url
        if not found:
            try:
                found = self.url_for(service_type=self.CLOUDWATCH, interface=self.interface())
            except exceptions.EndpointNotFound:
                return None
        url = str(found).rstrip('/')
        return f'{url}/' if urlsplit(url).path.endswith('/v1') else f'{url}/v1/'

    def get_insecure_option(self) -> bool:
        return bool(self._get_client_option(CLIENT_NAME, 'insecure'))
