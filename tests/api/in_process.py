"""An API in this process for tests: the real layers around the real routes, with identity taken from headers.

`X-Project-Id`, `X-User-Id`, `X-Roles` say who calls, as Keystone's middleware would after checking a token; a request
without `X-Project-Id` is refused as it would refuse one without a token.
"""

from __future__ import annotations

import json
from functools import partial

import webob
from oslo_config import cfg
from oslo_log import log
from webob import exc

from heatlite.api import deploy
from heatlite.common import config, exception

PROJECT = 'f' * 32
OTHER = 'e' * 32


class Verified:
    """Stands where Keystone's middleware stands."""

    def __init__(self, app):
        self._app = app

    def __call__(self, environ, start_response):
        if 'HTTP_X_PROJECT_ID' not in environ:
            return exc.HTTPUnauthorized(headers=[('WWW-Authenticate', 'Keystone uri="http://identity/v3"')])(
                environ, start_response)
        environ.setdefault('HTTP_X_USER_ID', 'u' * 32)
        environ.setdefault('HTTP_X_USER_NAME', 'somebody')
        environ.setdefault('HTTP_X_ROLES', 'member,reader')
        return self._app(environ, start_response)


def options(files=(), **overrides):
    """Fresh options: defaults, then `files`, then keywords; a key `GROUP__NAME` sets an option of a group."""
    conf = cfg.ConfigOpts()
    config.register(conf)
    log.register_options(conf)
    conf([], default_config_files=list(files), default_config_dirs=[])
    for key, value in overrides.items():
        group, _, name = key.rpartition('__')
        conf.set_override(name, value, group=group or None)
    return conf


def build(conf=None, database=None, engine=None, **more):
    more.setdefault('identity', Verified)
    return deploy.build(conf or options(), database, engine, **more)


def ask(app, method, path, body=None, *, project=PROJECT, roles='member,reader', headers=None, **environ):
    """One request; `body` a JSON value, bytes as they are, or None. `project` None: without identity."""
    request = webob.Request.blank(path, method=method, headers=headers or {}, environ=environ or None)
    if project is not None:
        request.headers['X-Project-Id'] = project
        request.headers['X-Roles'] = roles
    if body is not None:
        request.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        if 'Content-Type' not in (headers or {}):
            request.headers['Content-Type'] = 'application/json'
    return request.get_response(app)


get = partial(ask, method='GET')


class NoEngine:
    """The engine client while every engine is down: reads must not need one."""

    def call(self, context, message):
        raise exception.MessagingTimeout(seconds=60)

    def wake(self, stack_id, engine_id=None):
        pass
