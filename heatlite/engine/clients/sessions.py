"""Makes keystoneauth1 sessions, through which all requests to other services go, for the user of a request context."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from http import cookiejar
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import requests
from keystoneauth1 import loading, plugin
from keystoneauth1 import session as keystone_session
from keystoneauth1.identity import access as access_plugin
from keystoneauth1.identity import generic
from oslo_config import cfg
from oslo_context import context as contexts
from oslo_log import log

from heatlite.common import config, exception, tracing
from heatlite.common.i18n import _
from heatlite.engine.clients import bounded, call_metrics, call_spans, logins

if TYPE_CHECKING:
    from keystoneauth1.access import AccessInfo
    from keystoneauth1.discover import Discover, EndpointData

    from heatlite.common.context import RequestContext

LOG = log.getLogger(__name__)

P = ParamSpec('P')
T = TypeVar('T')

TRUSTEE = 'trustee'                         # option group with the service user's credentials
AUTHTOKEN = 'keystone_authtoken'            # the same of the API's middleware, used where [trustee] says nothing
LARGEST_DISCOVERY = 1000                    # version documents kept, by URL
PEERS = 64                                  # services to which connections are kept open

_discovered: dict[str, Discover] = {}            # version documents are the same for everybody


def session(context: RequestContext) -> Session:
    """Return a session for `context`. Raises AuthorizationFailure when nothing says how to log in.

    Connections and version documents are shared by all sessions of the process; tokens are not. No request waits
    longer than [clients] timeout for the next byte; answers are bounded (see `bounded`).
    """
    return SharedSession(auth_plugin(context))


def _logging_in(method: Callable[P, T]) -> Callable[P, T]:
    """Make a method of sessions that may log in raise the errors of `Session.login_errors`."""
    @functools.wraps(method)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        with _login_errors(args[0]):
            return method(*args, **kwargs)

    return wrapper


def _login_errors(session: object) -> contextlib.AbstractContextManager[None]:
    return session.login_errors() if isinstance(session, Session) else logins.own_errors()


@_logging_in
def access(session: keystone_session.Session) -> AccessInfo:
    """Return what Keystone says of the login of a session, which is made if there is none. Raises AttributeError for a
    plug-in without one."""
    # All that are used have it, though their base has not.
    ask: Callable[[keystone_session.Session], AccessInfo] = getattr(session.auth, 'get_access')     # noqa: B009
    return ask(session)


class Session(keystone_session.Session):
    """Tells services which request they are asked for: the caller's own id of it, else ours. Clients live longer than
    a request, so the context of the thread is asked at each call.

    `permits`: held by each request to a service; None: those that all sessions share (`os.http.limit`)."""

    permits: threading.BoundedSemaphore | None = None

    get_auth_headers = _logging_in(keystone_session.Session.get_auth_headers)
    get_endpoint = _logging_in(keystone_session.Session.get_endpoint)
    get_endpoint_data = _logging_in(keystone_session.Session.get_endpoint_data)
    get_api_major_version = _logging_in(keystone_session.Session.get_api_major_version)
    get_all_version_data = _logging_in(keystone_session.Session.get_all_version_data)
    get_user_id = _logging_in(keystone_session.Session.get_user_id)
    get_project_id = _logging_in(keystone_session.Session.get_project_id)

    @contextlib.contextmanager
    def login_errors(self) -> Iterator[None]:
        """Raise the errors of `logins` in a block that may log in."""
        with logins.own_errors():
            yield

    def request(self, url: str, method: str, *args: object, **kwargs: object) -> requests.Response:
        current = contexts.get_current()
        if current is not None:
            kwargs['global_request_id'] = current.global_id
        ask: Callable[..., requests.Response] = super().request
        send = functools.partial(ask, url, method, *args)
        return call_metrics.timed(kwargs, lambda: _sent(send, url, method, kwargs))


class SharedSession(Session):
    """A session with the connections and version documents that all of these share in a process."""

    def __init__(self, auth: plugin.BaseAuthPlugin | None) -> None:
        if len(_discovered) > LARGEST_DISCOVERY:
            _discovered.clear()
        super().__init__(auth=auth, session=_connections(), app_name='heatlite', timeout=cfg.CONF.clients.timeout,
                         discovery_cache=_discovered, **config.get_ssl_options('keystone'))


def _sent(send: Callable[..., requests.Response], url: str, method: str,
          kwargs: Mapping[str, object]) -> requests.Response:
    """Return `send(**kwargs)`, within a span of its own if calls are traced."""
    tracer = tracing.tracer
    if tracer is None:
        return send(**kwargs)
    given = kwargs.get('headers')
    return call_spans.sent(tracer, url, method, kwargs, lambda headers: send(
        **{**kwargs, 'headers': {**(given if isinstance(given, Mapping) else {}), **headers}}))


@functools.cache
def _connections() -> requests.Session:
    """Return the connections to all services of the cloud, which all sessions of the process share."""
    return transport(KeepAliveAdapter(pool_connections=PEERS, pool_maxsize=cfg.CONF.clients.max_requests))


class KeepAliveAdapter(bounded.Adapter, keystone_session.TCPKeepAliveAdapter):
    """Connections that stay open."""


def transport(adapter: bounded.Adapter) -> requests.Session:
    """Return connections through `adapter`. Cookies are refused: they would mix up callers. Answers are bounded."""
    found = requests.Session()
    found.hooks['response'].append(bounded.read)
    found.cookies.set_policy(cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ('http://', 'https://'):
        found.mount(scheme, adapter)
    return found


def forget() -> None:
    """Version documents, logins and open connections: the next session starts anew."""
    _discovered.clear()
    _connections.cache_clear()
    _cloud_plugin.cache_clear()


def auth_plugin(context: RequestContext) -> plugin.BaseAuthPlugin | None:
    """Return the first of: stored trust (when asked to prefer it), token, trust, password, clouds.yaml or OS_*."""
    prefers_trust = cfg.CONF.reauthentication_auth_method == 'trusts'
    if context.trust_id and (prefers_trust or not context.own_token):
        return trust_plugin(context.trust_id)
    if context.own_token:
        found = _plugin_of_token_info(context) if context.auth_token_info else generic.Token(
            auth_url=auth_url(context), token=context.own_token, project_id=context.project_id)
        return TokenThenTrust(found, context.trust_id) if context.trust_id else found
    if context.password:
        return generic.Password(auth_url=auth_url(context), username=context.username, user_id=context.user_id,
                                password=context.password, project_id=context.project_id,
                                user_domain_id=context.user_domain_id)
    return cloud_plugin()


class TokenThenTrust(plugin.BaseAuthPlugin):
    """The caller's token as long as it is good, then the stored trust: an action may outlive the token."""

    def __init__(self, token: plugin.BaseAuthPlugin, trust_id: str) -> None:
        super().__init__()
        self._chosen = token
        self._trust_id: str | None = trust_id

    def invalidate(self) -> bool:
        """Note that the session says that the token is refused. Returns whether there is something else to try."""
        if self._trust_id is None:
            return bool(self._chosen.invalidate())
        LOG.info('The token of the caller is over, from now on the trust is used')
        self._chosen, self._trust_id = trust_plugin(self._trust_id), None
        return True

    def get_token(self, session: keystone_session.Session, **kwargs: object) -> str | None:
        return self._chosen.get_token(session, **kwargs)

    def get_access(self, session: keystone_session.Session, **kwargs: object) -> AccessInfo:
        # All of these have it, though their base has not.
        ask: Callable[..., AccessInfo] = getattr(self._chosen, 'get_access')  # noqa: B009
        return ask(session, **kwargs)

    def get_endpoint(self, session: keystone_session.Session, **kwargs: object) -> str | None:
        return self._chosen.get_endpoint(session, **kwargs)

    def get_endpoint_data(self, session: keystone_session.Session, **kwargs: object) -> EndpointData | None:
        ask: Callable[..., EndpointData | None] = self._chosen.get_endpoint_data
        return ask(session, **kwargs)

    def get_api_major_version(self, session: keystone_session.Session,
                              **kwargs: object) -> tuple[int | float, ...] | None:
        ask: Callable[..., tuple[int | float, ...] | None] = self._chosen.get_api_major_version
        return ask(session, **kwargs)

    def get_user_id(self, session: keystone_session.Session, **kwargs: object) -> str | None:
        return self._chosen.get_user_id(session, **kwargs)

    def get_project_id(self, session: keystone_session.Session, **kwargs: object) -> str | None:
        return self._chosen.get_project_id(session, **kwargs)


