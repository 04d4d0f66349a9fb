"""What became of the definitions that were accepted for a stack: the outcomes of its revisions."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from heatlite.planning.states import Action, Status


class RevisionOutcome(StrEnum):
    """What became of a revision."""

    IN_PROGRESS = 'IN_PROGRESS'
    COMPLETE = 'COMPLETE'
    FAILED = 'FAILED'
    ROLLED_BACK = 'ROLLED_BACK'
    SUPERSEDED = 'SUPERSEDED'           # another definition was accepted while its action was in progress


# The actions that bring in a definition.
DEFINING = frozenset({Action.CREATE, Action.ADOPT, Action.UPDATE, Action.ROLLBACK, Action.RESTORE})


def settled(outcome: str | None, status: str) -> str:
    """Return the outcome of a revision when a request is accepted that brings in no definition.

    `outcome`: as stored with the stack; None: `status`, the status of the stack, is it. An action in progress ends.
    """
    if outcome is not None:
        return outcome
    return RevisionOutcome.FAILED if status == Status.IN_PROGRESS else status


def followed(outcome: str | None, status: str, action: str) -> str:
    """Return the outcome of a revision when `action` brings in the next definition; the rest as for `settled`."""
    if action == Action.ROLLBACK:
        return RevisionOutcome.ROLLED_BACK
    return RevisionOutcome.SUPERSEDED if outcome is None and status == Status.IN_PROGRESS else settled(outcome, status)


class Defined(Protocol):
    """The columns of a stack's row about its definitions. `outcome`: as for `settled`."""

    @property
    def action(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def outcome(self) -> str | None: ...
    @property
    def template_id(self) -> str: ...
    @property
    def previous_template_id(self) -> str | None: ...


def last_good(row: Defined) -> str:
    """Return the id of the template that a failed update of the stack goes back to: the last one that was reached. If
    none was, or that is not known, the present one, as in Heat.

    A failed check, suspend, resume or snapshot says nothing of the definition. Whether it was reached before is not
    known of rows of former releases and of a Heat.
    """
    outcome = row.outcome
    if outcome is None:
        outcome = row.status if row.action in DEFINING else RevisionOutcome.COMPLETE
    is_present = outcome == RevisionOutcome.COMPLETE or row.action == Action.ROLLBACK
    return row.template_id if is_present else row.previous_template_id or row.template_id
