"""Authenticates requests by AWS signatures, which Keystone checks.

A valid signature becomes a token, whose identity replaces what the client says of itself. Where a layer below checks
tokens, a request without a signature but with X-Auth-User is passed to it as well, for callers that have a token.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import quote, unquote
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob
from keystoneauth1 import exceptions as keystone_errors

from heatlite.api.aws import parameters as query
from heatlite.api.aws.errors import AwsError, IdentityUnavailable
from heatlite.api.middleware import body, identity
from heatlite.api.middleware.authorities import log_unusable
from heatlite.api.middleware.context import AWS_CREDENTIALS
from heatlite.common import outages

if TYPE_CHECKING:
    from keystoneauth1.session import Session
    from requests import Response

_VERSION = re.compile(r'/v\d[\d.]*$')
_SIGNED_AS_IT_IS = ('/waitcondition/', '/signal/')      # URLs that heatlite signs: the path without quoting
_RESERVED = "/:@!$&'()*+,;=~"

# Messages of Keystone that are more specific than their status.
REASONS = {'EC2 access key not found.': 'InvalidClientTokenId',
           'EC2 signature not supplied.': 'SignatureDoesNotMatch'}


class Domain(TypedDict, total=False):
    """A domain as Keystone shows it in a token."""

    id: str


class Owned(TypedDict, total=False):
    """A user or a project as Keystone shows it in a token, with the domain that has it."""

    id: str
    name: str
    domain: Domain


class Role(TypedDict):
    """A role as Keystone shows it in a token."""

    name: str


class Token(TypedDict, total=False):
    """The parts of a token that are read."""

    user: Owned
    project: Owned
    roles: list[Role]
    is_admin_project: bool


class SignatureKeystone:
    """A service that checks signatures. `make_session`: makes the session of heatlite at it, at the first use; `group`:
    of the options with its authorities and its certificate."""

    def __init__(self, uri: str, make_session: Callable[[], Session], group: str = 'ec2authtoken') -> None:
        self.uri = uri
        self.group = group
        self.url = f'{_VERSION.sub("", uri.rstrip("/"))}/v3/ec2tokens'
        self._make_session = make_session

    @cached_property
    def session(self) -> Session:
        return self._make_session()


class Ec2Signature:
    """`keystones`: the services to ask, in this order, until one accepts; `takes_tokens`: the layer below authenticates
    requests without a signature."""

    def __init__(self, app: WSGIApplication, keystones: Sequence[SignatureKeystone], takes_tokens: bool) -> None:
        self._app = app
        self._keystones = keystones
        self._takes_tokens = takes_tokens

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ.pop(AWS_CREDENTIALS, None)
        identity.remove(environ)
        request = webob.Request(environ)
        parameters = query.read(environ)
        signature = _signature(request, parameters)
        has_token = self._takes_tokens and 'X-Auth-User' in request.headers
        if signature is None and not has_token:
            raise AwsError('IncompleteSignature')
        access = _access(request, parameters)
        if signature is None or access is None:
            if not has_token:
                raise AwsError('MissingAuthenticationToken')
            return self._app(environ, start_response)
        self._verify(environ, _credentials(request, parameters, access, signature))
        environ[AWS_CREDENTIALS] = json.dumps({'ec2Credentials': {'access': access, 'signature': signature}})
        return self._app(environ, start_response)

    def _verify(self, environ: WSGIEnvironment, credentials: Mapping[str, object]) -> None:
        """Set the identity that Keystone returns for the signature. Raises AwsError."""
        refused: AwsError | None = None
        for keystone in self._keystones:
            try:
                answer = self._ask(keystone, credentials)
            except AwsError as error:
                refused = error
                continue
            _leave_identity(environ, answer.headers['X-Subject-Token'], answer.json()['token'])
            return
        assert refused is not None
        raise refused

    def _ask(self, keystone: SignatureKeystone, credentials: Mapping[str, object]) -> Response:
        url = keystone.url
        try:
            session = keystone.session          # reads the login, which may be incomplete
            answer = session.post(url, json={'ec2Credentials': credentials}, raise_exc=False,
                                  authenticated=session.auth is not None)
        except keystone_errors.ClientException as error:
            outages.away(outages.IDENTITY, f'{url} could not check a signature: {error}')
            raise IdentityUnavailable from None
        except OSError as error:
            log_unusable(f'[{keystone.group}] ca_file, cert_file or key_file', error)
            raise IdentityUnavailable from None
        if answer.status_code == 200:
            outages.back(outages.IDENTITY)
            return answer
        raise _refusal(url, answer)


def _refusal(url: str, answer: Response) -> AwsError:
    try:
        reason = answer.json()['error']['message']
    except (ValueError, KeyError, TypeError):
        reason = ''
    if reason in REASONS:
        return AwsError(REASONS[reason])
    match answer.status_code:
        case 404:                                       # current Keystones answer so for an unknown access key
            return AwsError('InvalidClientTokenId')
        case 401 | 403:
            return AwsError('AccessDenied')
    outages.away(outages.IDENTITY, f'{url} answered {answer.status_code} to a signature: {reason}')
    return IdentityUnavailable()


def _signature(request: webob.Request, parameters: Mapping[str, str]) -> str | None:
    return (parameters.get('Signature') or parameters.get('X-Amz-Signature')
            or _of_header(request, 'Signature') or None)


def _access(request: webob.Request, parameters: Mapping[str, str]) -> str | None:
    key = parameters.get('AWSAccessKeyId')
    scope = parameters.get('X-Amz-Credential') or _of_header(request, 'Credential')
    return key or (scope.split('/', 1)[0] if scope else None) or None


def _of_header(request: webob.Request, name: str) -> str:
    """Return the value of `NAME=value` in the header Authorization."""
    found = re.search(rf'\b{name}=([^,\s]+)', request.headers.get('Authorization', ''))
    return found[1] if found else ''


def _credentials(request: webob.Request, parameters: Mapping[str, str], access: str,
                 signature: str) -> dict[str, object]:
    path = unquote(request.script_name + request.path_info)
    if not any(part in path for part in _SIGNED_AS_IT_IS):
        path = quote(path, _RESERVED)
    return {'access': access, 'signature': signature, 'host': request.host, 'verb': request.method, 'path': path,
            'params': {key: value for key, value in parameters.items() if key != 'Signature'},
            'headers': dict(request.headers), 'body_hash': hashlib.sha256(body.read(request.environ)).hexdigest()}


def _leave_identity(environ: WSGIEnvironment, token_id: str, token: Token) -> None:
    user: Owned = token.get('user') or {}
    project: Owned = token.get('project') or {}
    identity.replace(
        environ, [role['name'] for role in token.get('roles') or ()], auth_token=token_id, user_id=user.get('id'),
        user_name=user.get('name'), user_domain_id=(user.get('domain') or {}).get('id'),
        project_id=project.get('id'), project_name=project.get('name'),
        project_domain_id=(project.get('domain') or {}).get('id'),
        is_admin_project=str(token.get('is_admin_project', True)))
    environ[identity.TOKEN_INFO] = {'token': token}