def _plugin_of_token_info(context: RequestContext) -> plugin.BaseAuthPlugin:
    from keystoneauth1.access import access
    info = access.create(body=context.auth_token_info, auth_token=context.own_token)
    return access_plugin.AccessInfoPlugin(auth_ref=info, auth_url=auth_url(context))


def trust_plugin(trust_id: str) -> plugin.BaseAuthPlugin:
    """Return the service user acting under a trust."""
    return _service_plugin(trust_id=trust_id)


def service_plugin() -> plugin.BaseAuthPlugin:
    """Return the service user in its own project."""
    return _service_plugin()


def service_group() -> str:
    """Return the option group with the login of the service user."""
    loading.register_auth_conf_options(cfg.CONF, TRUSTEE)
    return TRUSTEE if cfg.CONF[TRUSTEE].auth_type or cfg.CONF[TRUSTEE].auth_section else AUTHTOKEN


def _service_plugin(**scope: str | None) -> plugin.BaseAuthPlugin:
    for group in (TRUSTEE, AUTHTOKEN):
        loading.register_auth_conf_options(cfg.CONF, group)
        if scope:
            # A trust names the project itself; a project of the service user beside it would be refused.
            scope.update(project_id=None, project_name=None, project_domain_id=None, project_domain_name=None,
                         tenant_id=None, tenant_name=None)
        found = loading.load_auth_from_conf_options(cfg.CONF, group, **scope)
        if found is not None:
            return found
    raise exception.AuthorizationFailure(_('The option group [%s] has no credentials.') % TRUSTEE)


