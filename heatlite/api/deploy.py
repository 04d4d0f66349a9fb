"""Assembles the REST API: lists the layers around the router, from outside to inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from wsgiref.types import WSGIApplication, WSGIEnvironment

from oslo_config import cfg

from heatlite.api import audit_calls, cells, faults, openapi, readiness, routes, wsgi
from heatlite.api.event_hub import EventStreamBounds, Hub
from heatlite.api.middleware import noauth, token_cache
from heatlite.api.middleware.access import AccessLog
from heatlite.api.middleware.answer_headers import AnswerHeaders
from heatlite.api.middleware.audit import Audit
from heatlite.api.middleware.body import BodyLimit
from heatlite.api.middleware.context import ContextMiddleware
from heatlite.api.middleware.fault import FaultMiddleware
from heatlite.api.middleware.known_callers import KnownCallers
from heatlite.api.middleware.mount import Mount, metrics
from heatlite.api.middleware.noauth import NoAuth
from heatlite.api.middleware.preflight import Preflight
from heatlite.api.middleware.project_shares import ProjectShares
from heatlite.api.middleware.rates import RateLimits
from heatlite.api.middleware.request_id import RequestId
from heatlite.api.middleware.traces import Traces
from heatlite.api.middleware.version import VersionNegotiation
from heatlite.api.router import Router
from heatlite.common import addresses, audit, config, exception, health, settings
from heatlite.common import metrics as figures
from heatlite.common.policy import Policy
from heatlite.common.rate_limit import Rate
from heatlite.db.connection import Database
from heatlite.rpc.cells import NONE, Cell
from heatlite.rpc.client import EngineClient

Application = WSGIApplication
Layer = Callable[[Application], Application]

LISTENERS = ('heat_api', 'heat_api_cfn', 'heat_api_cloudwatch')      # option groups: the APIs have the same proxies
KEYSTONE, STANDALONE = None, 'standalone'
refusal = faults.refusal


def build(conf: cfg.ConfigOpts, database: Database, engine: EngineClient, identity: Layer | None = None,
          table: Iterable[wsgi.Route] = routes.TABLE, others: Mapping[str, Cell] = NONE) -> Application:
    """Build the WSGI application of the REST API. Options are read only here and in handlers; opens no port.

    `identity`: a layer that sets verified identity headers, instead of the one of `[paste_deploy] flavor`.
    `others`: the cells beside that of `database`.
    """
    check_lists(conf)
    policy = Policy(conf)
    table = tuple(table)
    bounds = EventStreamBounds.of(conf)
    services = wsgi.HandlerServices(conf, database, engine, policy, Hub(database, bounds))
    application: Application = Router(table, cells.joined(services, others, partial(Hub, bounds=bounds)))
    for layer in reversed(_layers(conf, policy, identity or authentication(conf), outside(conf, database, engine),
                                  openapi.ApiDescription(table))):
        application = layer(application)
    return application


def _layers(conf: cfg.ConfigOpts, policy: Policy, identity: Layer, beside: Layer,
            description: Application) -> list[Layer]:
    """Return the layers, outermost first. The order matters: versions before identity, identity before routes."""
    flavour = conf.paste_deploy.flavor or KEYSTONE
    return [
        AnswerHeaders,
        partial(AccessLog, observe=observe, failed=faults.response),
        Traces,
        *guarding(conf),
        *cross_origin(conf),
        RequestId,
        *auditing(conf),
        partial(FaultMiddleware, debug=conf.debug),
        partial(BodyLimit, limit=conf.max_json_body_size),
        *proxy(conf),
        beside,
        *console(conf),
        VersionNegotiation,
        partial(Mount, beside={openapi.PATH: description}),
        identity,
        partial(ContextMiddleware, policy=policy, auth_url=identity_url(conf),
                trust_user_header=flavour is not KEYSTONE,
                trust_url_header=flavour == STANDALONE and conf.auth_password.multi_cloud),
        partial(ProjectShares, most=most_of_project(conf.heat_api)),
        *rates(conf, lambda environ: environ['REQUEST_METHOD'] in audit_calls.ACTIONS),
    ]


def authentication(conf: cfg.ConfigOpts) -> Layer:
    """Return the authentication layer of `[paste_deploy] flavor`. Raises Error for an unknown flavour."""
    match conf.paste_deploy.flavor or KEYSTONE:
        case None:
            return partial(_keystone, conf=conf)
        case 'standalone':
            from heatlite.api.middleware.password import PasswordAuth
            return partial(PasswordAuth, auth_url=identity_url(conf) or '', multi_cloud=conf.auth_password.multi_cloud,
                           allowed=tuple(conf.auth_password.allowed_auth_uris), verify=_verification(conf),
                           timeout=conf.clients.timeout)
        case 'noauth':
            return partial(NoAuth, token_response=conf.noauth.token_response)
        case unknown:
            raise exception.Error(f'[paste_deploy] flavor {unknown}: wanted nothing, standalone or noauth')


def _keystone(app: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Keystone's own middleware, without the header X-Service-Catalog.

    No layer reads it, and to write it takes a fifteenth of a small request. The catalog is a part of the validated
    token, which engines get: the option `include_service_catalog` would leave it out of that, too.

    Where no memcached is configured, validated tokens are in a bounded cache of this process. Unless the operator wants
    each token validated, what the middleware has made of the headers of a caller is used for a moment."""
    from keystonemiddleware import auth_token  # a service without Keystone does not load it
    register_token_options(conf)
    options = conf.keystone_authtoken
    is_ours = not options.memcached_servers and not options.cache
    cache = {'cache': token_cache.NAME} if is_ours else {}

    def keystone(inner: WSGIApplication) -> WSGIApplication:
        made = auth_token.AuthProtocol(inner, {'oslo_config_config': conf, **cache})
        made._include_service_catalog = False       # its client of Keystone has a copy of the option
        found: WSGIApplication = made
        return token_cache.provided(found, token_cache.TokenCache(options.token_cache_time)) if is_ours else found

    from heatlite.api.middleware.identity_outages import IdentityOutages  # loads the same libraries

    guarded = partial(IdentityOutages, identity=keystone)
    return KnownCallers(app, guarded) if options.token_cache_time > 0 else guarded(app)


