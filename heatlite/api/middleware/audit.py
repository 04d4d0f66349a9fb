"""Records each request that changes something, or was refused, in the audit trail."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote, urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.api import audit_calls
from heatlite.api.middleware import access, answers, context, request_id
from heatlite.common import audit
from heatlite.common.audit import AuditedChange, Initiator, Trail

# Values of a path, the most special first: of which the target's id and name are.
IDS = ('snapshot_id', 'plan_id', 'config_id', 'deployment_id', 'stack_id')
NAMES = ('resource_name', 'stack_name')


class Audit:
    """Outside of the layer that checks identities, so that what it refuses is recorded, too."""

    def __init__(self, app: WSGIApplication, trail: Trail, is_signed: bool = False) -> None:
        """`is_signed`: of an API with AWS's signatures."""
        self._app = app
        self._trail = trail
        self._is_signed = is_signed

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer: dict[str, str] = {}

        def look(status: str, headers: answers.Headers) -> None:
            answer.update(status=status, location=next(
                (value for name, value in headers if name.lower() == 'location'), ''))

        try:
            return self._app(environ, answers.seen_by(look, start_response))
        finally:
            self._record(environ, answer.get('status', '500'), answer.get('location', ''))

    def _record(self, environ: WSGIEnvironment, status: str, location: str) -> None:
        method, route = environ.get('REQUEST_METHOD', ''), environ.get(access.ROUTE)
        call = audit_calls.of(method, route, self._is_signed)
        if call is None or status.startswith('3'):          # sent elsewhere: the request that follows is recorded
            return
        if route is None and status < '400':                # of the service itself, such as its health
            return
        values = environ.get(access.VALUES, {})
        target_id, target_name = _target(values, location if status == '201' else '')
        self._trail.record(audit.OF_API, AuditedChange(
            name=f'{method} {route or "-"}',
            action=f'update/{environ[access.CALL]}' if access.CALL in environ else call.action,
            outcome=audit.SUCCESS if status < '400' else audit.FAILURE, initiator=_initiator(environ),
            type_uri=call.type_uri, target_id=target_id, target_name=target_name, code=status,
            tags={'request_id': environ.get(request_id.KEY), 'global_request_id': environ.get(request_id.GLOBAL_KEY),
                  'plan_id': values.get('plan_id'), 'project_id': values.get('tenant_id')}))


def _target(values: dict[str, str], location: str) -> tuple[str | None, str | None]:
    """Return the id and the name of the object; those of a new one are in the URL of the answer."""
    parts = [unquote(part) for part in urlsplit(location).path.split('/')]
    if len(parts) > 3 and parts[-3] == 'stacks':
        return parts[-1], parts[-2]
    if len(parts) > 1 and parts[-2] in ('plans', 'snapshots'):
        return parts[-1], None
    return (next((values[name] for name in IDS if values.get(name)), None),
            next((values[name] for name in NAMES if values.get(name)), None))


def _initiator(environ: WSGIEnvironment) -> Initiator:
    caller = environ.get(context.KEY)
    if environ.get(context.AWS_CREDENTIALS):
        kind = 'ec2'
    elif environ.get('HTTP_X_AUTH_KEY'):
        kind = 'password'
    else:
        kind = 'token' if environ.get('HTTP_X_AUTH_TOKEN') else 'none'
    address, agent = environ.get('REMOTE_ADDR'), environ.get('HTTP_USER_AGENT')
    if caller is None:                                      # refused before it was known
        return Initiator(address=address, agent=agent, kind=kind)
    return Initiator(caller.user_id, caller.username, caller.project_id, caller.user_domain_id,
                     tuple(caller.roles or ()), address, agent, kind)
