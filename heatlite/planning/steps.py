"""Builds the steps of a traversal and their dependencies (docs/spec/engine.rst, "Order of steps").

APPLY(name): bring the resource of that name to the wanted definition. DELETE(row): delete the row unless it is
the current row of its name. ACTION(row): suspend, resume, check or snapshot it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from heatlite.common import turns
from heatlite.planning import graph, marks, text
from heatlite.planning.marks import ON_EXISTING
from heatlite.planning.states import MAKING, Action, ResourceState, Status

BACKWARDS = frozenset({Action.SUSPEND})             # dependents first


class StepKind(StrEnum):
    APPLY = 'apply'
    CONCLUDE = 'conclude'               # complete an action that was interrupted under another definition
    DELETE = 'delete'
    ACTION = 'action'


class Step(NamedTuple):
    """One resource in one target of a traversal: a value that names the work and holds no progress.

    It is a named tuple because traversals look steps up dozens of times, and hash tuples of text and numbers fast.
    """

    target: int                         # number of the target in its traversal, so that steps of two targets differ
    kind: StepKind
    name: str
    row_id: int = 0                     # the row, except for APPLY, which finds or makes its row when it starts
    action: Action = Action.INIT        # of an ACTION

    def __repr__(self) -> str:
        return f'{self.kind}({self.name}#{self.row_id or "?"})'

    @property
    def applies(self) -> bool:
        """Whether it brings a row to a definition, the wanted or the stored one."""
        return self.kind is StepKind.APPLY or self.kind is StepKind.CONCLUDE


@dataclass(frozen=True, slots=True)
class Desired:
    """The part of one resource's wanted definition that planning uses."""

    type: str
    requires: frozenset[str] = frozenset()
    external: bool = False                          # exists already; the template gives its id
    imported: bool = False                          # exists already, and the stack is to own it from now on


class Ranked(Protocol):
    """The columns of a row that decide which one of its name is the resource."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def template_id(self) -> str | None: ...
    @property
    def replaced_by(self) -> int | None: ...


R = TypeVar('R', bound=Ranked)


class Defined(Protocol):
    """The columns of a stack's row that say which templates its resources have."""

    @property
    def action(self) -> str: ...

    @property
    def template_id(self) -> str: ...

    @property
    def previous_template_id(self) -> str | None: ...


def current_rows(rows: Iterable[ResourceState], template_id: str, avoid_template_id: str | None) -> dict[str, int]:
    """Return for each name the number of its current row. A row being deleted is none.

    Source: docs/spec/engine.rst, "The current row of a name".
    """
    live = (row for row in turns.paced(rows) if row.action is not Action.DELETE)
    return {name: row.id for name, row in highest(live, template_id, avoid_template_id).items()}


def current_rows_of(stack: Defined, rows: Iterable[ResourceState]) -> dict[str, int]:
    """As `current_rows`, for the row of a stack."""
    return current_rows(rows, stack.template_id, avoided_template(stack.action, stack.previous_template_id))


def row_of_signal(name: str, rows: Collection[ResourceState], template_id: str,
                  avoid_template_id: str | None) -> ResourceState | None:
    """Return the row that a signal to the resource `name` is for: the current one, else one that is being deleted, or
    None. `rows`: all of that name, with or without others."""
    named = [row for row in rows if row.name == name]
    live = [row for row in named if row.action is not Action.DELETE]
    return highest(live or named, template_id, avoid_template_id).get(name)


def highest(rows: Iterable[R], template_id: str, avoid_template_id: str | None) -> dict[str, R]:
    """Return for each name the row that `rank` puts first, in the order in which the names come."""
    best: dict[str, R] = {}
    for row in rows:
        other = best.setdefault(row.name, row)
        if other is not row and rank(row, template_id, avoid_template_id) > rank(other, template_id, avoid_template_id):
            best[row.name] = row
    return best


def rank(row: Ranked, template_id: str, avoid_template_id: str | None) -> tuple[int, int]:
    """Return the place of `row` among the rows of its name: the highest one is the resource, for engine and API alike.

    Rows of the stack's template rank higher; failed ones lower, those being deleted lower still, replaced ones
    slightly lower; among equals the newest is chosen. `avoid_template_id`: the template that a rollback leaves. Its
    rows rank lower, so that the old one is found.
    """
    score = -50 * (row.action == Action.DELETE) - 30 * (row.status == Status.FAILED) - (row.replaced_by is not None)
    if row.template_id == template_id:
        score += 10
    elif avoid_template_id is not None and row.template_id == avoid_template_id:
        score -= 10
    return score, row.id


def avoided_template(action: str, previous_template_id: str | None) -> str | None:
    """Return the template that a stack in this action is leaving by a rollback; None in any other action."""
    return previous_template_id if action == Action.ROLLBACK else None


def refuses(row: ResourceState, action: Action) -> str | None:
    """Return why `action` is not allowed in the state of `row`, or None.

    Source: docs/spec/engine.rst, "Other actions of a resource".
    """
    if action is Action.SUSPEND:
        fits = row.action is not Action.DELETE and (
            row.status is Status.COMPLETE or row.action is Action.SUSPEND)
    elif action is Action.RESUME:
        fits = marks.can_resume(row)
    else:
        fits = True
    return None if fits else text.invalid_state(row.state, action)


