"""Stores the rows of one stack's resources, and the lines of its history, through the journal."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heatlite.common import metrics
from heatlite.common.context import working_on
from heatlite.common.runtime import Runtime
from heatlite.common.timeutils import isotime
from heatlite.db.connection import until_available
from heatlite.engine.durability.journal import Journal, StopsDriving, Superseded
from heatlite.engine.reconcile import stack_events
from heatlite.engine.reconcile.active_steps import ActiveSteps, StepPhase
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.inbox import RunnerInbox
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.runner_phase import RunnerPhase
from heatlite.engine.reconcile.step_calls import StepCalls
from heatlite.engine.reconcile.step_context import StepContext
from heatlite.planning import commands, marks
from heatlite.planning.replacement import MADE, MARKED
from heatlite.planning.states import Action, Datum, Event, ResourceState, Status
from heatlite.planning.steps import Step

STEP_LOG = logging.getLogger('heatlite.steps')      # a name of its own, for default_log_levels

_ended = functools.cache(metrics.steps.labels)      # finding the counter takes as long as counting

STORED_AT_ONCE = 500                                # rows of a stack, until it lets the journal catch up


class StepStore:
    """Called in the runner's thread, but for `_stored`, which the journal calls."""

    def __init__(self, runtime: Runtime, leased: LeasedStack, executor: StepExecutor, journal: Journal,
                 inbox: RunnerInbox, phase: RunnerPhase, steps: ActiveSteps, calls: StepCalls) -> None:
        self._runtime = runtime
        self._leased = leased
        self._executor = executor
        self._journal = journal
        self._inbox = inbox
        self._phase = phase
        self._steps = steps
        self._calls = calls
        self._stored_rows = 0

    @property
    def is_waiting(self) -> bool:
        """Whether the intent of a step is being stored."""
        return self._steps.storing > 0

    def persist(self, persist: commands.Persist) -> list[commands.Command]:
        """Store a row. Returns the commands that follow if its step need not wait for the commit."""
        step, row = persist.step, persist.row
        before = self._leased.row_numbered(row.id)
        self._stored_rows += 1
        if not self._stored_rows % STORED_AT_ONCE:  # a large stack waits for the journal, small ones beside it do not
            self._journal.make_room()
        work = self._context(step)
        columns: dict[str, Any] = {}
        if persist.wait and row.action in (Action.CREATE, Action.ADOPT):
            columns = dict(work.columns)            # the clean-up after a failed create needs the properties
            if work.metadata:
                columns['metadata'] = work.metadata
            if work.cause is not None and row.replaces is not None:
                cause = work.cause if work.cause.at else replace(work.cause, at=isotime(self._runtime.now()))
                columns['cause'] = {MADE: cause.to_json()}
        elif persist.adopts_definition:
            columns = work.columns
        elif persist.applied:
            columns = work.columns if row.action is Action.UPDATE else {
                name: value for name, value in work.columns.items() if name == 'attributes'}
        if row.status is Status.FAILED and row.action not in marks.LOOKING:     # these change no object
            columns = {**columns, **self._forget_attributes(row)}
        elif row.action is Action.CHECK and _is_over(row, work):
            columns = {**columns, 'cause': None}
        events = [self._event(row, columns.get('properties') if persist.wait else None, work)] if persist.event else []
        if persist.begun is not None:
            events.insert(0, self._event(persist.begun, None, work))
        now = self._leased.row_numbered(row.id)
        if now is not None and now is not before:   # the handler of a signal has changed it in one of the waits above
            row = now
        change = self._leased.make_change(row=row, columns=columns, events=tuple(events), data=work.take_data())
        if row.status is not Status.IN_PROGRESS:
            self._calls.forget_abort(step)
        if change.columns or change.data:           # else the cached resource is still valid
            self._executor.stored_resources.forget(row.id)
        if persist.event and row.status is not Status.IN_PROGRESS:
            self._log_end(row)
        if not persist.wait:
            self._journal.submit(change)
            return []
        if self._executor.is_harmless(row):
            self._journal.submit(change)
            return self._leased.traversal.handle(commands.Persisted(step), self._runtime.now())
        self._steps.enter(step, StepPhase.STORING)
        self._journal.submit(change, lambda why_not: self._stored(step, row, why_not))
        return []

    def _forget_attributes(self, row: ResourceState) -> dict[str, object]:
        """Drop what is cached of a row whose step has failed, as the step may have changed the object. Returns the
        column to store. The reference stays; attributes are read anew when they are needed."""
        cache = self._leased.attribute_cache
        return {'attributes': cache.of(row.id)} if cache.drop_attributes(row.id) else {}

    def _stored(self, step: Step, row: ResourceState, why_not: StopsDriving | Superseded | None) -> None:
        self._steps.enter(step, StepPhase.REPORTED)
        if isinstance(why_not, StopsDriving):
            self._inbox.fail(why_not)
        else:
            self._calls.note_stored(step, row)

    def remove(self, remove: commands.Remove) -> None:
        row = remove.row
        self._calls.forget_abort(remove.step)
        self._leased.attribute_cache.drop(row.id)
        self._executor.stored_resources.forget(row.id)
        events = (self._event(row, None, self._executor.contexts.get(remove.step)),) if remove.event else ()
        if remove.event:
            self._log_end(row)
        self._journal.submit(self._leased.make_change(remove=row.id, events=events))

    def note(self, step: Step, row: ResourceState) -> None:
        """Store a line of history alone."""
        self._journal.submit(self._leased.make_change(
            events=(self._event(row, None, self._context(step)),)))

    def _context(self, step: Step) -> StepContext:
        """Return the context of the step. Waits for the database, where its definition needs it: the results of other
        steps under way would be lost without the runner. Raises DatabaseUnavailable if that was stopped meanwhile."""
        self._steps.touch(step)
        known = self._executor.contexts.get(step)
        if known is not None:
            return known
        return until_available(lambda: self._executor.contexts.begin(step), self._runtime.sleep,
                               lambda: self._phase.is_stopped)

    def note_hook(self, row: ResourceState, hook: str, value: str | None, why: str) -> None:
        """Store the state of a breakpoint: the entry in the resource's data is the state, the event informs clients."""
        noted = self._event(row._replace(reason=why), None, None)
        self._journal.submit(self._leased.make_change(
            row=self._leased.row_numbered(row.id) or row, data=(Datum(hook, value),), events=(noted,) if why else ()))
        self._executor.stored_resources.forget(row.id)

    def _log_end(self, row: ResourceState) -> None:
        """Log failed steps at INFO, completed ones at DEBUG only: a line takes 70 us, a step 500 us."""
        _ended(row.action, row.status).inc()
        level = logging.INFO if row.status is Status.FAILED else logging.DEBUG
        if STEP_LOG.isEnabledFor(level):
            with working_on(row.name):
                STEP_LOG.log(level, 'Stack %s [%s]: %s (%s) %s_%s%s', self._leased.row.name, self._leased.id, row.name,
                             row.type, row.action, row.status, f': {row.reason}' if row.status is Status.FAILED else '')

    def _event(self, row: ResourceState, properties: Mapping[str, object] | None, work: StepContext | None) -> Event:
        physical_id = row.physical_id
        if physical_id is None:
            physical_id = self._executor.contexts.physical_name(row, work)
        shown = None if properties is None else self._leased.definition.mask(properties)
        return stack_events.of_resource(self._runtime, row, physical_id, shown)


def _is_over(row: ResourceState, work: StepContext | None) -> bool:
    """Whether what the resource was marked with is over: a check has found it well."""
    record = None if work is None or work.resource is None else work.resource.record
    return (record is not None and MARKED in (record.cause or {})
            and row.status is Status.COMPLETE and not marks.is_unhealthy(row))
