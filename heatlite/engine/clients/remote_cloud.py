"""Contexts that act in another region, or with another login in another cloud."""

from __future__ import annotations

import json
import tempfile
import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from keystoneauth1 import exceptions as services
from keystoneauth1.identity import v3

from heatlite.common import context as contexts
from heatlite.common import exception, netutils
from heatlite.common.i18n import _
from heatlite.engine.clients import bounded, guarded, sessions

if TYPE_CHECKING:
    from keystoneauth1.access import AccessInfoV3
    from keystoneauth1.plugin import BaseAuthPlugin
    from keystoneauth1.session import Session

PERMITS = 8                                 # requests by one login of a stack that may run at once
TYPE, VALUES = 'auth_type', 'auth'          # what the payload of a secret with a login holds
# Those that need no person at a browser, for whom they would wait here, and nothing of this host, such as a ticket.
LOGINS = frozenset({
    'admin_token', 'http_basic', 'none', 'password', 'token', 'v2password', 'v2token', 'v3applicationcredential',
    'v3multifactor', 'v3oauth2clientcredential', 'v3oidcaccesstoken', 'v3oidcauthcode', 'v3oidcclientcredentials',
    'v3oidcpassword', 'v3password', 'v3token', 'v3totp'})


class Login(TypedDict):
    """The payload of a secret with a login. `auth`: the options of the plug-in that `auth_type` names."""

    auth_type: str
    auth: Mapping[str, object]


def context(caller: contexts.RequestContext, region: str | None, *, login: str | bytes | None = None,
            ca_cert: str | None = None, insecure: bool = False, project: str | None = None) -> contexts.RequestContext:
    """`caller` in `region`; with `login`, JSON of `{auth_type, auth: {...}}`, the user that this names; with the id of
    a `project`, the caller there, by a token that Keystone gives for the caller's own.

    `ca_cert`: text of the certificates to trust; None: those of this machine. A login, and what its Keystone names,
    lead only to addresses that users may name (see `guarded`). Their requests hold permits of their own: a slow server
    of a user does not hold those for services of the operator. Raises Error for a wrong `login`, and where there is no
    token of the caller to exchange. If Keystone refuses the exchange, the first request raises.
    """
    if login is None:
        found = type(caller).from_dict({**caller.to_dict(), 'region_name': region})
        auth: BaseAuthPlugin | None = None if project is None else _in_project(caller, project)
    else:
        found = contexts.RequestContext(region_name=region, request_id=caller.request_id, overwrite=False)
        auth = _plugin(_read(login))
    if auth is not None or ca_cert or insecure:
        session = _session(auth or caller.keystone_session.auth, ca_cert, insecure,
                           guarded.GuardedAdapter() if login is not None else sessions.KeepAliveAdapter())
        if login is not None:
            session.permits = threading.BoundedSemaphore(PERMITS)
        found.__dict__['_session'] = session
    if auth is not None:
        found.project_id = project or found.keystone_session.get_project_id()
    return found


def _read(login: str | bytes) -> Login:
    try:
        found = json.loads(login)
    except ValueError:
        found = None
    if not isinstance(found, Mapping) or not isinstance(found.get(VALUES), Mapping) or TYPE not in found:
        raise exception.Error(_('The secret with the credential must be a JSON map with "%(type)s" and "%(values)s"')
                              % {'type': TYPE, 'values': VALUES})
    if not isinstance(found[TYPE], str) or found[TYPE] not in LOGINS:
        raise exception.Error(
            _('The secret with the credential has "%(type)s": "%(found)s"; possible are: %(known)s') % {
                'type': TYPE, 'found': str(found[TYPE])[:80], 'known': ', '.join(sorted(LOGINS))})
    return {'auth_type': found[TYPE], 'auth': found[VALUES]}


def _in_project(caller: contexts.RequestContext, project: str) -> Exchange:
    """Return the caller in another project, as far as the caller's token goes: a trust is for one project."""
    if caller.trust_id and not caller.own_token:
        raise exception.Error(_('The stack acts in project %s by the token of the request, which is over. An update '
                                'tries again') % project)
    token = caller.own_token or caller.keystone_session.get_token() or ''
    return Exchange(netutils.keystone_v3(sessions.auth_url(caller)), token, project_id=project)


class Exchange(v3.Token):
    """A token of another project for one that there is already."""

    def get_auth_ref(self, session: Session, **kwargs: object) -> AccessInfoV3:
        """Exchange the token. Raises ProjectOutOfReach, TokenNotExchangeable: Keystone answers 404 to a token that has
        ended, which is not to be mistaken for the end of a stack."""
        try:
            return super().get_auth_ref(session, **kwargs)
        except services.Forbidden as error:
            raise exception.TokenNotExchangeable(project=self.project_id, said=_line(error)) from error
        except (services.Unauthorized, services.NotFound) as error:
            raise exception.ProjectOutOfReach(project=self.project_id, said=_line(error)) from error


def _line(error: services.HttpError) -> str:
    return str(error.message or error).partition('\n')[0]


def _plugin(login: Login) -> BaseAuthPlugin:
    """Return the plug-in of a login. Raises keystoneauth1's MissingRequiredOptions."""
    from keystoneauth1 import loading
    made: BaseAuthPlugin = loading.get_plugin_loader(login['auth_type']).load_from_options(**login['auth'])
    return made


def _session(auth: BaseAuthPlugin | None, ca_cert: str | None, insecure: bool,
             adapter: bounded.Adapter) -> sessions.Session:
    """With connections of its own: the shared ones trust other certificates, and go anywhere."""
    from oslo_config import cfg
    found = sessions.Session(auth=auth, session=sessions.transport(adapter), verify=not insecure, app_name='heatlite',
                             timeout=cfg.CONF.clients.timeout)
    if ca_cert and not insecure:
        file = tempfile.NamedTemporaryFile('w', suffix='.pem')      # noqa: SIM115 - it lives as long as the session
        file.write(ca_cert)
        file.flush()
        found.verify = file.name
        weakref.finalize(found, file.close)
    return found
