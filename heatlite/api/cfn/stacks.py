"""Actions on stacks: parse, look up, call, render - as the handlers of the REST API."""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.api import bodies, finding, views
from heatlite.api.aws.errors import AwsError
from heatlite.api.cfn import pages, templates
from heatlite.api.cfn.request import CfnRequest, arn_of
from heatlite.api.rendering import yield_control
from heatlite.api.schemas import ListStacks
from heatlite.api.views import NO_OUTPUT_DESCRIPTION, when
from heatlite.common import exception, limits
from heatlite.common.i18n import _
from heatlite.common.identifier import HeatIdentifier
from heatlite.common.limits import Limits
from heatlite.db import stack_lists, stacks
from heatlite.db.listing import Position
from heatlite.rpc import messages

View = dict[str, object]

ON_FAILURE = {'DO_NOTHING': True, 'ROLLBACK': False, 'DELETE': False}       # word -> whether rollback is disabled


def list_stacks(req: CfnRequest) -> View:
    """Return a page of stacks in these states: pages are read until it is full."""
    wanted, most = set(req.values('StackStatusFilter')), limits.ROWS_LISTED
    position, rows = pages.position(req, 'ListStacks', str), list[stack_lists.Summary]()
    while len(rows) <= most:
        found = _some(req, most + 1, position)
        rows += [stack for stack in found if not wanted or _status(stack) in wanted]
        if len(found) <= most:
            break
        position = (found[-1].created_at, found[-1].id)
    return pages.page('ListStacks', 'StackSummaries', rows, most, _summary)


def _summary(stack: stack_lists.Summary) -> View:
    return {'CreationTime': when(stack.created_at), 'LastUpdatedTime': when(stack.updated_at), 'StackId': arn_of(stack),
            'StackName': stack.name, 'StackStatusReason': stack.reason, 'StackStatus': _status(stack),
            'DeletionTime': when(stack.deleted_at)}


def _status(stack: stack_lists.Summary | stacks.StoredStack) -> str:
    return f'{stack.action}_{stack.status}'


def describe_stacks(req: CfnRequest) -> View:
    """One stack, or a page of all. Each is read when its turn comes, so that a page of large ones ends before they are
    all in memory."""
    if req.parameters.get('StackName'):
        with req.db.reader() as tx:
            found = stacks.show(tx, req.stack(tx).id)
        return {'Stacks': [_described(req, found)] if found is not None else []}

    def described(row: stack_lists.Summary) -> View | None:
        with req.db.reader() as tx:
            stack = stacks.show(tx, row.id)
        return None if stack is None else _described(req, stack)

    most = limits.STACKS_DESCRIBED
    rows = _some(req, most + 1, pages.position(req, 'DescribeStacks', str))
    return pages.page('DescribeStacks', 'Stacks', rows, most, described)


def _some(req: CfnRequest, most: int, position: Position | None) -> list[stack_lists.Summary]:
    """Return the first live root stacks of the project (of all projects for admins) after `position`, newest first."""
    with req.db.reader() as tx:
        return stack_lists.page(tx, finding.listed_project(req), ListStacks(limit=most),
                                tuple(req.conf.hidden_stack_tags), yield_control, position)


def _described(req: CfnRequest, stack: stacks.StoredStack) -> View:
    view: View = {
        'Capabilities': [], 'CreationTime': when(stack.created_at),
        'Description': views.described(stack), 'DisableRollback': stack.disable_rollback,
        'NotificationARNs': [],
        'Parameters': [{'ParameterKey': key, 'ParameterValue': value}
                       for key, value in views.parameters(stack).items()],
        'StackId': arn_of(stack), 'StackName': stack.name, 'StackStatusReason': stack.reason,
        'TimeoutInMinutes': stack.timeout_mins}
    if stack.updated_at is not None:
        view['LastUpdatedTime'] = when(stack.updated_at)
    view['StackStatus'] = _status(stack)
    outputs = finding.fresh_outputs(req, stack) if stack.deleted_at is None else []
    view['Outputs'] = [{
        'Description': output.get('description') or NO_OUTPUT_DESCRIPTION, 'OutputKey': output['output_key'],
        'OutputValue': _without_colons(output.get('output_value'))} for output in outputs]
    return view


