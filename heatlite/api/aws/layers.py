"""The layers around the actions of an API with AWS's signatures, from outside to inside."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from wsgiref.types import WSGIEnvironment

import webob
from oslo_config import cfg

from heatlite.api import deploy, wsgi
from heatlite.api.aws import errors
from heatlite.api.aws.signature import Ec2Signature, SignatureKeystone
from heatlite.api.deploy import STANDALONE, Application, Layer
from heatlite.api.middleware.access import AccessLog
from heatlite.api.middleware.answer_headers import AnswerHeaders
from heatlite.api.middleware.body import BodyLimit
from heatlite.api.middleware.context import ContextMiddleware
from heatlite.api.middleware.project_shares import ProjectShares
from heatlite.api.middleware.request_id import RequestId
from heatlite.api.middleware.traces import Traces
from heatlite.api.middleware.version import VersionNegotiation
from heatlite.common import config, exception, limits

if TYPE_CHECKING:
    from keystoneauth1.session import Session

LOGINS = ('ec2authtoken', 'keystone_authtoken')         # groups with the login at Keystone: the first with auth_type
Answer = Callable[[Exception, WSGIEnvironment], webob.Response]


def around(actions: Application, services: wsgi.HandlerServices, answer: Answer,
           failed: Callable[[Exception], webob.Response],
           identity: Layer | None = None, fields: int = limits.FORM_FIELDS,
           version: Layer = VersionNegotiation, group: str = 'heat_api_cfn',
           is_change: Callable[[WSGIEnvironment], bool] = lambda environ: False) -> Application:
    """Return the WSGI application of an API: its actions within all layers.

    `answer`, `failed`: render errors of the layers, and of the layer that does so. `identity`: a layer that sets
    verified identity headers, instead of signature and token. `fields`: most fields of a form. `version`: the layer
    that reads the version in the path. `group`: with the options of the API's connections. `is_change(environ)`:
    whether a request counts for [rate_limits] changes.
    """
    conf = services.conf
    deploy.check_lists(conf)
    layers: list[Layer] = [
        AnswerHeaders,
        partial(AccessLog, observe=deploy.observe, failed=failed),
        Traces,
        *deploy.cross_origin(conf),
        RequestId,
        *deploy.auditing(conf, is_signed=True),
        partial(errors.Faults, answer=answer),
        partial(BodyLimit, limit=conf.max_json_body_size, fields=fields),
        *deploy.proxy(conf),
        deploy.outside(conf, services.database, services.engine),
        version,
        *(_authentication(conf) if identity is None else [identity]),
        partial(ContextMiddleware, policy=services.policy, auth_url=deploy.identity_url(conf)),
        partial(ProjectShares, most=deploy.most_of_project(conf[group])),
        *deploy.rates(conf, is_change),
    ]
    made = actions
    for layer in reversed(layers):
        made = layer(made)
    return made


def _authentication(conf: cfg.ConfigOpts) -> list[Layer]:
    """Return the layers for the signature and its token; in flavour standalone without the token layer, for signatures
    only.
    """
    has_tokens = conf.paste_deploy.flavor != STANDALONE
    signed = partial(Ec2Signature, keystones=keystones(conf), takes_tokens=has_tokens)
    return [signed, deploy.authentication(conf)] if has_tokens else [signed]


def keystones(conf: cfg.ConfigOpts) -> list[SignatureKeystone]:
    """Return the services that check signatures, in the order in which they are asked. Raises Error, naming the option,
    when there is none."""
    options = conf.ec2authtoken
    if options.multi_cloud:
        found = _of_clouds(conf) or [
            SignatureKeystone(uri, partial(_session, conf, *LOGINS)) for uri in options.allowed_auth_uris]
        if not found:
            raise exception.Error('[ec2authtoken] clouds and allowed_auth_uris are empty, and multi_cloud is on: no '
                                  'Keystone can check signatures')
        return found
    uri = options.auth_uri or deploy.identity_url(conf)
    if not uri:
        raise exception.Error('[ec2authtoken] auth_uri is not set, nor are [keystone_authtoken] www_authenticate_uri '
                              'and auth_url: no Keystone can check signatures')
    return [SignatureKeystone(str(uri), partial(_session, conf, *LOGINS))]


def _of_clouds(conf: cfg.ConfigOpts) -> list[SignatureKeystone]:
    """Return the Keystones of [ec2authtoken] clouds. Each gets a token of its own login only. Raises Error."""
    found = []
    for group in config.register_clouds(conf):
        if not conf[group].auth_uri:
            raise exception.Error(f'[{group}] auth_uri is not set, and [ec2authtoken] clouds names this cloud')
        found.append(SignatureKeystone(str(conf[group].auth_uri), partial(_session, conf, group), group))
    return found


def _session(conf: cfg.ConfigOpts, *groups: str) -> Session:
    """Return the service's own session at Keystone, which checks signatures only for authenticated services. Configured
    by the first of the groups; the login by the first one with auth_type."""
    from keystoneauth1 import loading, session
    options = conf[groups[0]]
    login = None
    for group in groups:
        loading.register_auth_conf_options(conf, group)
        login = loading.load_auth_from_conf_options(conf, group)
        if login is not None:
            break
    certificate = (options.cert_file, options.key_file) if options.cert_file and options.key_file else options.cert_file
    return session.Session(auth=login, verify=config.verification(options.insecure, options.ca_file), cert=certificate,
                           timeout=conf.clients.timeout)
