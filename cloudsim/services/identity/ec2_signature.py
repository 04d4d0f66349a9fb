"""Requests signed with an EC2 key: POST /v3/ec2tokens and /v3/s3tokens say whose key it was.

Signature versions 2 and 4, as the AWS General Reference describes them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cloudsim.messages import Call, Problem, Reply
from cloudsim.service import Route
from cloudsim.services.identity.tokens import Scope
from cloudsim.versions import opened

if TYPE_CHECKING:
    from cloudsim.services.identity import IdentityService

AUTH_TTL = 900.0                # seconds: [credential] auth_ttl of Keystone


def routes(service: IdentityService) -> Iterable[Route]:
    @opened
    def ec2(call: Call) -> Reply:
        said = call.json.get('credentials') or call.json.get('ec2Credentials') or {}
        key = service.collection('ec2_credentials').by_access(str(said.get('access')))
        if key is None or said.get('signature') not in signatures(said, key[0]):
            raise Problem(401, 'EC2 signature not supplied or wrong.', 'Unauthorized')
        signed_at = time_of(said)
        if signed_at is not None and signed_at + AUTH_TTL < service.cloud.clock.now():
            raise Problem(401, 'Credential is expired', 'Unauthorized')
        user = service.collection('users').table.get(key[1])
        project = service.collection('projects').table.get(key[2])
        if user is None or project is None:
            raise Problem(401, 'EC2 access key not found.', 'Unauthorized')
        token = service.tokens.make(user, Scope(project=project), ('ec2credential',))
        return Reply(200, service.tokens.view(token, True), {'X-Subject-Token': token.identity.token})

    yield 'POST', '/v3/ec2tokens', ec2
    yield 'POST', '/v3/s3tokens', ec2


def time_of(said: dict[str, Any]) -> float | None:
    """When a request was signed, in seconds since 1970; None: the signature has no time, and does not expire."""
    params, headers = said.get('params') or {}, said.get('headers') or {}
    given = params.get('Timestamp') or headers.get('X-Amz-Date') or params.get('X-Amz-Date')
    if not given:
        return None
    try:
        found = datetime.fromisoformat(str(given))
    except ValueError:
        raise Problem(400, 'Unable to parse timestamp', 'Bad Request') from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def signatures(said: dict[str, Any], secret: str) -> list[str]:
    """All that are right for these credentials, whichever way the client wrote the host."""
    hosts = [said.get('host') or '']
    if ':' in hosts[0]:
        hosts.append(hosts[0].rsplit(':', 1)[0])
    params = {str(name): str(value) for name, value in (said.get('params') or {}).items()}
    headers = {name.lower(): str(value) for name, value in (said.get('headers') or {}).items()}
    if params.get('X-Amz-Algorithm') or headers.get('authorization', '').startswith('AWS4-'):
        return [version_4(said, params, headers, secret, host) for host in hosts]
    params.pop('Signature', None)
    return [version_2(said, params, secret, host) for host in hosts]


def version_2(said: dict[str, Any], params: dict[str, str], secret: str, host: str) -> str:
    query = '&'.join(f'{quote(name, safe="-_~")}={quote(params[name], safe="-_~")}' for name in sorted(params))
    text = '\n'.join([said.get('verb', 'GET'), host, said.get('path', '/'), query])
    digest = hashlib.sha256 if params.get('SignatureMethod', 'HmacSHA256') == 'HmacSHA256' else hashlib.sha1
    return base64.b64encode(hmac.new(secret.encode(), text.encode(), digest).digest()).decode()


def version_4(said: dict[str, Any], params: dict[str, str], headers: dict[str, str], secret: str, host: str) -> str:
    written = {}
    for part in headers.get('authorization', '').partition(' ')[2].split(','):
        name, _, value = part.strip().partition('=')
        written[name] = value
    scope = (params.get('X-Amz-Credential') or written.get('Credential', '')).split('/')[1:]
    signed = (params.get('X-Amz-SignedHeaders') or written.get('SignedHeaders', '')).split(';')
    date = headers.get('x-amz-date') or params.get('X-Amz-Date') or ''
    query = '&'.join(f'{quote(name, safe="-_.~")}={quote(value, safe="-_.~")}' for name, value in sorted(params.items())
                     if name != 'X-Amz-Signature') if said.get('verb') != 'POST' else ''
    values = ''.join(f'{name}:{host if name == "host" else headers.get(name, "").strip()}\n' for name in signed)
    request = '\n'.join([said.get('verb', 'GET'), said.get('path', '/'), query, values, ';'.join(signed),
                         said.get('body_hash') or ''])
    text = '\n'.join(['AWS4-HMAC-SHA256', date, '/'.join(scope), hashlib.sha256(request.encode()).hexdigest()])
    key = ('AWS4' + secret).encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