def _without_colons(value: object) -> object:
    """Replace colons in keys of output values: in XML they separate namespaces."""
    match value:
        case Mapping():
            return {str(key).replace(':', '.'): _without_colons(each) for key, each in value.items()}
        case list():
            return [_without_colons(each) for each in value]
    return value


def create_stack(req: CfnRequest) -> View:
    body = {'stack_name': req.required('StackName'), 'template': templates.document(req), **_body(req)}
    if _previous(req):
        raise AwsError('InvalidParameterValue', _('UsePreviousValue: a new stack has no previous values'))
    return _identified(req.call(bodies.create_stack(body, Limits.of(req.conf))))


def update_stack(req: CfnRequest) -> View:
    """Update a stack.

    With UsePreviousTemplate or UsePreviousValue the update reuses what the stack has; every parameter that is not named
    gets its default, as without them.
    """
    with req.db.reader() as tx:
        stack = req.live_stack(tx)
        stored = stacks.parameters(tx, stack.id) or {}
    body, previous = _body(req), _previous(req)
    same_template = req.is_true('UsePreviousTemplate')
    if not same_template:
        body['template'] = templates.document(req)
    elif templates.is_given(req):
        raise AwsError('InvalidParameterCombination', _('UsePreviousTemplate may not be used with another template'))
    existing = same_template or bool(previous)
    if existing:
        body['clear_parameters'] = [name for name in stored if name not in previous]
    return _identified(req.call(bodies.update_stack(body, stack.id, Limits.of(req.conf), existing)))


def _previous(req: CfnRequest) -> set[str]:
    """Return the parameters of the stack that retain their values."""
    kept = [each for each in req.records('Parameters') if each.get('UsePreviousValue', '').lower() == 'true']
    if any(each.get('ParameterValue') for each in kept):
        raise AwsError('InvalidParameterCombination', _('UsePreviousValue and ParameterValue may not be used together'))
    return {each['ParameterKey'] for each in kept if 'ParameterKey' in each}


def _identified(identity: Mapping[str, str]) -> View:
    return {'StackId': HeatIdentifier(identity['tenant'], identity['stack_name'], identity['stack_id']).arn()}


def _body(req: CfnRequest) -> View:
    """Convert the parameters to a body of the REST API, without the template."""
    given, previous = req.pairs('Parameters', 'ParameterKey', 'ParameterValue'), _previous(req)
    body: View = {'parameters': {name: value for name, value in given.items() if name not in previous}}
    disabled, on_failure = req.parameters.get('DisableRollback'), req.parameters.get('OnFailure')
    if disabled is not None and on_failure is not None:
        raise AwsError('InvalidParameterCombination', _('DisableRollback and OnFailure may not be used together'))
    if disabled is not None:
        body['disable_rollback'] = disabled
    elif on_failure in ON_FAILURE:
        body['disable_rollback'] = ON_FAILURE[on_failure]
    if req.parameters.get('TimeoutInMinutes'):
        body['timeout_mins'] = req.parameters['TimeoutInMinutes']
    return body


def cancel_update_stack(req: CfnRequest) -> View:
    with req.db.reader() as tx:
        stack = req.live_stack(tx)
    req.call(messages.CancelStack(stack.id, rollback=True))
    return {}


def delete_stack(req: CfnRequest) -> str:
    with req.db.reader() as tx:
        stack = req.live_stack(tx)
    try:
        req.call(messages.DeleteStack(stack.id))
    except exception.EntityNotFound:                # it was deleted meanwhile
        raise finding.unknown(stack.name) from None
    return ''
