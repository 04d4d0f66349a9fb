"""Sends stack changes as notifications on the message bus (docs/spec/rest.rst, "Notifications").

[oslo_messaging_notifications] configures whether and where. The bus never delays or fails an action: what it does not
take is lost, and reported.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Protocol

from oslo_config import cfg

from heatlite.common import messaging, timeutils
from heatlite.common.bus_sender import BusSender
from heatlite.common.runtime import Runtime
from heatlite.db.stacks import StoredStack
from heatlite.engine.durability import request_ids

BUS = 'message bus of notifications'           # in `outages`


@dataclass(frozen=True)
class Scaling:
    """A group changes its size. `phase`: start, end or error; `capacity`: the old size, at the end the new one."""

    phase: str
    groupname: str
    adjustment_type: str
    adjustment: float
    capacity: int
    message: str


class Notify(Protocol):
    def __call__(self, stack: StoredStack, action: str, status: str, reason: str,
                 scaling: Scaling | None = None) -> None:
        """Send a notification of a stack's change; with `scaling`, of a group's change instead."""


def silent(stack: StoredStack, action: str, status: str, reason: str, scaling: Scaling | None = None) -> None:
    """Send no notification."""


SUFFIXES = {'IN_PROGRESS': 'start', 'COMPLETE': 'end', 'FAILED': 'error'}


def sender(conf: cfg.ConfigOpts, runtime: Runtime) -> Notify:
    """Return the function that sends notifications; `silent` if no driver is set. The context of a notification has
    the ids of the request."""
    notifier = messaging.notifier(conf, conf.default_publisher_id or f'orchestration.{conf.host}')
    if not conf.oslo_messaging_notifications.driver:
        return silent
    level = str(conf.default_notification_level).lower()

    # One after the other: the end of an action must not overtake its start.
    waiting = BusSender(BUS, runtime.spawn)

    def send(priority: str, context: NotificationContext, event_type: str, body: dict[str, object]) -> None:
        getattr(notifier, priority)(context, event_type, body)

    def notify(stack: StoredStack, action: str, status: str, reason: str, scaling: Scaling | None = None) -> None:
        body = payload(stack, action, status, reason)
        if scaling is None:
            kind, suffix = f'stack.{action.lower()}', SUFFIXES.get(status)
        else:
            kind, suffix = 'autoscaling', scaling.phase
            body |= {name: value for name, value in asdict(scaling).items() if name != 'phase'}
        if suffix is None:
            return
        priority = 'error' if suffix == 'error' else level
        waiting.put(partial(send, priority, context_of(stack), f'orchestration.{kind}.{suffix}', body))

    return notify


class NotificationContext(dict[str, object]):
    """The part of the request context that consumers receive. A class, as oslo.messaging sends no plain dictionary as a
    context: it might have a token in it."""

    def redacted_copy(self) -> NotificationContext:
        return self


def context_of(stack: StoredStack) -> NotificationContext:
    return NotificationContext(request_ids.of(stack), project_id=stack.project_id, user_name=stack.username,
                               user_id=request_ids.user_of(stack))


def payload(stack: StoredStack, action: str, status: str, reason: str) -> dict[str, object]:
    """Return the payload in Heat's format. `user_id` is the user's name: old consumers expect it there."""
    return {
        'tenant_id': stack.project_id,
        'user_id': stack.username,
        'user_identity': request_ids.user_of(stack),
        'username': stack.username,
        'stack_identity': stack.id,
        'stack_name': stack.name,
        'state': f'{action}_{status}',
        'state_reason': reason,
        'create_at': timeutils.isotime(stack.created_at),
        'updated_at': None if stack.updated_at is None else timeutils.isotime(stack.updated_at),
        'description': stack.description,
        'tags': list(stack.tags or ()),
    }
