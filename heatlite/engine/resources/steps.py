"""Updates that take several requests, one after the other: a list of plain steps, worked off by repeated checks.

A step is a map: `do` names it, `called` says that its request is in. The list is what the handler returns, so a
restarted engine goes on where the last one stood, or begins the step anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Required, TypedDict, TypeVar

from heatlite.engine.resource import Resource


class StoredStep(TypedDict, total=False):
    """What all steps have; those of a table have more."""

    do: Required[str]
    called: bool
    done: bool


Kind = TypeVar('Kind', bound=Resource)
S = TypeVar('S', bound=StoredStep)
Table = Mapping[str, tuple[Callable[[Kind, S], object], Callable[[Kind, S], bool]]]
"""name -> (its request; it is sent again when it answers False, whether it is done)"""


def work_off(resource: Kind, steps: list[S], table: Table[Kind, S]) -> bool:
    """One look at the first step that is not done."""
    for step in steps:
        if step.get('done'):
            continue
        call, check = table[step['do']]
        if not step.get('called'):
            step['called'] = call(resource, step) is not False
            return False
        if not check(resource, step):
            return False
        step['done'] = True
    return True
