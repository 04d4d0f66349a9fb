"""The innermost layer of the CloudFormation API: one URL for all actions, and one for each kind of signal."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob

from heatlite.api import audit_calls, wsgi
from heatlite.api.aws import parameters
from heatlite.api.aws.errors import AwsError
from heatlite.api.cfn import resources, signals, stacks, templates
from heatlite.api.cfn.answers import ENVELOPE
from heatlite.api.cfn.request import CfnRequest, tenant_of
from heatlite.api.middleware import access, context
from heatlite.common import exception

ACTIONS = {
    'ListStacks': stacks.list_stacks,
    'DescribeStacks': stacks.describe_stacks,
    'CreateStack': stacks.create_stack,
    'UpdateStack': stacks.update_stack,
    'CancelUpdateStack': stacks.cancel_update_stack,
    'DeleteStack': stacks.delete_stack,
    'DescribeStackEvents': resources.describe_stack_events,
    'DescribeStackResource': resources.describe_stack_resource,
    'DescribeStackResources': resources.describe_stack_resources,
    'ListStackResources': resources.list_stack_resources,
    'GetTemplate': templates.get_template,
    'ValidateTemplate': templates.validate_template,
    'EstimateTemplateCost': templates.estimate_template_cost,
}
SIGNALS = {('PUT', 'waitcondition'): signals.wait_condition, ('POST', 'signal'): signals.signal}
UNKNOWN = 'unknown'


def is_change(environ: WSGIEnvironment) -> bool:
    """Whether a request is a signal or an action that changes stacks."""
    if environ['PATH_INFO'] not in ('', '/'):
        return True
    return audit_calls.of('POST', parameters.read(environ).get('Action', UNKNOWN)) is not None


class CfnActions:
    def __init__(self, services: wsgi.HandlerServices) -> None:
        self._services = services

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = CfnRequest(environ)
        request.services = self._services
        request.context = environ[context.KEY]
        answer: WSGIApplication = self._answer(request)
        return answer(environ, start_response)

    def _answer(self, request: CfnRequest) -> webob.Response:
        if request.path_info == '/' and request.method in ('GET', 'POST'):
            return self._act(request)
        _slash, kind, arn = [*request.path_info.split('/', 2), '', ''][:3]
        found = SIGNALS.get((request.method, kind))
        if found is None or not arn:
            raise exception.HTTPNotFound()
        request.environ[access.ROUTE] = f'/{kind}'
        return request.answered(tenant_of(arn), True, lambda: found(request, arn))

    def _act(self, request: CfnRequest) -> webob.Response:
        name = request.parameters.get('Action', '')
        request.environ[access.VALUES] = {'stack_name': request.parameters.get('StackName', '')}
        action = ACTIONS.get(name)
        request.environ[access.ROUTE] = UNKNOWN if action is None else name     # a label of metrics: known names only
        if action is None:
            raise AwsError('InvalidAction')
        policy, caller = self._services.policy, request.context
        if not caller.project_id or not policy.allows(caller, f'cloudformation:{name}'):
            raise AwsError('AccessDenied', f'Action {name} not allowed for user')
        is_change = audit_calls.of('POST', name) is not None
        project_id = tenant_of(request.parameters.get('StackName', '')) or caller.project_id
        result = request.answered(project_id, is_change, lambda: action(request))
        return ENVELOPE.response({f'{name}Response': {f'{name}Result': result}}, parameters.wants_json(request.environ))
