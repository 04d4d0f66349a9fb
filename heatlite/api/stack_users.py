"""Access of users that a stack creates for its own instances.

A user created for a resource may read that resource. A user declared in the template (AWS::IAM::User) may read what all
of its policies (OS::Heat::AccessPolicy) allow, and everything without a policy. A policy that is none of the stack
allows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.db import resource_data, resource_lists, resources
from heatlite.db.stacks import Identity

USER_ID = 'user_id'                         # key of resource_data under which a resource keeps its user
DECLARED_USER = 'AWS::IAM::User'
POLICIES, ALLOWED = 'Policies', 'AllowedResources'


def is_stack_user(context: RequestContext, stack: Identity, role: str) -> bool:
    """Whether the caller has the `role` of such users, or lives in their project if that is a separate one."""
    if context.is_admin:
        return False
    return role in context.roles or context.project_id == stack.user_project_id != stack.project_id


def check_access(context: RequestContext, tx: Connection, stack: Identity, resource_name: str, role: str) -> None:
    """Raise Forbidden if the caller is such a user and may not read this resource. One SELECT for most of them.

    `role`: option heat_stack_user_role.
    """
    if not is_stack_user(context, stack, role):
        return
    owners = resource_data.names_with_datum(tx, stack.id, USER_ID, context.user_id)
    if resource_name not in owners and not _is_declared_and_allowed(context, tx, stack, resource_name):
        raise exception.Forbidden()


def _is_declared_and_allowed(context: RequestContext, tx: Connection, stack: Identity, resource_name: str) -> bool:
    rows = resource_lists.page(tx, [stack.id], ['attributes'])
    user = next((row for row in rows if row.type == DECLARED_USER and row.physical_id == context.user_id), None)
    if user is None:
        return False
    properties = resources.columns(tx, stack.id, None, ('properties',))
    for policy in _property(properties, user.id, POLICIES):
        row = next((row for row in rows if policy in (row.name, row.physical_id, _reference(row))), None)
        if row is None or resource_name not in _property(properties, row.id, ALLOWED):
            return False
    return True


def _property(properties: Mapping[int, Mapping[str, object]], number: int, name: str) -> list[object]:
    found = properties.get(number, {}).get('properties')
    return list(found.get(name) or ()) if isinstance(found, Mapping) else []


def _reference(row: resource_lists.ShownResource) -> object:
    """Return the result of get_resource; the engine stores it with the attributes, under the empty name."""
    return (row.attributes or {}).get('')
