"""Signals from servers and other services, to URLs that heatlite has signed."""

from __future__ import annotations

import webob

from heatlite.api import finding, stack_users
from heatlite.api.aws import parameters
from heatlite.api.aws.errors import AwsError
from heatlite.api.cfn.answers import ENVELOPE
from heatlite.api.cfn.request import CfnRequest, identity_of
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.rpc import messages

RESOURCES = '/resources/'


def wait_condition(req: CfnRequest, arn: str) -> webob.Response:
    """Wait until the signal is handled; the JSON answer has the handle's metadata."""
    stack_id, name = _target(req, arn)
    details = req.json
    if details is None:
        raise AwsError('InvalidParameterValue', _('The body of the request is not a JSON object.'))
    as_json = parameters.wants_json(req.environ)
    req.context.drops_answer = not as_json      # the metadata of a handle, of megabytes
    metadata = req.call(messages.SignalResource(stack_id, name, details, wait=True))
    if as_json:
        return ENVELOPE.response({'resource': name, 'metadata': metadata or {}}, as_json=True)
    return ENVELOPE.response({'resource': name}, as_json=False)


def signal(req: CfnRequest, arn: str) -> webob.Response:
    """Answers before the signal is handled."""
    stack_id, name = _target(req, arn)
    req.call(messages.SignalResource(stack_id, name, req.json))
    return webob.Response(status=200, content_type='text/html')


def _target(req: CfnRequest, arn: str) -> tuple[str, str]:
    """(stack id, resource name), after the check that the caller may signal it."""
    if not req.context.project_id or not req.services.policy.allows(req.context, 'resource:signal'):
        raise AwsError('AccessDenied')
    identity = identity_of(arn)
    if not identity.path.startswith(RESOURCES):
        raise AwsError('InvalidParameterValue', _('"%s" names no resource') % arn)
    name = identity.path.removeprefix(RESOURCES)
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, identity.stack_name, identity.stack_id)
        if stack.project_id != identity.tenant:
            raise finding.unknown(identity.stack_name)
        try:
            stack_users.check_access(req.context, tx, stack, name, req.conf.heat_stack_user_role)
        except exception.Forbidden:
            raise AwsError('AccessDenied') from None
    return str(stack.id), name
