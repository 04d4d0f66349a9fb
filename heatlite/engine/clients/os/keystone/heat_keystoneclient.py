"""What the engine and resource types do with Keystone: trusts, and the users that live inside stacks.

The wrapper plug-ins get as `client('keystone')`; `.client` is the plain client in the caller's name.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from keystoneauth1 import exceptions
from keystoneauth1 import session as keystone_session
from keystoneauth1.identity import v3
from oslo_config import cfg

from heatlite.common import config, exception, netutils, password_gen
from heatlite.common import runtime as runtimes
from heatlite.common.i18n import _
from heatlite.engine.clients import logins, own_logins, sessions
from heatlite.engine.clients.os import http
from heatlite.engine.clients.os.collection import Collection
from heatlite.engine.clients.os.keystone.client import IdentityClient

if TYPE_CHECKING:
    from keystoneauth1.access import AccessInfo

    from heatlite.common.context import RequestContext

LOG = logging.getLogger(__name__)

LONGEST_USER_NAME = 255
LONGEST_PROJECT_NAME = 64
TRIES = 4                               # of a delete that is forbidden, see `_deleted`


class AccessKey(NamedTuple):
    """An EC2 key pair; `id` is that of the credential, with which it is found again."""

    id: str
    access: str
    secret: str


class OutsideDomain(ValueError):
    """A user is not of the domain of users inside stacks, or not of the project of its stack there."""


class KeystoneClient:
    """One for a request context. Errors are keystoneauth1's, AuthorizationFailure, Error."""

    def __init__(self, context: RequestContext, region_name: str | None = None) -> None:
        self.context = context
        self._region_name = region_name

    # --- clients ------------------------------------------------------------------------------------------

    @property
    def session(self) -> keystone_session.Session:
        return self.context.keystone_session

    @functools.cached_property
    def client(self) -> IdentityClient:
        """In the caller's name."""
        return IdentityClient(self._adapter(self.session), self.context)

    def _adapter(self, session: keystone_session.Session) -> http.ServiceAdapter:
        return http.ServiceAdapter(session, service_type='identity', min_version='3', max_version='3.latest',
                                   interface=self._interface(), region_name=self._region_name, client_name='heatlite')

    @staticmethod
    def _interface() -> str:
        return str(config.get_client_option('keystone', 'endpoint_type')).removesuffix('URL')

    @property
    def v3_endpoint(self) -> str:
        """Of the caller's Keystone, with /v3 at its end."""
        return netutils.keystone_v3(sessions.auth_url(self.context))

    @property
    def auth_token(self) -> str | None:
        token: str | None = self.session.get_token()
        return token

    def auth_ref(self) -> AccessInfo:
        return sessions.access(self.session)

    def url_for(self, **kwargs: object) -> str | None:
        ask: Callable[..., str | None] = self.session.get_endpoint
        return ask(**kwargs)

    def server_keystone_endpoint_url(self, fallback_endpoint: str) -> str:
        """Keystone as servers reach it, with /v3 at its end: the endpoint of server_keystone_endpoint_type in the
        catalogue; without that, [clients_keystone] auth_uri, else `fallback_endpoint`."""
        kind = cfg.CONF.server_keystone_endpoint_type
        found = self._endpoint_in_catalogue(kind) if kind else None
        if kind and not found:
            LOG.warning('There is no endpoint "identity" with the interface %s in the catalogue: servers get another '
                        'address of Keystone', kind)
        return netutils.keystone_v3(found or cfg.CONF.clients_keystone.auth_uri or fallback_endpoint)

    def _endpoint_in_catalogue(self, interface: str) -> str | None:
        """As it is written there, without a version."""
        try:
            return self.url_for(service_type='identity', interface=interface, region_name=self._region_name,
                                skip_discovery=True)
        except exceptions.CatalogException:
            return None

    # --- trusts -------------------------------------------------------------------------------------------

    def create_trust_context(self) -> RequestContext:
        """Return a copy of the context that carries a new trust for the service user and no secrets of the caller.

        A context that is one of a trust already is given back, unless trusts may be passed on.
        """
        again = cfg.CONF.reauthentication_auth_method == 'trusts' and cfg.CONF.allow_trusts_redelegation
        if self.context.trust_id and not again:
            return self.context
        trustor = self.auth_ref()
        roles = cfg.CONF.trusts_delegated_roles or trustor.role_names
        try:
            trust = self.client.trusts.create(
                trustor_user_id=trustor.user_id, trustee_user_id=sessions.access(own_logins.of_trustee()).user_id,
                project_id=trustor.project_id, impersonation=True, allow_redelegation=again,
                roles=[{'name': name} for name in roles or ()])
        except exceptions.NotFound as error:
            own_logins.forget()                 # the service user may be another one now
            LOG.debug('No trust can be made of the roles %s', roles)
            raise exception.MissingCredentialError(required=_('roles %s') % roles) from error
        made = type(self.context).from_dict(self.context.to_dict())
        made.trust_id, made.trustor_user_id = trust.id, trustor.user_id
        made.password = made.auth_token = made.auth_token_info = None
        return made

    def delete_trust(self, trust_id: str) -> None:
        """As `end_trust`, for plug-ins: as in Heat, a refused login is no error."""
        with contextlib.suppress(exceptions.Unauthorized, logins.LoginRefused):
            self.end_trust(trust_id)

    def end_trust(self, trust_id: str) -> None:
        """Gone already is fine. A refused login is an error: it may be the service user that Keystone does not accept,
        as while its password is changed, and the trust is left."""
        try:
            _deleted(self.client.trusts, trust_id)
        except exceptions.NotFound:
            LOG.debug('Trust %s is gone', trust_id)

    def is_trust_dead(self) -> bool:
        """Return whether Keystone refuses the login with the trust of the context, though it accepts the service user:
        the trust is deleted, or its user is disabled or has lost a role. Asks once; twice after a refusal."""
        try:
            self.session.get_token()
        except logins.LoginRefused as error:
            LOG.info('A trust is of no use any more: %s', error)
            return self._service_user_logs_in()
        return False

    @staticmethod
    def _service_user_logs_in() -> bool:
        own_logins.forget()                     # else a token that is kept would answer
        try:
            sessions.access(own_logins.of_trustee())
        except exception.ServiceLoginRefused:
            return False
        return True

    # --- the domain of stacks -----------------------------------------------------------------------------

    @property
    def stack_domain_is_configured(self) -> bool:
        named = cfg.CONF.stack_user_domain_id or cfg.CONF.stack_user_domain_name
        return bool(named and cfg.CONF.stack_domain_admin and cfg.CONF.stack_domain_admin_password)

    @property
    def domain_admin_user(self) -> str | None:
        """The name of the user who may manage that domain, for plug-ins."""
        found: str | None = cfg.CONF.stack_domain_admin
        return found

    @property
    def domain_admin_password(self) -> str | None:
        found: str | None = cfg.CONF.stack_domain_admin_password
        return found

    @functools.cached_property
    def domain_admin_client(self) -> IdentityClient:
        """As the user who may manage that domain, logged in. Raises Error when none is configured, and
        ServiceLoginRefused."""
        if not self.stack_domain_is_configured:
            raise exception.Error(_('The domain of users inside stacks is not configured.'))
        session = own_logins.of_domain_admin(self.v3_endpoint)
        sessions.access(session)
        return IdentityClient(self._adapter(session), self.context)

    @functools.cached_property
    def stack_domain_id(self) -> str:
        if cfg.CONF.stack_user_domain_id:
            return str(cfg.CONF.stack_user_domain_id)
        return str(sessions.access(own_logins.of_domain_admin(self.v3_endpoint)).domain_id)

    def _role_of_stack_users(self, client: IdentityClient) -> str:
        found = client.roles.list(name=cfg.CONF.heat_stack_user_role)
        if len(found) != 1:
            raise exception.Error(_("Can't find role %s") % cfg.CONF.heat_stack_user_role)
        return str(found[0].id)

    def create_stack_domain_project(self, project_id: str) -> str:
        """Return a project named after the stack, for the users inside it. `project_id`: `<project>-<stack>` or the
        stack.

        The caller's own project without a domain.
        """
        if not self.stack_domain_is_configured:
            return str(self.context.cloud_project_id)
        name = f'{self.context.project_id}-{project_id}'[:LONGEST_PROJECT_NAME]
        projects = self.domain_admin_client.projects
        try:
            made = projects.create(name=name, domain=self.stack_domain_id, description='Heat stack user project')
        except exceptions.Conflict:             # of a try before a crash: the name is the stack's alone
            made = projects.find(name=name, domain=self.stack_domain_id)
        return str(made.id)

    def delete_stack_domain_project(self, project_id: str) -> None:
        """Only a project of that domain; gone already is fine."""
        if not self.stack_domain_is_configured:
            return
        client = self.domain_admin_client
        try:
            project = client.projects.get(project_id)
        except (exceptions.NotFound, exceptions.Forbidden):
            return
        if project.domain_id == self.stack_domain_id:
            try:
                _deleted(client.projects, project_id)
            except exceptions.NotFound:
                LOG.debug('Project %s is gone', project_id)

    # --- users inside stacks ------------------------------------------------------------------------------

    def create_stack_user(self, username: str, password: str = '') -> str:
        """In the caller's own project: for clouds without a domain of stacks."""
        return self._create_user(self.client, username, password, self.context.cloud_project_id)

    def create_stack_domain_user(self, username: str, project_id: str, password: str | None = None) -> str:
        """Return the id of a user in the domain of stacks with the role for one project."""
        if not self.stack_domain_is_configured:
            return self.create_stack_user(username, password or '')
        return self._create_user(self.domain_admin_client, username, password, project_id,
                                 domain=self.stack_domain_id)

    def _create_user(self, client: IdentityClient, username: str, password: str | None, project_id: str | None,
                     **where: str) -> str:
        role = self._role_of_stack_users(client)
        name, secret = username[-LONGEST_USER_NAME:], password or password_gen.generate_openstack_password()
        try:
            made = client.users.create(
                name=name, password=secret, default_project=project_id, enabled=True,
                options={'ignore_change_password_upon_first_use': True, 'ignore_password_expiry': True,
                         'ignore_lockout_failure_attempts': True}, **where)
        except exceptions.ClientException as error:
            # The name is the resource's alone: such a user is of a try before a crash, or of this one.
            if not isinstance(error, exceptions.Conflict) and not http.reply_was_lost(error):
                raise
            found = next(iter(client.users.findall(name=name, **where)), None)
            if found is None or getattr(found, 'default_project_id', None) != project_id:
                raise
            made = found
            client.users.update(made.id, password=secret, enabled=True)
        try:
            client.roles.grant(role, user=made.id, project=project_id)
        except Exception:
            with contextlib.suppress(exceptions.ClientException):       # its id would be stored nowhere
                client.users.delete(made.id)
            raise
        return str(made.id)

    def _user_in_domain(self, user_id: str, project_id: str | None, action: str) -> IdentityClient:
        """Return the client that may act on a user. Raises OutsideDomain for one of another domain or project."""
        client = self.domain_admin_client
        user = client.users.get(user_id)
        if user.domain_id != self.stack_domain_id or getattr(user, 'default_project_id', None) != project_id:
            raise OutsideDomain(_('User %(user)s in invalid domain or project: %(action)s refused')
                                % {'user': user_id, 'action': action})
        return client

    def delete_stack_user(self, user_id: str) -> None:
        try:
            self.client.users.delete(user_id)
        except exceptions.NotFound:
            LOG.debug('User %s is gone', user_id)

    def delete_stack_domain_user(self, user_id: str, project_id: str) -> None:
        """Gone already is fine."""
        if not self.stack_domain_is_configured:
            self.delete_stack_user(user_id)
            return
        try:
            _deleted(self._user_in_domain(user_id, project_id, 'delete').users, user_id)
        except exceptions.NotFound:
            LOG.debug('User %s is gone', user_id)

    def stack_domain_user_token(self, user_id: str, project_id: str, password: str) -> str:
        """Return a token of such a user."""
        auth = v3.Password(auth_url=self.v3_endpoint, user_id=user_id, password=password, project_id=project_id)
        return str(auth.get_token(sessions.SharedSession(auth)))

    def disable_stack_user(self, user_id: str) -> None:
        self.client.users.update(user_id, enabled=False)

    def enable_stack_user(self, user_id: str) -> None:
        self.client.users.update(user_id, enabled=True)

    def disable_stack_domain_user(self, user_id: str, project_id: str) -> None:
        if not self.stack_domain_is_configured:
            self.disable_stack_user(user_id)
            return
        self._user_in_domain(user_id, project_id, 'disable').users.update(user_id, enabled=False)

    def enable_stack_domain_user(self, user_id: str, project_id: str) -> None:
        if not self.stack_domain_is_configured:
            self.enable_stack_user(user_id)
            return
        self._user_in_domain(user_id, project_id, 'enable').users.update(user_id, enabled=True)

    # --- EC2 key pairs ------------------------------------------------------------------------------------

    def create_ec2_keypair(self, user_id: str | None = None) -> AccessKey:
        return self._create_keypair(self.client, user_id or str(self.session.get_user_id()),
                                    str(self.context.cloud_project_id))

    def create_stack_domain_user_keypair(self, user_id: str, project_id: str) -> AccessKey:
        if not self.stack_domain_is_configured:
            return self.create_ec2_keypair(user_id)
        return self._create_keypair(self._user_in_domain(user_id, project_id, 'create_keypair'), user_id, project_id)

    @staticmethod
    def _create_keypair(client: IdentityClient, user_id: str, project_id: str) -> AccessKey:
        access = runtimes.current().uuid().replace('-', '')
        secret = password_gen.generate_openstack_password()
        made = client.credentials.create(user_id=user_id, type='ec2', project_id=project_id,
                                         blob=json.dumps({'access': access, 'secret': secret}))
        return AccessKey(made.id, access, secret)

    def get_ec2_keypair(self, credential_id: str | None = None, access: str | None = None,
                        user_id: str | None = None) -> AccessKey:
        """By the credential, or by user and access key."""
        if credential_id:
            found = self.client.credentials.get(credential_id)
            blob = json.loads(found.blob)
            return AccessKey(found.id, blob['access'], blob['secret'])
        if not access:
            raise ValueError(_('Must specify either credential_id or access'))
        entry = self.client.ec2.get(user_id or self.context.user_id, access)
        return AccessKey(access, access, entry.secret)

    def delete_ec2_keypair(self, credential_id: str | None = None, access: str | None = None,
                           user_id: str | None = None) -> None:
        """Gone already is fine."""
        try:
            if credential_id:
                self.client.credentials.delete(credential_id)
            elif access:
                self.client.ec2.delete(user_id or self.context.user_id, access)
            else:
                raise ValueError(_('Must specify either credential_id or access'))
        except exceptions.NotFound:
            LOG.debug('The key pair is gone')

    def delete_stack_domain_user_keypair(self, user_id: str, project_id: str | None, credential_id: str) -> None:
        if not self.stack_domain_is_configured:
            self.delete_ec2_keypair(credential_id)
            return
        try:
            client = self._user_in_domain(user_id, project_id, 'delete_keypair')
            if client.credentials.get(credential_id).user_id != user_id:    # an adopted document may name any
                raise ValueError(_('The key pair %(pair)s is not of user %(user)s: delete_keypair refused')
                                 % {'pair': credential_id, 'user': user_id})
            client.credentials.delete(credential_id)
        except exceptions.NotFound:
            LOG.debug('The key pair is gone')


KsClientWrapper = KeystoneClient            # the name plug-ins know

__all__ = ['AccessKey', 'KeystoneClient', 'KsClientWrapper']


def _deleted(collection: Collection, what: str) -> None:
    """Delete it; raise as the last try. A Keystone that answers several requests at once takes the scope of another
    one for that of this one at times ("requires a scope of project, request was made with domain scope"): the same
    request is fine a moment later, and what is left would stay for ever."""
    for tries_left in reversed(range(TRIES)):
        try:
            collection.delete(what)
        except exceptions.Forbidden:
            if not tries_left:
                raise
        else:
            return
