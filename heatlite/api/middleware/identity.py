"""The identity headers that an authentication layer sets for the layers below it, and the token it has validated."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final
from wsgiref.types import WSGIEnvironment

from heatlite.common import runtime

TOKEN_INFO: Final = 'keystone.token_info'       # in the environment: the validated token, as Keystone answers
SYSTEM_SCOPE: Final = 'HTTP_OPENSTACK_SYSTEM_SCOPE'

_NAMES = (
    'IDENTITY_STATUS', 'USER_ID', 'USER_NAME', 'USER_DOMAIN_ID', 'USER_DOMAIN_NAME', 'PROJECT_ID', 'PROJECT_NAME',
    'PROJECT_DOMAIN_ID', 'PROJECT_DOMAIN_NAME', 'DOMAIN_ID', 'DOMAIN_NAME', 'ROLES', 'SERVICE_CATALOG',
    'IS_ADMIN_PROJECT', 'TENANT', 'TENANT_ID', 'TENANT_NAME', 'USER', 'ROLE')
_ALSO = (SYSTEM_SCOPE, TOKEN_INFO)


def remove(environ: WSGIEnvironment) -> None:
    """Remove identity headers sent by the client. Its own token and password stay: they are to be verified."""
    for name in _NAMES:
        environ.pop(f'HTTP_X_{name}', None)
    for key in [*_ALSO, *(key for key in environ if key.startswith('HTTP_X_SERVICE_'))]:
        environ.pop(key, None)


def replace(environ: WSGIEnvironment, roles: Iterable[str], **values: str | None) -> None:
    """Replace identity headers sent by the client with the verified ones. Keys: `project_id`, `user_id` ..."""
    remove(environ)
    environ['HTTP_X_IDENTITY_STATUS'] = 'Confirmed'
    environ['HTTP_X_ROLES'] = ','.join(roles)
    for name, value in values.items():
        if value is not None:
            environ[f'HTTP_X_{name.upper()}'] = value


def token_seconds_left(info: object) -> float | None:
    """Until a validated token expires, at least 0; None: unknown. `info`: the value of TOKEN_INFO."""
    match info:
        case {'token': {'expires_at': str(text)}}:
            try:
                ends = datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
            except ValueError:
                return None
            return max((ends - runtime.current().now()).total_seconds(), 0.0)
    return None


def first_segment(environ: WSGIEnvironment) -> str | None:
    """Return the project id in the path, after the version was removed from it; None without one."""
    path = environ.get('PATH_INFO', '').lstrip('/')
    segment = path.split('/', 1)[0].encode('latin-1').decode('utf-8', 'replace')
    return segment or None
