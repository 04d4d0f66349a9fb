"""Stack changes told to the message bus (REST specification 13.1). Whether, and where, [oslo_messaging_notifications]
says. Nothing waits for the bus, and nothing fails for it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from heatlite.common import messaging, timeutils
from heatlite.common.world import World
from heatlite.db.stacks import Stack

LOG = logging.getLogger(__name__)

Notify = Callable[[Stack, str, str, str], None]

SUFFIXES = {'IN_PROGRESS': 'start', 'COMPLETE': 'end', 'FAILED': 'error'}


def sender(conf: Any, world: World, context: Callable[[], dict[str, Any]] = dict) -> Notify:
    """`notify(stack, action, status, reason)`; does nothing when no driver is set."""
    notifier = messaging.notifier(conf, conf.default_publisher_id or f'orchestration.{conf.host}')
    if not conf.oslo_messaging_notifications.driver:
        return lambda stack, action, status, reason: None
    level = str(conf.default_notification_level).lower()

    waiting: deque[tuple[str, dict[str, Any], str]] = deque()
    sending = False

    def send() -> None:
        """One after the other: a stack's end must not overtake its start."""
        nonlocal sending
        while waiting:
            event_type, told, priority = waiting.popleft()
            try:
                getattr(notifier, priority)(context(), event_type, told)
            except Exception as error:
                LOG.warning('The notification %s was not sent: %s', event_type, error)
        sending = False

    def notify(stack: Stack, action: str, status: str, reason: str) -> None:
        nonlocal sending
        suffix = SUFFIXES.get(status)
        if suffix is None:
            return
        waiting.append((f'orchestration.stack.{action.lower()}.{suffix}', payload(stack, action, status, reason),
                        'error' if status == 'FAILED' else level))
        if not sending:
            sending = True
            world.spawn(send)

    return notify


def payload(stack: Stack, action: str, status: str, reason: str) -> dict[str, Any]:
    """What consumers know. `user_id` is the user's name: old consumers expect it there."""
    return {
        'tenant_id': stack.project_id,
        'user_id': stack.username,
        'user_identity': None,                      # the stack keeps its owner's name only
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
