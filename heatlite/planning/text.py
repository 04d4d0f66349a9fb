"""Reasons of stacks and resources, as texts that clients compare.

Source: docs/spec/engine.rst, "Reasons of a stack", "Deciding about an update", "Other actions of a resource" and
"Breakpoints".
"""

from __future__ import annotations

from collections.abc import Sequence

CHANGED = 'state changed'
HEALED = 'Update status to COMPLETE for FAILED resource neither update nor replace.'
TIMED_OUT = 'Timed out'
CHECK_INCOMPLETE = ". 'CHECK' not fully supported (see resources)"
RESTORED = 'Whether it was made between the backup and the restore is unknown'
REPLACED_SINCE = 'It was replaced between the backup and the restore'
INTERRUPTED = 'Engine went down during resource %s'
USER_CANCEL = 'user triggered cancel'


def started(action: str) -> str:
    return f'Stack {action} started'


def completed(action: str, unsupported: bool = False, tolerated: int = 0) -> str:
    if tolerated:
        return f'Stack {action} completed; failed within the tolerance: {tolerated}'
    return f'Stack {action} completed successfully{CHECK_INCOMPLETE if unsupported else ""}'


def cancelled(action: str) -> str:
    return f'Stack {action} cancelled'


def failed(action: str, failure: str) -> str:
    return f'Resource {action} failed: {failure}'


def check_failed(failures: Sequence[tuple[str, str]], unsupported: bool = False) -> str:
    """`failures`: (resource name, failure) in the order they happened."""
    listed = '; '.join(f'{name}: Resource CHECK failed: {failure}' for name, failure in failures)
    return f'Resource CHECK failed: {listed}{CHECK_INCOMPLETE if unsupported else ""}'


def requires_replacement(what: str) -> str:
    return f'The Resource {what} requires replacement.'


def check_unsupported(resource_type: str) -> str:
    return f'CHECK not supported for {resource_type}'


def not_planned(name: str, action: str) -> str:
    return f'NotPlanned: resources.{name}: {action} is not part of the applied plan; nothing was done to it'


def denied(action: str, protected: str, reason: str) -> str:
    """`protected`: the path of the protection."""
    return f'{action} is denied by the protection of {protected}' + (f' ({reason})' if reason else '')


def protected(name: str, why: str) -> str:
    return f'Protected: resources.{name}: {why}; nothing was done to it'


def signal_refused(why: str) -> str:
    return f'The signal was refused: {why}'


NEWER_UPDATE = 'preempted by a newer update'


NOT_BEGUN = 'the action of the stack had ended before it began'


def aborted(action: str, why: str) -> str:
    return f'{action} aborted ({why})'


def refused_by_database(action: str) -> str:
    return f'{action} failed: the database refuses what it stores, for instance a value that is too large'


def invalid_state(state: tuple[str, str], action: str) -> str:
    return f"State ('{state[0]}', '{state[1]}') invalid for {action.lower()}"


def snapshot_left(reason: str) -> str:
    """Why a stack is not deleted: `reason` says why copies of a snapshot of it are left."""
    return f'Snapshot deletion failed: {reason}'


def paused(action: str, hook: str) -> str:
    return f'{action} paused until Hook {hook} is cleared'


def cleared(hook: str) -> str:
    return f'Hook {hook} is cleared'


WAITING_FAILED = 'Failure occurred while waiting.'
