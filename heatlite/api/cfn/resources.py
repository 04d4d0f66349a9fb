"""Actions on resources and events."""

from __future__ import annotations

from sqlalchemy import Connection

from heatlite.api import finding, stack_users
from heatlite.api.aws.errors import AwsError
from heatlite.api.cfn import pages
from heatlite.api.cfn.request import CfnRequest, arn_of
from heatlite.api.handlers.resources import current, visible_metadata
from heatlite.api.rendering import yield_control
from heatlite.api.schemas import ListStacks
from heatlite.api.views import when
from heatlite.common import exception, limits
from heatlite.common.i18n import _
from heatlite.db import events, resource_lists, stack_lists, stacks

View = dict[str, object]


def describe_stack_resource(req: CfnRequest) -> View:
    """One resource with its metadata. Agents in servers poll it, so it never calls an engine."""
    name = req.required('LogicalResourceId')
    with req.db.reader() as tx:
        stack = req.live_stack(tx)
        stack_users.check_access(req.context, tx, stack, name, req.conf.heat_stack_user_role)
        rows = current(resource_lists.by_name(tx, stack.id, name), stack)
        if not rows:
            raise exception.ResourceNotFound(resource_name=name, stack_name=stack.name)
        row = rows[0]
        metadata = visible_metadata(req, tx, stack, row)
    return {'StackResourceDetail': {
        'Description': _description(row), 'LastUpdatedTimestamp': when(row.updated_at or row.created_at),
        'LogicalResourceId': row.name, 'Metadata': metadata, **_state(row), 'StackId': arn_of(stack),
        'StackName': stack.name, 'ResourceStatus': f'{row.action}_{row.status}'}}


def describe_stack_resources(req: CfnRequest) -> View:
    wanted = req.parameters.get('LogicalResourceId')
    with req.db.reader() as tx:
        stack = _stack(req, tx)
        rows = current(resource_lists.page(tx, [stack.id], ['definition'], names=[wanted] if wanted else []), stack)
    if wanted and all(row.name != wanted for row in rows):
        raise exception.ResourceNotFound(resource_name=wanted, stack_name=stack.name)
    return {'StackResources': [{
        'Description': _description(row), 'Timestamp': when(row.updated_at or row.created_at),
        'LogicalResourceId': row.name, **_state(row), 'StackId': arn_of(stack), 'StackName': stack.name,
        'ResourceStatus': f'{row.action}_{row.status}'} for row in rows if not wanted or row.name == wanted]}


def _stack(req: CfnRequest, tx: Connection) -> stacks.Identity:
    """Return the stack of StackName, or the one that contains PhysicalResourceId."""
    physical_id = req.parameters.get('PhysicalResourceId')
    if req.parameters.get('StackName') and physical_id:
        raise AwsError('InvalidParameterCombination', _('Use `StackName` or `PhysicalResourceId` but not both'))
    if not physical_id:
        return req.stack(tx)
    found = resource_lists.by_physical_id(tx, physical_id, finding.listed_project(req))
    if not found:
        raise exception.EntityNotFound(entity='Resource', name=physical_id)
    stack = stacks.identity(tx, found[0].stack_id)
    if stack is None:
        raise exception.EntityNotFound(entity='Resource', name=physical_id)
    return stack


def list_stack_resources(req: CfnRequest) -> View:
    with req.db.reader() as tx:
        stack = req.stack(tx)
        rows = current(resource_lists.page(tx, [stack.id]), stack)
    return {'StackResourceSummaries': [{
        'LastUpdatedTimestamp': when(row.updated_at or row.created_at), 'LogicalResourceId': row.name, **_state(row),
        'ResourceStatus': f'{row.action}_{row.status}'} for row in rows]}


def _state(row: resource_lists.ShownResource) -> View:
    return {'PhysicalResourceId': row.physical_id or '', 'ResourceStatusReason': row.reason, 'ResourceType': row.type}


def _description(row: resource_lists.ShownResource) -> str:
    return str((row.definition or {}).get('description') or '')


def describe_stack_events(req: CfnRequest) -> View:
    """Return a page of events, newest first; of all stacks of the project without StackName. Properties are omitted, as
    in lists."""
    most = limits.ROWS_LISTED
    position = pages.position(req, 'DescribeStackEvents', int)
    with req.db.reader() as tx:
        found = ([req.stack(tx)] if req.parameters.get('StackName') else
                 stack_lists.page(tx, finding.own_project(req), ListStacks()))
        names = {stack.id: stack for stack in found}
        listed = events.newest(tx, list(names), most + 1, None if position is None else position[1], yield_control)

    def view(event: events.ShownEvent) -> View:
        stack = names[event.stack_id]
        return {
            'EventId': event.uuid, 'LogicalResourceId': event.resource_name, 'PhysicalResourceId': event.physical_id,
            'ResourceProperties': '{}', 'ResourceStatusReason': event.reason, 'ResourceType': event.resource_type,
            'StackId': arn_of(stack), 'StackName': stack.name, 'Timestamp': when(event.created_at),
            'ResourceStatus': f'{event.action}_{event.status}'}

    return pages.page('DescribeStackEvents', 'StackEvents', listed, most, view)