def identity_url(conf: cfg.ConfigOpts) -> str | None:
    """Keystone's URL for users."""
    if conf.clients_keystone.auth_uri:
        return str(conf.clients_keystone.auth_uri)
    if settings.is_used(conf, 'keystone_authtoken'):
        _register_authtoken(conf)
        group = conf.keystone_authtoken.get('auth_section') or 'keystone_authtoken'
        url: str | None = conf.keystone_authtoken.get('www_authenticate_uri') or conf[group].get('auth_url')
        return url
    return None


def _register_authtoken(conf: cfg.ConfigOpts) -> None:
    """Register the options of keystonemiddleware and of its login. Raises Error."""
    from keystoneauth1 import exceptions, loading
    register_token_options(conf)
    loading.register_auth_conf_options(conf, 'keystone_authtoken')
    try:
        loading.load_auth_from_conf_options(conf, 'keystone_authtoken')
    except (exceptions.AuthPluginException, exceptions.MissingRequiredOptions) as error:
        raise exception.Error(f'[keystone_authtoken]: {error}') from None


def register_token_options(conf: cfg.ConfigOpts) -> None:
    """Register the options of keystonemiddleware, which does so itself only when its layer is made.

    By default it would wait for ever for a Keystone that takes the connection and says nothing; with a timeout, four
    times: it repeats what it calls a failed connection, and that is also an answer that does not come.
    """
    from keystonemiddleware import opts
    for group, found in opts.list_auth_token_opts():
        conf.register_opts(found, group=group)
    conf.set_default('http_connect_timeout', int(conf.clients.timeout), group='keystone_authtoken')
    conf.set_default('http_request_max_retries', 1, group='keystone_authtoken')


def check_lists(conf: cfg.ConfigOpts) -> None:
    """Raise Error, naming the option, for an entry that is not an address, network or host."""
    for name in ('template_fetch_allow', 'template_fetch_deny'):
        _check_list(name, conf[name])
    for group in LISTENERS:
        _check_list(f'[{group}] trusted_proxies', conf[group].trusted_proxies)


def _check_list(name: str, entries: list[str]) -> None:
    try:
        addresses.Networks(entries)
    except ValueError as error:
        raise exception.Error(f'{name}: {error}') from None


def guarding(conf: cfg.ConfigOpts) -> list[Layer]:
    """Return the layer that refuses web pages of other sites where requests need no login."""
    if conf.paste_deploy.flavor != 'noauth':
        return []
    origins: list[str] = []
    if settings.is_used(conf, 'cors'):
        from oslo_middleware import cors  # loads the library, as `proxy` does
        conf.register_opts(cors.CORS_OPTS, 'cors')
        origins = conf.cors.allowed_origin or []
    return [partial(noauth.OnlyFromHere, hosts=conf.noauth.hosts, origins=origins)]


