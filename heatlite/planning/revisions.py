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


class DefinitionColumns(Protocol):
    """The columns of a stack's row about its definitions. `outcome`: of the present one; None: `status` is it."""

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


def settled(row: DefinitionColumns) -> str:
    """Return the outcome of a revision when a request is accepted that brings in no definition. `row`: the stack's row
    before. An action in progress ends."""
    if row.outcome is not None and not _is_reached(row):
        return row.outcome
    return RevisionOutcome.FAILED if row.status == Status.IN_PROGRESS else row.status


def followed(row: DefinitionColumns, action: str) -> str:
    """Return the outcome of a revision when `action` brings in the next definition; the rest as for `settled`."""
    if action == Action.ROLLBACK:
        return RevisionOutcome.ROLLED_BACK
    is_cut_short = row.outcome is None and row.status == Status.IN_PROGRESS
    return RevisionOutcome.SUPERSEDED if is_cut_short else settled(row)


def last_good(row: DefinitionColumns) -> str:
    """Return the id of the template that a failed update of the stack goes back to: the last one that was reached. If
    none was, or that is not known, the present one, as in Heat.

    A failed check, suspend, resume or snapshot says nothing of the definition. Whether it was reached before is not
    known of rows of former releases and of a Heat.
    """
    outcome = row.outcome
    if outcome is None:
        outcome = row.status if row.action in DEFINING else RevisionOutcome.COMPLETE
    is_present = outcome == RevisionOutcome.COMPLETE or row.action == Action.ROLLBACK or _is_reached(row)
    return row.template_id if is_present else row.previous_template_id or row.template_id


def _is_reached(row: DefinitionColumns) -> bool:
    """Whether the last action has reached the definition, which it may have repeated after a failure."""
    return row.action in DEFINING and row.status == Status.COMPLETE
