"""The way of the console to Keystone: a browser may call this host only.

Three calls, and nothing else of Keystone: get a token, list the projects of a token, revoke it. Bodies, answers, times
and the number of calls at once are bounded, the latter for each address as well: a client that tries passwords leaves
room for others. Keystone gets the address of the client in X-Forwarded-For. Nothing is stored, and nothing of a body is
logged.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

import webob
from keystoneauth1 import exceptions, session

from heatlite.api import json_text
from heatlite.api.console import files
from heatlite.api.middleware import body
from heatlite.api.middleware.authorities import log_unusable
from heatlite.common import addresses, exception
from heatlite.common.i18n import _
from heatlite.common.keyed_count import LimitedCount

METHODS = frozenset({'password', 'application_credential', 'token'})
BODY = 16_384                               # bytes of a request
SECONDS = 15.0                              # for an answer of Keystone
AT_ONCE = 16
AT_ONCE_OF_CLIENT = 4
PREFIX_OF_CLIENT = 64                       # bits of an IPv6 address that one client has
PROJECTS = 1000                             # that are listed


class IdentityService:
    """`url`: Keystone's, with or without the version. `verify`: as for requests."""

    def __init__(self, url: str, verify: bool | str = True) -> None:
        url = url.rstrip('/')
        self._url = url if url.endswith('/v3') else f'{url}/v3'
        self._session = session.Session(verify=verify, timeout=SECONDS)
        self._under_way: LimitedCount[str] = LimitedCount()     # by client

    def token(self, request: webob.Request) -> webob.Response:
        """POST: Keystone's body of `POST /v3/auth/tokens`. The answer has the token itself, too."""
        asked = _credentials(request)
        status, headers, found = self._ask(request, 'POST', '/auth/tokens?nocatalog', json=asked)
        if status != 201:
            return _refusal(status, found)
        token = found.get('token')
        given = token if isinstance(token, dict) else {}
        shown = {key: given.get(key) for key in ('issued_at', 'expires_at', 'methods', 'user', 'project', 'roles')}
        return files.document({**shown, 'token': headers.get('X-Subject-Token')}, 201)

    def projects(self, request: webob.Request) -> webob.Response:
        """GET: the projects that the token's user may work in."""
        status, _headers, found = self._ask(request, 'GET', '/auth/projects', headers=_token(request))
        if status != 200:
            return _refusal(status, found)
        given = found.get('projects')
        listed = [{key: each.get(key) for key in ('id', 'name', 'domain_id')}
                  for each in (given[:PROJECTS] if isinstance(given, list) else ()) if each.get('enabled', True)]
        return files.document({'projects': listed})

    def revoke(self, request: webob.Request) -> webob.Response:
        """DELETE: the token that the request is made with."""
        token = _token(request)
        status, _headers, found = self._ask(request, 'DELETE', '/auth/tokens', headers={
            **token, 'X-Subject-Token': token['X-Auth-Token']})
        return files.document({}, 200) if status == 204 else _refusal(status, found)

    def _ask(self, request: webob.Request, method: str, path: str, json: Mapping[str, object] | None = None,
             headers: Mapping[str, str] | None = None) -> tuple[int, Mapping[str, str], dict[str, object]]:
        """Call Keystone for the client of `request`. Raises HTTPServiceUnavailable, KeystoneUnavailable."""
        address = request.remote_addr or ''
        try:
            with self._under_way.held(_client(address), AT_ONCE_OF_CLIENT, exception.HTTPServiceUnavailable(
                    _('Too many people log in at once; try again.')), in_all=AT_ONCE):
                answer = self._session.request(
                    self._url + path, method, authenticated=False, raise_exc=False, redirect=False, log=False,
                    json=json, headers={**(headers or {}), **({'X-Forwarded-For': address} if address else {})})
                found = answer.json() if answer.content else {}
        except (exceptions.ClientException, ValueError):
            raise exception.HTTPServiceUnavailable(_('Keystone does not answer; try again.')) from None
        except OSError as error:
            log_unusable('[clients_keystone] or [clients] ca_file, or [keystone_authtoken] cafile', error)
            raise exception.KeystoneUnavailable(reason='a file cannot be used') from None
        return answer.status_code, answer.headers, found if isinstance(found, dict) else {}


def _client(address: str) -> str:
    """Return what the addresses of one client have in common; '' for what is none, such as that of a local socket."""
    try:
        found = addresses.parsed(address)
    except ValueError:
        return ''
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((int(found), PREFIX_OF_CLIENT), strict=False))


def _credentials(request: webob.Request) -> dict[str, object]:
    """Return the body, if it asks for a token by one of METHODS. Raises HTTPBadRequest, and what `body.read` raises."""
    body.restrict(request.environ, BODY)
    text = body.read(request.environ)
    match json_text.read(text) if text.lstrip().startswith(b'{') else None:
        case {'auth': {'identity': {'methods': [str(method)], **parts}, **rest}} if (
                method in METHODS and set(parts) == {method} and set(rest) <= {'scope'}):
            return {'auth': {'identity': {'methods': [method], **parts}, **rest}}
    raise exception.HTTPBadRequest(_('The body must ask for a token by one of: %s.') % ', '.join(sorted(METHODS)))


def _token(request: webob.Request) -> dict[str, str]:
    token = request.headers.get('X-Auth-Token', '')
    if not token or len(token) > BODY:
        raise exception.HTTPBadRequest(_('The header X-Auth-Token is missing.'))
    return {'X-Auth-Token': token}


def _refusal(status: int, found: Mapping[str, object]) -> webob.Response:
    """Return what Keystone says to a wrong password, a locked account, an expired token; other errors are ours to
    hide."""
    if status not in (400, 401, 403, 404, 413):
        raise exception.HTTPServiceUnavailable(_('Keystone cannot serve the request; try again.'))
    error = found.get('error')
    message = error.get('message') if isinstance(error, dict) else None
    return files.document({'message': str(message or _('The login was refused.'))[:500]}, status)
