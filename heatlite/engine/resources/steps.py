"""Updates that take several requests, one after the other: a list of plain steps, worked off by repeated checks.

A step is a map: `do` names it, `called` says that its request is in. The list is what the handler returns, so a
restarted engine goes on where the last one stood, or begins the step anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from heatlite.engine.resource import Resource

Step = dict[str, Any]
Kind = TypeVar('Kind', bound=Resource)
Table = Mapping[str, tuple[Callable[[Kind, Step], object], Callable[[Kind, Step], bool]]]
"""name -> (its request; it is sent again when it answers False, whether it is done)"""


def work_off(resource: Kind, steps: list[Step], table: Table[Kind]) -> bool:
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
