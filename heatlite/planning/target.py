"""What a traversal brings a stack to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from heatlite.planning.breakpoints import Hooks, no_hooks
from heatlite.planning.plan import EVERYTHING, Permissions
from heatlite.planning.states import Action
from heatlite.planning.steps import Desired

NewUuid = Callable[[str, str | None, int], str]     # (name, replaces, attempt) -> id of a row, as identities.of_row


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """One request for a stack, with the definition that it asks for: `desired` by name, stored as `template_id`.

    `uuid`: the ids of the request's new rows; `rollback`: roll back after a failure; `avoid_template_id`: the template
    being rolled back from; `hooks(name)`: the breakpoints a user has set for a resource, such as `pre-create`;
    `permissions`: the actions that the applied plan and the protections allow; `tolerance`: how many resources may fail
    while the others go on, see `planning.tolerance`.
    """

    action: Action
    desired: Mapping[str, Desired]
    template_id: str
    uuid: NewUuid
    rollback: bool = False
    avoid_template_id: str | None = None
    hooks: Hooks = no_hooks
    permissions: Permissions = EVERYTHING
    tolerance: int = 0
