"""Previews one stack: runs the traversal of the update without calling handlers or storing anything.

The types are asked as in the update; every create, update and delete is assumed to succeed, and references and
attributes of a resource that does not exist yet are UNKNOWN.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db.stacks import StoredStack
from heatlite.engine import rsrc_defn
from heatlite.engine.reconcile.attribute_cache import REFERENCE
from heatlite.engine.reconcile.diff import PropertyChange
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.step_context import StepContext
from heatlite.engine.requests.dry_executor import DryExecutor
from heatlite.engine.resource import Resource
from heatlite.language.unknown import UNKNOWN
from heatlite.planning import commands
from heatlite.planning.consumption import measured
from heatlite.planning.plan import MeasuredResource, PlanAction
from heatlite.planning.replacement import ReplacementCause
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Step

STEPS_OF_COMMAND = 20       # of a turn
CHANGING = frozenset(PlanAction) - {PlanAction.NONE, PlanAction.UNKNOWN}


@dataclass
class PreviewedChange:
    """The previewed change of one resource. `properties`: those that differ; `why`: reason of a replacement, or why
    the change is unknown."""

    name: str
    action: PlanAction
    row: ResourceState | None = None    # as stored; None for a resource that would be added
    properties: Mapping[str, PropertyChange] = field(default_factory=dict)
    why: str = ''
    inside: str = ''                    # why the changes in its nested stack are unknown
    nested: StoredStack | None = None   # the row of the nested stack
    new_properties: Mapping[str, object] = field(default_factory=dict)  # properties of a resource that would be made
    stored: Mapping[str, object] = field(default_factory=dict)     # ... of the one that it would replace for `cause`
    cause: ReplacementCause | None = None
    imported: str | None = None         # the physical id of the object that would be imported


Inside = Callable[['DryRun', Step, ResourceState, Action], str | None]
"""Previews the nested stack of a resource; returns the reason if its update would fail."""


class DryRun:
    """Executes a traversal by answering each command immediately."""

    def __init__(self, runtime: Runtime, leased: LeasedStack, executor: DryExecutor, inside: Inside) -> None:
        self._runtime = runtime
        self.leased = leased
        self.executor = executor
        self._inside = inside
        self.changes: dict[str, PreviewedChange] = {}
        self.failures: dict[str, str] = {}
        self._reached: set[str] = set()
        self._stored: Resource | None = None
        self.not_imported: dict[str, exception.HeatException] = {}      # resources that cannot be imported, and why
        self.begun: dict[str, set[Action]] = {}     # actions that the traversal began, in the order of their resources
        # What counts of a resource before and after.
        self.measured: dict[str, tuple[MeasuredResource | None, MeasuredResource | None]] = {}

    def run(self) -> dict[str, PreviewedChange]:
        leased = self.leased
        before = {row.name: row for row in leased.rows.values() if row.replaced_by is None}
        busy = {row.name: row for row in leased.rows.values() if row.in_progress}
        self.executor.preview_state.to_make |= {row.id for row in busy.values()}
        waiting: deque[commands.Command] = deque(leased.traversal.start(self._runtime.now()))
        while waiting:
            event = self._answer(waiting.popleft())
            if event is not None:
                waiting.extend(leased.traversal.handle(event, self._runtime.now()))
        self._settle_verdicts()
        self._mark_undecided(before, busy)
        return self.changes

    def _settle_verdicts(self) -> None:
        """Add to the changes what only the whole run tells: differences, causes of replacements, settled stacks."""
        for name, properties in self.executor.property_changes.items():
            if name in self.changes:
                self.changes[name].properties = properties
        for name, cause in self.executor.causes.items():
            if name in self.changes and self.changes[name].action is PlanAction.REPLACE:
                self.changes[name].cause, self.changes[name].stored = cause, self.executor.stored[name]
        for name in self.executor.settled & self.changes.keys():
            self.changes[name].action = PlanAction.NONE

    def _mark_undecided(self, before: Mapping[str, ResourceState], busy: Mapping[str, ResourceState]) -> None:
        """Mark the changes that the update may not come to, or that may be others. `before`: the current row of each
        resource; `busy`: rows of which an action is under way."""
        # Each pass overwrites what those before it have found, from the weakest reason to the strongest: not reached,
        # doubts of a type, an action under way, any failure at all, the failure of the resource itself.
        for name in self.leased.traversal.desired:
            if name in self._reached:
                self.changes.setdefault(name, PreviewedChange(name, PlanAction.NONE, before.get(name)))
            else:                                   # the update ends before this resource, or takes another course
                self._undecided(name, before.get(name), self._why_not())
        for name, row in before.items():
            if name not in self.changes:            # removed by the template, but the update ends before its deletion
                self._undecided(name, row, self._why_not())
        for name, doubt in self.executor.doubts.items():
            self._undecided(name, before.get(name), doubt.reason)
        for name, row in busy.items():
            self._undecided(name, row, _('%s of it is under way, and may end well or not') % row.action)
        if self.failures:                           # the order of parallel steps decides which others are reached
            for change in list(self.changes.values()):
                if change.action in CHANGING:
                    self._undecided(change.name, before.get(change.name), self._why_not())
        for name, reason in self.failures.items():
            self._undecided(name, before.get(name), reason)

    def stored(self, row: ResourceState) -> Resource:
        """Return the object of the stored state of the row. What is stored is read in blocks, and each row of a block
        only once, so that the last object is kept."""
        if self._stored is None or self._stored.id != row.id:
            self._stored = self.executor.objects.stored(row)
        return self._stored

    def _undecided(self, name: str, row: ResourceState | None, why: str) -> None:
        known = self.changes.get(name)
        properties = known.properties if known is not None else {}
        self.changes[name] = PreviewedChange(name, PlanAction.UNKNOWN, row, properties, why,
                                             inside=why, nested=known.nested if known is not None else None)

    def _why_not(self) -> str:
        failed = next(iter(self.failures.items()), None)
        if failed is None:
            return _('The update ends before it')
        return _('The update does not get beyond %(name)s: %(why)s') % {'name': failed[0], 'why': failed[1]}

    def _answer(self, command: commands.Command) -> commands.Event | None:
        turns.spend(STEPS_OF_COMMAND)
        match command:
            case commands.Persist(step, row, wait=True):
                self.leased.cached_values.pop(row.id, None)
                return commands.Persisted(step)
            case commands.Inspect(step, row):
                return self._inspected(step, row)
            case commands.CallHandler(step, row, verb):
                return self._called(step, row, verb)
            case commands.Poll(step) | commands.Recover(step):
                return commands.CheckReturned(step, True)
            case commands.Pause(step):              # a breakpoint: assume that the user clears it
                return commands.Cleared(step)
            case commands.StartTimer(step):
                return commands.TimerFired(step)
        return None

    def _inspected(self, step: Step, row: ResourceState) -> commands.Event:
        self.leased.context.check_in_time(self._runtime.now())      # it may ask services, each time
        event = self.executor.inspect(step, row, self.leased.definition)
        self._reached.add(row.name)
        self._measure(step, row)
        match event:
            case commands.Inspected(_, verdict) if verdict.refused is not None:
                self.failures[row.name] = verdict.refused
            case commands.Inspected(_, verdict) if verdict.replace is not None:
                self._change(row.name, PlanAction.REPLACE, row).why = verdict.replace
            case commands.Inspected(_, verdict) if verdict.changed:
                self._change(row.name, PlanAction.UPDATE, row)
            case commands.Failed(_, reason) if not event.replace:
                self.failures[row.name] = reason
        return event

    def _called(self, step: Step, row: ResourceState, verb: Action) -> commands.Event:
        name = row.name
        self._reached.add(name)
        self.begun.setdefault(name, set()).add(verb)
        work = self.executor.contexts.begin(step)
        if work.error is not None:
            self.failures[name] = why = self.leased.definition.mask.text(str(work.error))
            return commands.Failed(step, why)
        if verb is Action.ADOPT and self._imports(step, row, work):
            return commands.HandlerReturned(step, None, done=True)
        if verb in (Action.CREATE, Action.ADOPT):
            self.executor.preview_state.to_make.add(row.id)
            self._measure_wanted(name, work)
            makes = PlanAction.IMPORT if verb is Action.ADOPT else PlanAction.CREATE
            self._change(name, makes if row.replaces is None else PlanAction.REPLACE, None).new_properties = dict(
                work.wanted()['Properties'])
        elif verb is Action.DELETE and name not in self.leased.traversal.desired:
            change = self._change(name, PlanAction.DELETE, row)
            self.measured[name] = self._measured_row(row, self.stored(row).t), None
            if self.stored(row).t.deletion_policy() == rsrc_defn.RETAIN:
                change.action = PlanAction.RELEASE
        elif verb is Action.UPDATE:
            if self._is_replaced_after_all(work):
                return commands.Failed(step, '', replace=True)
            self._change(name, PlanAction.UPDATE, row)
            self._mark_reference(work, row)
        failure = self._inside(self, step, row, verb)
        if failure is not None:
            self.failures[name] = failure
            return commands.Failed(step, failure)
        return commands.HandlerReturned(step, None, done=True)

    def _imports(self, step: Step, row: ResourceState, work: StepContext) -> bool:
        """Import an object into the resource, as far as a preview does. Returns whether it is to be imported.

        One that cannot be imported does not end the run, so that all are found."""
        self.leased.context.check_in_time(self._runtime.now())
        try:
            imported = self.executor.import_object(step, row)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            self.not_imported[row.name] = error if isinstance(error, exception.HeatException) else (
                exception.ImportFailed(name=row.name, type=row.type, why=str(error) or type(error).__name__))
            self.executor.preview_state.to_make.add(row.id)
            self._change(row.name, PlanAction.IMPORT, None)
            return True
        if imported is None:
            return False
        self._measure_wanted(row.name, work)
        change = self._change(row.name, PlanAction.IMPORT, None)
        change.imported, change.properties = imported
        return True

    # --- what counts --------------------------------------------------------------------------------------

    def _measure(self, step: Step, row: ResourceState) -> None:
        """Note what counts of a resource before and after; the definition that was applied is only read if it had to
        be for the inspection, and is the wanted one otherwise."""
        work = self.executor.contexts.get(step)
        if work is None or work.definition is None:
            return
        present = work.definition if work.resource is None else work.resource.t
        self.measured[row.name] = self._measured_row(row, present), None
        self._measure_wanted(row.name, work)

    def _measure_wanted(self, name: str, work: StepContext) -> None:
        if work.definition is not None:
            before, _after = self.measured.get(name, (None, None))
            self.measured[name] = before, _measured(lambda: self.executor.objects.wanted_type(name), work.definition)

    def _measured_row(self, row: ResourceState, definition: rsrc_defn.ResourceDefinition) -> MeasuredResource | None:
        if row.physical_id is None:
            return None
        return _measured(lambda: self.executor.objects.type_of(row), definition)

    def _is_replaced_after_all(self, work: StepContext) -> bool:
        """Whether the type has no handle_update of its own, and so replaces the resource if any property changes."""
        return (work.resource is not None and not work.resource.updates_in_place()
                and work.difference is not None and bool(work.difference.properties))

    def _mark_reference(self, work: StepContext, row: ResourceState) -> None:
        """Mark the attributes as unknown. The reference stays, unless the type computes it from what may change."""
        self.executor.preview_state.changed.add(row.id)
        doubt = self.executor.doubts.get(row.name)
        if doubt is not None and doubt.may_replace:
            self.executor.preview_state.to_make.add(row.id)
        elif (work.resource is not None
              and type(work.resource).get_reference_id is not Resource.get_reference_id
              and not self._refers_by_id(work.resource, work, row)):
            self.leased.cached_values[row.id] = {REFERENCE: UNKNOWN}

    def _refers_by_id(self, present: Resource, work: StepContext, row: ResourceState) -> bool:
        """Whether the reference is the physical id, as the type says for the present and for the future properties."""
        try:
            future = self.executor.objects.with_definition(present, work.wanted())
            return all(each.get_reference_id() == row.physical_id for each in (present, future))
        except Exception:                           # raised by the type: then nothing is known
            return False

    def _change(self, name: str, action: PlanAction, row: ResourceState | None) -> PreviewedChange:
        known = self.changes.get(name)
        if known is None:
            known = self.changes[name] = PreviewedChange(name, action, row)
        elif known.action is PlanAction.UPDATE and action is PlanAction.REPLACE:
            known.action = action
        return known


def _measured(type_of: Callable[[], str], definition: rsrc_defn.ResourceDefinition) -> MeasuredResource | None:
    """Return what counts of a resource of this definition; None if its type is gone or does not count."""
    try:
        return measured(type_of(), definition['Properties'])
    except exception.StackValidationFailed:
        return None
