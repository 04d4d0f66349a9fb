"""Builds the request context from the identity headers that the authentication layer has set."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.api.middleware import identity
from heatlite.common import turns
from heatlite.common.context import RequestContext
from heatlite.common.policy import Policy

KEY = 'heatlite.context'
# Credentials that another layer has verified. Never a header: a client could send it.
AWS_CREDENTIALS = 'heatlite.aws_credentials'


class ContextMiddleware:
    """`trust_user_header`: the owner's name is X-Auth-User; only correct if that header was verified.

    `auth_url`: Keystone's URL for the engine; `trust_url_header`: use X-Auth-Url instead (multi-cloud).
    """

    def __init__(self, app: WSGIApplication, policy: Policy, auth_url: str | None = None,
                 trust_user_header: bool = False, trust_url_header: bool = False) -> None:
        self._app = app
        self._policy = policy
        self._auth_url = auth_url
        self._trust_user_header = trust_user_header
        self._trust_url_header = trust_url_header

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        found = environ[KEY] = self._context(environ)
        turns.begin(found.project_id)               # a project whose callers never pause must not delay all others
        return self._app(environ, start_response)

    def _context(self, environ: WSGIEnvironment) -> RequestContext:
        sent_name = environ.get('HTTP_X_AUTH_USER')
        auth_url = self._auth_url
        if self._trust_url_header:
            auth_url = environ.get('HTTP_X_AUTH_URL') or auth_url
        context = RequestContext.from_environ(
            environ,
            username=(self._trust_user_header and sent_name) or environ.get('HTTP_X_USER_NAME'),
            password=environ.get('HTTP_X_AUTH_KEY') if sent_name else None,
            aws_creds=environ.get(AWS_CREDENTIALS),
            auth_url=auth_url,
            region_name=environ.get('HTTP_X_REGION_NAME'),
            auth_token_info=environ.get(identity.TOKEN_INFO))
        context.is_admin = self._policy.is_admin(context)
        return context
