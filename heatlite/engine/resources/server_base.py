"""The base class of servers, created here or not: the metadata their agents fetch, and the ways they fetch it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.engine.resources import stack_user

if TYPE_CHECKING:
    from heatlite.engine.clients.os.zaqar import MessageClient
    from heatlite.engine.properties import Values
    from heatlite.engine.rsrc_defn import Metadata

TRANSPORTS = (CFN, HEAT, TEMP_URL, ZAQAR) = (
    'POLL_SERVER_CFN', 'POLL_SERVER_HEAT', 'POLL_TEMP_URL', 'ZAQAR_MESSAGE')
COLLECTORS = {CFN: 'cfn', HEAT: 'heat', TEMP_URL: 'request', ZAQAR: 'zaqar'}
BLOCKS = {                                  # collector -> its keys in os-collect-config
    'cfn': ('metadata_url', 'access_key_id', 'secret_access_key', 'stack_name', 'path'),
    'heat': ('user_id', 'password', 'auth_url', 'project_id', 'stack_id', 'resource_name', 'region_name'),
    'request': ('metadata_url',),
    'zaqar': ('user_id', 'password', 'auth_url', 'project_id', 'queue_id', 'region_name')}
DEPLOYMENTS, COLLECT = 'deployments', 'os-collect-config'        # keys of the metadata
METADATA_TTL = 3600                         # seconds a message with metadata is kept
TEMP_URL_LIFETIME = 10 * 365 * 86400        # seconds


class BaseServer(stack_user.StackUser):
    """Subclasses name SOFTWARE_CONFIG_TRANSPORT, DEPLOYMENT_SWIFT_DATA, and say `user_data_software_config()`."""

    physical_resource_name_limit = 53
    entity = 'servers'

    _SOFTWARE_CONFIG_TRANSPORTS = TRANSPORTS
    POLL_SERVER_CFN, POLL_SERVER_HEAT, POLL_TEMP_URL, ZAQAR_MESSAGE = TRANSPORTS
    first_collectors: tuple[str, ...] = ()  # asked before that of the transport

    # --- which way ----------------------------------------------------------------------------------------

    def user_data_software_config(self) -> bool:
        """Whether agents in the server fetch deployments."""
        return True

    def transport(self, props: Mapping[str, object]) -> str:
        return str(props[self.SOFTWARE_CONFIG_TRANSPORT])       # type: ignore[attr-defined]

    def transport_poll_server_cfn(self, props: Mapping[str, object]) -> bool:
        return self.transport(props) == CFN

    def transport_poll_server_heat(self, props: Mapping[str, object]) -> bool:
        return self.transport(props) == HEAT

    def transport_poll_temp_url(self, props: Mapping[str, object]) -> bool:
        return self.transport(props) == TEMP_URL

    def transport_zaqar_message(self, props: Mapping[str, object]) -> bool:
        return self.transport(props) == ZAQAR

    # --- what it needs ------------------------------------------------------------------------------------

    def _create_transport_credentials(self, props: Mapping[str, object]) -> None:
        """Users, keys, queues that the transport needs; what is there already is kept."""
        match self.transport(props):
            case 'POLL_SERVER_CFN':
                if self._get_user_id() is None:
                    self._create_user()
                if 'access_key' not in self.data():
                    self._create_keypair() if self.has_identity else self._make_up_keypair()
                self._register_access_key()
            case 'POLL_SERVER_HEAT' | 'ZAQAR_MESSAGE':
                if self.password is None:
                    self.password = self._new_password()
                if self._get_user_id() is None:
                    self._create_user()
                self._register_access_key()

    def _make_up_keypair(self) -> None:
        """Store keys that were not made by Keystone: a cloud without identity does not check them."""
        self.data_set('access_key', self.runtime.uuid().replace('-', ''), redact=True)
        self.data_set('secret_key', self._new_password(), redact=True)

    def _delete_transport(self) -> None:
        """Users, queues and objects of the transport; gone already is fine."""
        queue = self.data().get('metadata_queue_id')
        if queue is not None:                   # while there is still a user to do it
            zaqar = self._zaqar()
            with self.client_plugin('zaqar').ignore_not_found:
                zaqar.queue(queue).delete()
            self.data_delete('metadata_queue_id')
        if self._get_user_id() is not None:
            self._delete_user()
        self._delete_temp_object()

    def _delete_temp_object(self) -> None:
        noted = self._temp_object()
        if noted is None:
            return
        plugin = self.client_plugin('swift')
        for container, name in (noted, *self._former_objects()):
            with plugin.ignore_not_found:
                self.client('swift').delete_object(container, name)
            with plugin.ignore_conflict_and_not_found:
                self.client('swift').delete_container(container)
        for key in ('metadata_object_name', 'metadata_put_url', 'metadata_former'):
            self.data_delete(key)

    def _temp_object(self) -> tuple[str, str] | None:
        """Container and name of the object with the metadata."""
        name = self.data().get('metadata_object_name')
        if name is None:
            return None
        given = self.properties[self.DEPLOYMENT_SWIFT_DATA] or {}       # type: ignore[attr-defined]
        # Heat notes no container: it is that of the properties.
        return (self.data().get('metadata_container') or given.get('container')
                or str(self.physical_resource_name())), name

    def _former_objects(self) -> list[tuple[str, str]]:
        """Return the former objects with metadata: a server that polls one of them finds the new URL there, so they are
        deleted with the server."""
        return [(container, name) for container, name in json.loads(self.data().get('metadata_former', '[]'))]

    def _zaqar(self) -> MessageClient:
        """A client in the stack's own project, with the token of the user inside the stack."""
        project = self.stack.stack_user_project_id
        return self.client_plugin('zaqar').create_for_tenant(str(project), self._user_token())

    # --- os-collect-config --------------------------------------------------------------------------------

    def _collector_block(self, props: Mapping[str, object]) -> dict[str, object]:
        """How the transport's collector reaches the metadata."""
        heat = self.client_plugin('heat')
        region = heat._get_region_name()
        match self.transport(props):
            case 'POLL_SERVER_CFN':
                return {'metadata_url': heat.get_cfn_metadata_server_url(), 'access_key_id': self.data()['access_key'],
                        'secret_access_key': self.data()['secret_key'], 'stack_name': self.stack.name,
                        'path': f'{self.name}.Metadata'}
            case 'POLL_SERVER_HEAT':
                return {**self._login(region), 'stack_id': self.stack.identifier().stack_path(),
                        'resource_name': self.name}
            case 'ZAQAR_MESSAGE':
                queue = self.data().get('metadata_queue_id')
                if queue is None:
                    queue = str(self.physical_resource_name())
                    self._zaqar().queue(queue).ensure_exists()
                    self.data_set('metadata_queue_id', queue)
                return {**self._login(region), 'queue_id': queue}
        return {'metadata_url': self._temp_url(props)}

    def _login(self, region: str | None) -> dict[str, object]:
        keystone = self.keystone()
        return {'user_id': self._get_user_id(), 'password': self.password,
                'auth_url': keystone.server_keystone_endpoint_url(fallback_endpoint=keystone.v3_endpoint),
                'project_id': self.stack.stack_user_project_id, 'region_name': region}

    def _temp_url(self, props: Values) -> str:
        """The URL to read the object with; the one to write it with is kept."""
        swift = self.client_plugin('swift')
        given = props.get(self.DEPLOYMENT_SWIFT_DATA) or {}     # type: ignore[attr-defined]
        container = given.get('container') or str(self.physical_resource_name())
        noted = self._temp_object()
        name = given.get('object') or (noted[1] if noted else self.runtime.uuid())
        put_url = swift.get_temp_url(container, name, TEMP_URL_LIFETIME)    # without a service there is nothing to note
        if noted is not None and noted != (container, name):
            self.data_set('metadata_former', json.dumps([*self._former_objects(), noted]))
        self.data_set('metadata_container', container)
        self.data_set('metadata_object_name', name)
        self.data_set('metadata_put_url', put_url, redact=True)
        self.store_data()                               # so a deletion finds the objects
        self.client('swift').put_container(container)
        self.client('swift').put_object(container, name, json.dumps(self.metadata_get()))
        return str(swift.get_temp_url(container, name, TEMP_URL_LIFETIME, method='GET'))

    def _populate_deployments_metadata(self, meta: Metadata, props: Mapping[str, object]) -> None:
        """Complete `meta`, in place, and store it: a deployments list and how to fetch it."""
        meta.setdefault('deployments', [])
        found = meta.get('os-collect-config')
        collect: dict[str, object] = found if isinstance(found, dict) else {}
        meta['os-collect-config'] = collect
        transport = self.transport(props)
        collector = COLLECTORS[transport]
        block = self._collector_block(props)
        # Keys of the way it was before stay with null: they must hide what the server was started with.
        for other, keys in BLOCKS.items():
            if other != collector and other in collect:
                collect[other] = dict.fromkeys(keys)
        collect[collector] = block
        collect['collectors'] = [*self.first_collectors, collector, 'local']
        self.metadata_set(meta)
        self.push_metadata(meta)

    def push_metadata(self, metadata: Mapping[str, object]) -> None:
        """For transports where the server does not ask us: an object, or a message, with the new metadata."""
        noted = self._temp_object()
        for container, name in (noted, *self._former_objects()) if noted is not None else ():
            self.client('swift').put_object(container, name, json.dumps(metadata))
        queue = self.data().get('metadata_queue_id')
        if queue is not None:
            self._zaqar().queue(queue).post({'body': metadata, 'ttl': METADATA_TTL})

    def _update_software_config_transport(self, prop_diff: Mapping[str, object], after: Mapping[str, object]) -> None:
        """The server gets the new transport over the old one."""
        if not self.user_data_software_config():
            return
        self._create_transport_credentials(after)
        self._populate_deployments_metadata(dict(self.metadata_get(True) or {}), after)

    def metadata_update(self, new_metadata: Metadata | None = None) -> None:
        """The template's metadata, evaluated again; what the engine put in stays."""
        wanted = new_metadata if new_metadata is not None else self.t.metadata()
        self.metadata_set(wanted, merge_metadata=merge_metadata)
        if self.user_data_software_config():
            self.push_metadata(self.metadata_get())

    def _show_resource(self) -> object:
        if not self.resource_id:
            return None
        return self.client().servers.get(self.resource_id).to_dict()


def merge_metadata(new: Mapping[str, object], current: Mapping[str, object]) -> dict[str, object]:
    """`new` with the deployments of `current`. The collectors' configuration is that of `current`, which the engine has
    added to, with what `new` says of it."""
    merged = dict(new)
    if DEPLOYMENTS in current:
        merged[DEPLOYMENTS] = current[DEPLOYMENTS]
    former, wanted = current.get(COLLECT), new.get(COLLECT)
    if isinstance(former, Mapping):
        merged[COLLECT] = {**former, **wanted} if isinstance(wanted, Mapping) else former
    return merged
