"""A refactor that was checked: its stacks as they were read, and as they will be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heatlite.db import stacks
from heatlite.engine.reconcile.revisions import Content
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.quotas import StoringCheck
from heatlite.engine.requests.refactor_checks import Difference
from heatlite.engine.requests.refactor_places import RefactorPlaces
from heatlite.engine.requests.stored_rows import MovedRows
from heatlite.language.definition import StackDefinition
from heatlite.planning.protection import Protection
from heatlite.planning.states import ResourceState


@dataclass
class ConcernedStack:
    """A stack of a refactor. `row`: as it is, under its new name; that of a new stack as it will be. `check`: of a new
    stack, see `QuotaChecks.check_stacks`."""

    row: stacks.StoredStack
    former_name: str
    is_new: bool
    definition: StackDefinition
    before: StackDefinition | None
    content: Content
    protections: tuple[Protection, ...] = ()
    preview: PreviewedStack | None = None
    check: StoringCheck | None = None

    @property
    def is_renamed(self) -> bool:
        return self.row.name != self.former_name


@dataclass
class CheckedRefactor:
    """`stored`: the rows of all stacks concerned, as they were read; `view`: as they will be;
    `nested_previews`: of the nested stacks among them, by id."""

    concerned: dict[str, ConcernedStack]
    places: RefactorPlaces
    stored: dict[str, list[ResourceState]]
    next_resource: Mapping[str, int]
    view: MovedRows
    nested_previews: dict[str, PreviewedStack] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    def name_of(self, stack_id: str) -> str:
        """Return the present name of a stack."""
        concerned_stack = self.concerned.get(stack_id)
        return self.places.inner[stack_id].name if concerned_stack is None else concerned_stack.former_name

    def references(self, stack_id: str) -> Mapping[int, object]:
        concerned_stack = self.concerned.get(stack_id)
        preview = self.nested_previews.get(stack_id) if concerned_stack is None else concerned_stack.preview
        return {} if preview is None else preview.references
