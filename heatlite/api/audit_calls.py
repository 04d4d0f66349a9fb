"""Which requests change something, and what they are called in the audit trail. Values only: no requests, no files."""

from __future__ import annotations

import re
from typing import NamedTuple

BASE = 'service/orchestration'
ACTIONS = {'POST': 'create', 'PUT': 'update', 'PATCH': 'update', 'DELETE': 'delete'}
# Last parts of routes that name what is done with the object before them.
VERBS = frozenset({'abandon', 'actions', 'apply', 'approve', 'drift', 'force', 'lock', 'protections', 'release',
                   'restore', 'signal', 'stop', 'waitcondition'})
READS = frozenset({'validate', 'preview', 'generate'})          # last parts of routes that change nothing
# Actions of the APIs with AWS's signatures, by the beginning of their names. Data of metrics are no changes.
OF_ACTIONS = (('Create', 'create'), ('Update', 'update'), ('CancelUpdate', 'update/cancel'), ('Delete', 'delete'),
              ('PutMetricAlarm', 'update'), ('Set', 'update/set'), ('Enable', 'update/enable'),
              ('Disable', 'update/disable'))
_PARAMETER = re.compile(r'\{[^}]*\}')


class AuditedCall(NamedTuple):
    """A request that changes something: the action of CADF, and the type URI of its target."""

    action: str
    type_uri: str


def of(method: str, route: str | None, is_signed: bool = False) -> AuditedCall | None:
    """Return what a request to a route, or an action of AWS's APIs, changes; None: nothing.

    Without a route - refused before it was found - the method decides; with `is_signed`, an API with AWS's signatures,
    where methods say nothing, it may be a change.
    """
    if route is None and is_signed:
        return AuditedCall('unknown', BASE)
    if route is not None and not route.startswith('/'):
        return _of_action(route)
    if method not in ACTIONS:
        return None
    parts = [part for part in _PARAMETER.sub('', route or '').split('/') if part]
    last = parts[-1] if parts else ''
    if last in READS:
        return None
    if last not in VERBS:
        return AuditedCall(ACTIONS[method], '/'.join([BASE, *parts]))
    base = 'update' if method == 'POST' else ACTIONS[method]
    return AuditedCall(f'{base}/{last}', '/'.join([BASE, *parts[:-1]]))


def _of_action(name: str) -> AuditedCall | None:
    found = next((action for begin, action in OF_ACTIONS if name.startswith(begin)), None)
    noun = 'alarms' if 'Alarm' in name else 'stacks'
    return None if found is None else AuditedCall(found, f'{BASE}/{noun}')