def cloud_plugin() -> plugin.BaseAuthPlugin | None:
    """Return the user that clouds.yaml (OS_CLOUD) or the OS_* variables name: for a service on one's own machine."""
    return _cloud_plugin(tuple(sorted(item for item in os.environ.items() if item[0].startswith('OS_'))))


@functools.lru_cache(maxsize=4)
def _cloud_plugin(_environment: tuple[tuple[str, str], ...]) -> plugin.BaseAuthPlugin | None:
    from keystoneauth1 import exceptions as auth_exceptions
    from openstack import config as cloud_config
    from openstack import exceptions
    try:
        return cloud_config.OpenStackConfig().get_one().get_session().auth
    except (exceptions.ConfigException, exceptions.SDKException, auth_exceptions.ClientException) as error:
        raise exception.AuthorizationFailure(str(error))


def auth_url(context: RequestContext) -> str:
    """Where Keystone is. Raises AuthorizationFailure when nothing says it."""
    if context.auth_url:
        return str(context.auth_url)
    for group, option in (('clients_keystone', 'auth_uri'), (TRUSTEE, 'auth_url'), (AUTHTOKEN, 'www_authenticate_uri')):
        if group in cfg.CONF and option in cfg.CONF[group] and cfg.CONF[group][option]:
            return str(cfg.CONF[group][option])
    with contextlib.suppress(exception.AuthorizationFailure):
        own = getattr(cloud_plugin(), 'auth_url', None)     # a service on one's own machine has no options at all
        if own:
            return str(own)
    raise exception.AuthorizationFailure(_('The URL of Keystone is not known.'))
