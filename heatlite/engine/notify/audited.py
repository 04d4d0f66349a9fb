"""Records in the audit trail how actions of stacks end, and how groups change their sizes: what engines do, whether a
user has asked for it, an alarm, or nothing but drift."""

from __future__ import annotations

from heatlite.common import audit
from heatlite.common.audit import AuditedChange, Initiator, Trail
from heatlite.db.stacks import StoredStack
from heatlite.engine.durability import request_ids
from heatlite.engine.notify.notifications import Notify, Scaling

ENGINE = Initiator(name='heatlite-engine', kind='service')
ACTIONS = {'CREATE': 'create', 'UPDATE': 'update', 'DELETE': 'delete'}      # others: update/<action>
STACKS, GROUPS = 'service/orchestration/stacks', 'service/orchestration/groups'
ENDS = {'COMPLETE': audit.SUCCESS, 'FAILED': audit.FAILURE, 'end': audit.SUCCESS, 'error': audit.FAILURE}


def recorded(notify: Notify, trail: Trail | None) -> Notify:
    """Return `notify`, which also records each end in `trail`, if there is one."""
    if trail is None:
        return notify

    def both(stack: StoredStack, action: str, status: str, reason: str, scaling: Scaling | None = None) -> None:
        notify(stack, action, status, reason, scaling)
        found = change(stack, action, status, scaling)
        if found is not None:
            trail.record(audit.OF_ENGINE, found)

    return both


def change(stack: StoredStack, action: str, status: str, scaling: Scaling | None) -> AuditedChange | None:
    """Return the event of an end; None at a begin. The reason of a failure is left out: it may quote anything."""
    code = status if scaling is None else scaling.phase
    outcome = ENDS.get(code)
    if outcome is None:
        return None
    ids = request_ids.of(stack)
    plan = (stack.request or {}).get(request_ids.PLAN) or {}
    tags = {'request_id': ids.get('request_id'), 'global_request_id': ids.get('global_request_id'),
            'plan_id': plan.get('id'), 'project_id': stack.project_id, 'owner': stack.username}
    if scaling is not None:
        return AuditedChange(f'scale {scaling.adjustment_type} {scaling.adjustment}', 'update/scale', outcome, ENGINE,
                             GROUPS,
                             stack.id, f'{stack.name}/{scaling.groupname}', code, tags)
    return AuditedChange(f'{action} stack', ACTIONS.get(action, f'update/{action.lower()}'), outcome, ENGINE, STACKS,
                         stack.id,
                         stack.name, code, tags)
