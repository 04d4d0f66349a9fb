"""Secrets (Barbican). Things are named by their URL."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients.os import collection, service

CLIENT_NAME = 'barbican'


class BarbicanClientPlugin(service.ServicePlugin):
    option_group = CLIENT_NAME
    service_types = [KEY_MANAGER] = ['key-manager']
    api_version = {'min_version': '1', 'max_version': '1.latest'}

    def _read(self, entity: str, plural: str, ref: str) -> dict[str, Any]:
        """Raises EntityNotFound."""
        wanted = urlsplit(str(ref)).path.rstrip('/').rpartition('/')[2]
        found = self._got(f'/{plural}/{wanted}', None) if wanted else None
        if found is None:
            raise exception.EntityNotFound(entity=entity, name=ref)
        return found

    def get_secret_by_ref(self, secret_ref: str) -> Any:
        return collection.Entity(None, self._read('Secret', 'secrets', secret_ref))

    def get_secret_payload_by_ref(self, secret_ref: str) -> Any:
        """Text where the secret is text, else bytes."""
        found = self._read('Secret', 'secrets', secret_ref)
        kind = (found.get('content_types') or {}).get('default', 'application/octet-stream')
        wanted = urlsplit(str(secret_ref)).path.rstrip('/').rpartition('/')[2]
        answer = self.client().http.get(f'/secrets/{wanted}/payload', headers={'Accept': kind})
        return answer.text if kind.startswith('text/') else answer.content

    def get_container_by_ref(self, container_ref: str) -> Any:
        return collection.Entity(None, self._read('Container', 'containers', container_ref))

    def _create_container(self, kind: str, name: str | None, refs: dict[str, str]) -> str:
        body = {'type': kind, 'name': name,
                'secret_refs': [{'name': key, 'secret_ref': ref} for key, ref in refs.items() if ref]}
        return str(self.client().http.post('/containers', json=body).json()['container_ref'])

    def create_generic_container(self, name: str | None = None, secret_refs: Any = None) -> str:
        return self._create_container('generic', name, dict(secret_refs or {}))

    def create_certificate(self, name: str | None = None, **refs: str) -> str:
        return self._create_container('certificate', name, _plain(refs))

    def create_rsa(self, name: str | None = None, **refs: str) -> str:
        return self._create_container('rsa', name, _plain(refs))


def _plain(refs: dict[str, str]) -> dict[str, str]:
    return {key.removesuffix('_ref'): ref for key, ref in refs.items()}


class SecretConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_secret_by_ref'


class ContainerConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_container_by_ref'
