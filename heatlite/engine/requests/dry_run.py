"""Previews one stack: runs the traversal of the update without calling handlers or storing anything.

The types are asked as in the update; every create, update and delete is assumed to succeed, and references and
attributes of a resource that does not exist yet are UNKNOWN.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from itertools import count

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.engine import rsrc_defn
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.step_context import StepContext
from heatlite.engine.requests.dry_executor import DryExecutor
from heatlite.engine.requests.previewed_change import PreviewedChange
from heatlite.engine.resource import Resource
from heatlite.language.unknown import UNKNOWN
from heatlite.planning import commands
from heatlite.planning.costs.consumption import measured
from heatlite.planning.plan import MeasuredResource, PlanAction
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Step

STEPS_OF_COMMAND = 20       # of a turn

Inside = Callable[['DryRun', Step, ResourceState, Action], str | None]
"""Previews the nested stack of a resource; returns the reason if its update would fail."""


class DryRun:
    """Executes a traversal by answering each command immediately."""

    def __init__(self, runtime: Runtime, leased: LeasedStack, executor: DryExecutor, inside: Inside) -> None:
        self._runtime = runtime
        self.leased = leased
        self.executor = executor
        self._inside = inside
        self.changes = executor.changes
        self._failed: PreviewedChange | None = None     # the first resource whose action would fail
        self._places = count()
        self._stored: Resource | None = None

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
        return self._concluded(before, busy)

    def _concluded(self, before: Mapping[str, ResourceState],
                   busy: Mapping[str, ResourceState]) -> dict[str, PreviewedChange]:
        """Return what becomes of each resource, those of the template first. `before`: the current row of each;
        `busy`: rows of which an action is under way."""
        names = dict.fromkeys((*self.leased.traversal.desired, *self.changes, *before, *busy))
        for name in names:
            change, row, busy_row = self.changes[name], before.get(name), busy.get(name)
            change.conclude(row)
            why = self._why_unknown(change, busy_row)
            if why is not None:
                change.become_unknown(busy_row or row, why)
        return {name: self.changes[name] for name in names}

    def _why_unknown(self, change: PreviewedChange, busy: ResourceState | None) -> str | None:
        """Return the strongest reason for which the update may not come to the change, or may change something else;
        None if the change is certain."""
        if change.failure is not None:
            return change.failure
        if busy is not None:
            return _('%s of it is under way, and may end well or not') % busy.action
        if change.doubt is not None:
            return change.doubt.reason
        if not change.is_reached:                   # the update ends before this resource, or takes another course
            return self._why_not()
        if self._failed is not None and change.action is not PlanAction.NONE:
            return self._why_not()                  # the order of parallel steps decides which others are reached
        return None

    def stored(self, row: ResourceState) -> Resource:
        """Return the object of the stored state of the row. What is stored is read in blocks, and each row of a block
        only once, so that the last object is kept."""
        if self._stored is None or self._stored.id != row.id:
            self._stored = self.executor.objects.stored(row)
        return self._stored

    @property
    def fails(self) -> str:
        """Why the update would fail; empty if it would not."""
        return f'{self._failed.name}: {self._failed.failure}' if self._failed is not None else ''

    def _fail(self, change: PreviewedChange, why: str) -> None:
        change.failure = why
        self._failed = self._failed or change

    def _why_not(self) -> str:
        if self._failed is None:
            return _('The update ends before it')
        return _('The update does not get beyond %(name)s: %(why)s') % {
            'name': self._failed.name, 'why': self._failed.failure}

    def _answer(self, command: commands.Command) -> commands.Event | None:
        turns.spend(STEPS_OF_COMMAND)
        match command:
            case commands.Persist(step, row, wait=True):
                self.leased.attribute_cache.drop(row.id)
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
        change = self.changes[row.name]
        change.is_reached = True
        self._measure(change, step, row)
        match event:
            case commands.Inspected(_, verdict) if verdict.refused is not None:
                self._fail(change, verdict.refused)
            case commands.Inspected(_, verdict) if verdict.replace is not None:
                change.become(PlanAction.REPLACE, row)
                change.why = verdict.replace
            case commands.Inspected(_, verdict) if verdict.changed:
                change.become(PlanAction.UPDATE, row)
            case commands.Failed(_, reason) if not event.replace:
                self._fail(change, reason)
        return event

    def _called(self, step: Step, row: ResourceState, verb: Action) -> commands.Event:
        change = self.changes[row.name]
        change.is_reached = True
        change.begun.add(verb)
        change.place = min(change.place, next(self._places))
        work = self.executor.contexts.begin(step)
        if work.error is not None:
            why = self.leased.definition.mask.text(str(work.error))
            self._fail(change, why)
            return commands.Failed(step, why)
        if verb is Action.ADOPT and self._imports(change, step, row, work):
            return commands.HandlerReturned(step, None, done=True)
        if verb in (Action.CREATE, Action.ADOPT):
            self.executor.preview_state.to_make.add(row.id)
            self._measure_wanted(change, work)
            makes = PlanAction.IMPORT if verb is Action.ADOPT else PlanAction.CREATE
            change.become(makes if row.replaces is None else PlanAction.REPLACE, None)
            change.new_properties = dict(work.wanted()['Properties'])
        elif verb is Action.DELETE and change.name not in self.leased.traversal.desired:
            change.become(PlanAction.DELETE, row)
            change.measured_before, change.measured_after = self._measured_row(row, self.stored(row).t), None
            if self.stored(row).t.deletion_policy() == rsrc_defn.RETAIN:
                change.action = PlanAction.RELEASE
        elif verb is Action.UPDATE:
            if self._is_replaced_after_all(work):
                return commands.Failed(step, '', replace=True)
            change.become(PlanAction.UPDATE, row)
            self._mark_reference(change, work, row)
        failure = self._inside(self, step, row, verb)
        if failure is not None:
            self._fail(change, failure)
            return commands.Failed(step, failure)
        return commands.HandlerReturned(step, None, done=True)

    def _imports(self, change: PreviewedChange, step: Step, row: ResourceState, work: StepContext) -> bool:
        """Import an object into the resource, as far as a preview does. Returns whether it is to be imported.

        One that cannot be imported does not end the run, so that all are found."""
        self.leased.context.check_in_time(self._runtime.now())
        try:
            imported = self.executor.import_object(step, row)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            change.import_error = error if isinstance(error, exception.HeatException) else (
                exception.ImportFailed(name=row.name, type=row.type, why=str(error) or type(error).__name__))
            self.executor.preview_state.to_make.add(row.id)
            change.become(PlanAction.IMPORT, None)
            return True
        if imported is None:
            return False
        self._measure_wanted(change, work)
        change.become(PlanAction.IMPORT, None)
        change.imported, change.properties = imported
        return True

    # --- what counts --------------------------------------------------------------------------------------

    def _measure(self, change: PreviewedChange, step: Step, row: ResourceState) -> None:
        """Note what counts of a resource before and after; the definition that was applied is only read if it had to
        be for the inspection, and is the wanted one otherwise."""
        work = self.executor.contexts.get(step)
        if work is None or work.definition is None:
            return
        present = work.definition if work.resource is None else work.resource.t
        change.measured_before = self._measured_row(row, present)
        self._measure_wanted(change, work)

    def _measure_wanted(self, change: PreviewedChange, work: StepContext) -> None:
        if work.definition is not None:
            change.measured_after = _measured(lambda: self.executor.objects.wanted_type(change.name), work.definition)

    def _measured_row(self, row: ResourceState, definition: rsrc_defn.ResourceDefinition) -> MeasuredResource | None:
        if row.physical_id is None:
            return None
        return _measured(lambda: self.executor.objects.type_of(row), definition)

    def _is_replaced_after_all(self, work: StepContext) -> bool:
        """Whether the type has no handle_update of its own, and so replaces the resource if any property changes."""
        return (work.resource is not None and not work.resource.updates_in_place()
                and work.difference is not None and bool(work.difference.properties))

    def _mark_reference(self, change: PreviewedChange, work: StepContext, row: ResourceState) -> None:
        """Mark the attributes as unknown. The reference stays, unless the type computes it from what may change."""
        self.executor.preview_state.changed.add(row.id)
        if change.doubt is not None and change.doubt.may_replace:
            self.executor.preview_state.to_make.add(row.id)
        elif (work.resource is not None
              and type(work.resource).get_reference_id is not Resource.get_reference_id
              and not self._refers_by_id(work.resource, work, row)):
            self.leased.attribute_cache.put_reference(row.id, UNKNOWN)

    def _refers_by_id(self, present: Resource, work: StepContext, row: ResourceState) -> bool:
        """Whether the reference is the physical id, as the type says for the present and for the future properties."""
        try:
            future = self.executor.objects.with_definition(present, work.wanted())
            return all(each.get_reference_id() == row.physical_id for each in (present, future))
        except Exception:                           # raised by the type: then nothing is known
            return False


def _measured(type_of: Callable[[], str], definition: rsrc_defn.ResourceDefinition) -> MeasuredResource | None:
    """Return what counts of a resource of this definition; None if its type is gone or does not count."""
    try:
        return measured(type_of(), definition['Properties'])
    except exception.StackValidationFailed:
        return None
