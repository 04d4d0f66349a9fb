"""Flavour `standalone`: user name and password in headers, checked by a login at Keystone.

The project is the first segment of the path. Missing or wrong credentials are a 401, a Keystone that does not check
them a 503: clients try again then.
"""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from keystoneauth1 import exceptions as keystone_exceptions
from keystoneauth1 import session
from keystoneauth1.access import AccessInfo
from keystoneauth1.identity import v3
from webob import exc

from heatlite.api.middleware import identity
from heatlite.api.middleware.authorities import log_unusable
from heatlite.common import exception, outages

DEFAULT_DOMAIN = 'default'
# How Keystone answers to a wrong login, also to names that it cannot have.
REFUSALS = (keystone_exceptions.Unauthorized, keystone_exceptions.Forbidden, keystone_exceptions.NotFound,
            keystone_exceptions.BadRequest)


class PasswordAuth:
    """`auth_url`: Keystone's URL. `allowed`: other URLs that a client may send in X-Auth-Url (multi-cloud). `timeout`:
    seconds without a byte after which Keystone is given up."""

    def __init__(self, app: WSGIApplication, auth_url: str, multi_cloud: bool = False, allowed: tuple[str, ...] = (),
                 verify: bool | str = True, timeout: float = 60.0) -> None:
        self._app = app
        self._timeout = timeout
        self._auth_url = auth_url
        self._multi_cloud = multi_cloud
        self._allowed = frozenset(uri.rstrip('/') for uri in allowed)
        self._verify = verify

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        auth_url = self._auth_url
        if self._multi_cloud:
            auth_url = environ.get('HTTP_X_AUTH_URL', '')
            if not auth_url:
                answer: WSGIApplication = exc.HTTPBadRequest('Request missing required header X-Auth-Url')
                return answer(environ, start_response)
            if auth_url.rstrip('/') not in self._allowed:
                return self._refuse(auth_url)(environ, start_response)
        access = self._log_in(auth_url, environ)
        if access is None:
            return self._refuse(auth_url)(environ, start_response)
        identity.replace(
            environ, access.role_names or (), user_id=access.user_id, user_name=access.username,
            user_domain_id=access.user_domain_id, user_domain_name=access.user_domain_name,
            project_id=access.project_id, project_name=access.project_name,
            project_domain_id=access.project_domain_id, project_domain_name=access.project_domain_name,
            auth_token=access.auth_token, auth_url=auth_url,
            is_admin_project=str(getattr(access, 'is_admin_project', True)))
        environ[identity.TOKEN_INFO] = {'token': access._data.get('token')}
        return self._app(environ, start_response)

    def _log_in(self, auth_url: str, environ: WSGIEnvironment) -> AccessInfo | None:
        user, password = environ.get('HTTP_X_AUTH_USER'), environ.get('HTTP_X_AUTH_KEY')
        project = identity.first_segment(environ)
        if not (user and password and project):
            return None
        login = v3.Password(
            auth_url=auth_url, username=user, password=password, project_id=project,
            user_domain_id=environ.get('HTTP_X_USER_DOMAIN_ID') or DEFAULT_DOMAIN, include_catalog=True)
        try:
            found = login.get_access(session.Session(auth=login, verify=self._verify, timeout=self._timeout))
            outages.back(outages.IDENTITY)
            return found
        except REFUSALS:
            return None
        except keystone_exceptions.ClientException as error:
            outages.away(outages.IDENTITY, f'{auth_url} could not check a password: {error}')
            raise exception.KeystoneUnavailable(reason=f'{type(error).__name__}: {error}') from error
        except OSError as error:
            raise exception.KeystoneUnavailable(reason=log_unusable(
                '[clients_keystone] or [clients] ca_file, or [keystone_authtoken] cafile', error)) from error

    @staticmethod
    def _refuse(auth_url: str) -> WSGIApplication:
        answer: WSGIApplication = exc.HTTPUnauthorized(headers=[('WWW-Authenticate', f"Keystone uri='{auth_url}'")])
        return answer