def cross_origin(conf: cfg.ConfigOpts) -> list[Layer]:
    """Return the layer for requests of pages of other sites; where [cors] names none, only for OPTIONS."""
    if not settings.is_used(conf, 'cors'):
        return [Preflight]
    from heatlite.api.middleware.origin import CrossOrigin  # loads the library, as `proxy` does
    return [partial(CrossOrigin, conf=conf)]


def proxy(conf: cfg.ConfigOpts) -> list[Layer]:
    """Return the layer that evaluates proxy headers; only if the operator has enabled it."""
    if not settings.is_used(conf, 'oslo_middleware'):
        return []
    from oslo_middleware import http_proxy_to_wsgi  # with all that the library offers it takes 7 MiB
    conf.register_opts(http_proxy_to_wsgi.OPTS, group='oslo_middleware')
    if not conf.oslo_middleware.enable_proxy_headers_parsing:
        return []
    from heatlite.api.middleware.proxy_headers import ProxyHeaders
    return [partial(ProxyHeaders, trusted={each for group in LISTENERS for each in conf[group].trusted_proxies})]


def disabling_file(conf: cfg.ConfigOpts) -> str | None:
    """Return the file that takes this API out of a balancer while it exists."""
    if not settings.is_used(conf, 'healthcheck'):
        return None
    from oslo_middleware.healthcheck import opts  # loads the library, as `proxy` does
    conf.register_opts(opts.DISABLE_BY_FILE_OPTS, group='healthcheck')
    path: str | None = conf.healthcheck.disable_by_file_path
    return path


def outside(conf: cfg.ConfigOpts, database: Database, engine: EngineClient) -> Layer:
    """Return the layer for /healthcheck, /readiness and /metrics, which need no identity."""
    beside: dict[str, Application] = {health.LIVE: health.live, health.READY: readiness.checks(database, engine)}
    if path := disabling_file(conf):
        beside = {place: health.DisabledByFile(answer, path) for place, answer in beside.items()}
    if conf.metrics.api_enabled:
        beside['/metrics'] = metrics
    return partial(Mount, beside=beside)


def auditing(conf: cfg.ConfigOpts, is_signed: bool = False) -> list[Layer]:
    """Return the layer of the audit trail; only if the operator has asked for one."""
    trail = audit.of(conf, 'api')
    return [] if trail is None else [partial(Audit, trail=trail, is_signed=is_signed)]


def most_of_project(options: cfg.ConfigOpts.GroupAttr) -> int:
    """Return how many requests of one project may be under way in a process: a quarter of its connections.
    `options`: of the API."""
    return max(int(options.max_connections) // 4, 1)


def rates(conf: cfg.ConfigOpts, is_change: Callable[[WSGIEnvironment], bool]) -> list[Layer]:
    """Return the layer that limits the requests of a project, counted for this process; only if the operator sets a
    limit."""
    requests, changes = (Rate(most) if most else None for most in (conf.rate_limits.requests, conf.rate_limits.changes))
    if requests is None and changes is None:
        return []
    return [partial(RateLimits, requests=requests, changes=changes, is_change=is_change)]


def console(conf: cfg.ConfigOpts) -> list[Layer]:
    """Return the layer of the web console; only if the operator has enabled it. Raises Error where no user could log
    in."""
    if not conf.console.enabled:
        return []
    # Imported here: a service without the console does not load it.
    from heatlite.api.console.identity import IdentityService
    from heatlite.api.console.layer import ConsoleLayer
    match conf.paste_deploy.flavor or KEYSTONE:
        case 'noauth':
            return [partial(ConsoleLayer, project=noauth.NAME, identity=None)]
        case None:
            url = identity_url(conf)
            if url is None:
                raise exception.Error('[console] enabled: [keystone_authtoken] www_authenticate_uri is not set')
            return [partial(ConsoleLayer, project=None, identity=IdentityService(url, _verification(conf)))]
        case flavor:
            raise exception.Error(f'[console] enabled: there is no login with [paste_deploy] flavor {flavor}')


def _verification(conf: cfg.ConfigOpts) -> bool | str:
    """How the certificate of `identity_url` is verified: the file with the authorities, or whether at all."""
    if conf.clients_keystone.auth_uri or not settings.is_used(conf, 'keystone_authtoken'):
        own, common = conf.clients_keystone, conf.clients
        insecure, file = [common[name] if own[name] is None else own[name] for name in ('insecure', 'ca_file')]
    else:
        insecure, file = conf.keystone_authtoken.insecure, conf.keystone_authtoken.cafile
    return config.verification(insecure, file)


def observe(method: str, route: str, status: str, seconds: float) -> None:
    figures.http_seconds.labels(route, method, status).observe(seconds)
