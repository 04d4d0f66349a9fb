"""The base class of types that receive signals: the transports, and the secrets of each.

Source: docs/spec/engine.rst, "Signal transports" and "Signed URLs".
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlencode, urlsplit

from oslo_config import cfg
from oslo_log import log

from heatlite.common import document_size, exception
from heatlite.common.i18n import _
from heatlite.engine.resources import stack_user

if TYPE_CHECKING:
    from heatlite.engine.clients.os.swift import StoredSignal
    from heatlite.engine.clients.os.zaqar import MessageClient, QueueMessage

LOG = log.getLogger(__name__)

SIGNAL_TYPES = (WAITCONDITION, SIGNAL) = ('/waitcondition', '/signal')
SIGNAL_VERB = {WAITCONDITION: 'PUT', SIGNAL: 'POST'}
SWIFT_SIGNALS_READ = 'swift_signals_read'   # data: JSON list of the times of signals that were handled
SIGNED_URL = 'ec2_signed_url'           # data
MOST_TIMES = 100                        # of signals that are noted
TIME = '%Y-%m-%dT%H:%M:%SZ'


class SignalResponder(stack_user.StackUser):
    """Subclasses that let users choose name their property SIGNAL_TRANSPORT."""

    SIGNAL_TRANSPORT = 'signal_transport'
    CFN_SIGNAL, TEMP_URL_SIGNAL, HEAT_SIGNAL, NO_SIGNAL, ZAQAR_SIGNAL, TOKEN_SIGNAL, AUTO = (
        'CFN_SIGNAL', 'TEMP_URL_SIGNAL', 'HEAT_SIGNAL', 'NO_SIGNAL', 'ZAQAR_SIGNAL', 'TOKEN_SIGNAL', 'AUTO')
    requires_deferred_auth = True

    def handle_delete(self) -> object:
        self._delete_signals()
        return super().handle_delete()

    def why_not_moved(self, to_other_stack: bool) -> str | None:
        if self.SIGNAL_TRANSPORT in self.properties_schema and self._signal_transport_none():
            return super().why_not_moved(to_other_stack)
        return _('the address to which signals are sent has the names of the resource and of its stack')

    # --- which way ----------------------------------------------------------------------------------------

    def _transport(self) -> str | None:
        found: str | None = self.properties.get(self.SIGNAL_TRANSPORT)
        return found

    def _signal_transport_cfn(self) -> bool:
        return self._transport() == self.CFN_SIGNAL

    def _signal_transport_heat(self) -> bool:
        return self._transport() == self.HEAT_SIGNAL

    def _signal_transport_none(self) -> bool:
        return self._transport() == self.NO_SIGNAL

    def _signal_transport_temp_url(self) -> bool:
        return self._transport() == self.TEMP_URL_SIGNAL

    def _signal_transport_zaqar(self) -> bool:
        return self._transport() == self.ZAQAR_SIGNAL

    def _makes_addresses(self) -> bool:
        """Whether users, keys, objects and queues are made for signals. An attribute that is read in a deletion makes
        none: they would be left."""
        return self.action != self.DELETE

    # --- a signed address of the CFN API ------------------------------------------------------------------

    def _get_ec2_signed_url(self, signal_type: str = SIGNAL, never_expire: bool = False) -> str | None:
        """Return a URL whose bearer may send a signal to the resource, with one HTTP method only; None in a
        cloud without identity.

        `never_expire`: the URL has no time stamp. Keystone refuses one with a time stamp after `[credential] auth_ttl`
        (15 minutes). It is signed once, as in Heat: a resource that reads it is not changed by each update.
        """
        stored = self.data().get(SIGNED_URL)
        if stored is not None:
            return stored
        if not self.has_identity:
            return None
        if 'access_key' not in self.data():
            if not self._makes_addresses():
                return None
            if self._get_user_id() is None:
                self._create_user()
            self._create_keypair()
        url = self._signed(signal_type, self.data()['access_key'], self.data()['secret_key'], never_expire)
        self.data_set(SIGNED_URL, url, redact=True)
        return url

    def _signed(self, signal_type: str, access: str, secret: str, never_expire: bool) -> str:
        from keystoneclient.contrib.ec2 import utils
        base = cfg.CONF.heat_waitcondition_server_url
        if base:
            address = str(base).replace('/waitcondition', signal_type)
        else:
            address = self.client_plugin('heat').get_heat_cfn_url().rstrip('/') + signal_type
        place = urlsplit(address)
        path = place.path + self.identifier().arn_url_path()
        params = {'SignatureMethod': 'HmacSHA256', 'SignatureVersion': '2', 'AWSAccessKeyId': access}
        if not never_expire:
            params['Timestamp'] = self.runtime.now().strftime(TIME)
        host = place.netloc.lower()
        signature = utils.Ec2Signer(secret).generate(
            {'host': host, 'verb': SIGNAL_VERB[signal_type], 'path': unquote(path), 'params': params})
        return f'{place.scheme}://{host}{path}?{urlencode({**params, "Signature": signature})}'

    def _delete_ec2_signed_url(self) -> None:
        self.data_delete(SIGNED_URL)
        if self.has_identity:
            self._delete_keypair()

    # --- the native API -----------------------------------------------------------------------------------

    def _get_signed_url(self, signal_type: str = SIGNAL) -> str | None:
        """The name of `_get_ec2_signed_url` until 2015."""
        return self._get_ec2_signed_url(signal_type)

    def _get_heat_signal_url(self, project_id: str | None = None) -> str | None:
        """Take a token. `project_id`: in the place of the caller's project."""
        stored = self.data().get('heat_signal_url')
        if stored is not None:
            return stored
        try:
            base = self.client_plugin('heat').get_heat_url().rstrip('/')
        except exception.ClientNotAvailable:            # no service was asked
            raise
        except Exception as error:
            LOG.info('%s has no address for signals: the orchestration service is not found: %s', self.name, error)
            return None
        if project_id is not None:
            base = f'{base.rpartition("/")[0]}/{project_id}'
        place = self.identifier()
        return f'{base}/stacks/{quote(place.stack_name)}/{place.stack_id}/resources/{quote(self.name)}/signal'

    def _get_heat_signal_credentials(self) -> dict[str, str | None]:
        """Return the credentials with which a guest logs in as the user of the resource. Makes the user if there is
        none."""
        if self.password is None:
            self.password = self._new_password()
        if self._get_user_id() is None:
            self._create_user()
        found: dict[str, str | None] = {
            'username': self.physical_resource_name(), 'user_id': self._get_user_id(), 'password': self.password,
            'project_id': self.stack.stack_user_project_id, 'domain_id': None, 'auth_url': None,
            'region_name': self.context.region_name or cfg.CONF.region_name_for_services}
        if self.has_identity:
            keystone = self.keystone()
            found['auth_url'] = keystone.server_keystone_endpoint_url(fallback_endpoint=keystone.v3_endpoint)
            if keystone.stack_domain_is_configured:
                found['domain_id'] = keystone.stack_domain_id
        return found

    def _delete_heat_signal_url(self) -> None:
        self.data_delete('heat_signal_url')

    # --- an object, a queue -------------------------------------------------------------------------------

    def _get_swift_signal_url(self, multiple_signals: bool = False) -> str | None:
        stored = self.data().get('swift_signal_url')
        if stored is not None:
            return stored
        if not self._makes_addresses():
            return None
        name = str(self.physical_resource_name())
        plugin = self.client_plugin('swift')
        if multiple_signals:
            url = str(plugin.get_signal_url(self.stack.id, name))
        else:
            self.client('swift').put_container(self.stack.id)
            url = str(plugin.get_temp_url(self.stack.id, name))
            self.client('swift').put_object(self.stack.id, name, b'')
        self.data_set('swift_signal_url', url, redact=True)
        self.data_set('swift_signal_object_name', name)
        return url

    def _delete_swift_signal_url(self) -> None:
        name = self.data().get('swift_signal_object_name')
        if name is None:
            return
        self.client_plugin('swift').delete_versions(self.stack.id, name)
        for key in ('swift_signal_object_name', 'swift_signal_url', SWIFT_SIGNALS_READ):
            self.data_delete(key)

    def _get_zaqar_signal_queue_id(self) -> str | None:
        stored = self.data().get('zaqar_signal_queue_id')
        if stored is not None:
            return stored
        if not self._makes_addresses():
            return None
        if self.password is None:
            self.password = self._new_password()
        if self._get_user_id() is None:
            self._create_user()
        queue = str(self.physical_resource_name())
        self._zaqar().queue(queue).ensure_exists()
        self.data_set('zaqar_signal_queue_id', queue)
        return queue

    def _zaqar(self) -> MessageClient:
        return self.client_plugin('zaqar').create_for_tenant(str(self.stack.stack_user_project_id), self._user_token())

    def _delete_zaqar_signal_queue(self) -> None:
        queue = self.data().get('zaqar_signal_queue_id')
        if queue is None:
            return
        zaqar = self._zaqar()
        with self.client_plugin('zaqar').ignore_not_found:
            zaqar.queue(queue).delete()
        self.data_delete('zaqar_signal_queue_id')

    # --- all of them --------------------------------------------------------------------------------------

    def _get_signal(self, signal_type: str = SIGNAL, multiple_signals: bool = False) -> dict[str, object] | None:
        """Return what a guest needs to send signals by the chosen transport; {} for NO_SIGNAL."""
        match self._transport():
            case self.CFN_SIGNAL:
                return {'alarm_url': self._get_ec2_signed_url(signal_type)}
            case self.HEAT_SIGNAL:
                found = self._get_heat_signal_credentials()
                return {**found, 'alarm_url': self._get_heat_signal_url(found['project_id'])}
            case self.TEMP_URL_SIGNAL:
                return {'alarm_url': self._get_swift_signal_url(multiple_signals)}
            case self.ZAQAR_SIGNAL:
                return {**self._get_heat_signal_credentials(), 'queue_id': self._get_zaqar_signal_queue_id()}
            case self.NO_SIGNAL:
                return {}
        return None

    def _service_signal(self, multiple_signals: bool = True) -> None:
        """For transports that are polled: fetches what is there and handles it. `multiple_signals`: all that was put to
        an object, also nothing; otherwise what it holds."""
        if self.data().get('swift_signal_object_name') is not None:
            self._service_swift_signal(multiple_signals)
        elif self.data().get('zaqar_signal_queue_id') is not None:
            for message in self._zaqar().queue(self.data()['zaqar_signal_queue_id']).pop():
                self._signal_from_zaqar(message)

    def _signal_from_zaqar(self, message: QueueMessage) -> None:
        try:
            details = document_size.check_text(message.body)
        except exception.HTTPBadRequest as error:
            LOG.warning('A message to %s is no JSON: %s', self.name, error)
            return
        self.signal(details)

    def _service_swift_signal(self, multiple_signals: bool) -> None:
        """Handle each signal once. Its time is noted, in one transaction with what the handler stores in the metadata.

        A version is deleted afterwards. The object itself is not: the deletion might hit a signal that came meanwhile.
        """
        plugin, name = self.client_plugin('swift'), self.data()['swift_signal_object_name']
        read, changed = list(json.loads(self.data().get(SWIFT_SIGNALS_READ, '[]'))), False
        try:
            for signal in plugin.signals(self.stack.id, name, multiple_signals):
                if signal.put_at not in read and (signal.content or multiple_signals):
                    read.append(signal.put_at)
                    changed = True
                    self.data_set(SWIFT_SIGNALS_READ, json.dumps(read[-MOST_TIMES:]))
                    self._signal_from_swift(signal)
                if signal.name != name:
                    plugin.delete_version(self.stack.id, signal.name)
                    read.remove(signal.put_at)
                    changed = True
        finally:
            if changed:
                self._note_swift_signals(read)

    def _signal_from_swift(self, signal: StoredSignal) -> None:
        try:
            details = signal.details()
        except ValueError:
            LOG.warning('What was put to signal %s is no JSON', self.name)
            return
        self.signal(details)

    def _pass_over_swift_signals(self, until: str | None = None) -> None:
        """Ignore the signals that were put to the object so far: they answer a former request.

        `until`: ignore only those that were put until then, such as '2026-01-02T03:04:05Z'.
        """
        name = self.data().get('swift_signal_object_name')
        if name is not None:
            end = datetime.fromisoformat(until).timestamp() if until is not None else float('inf')
            found = self.client_plugin('swift').signals(self.stack.id, name, with_versions=False)
            self._note_swift_signals([signal.put_at for signal in found if float(signal.put_at) <= end])

    def _has_noted_swift_signals(self) -> bool:
        return SWIFT_SIGNALS_READ in self.data()

    def _note_swift_signals(self, read: list[str]) -> None:
        self.data_set(SWIFT_SIGNALS_READ, json.dumps(read[-MOST_TIMES:]))
        self.store_data()                           # the next change may be of another resource

    def _delete_signals(self) -> None:
        self._delete_ec2_signed_url()
        self._delete_heat_signal_url()
        self._delete_swift_signal_url()
        self._delete_zaqar_signal_queue()