def build(action: Action, desired: Mapping[str, Desired], rows: Mapping[int, ResourceState],
          current: Mapping[str, int], target: int = 1, unvisited: Set[str] = frozenset(), *,
          is_restored: bool = False) -> dict[Step, list[Step]]:
    """Return all steps of one target: step -> steps it waits for. Has no cycle if `desired` has none.

    `unvisited`: names without a step, see `planning.unvisited`. They require only each other, so that no deletion waits
    for one of their rows. `is_restored`: the rows come from a backup, so one that was not begun may be replaced.
    """
    if action in ON_EXISTING:
        return _action_steps(action, rows, current, target)
    apply = {name: Step(target, StepKind.APPLY, name) for name in turns.paced(desired) if name not in unvisited}
    if unvisited:
        rows = {number: row for number, row in rows.items() if row.name not in unvisited}
    requires: dict[Step, list[Step]] = {
        step: [apply[other] for other in desired[name].requires if other in apply]
        for name, step in turns.paced(apply.items())}
    delete = {number: Step(target, StepKind.DELETE, row.name, number) for number, row in turns.paced(rows.items())
             if row.action is not Action.INIT or row.name not in desired or is_restored}
    if not delete:
        return requires
    exact, followed = _edges_between(rows, delete)
    _order_deletions(requires, apply, delete, rows, exact, followed)
    begun = [step for number, step in delete.items() if rows[number].action is Action.DELETE and step.name in apply
             and not _is_made(rows.get(current.get(step.name, 0)))]
    if begun:
        _end_begun_deletions_first(requires, apply, delete.values(), begun)
    return requires


def _action_steps(action: Action, rows: Mapping[int, ResourceState], current: Mapping[str, int],
                  target: int) -> dict[Step, list[Step]]:
    acted = {name: Step(target, StepKind.ACTION, name, number, action) for name, number in current.items()}
    needs = {name: [other for other in rows[number].requires if other in acted] for name, number in current.items()}
    if action in BACKWARDS:
        behind = graph.dependents(needs.items())
        needs = {name: behind.get(name, []) for name in needs}
    return {step: [acted[other] for other in needs[name]] for name, step in acted.items()}


Edge = tuple[int, int]                              # (row, row that it requires)


def _edges_between(rows: Mapping[int, ResourceState], delete: Mapping[int, Step]) -> tuple[list[Edge], list[Edge]]:
    """Return the requirements between rows: those stored, and those that follow from replacements since.

    A row that did not change when its requirement was replaced still names the old row; it requires the new one, too.
    A row whose update has not completed names the new row, and its object may still refer to the old ones.
    """
    needed_names = {name for number in delete for name in rows[number].requires}
    newest: dict[str, int] = {}
    for number, row in rows.items():
        if row.name in needed_names:
            newest[row.name] = max(newest.get(row.name, 0), number)
    exact: list[Edge] = []
    followed: list[Edge] = []
    for number, row in rows.items():
        if number not in delete:
            continue
        for name, needed in row.requires.items():
            known = rows.get(needed)
            if known is None or known.name != name:
                if name in newest and newest[name] != number:
                    followed.append((number, newest[name]))
                continue
            exact.append((number, needed))
            if row.status is not Status.COMPLETE:
                followed += [(number, older) for older in _replaced_by(rows, known)]
            successor = known.replaced_by if row.replaced_by is None else None
            while successor is not None and successor in rows and successor != needed:
                followed.append((number, successor))
                successor = rows[successor].replaced_by
        if row.replaces is not None and row.replaces in rows and row.replaces in delete:
            exact.append((row.replaces, number))    # the older of the two is deleted first
    return exact, followed


def _replaced_by(rows: Mapping[int, ResourceState], row: ResourceState) -> Iterator[int]:
    """Yield the rows that `row` took over from and that are still there, newest first."""
    seen = {row.id}
    older = row.replaces
    while older is not None and older in rows and older not in seen:
        yield older
        seen.add(older)
        older = rows[older].replaces


def _order_deletions(requires: dict[Step, list[Step]], apply: Mapping[str, Step], delete: Mapping[int, Step],
                     rows: Mapping[int, ResourceState], exact: list[Edge], followed: list[Edge]) -> None:
    for number, step in delete.items():
        applied = apply.get(rows[number].name)
        requires[step] = [applied] if applied is not None else []
    for edges in (exact + followed, exact, []):
        behind: dict[Step, list[Step]] = {}         # deletions that are ordered among each other: few in most updates
        for standing, stood_on in edges:
            if stood_on in delete and standing in delete and standing != stood_on:
                behind.setdefault(delete[standing], [])
                behind.setdefault(delete[stood_on], []).append(delete[standing])
        # Rows left by several interrupted updates may seem to require each other in a cycle. Deleting a stack must
        # always be possible, so then the inferred edges are dropped, and if need be all of them.
        if not graph.cycle(behind):
            break
    for step, others in behind.items():
        requires[step] += others


def _is_made(current: ResourceState | None) -> bool:
    """Whether the object of a resource has been created, by its current row."""
    return current is not None and current.action is not Action.INIT and not (
        current.action in MAKING and current.status is Status.FAILED)


def _end_begun_deletions_first(requires: dict[Step, list[Step]], apply: Mapping[str, Step], delete: Collection[Step],
                               begun: Collection[Step]) -> None:
    """Let the steps that make resources anew wait for their deletions that were `begun`. A deletion that followed would
    take the new object, too, where both rows have the same one; and of some objects there cannot be two.

    A deletion that waits for the step of another resource stays behind, so that no cycle results.
    """
    first = set(begun)
    late = {step for step in delete if step.name in apply and step not in first}
    behind = graph.dependents((step, requires[step]) for step in delete)
    queue = list(late)
    while queue:
        found = [step for step in behind.get(queue.pop(), ()) if step not in late]
        late.update(found)
        queue += found
    for step in begun:
        if step not in late:
            requires[step].remove(apply[step.name])
            requires[apply[step.name]].append(step)
