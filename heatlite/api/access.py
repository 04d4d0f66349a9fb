"""Who sees what gives access to something: attributes (`policy.ACCESS_ATTRIBUTES`) and the logins of deployments
(`heatlite.api.deployment_logins`)."""

from __future__ import annotations

from heatlite.api.wsgi import Request
from heatlite.common import policy
from heatlite.common.context import RequestContext


def may_see(req: Request) -> bool:
    """Whether the caller may see what gives access to something."""
    return req.services.policy.allows(req.context, policy.SHOW_ACCESS)


def is_agent(context: RequestContext, project_id: str, role: str) -> bool:
    """Whether the caller is a user that a stack made for its servers: has the `role` of such users, or sees from their
    project what belongs to another one, `project_id`."""
    return not context.is_admin and (role in context.roles or context.project_id != project_id)
