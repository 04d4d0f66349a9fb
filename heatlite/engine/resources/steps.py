"""Updates that take several requests, one after the other: a list of plain steps, worked off by repeated checks.

A step is a map: `do` names it, `called` says that its request is in. The list is what the handler returns, so a
restarted engine goes on where the last one stood, or begins the step anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Required, TypedDict, TypeVar

from heatlite.common import exception
from heatlite.engine.clients.os import http
from heatlite.engine.resource import Resource


class StoredStep(TypedDict, total=False):
    """The fields of all steps; those of a table have more."""

    do: Required[str]
    called: bool
    done: bool
    always: bool                            # done also when a step before it was refused
    error: str                              # why the service has refused this step


Kind = TypeVar('Kind', bound=Resource)
S = TypeVar('S', bound=StoredStep)
Table = Mapping[str, tuple[Callable[[Kind, S], object], Callable[[Kind, S], bool]]]
"""name -> (its request; it is sent again when it answers False, whether it is done)"""


def work_off(resource: Kind, steps: list[S], table: Table[Kind, S]) -> bool:
    """Look once at the first step that is not done. Raises what a step raises.

    If steps that are marked `always` follow one that the service has refused, they are done first: then raises Error.
    """
    refused = next((step['error'] for step in steps if 'error' in step), None)
    for step in steps:
        if step.get('done') or 'error' in step or (refused is not None and not step.get('always')):
            continue
        try:
            if not _advanced(resource, step, table):
                return False
        except Exception as error:
            if refused is not None and _is_refusal(error):
                raise exception.Error(f'{refused}; {error}') from error
            if not _is_refusal(error) or not any(
                    each.get('always') and not each.get('done') for each in steps if each is not step):
                raise
            step['error'] = str(error)
            return False
        step['done'] = True
    if refused is not None:
        raise exception.Error(refused)
    return True


def _advanced(resource: Kind, step: S, table: Table[Kind, S]) -> bool:
    """Send the request of the step if that was not done; return whether the step is done."""
    call, check = table[step['do']]
    if not step.get('called'):
        step['called'] = call(resource, step) is not False
        return False
    return check(resource, step)


def _is_refusal(error: Exception) -> bool:
    """Return whether the service has refused a request, so that the same request would fail again."""
    if isinstance(error, exception.HeatException):
        return not isinstance(error, exception.DatabaseUnavailable)
    return (http.status_of(error) or 0) // 100 == 4
