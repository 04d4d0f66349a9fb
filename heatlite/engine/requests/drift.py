"""Looks for drift: compares the objects of a stack with its definition, keeps the report, and has drift repaired.

A repair is an update of the root stack with its own definition. What is to be repaired is marked first: a resource
whose state is not certain is compared with reality by the update, one that is unhealthy is replaced; nothing else is
touched. The marks are stored before the update, so one that never begins, or fails, is made up for by the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from sqlalchemy import Connection

from heatlite.common import exception, metrics
from heatlite.common.context import RequestContext, Subject
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.common.timeutils import isotime
from heatlite.db import drift_reports, guards, leases, resources, settled_stacks, stacks
from heatlite.db.connection import Database
from heatlite.engine.clients import batched_reads
from heatlite.engine.clients.batched_reads import BatchedReads
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.observe import drift_checks
from heatlite.engine.reconcile import loading, request_keys
from heatlite.engine.reconcile.stack_reader import StackReader
from heatlite.engine.requests.stack_updates import StackUpdates
from heatlite.engine.requests.stored_stacks import check_idle, visible
from heatlite.planning import drift, marks, protection
from heatlite.planning.drift import DriftPolicy, DriftReport, ResourceDrift
from heatlite.planning.protection import Denial
from heatlite.planning.replacement import Reason, ReplacementCause
from heatlite.planning.states import Action, Event, ResourceState, Status
from heatlite.planning.steps import current_rows_of
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)

REQUEST, SCHEDULE = 'request', 'schedule'
DRIFTED, SAME = 'drifted', 'same'           # outcomes of looks, in metrics
REPLACED = 'The object has drifted and is replaced.'


@dataclass(frozen=True)
class DriftSettings:
    """`repair_interval`: least seconds between two repairs of one stack. `plans_required`: there are no updates without
    a plan, and so no repairs."""

    repair_interval: float
    plans_required: bool


class Drift:
    """Looks at one stack: for users in threads of requests (`check`), by schedule in that of `drift_watch`."""

    def __init__(self, runtime: Runtime, database: Database, reader: StackReader, updates: StackUpdates,
                 sinks: EventSinks, settings: DriftSettings) -> None:
        self._runtime = runtime
        self._database = database
        self._reader = reader
        self._updates = updates
        self._sinks = sinks
        self._settings = settings

    def check(self, context: RequestContext, message: messages.LookForDrift) -> drift.ReportDocument:
        """Compare a stack with reality, and keep the report; repair nothing. Returns the report.

        Raises EntityNotFound, ActionInProgress, Conflict if an action began meanwhile, TooLate.
        """
        with self._database.reader() as tx:
            row = self._row(tx, context, message.stack_id)
        with batched_reads.within(BatchedReads(self._runtime)):
            found, _marked = self._looked(context, row, REQUEST,
                                          lambda: context.check_in_time(self._runtime.now()))
        return drift.to_json(found)

    def watch(self, stack_id: str, reads: BatchedReads) -> bool:
        """Compare a stack with reality as the schedule wants it, and begin an update if policies want a repair.

        Returns whether an update began. Raises what `check` raises, and errors of the update.
        """
        with self._database.reader() as tx:
            row = stacks.get(tx, stack_id)
        if row is None or row.status == Status.IN_PROGRESS or request_keys.is_suspended(row):
            return False
        own = RequestContext(project_id=row.project_id, overwrite=False)
        with own.bound(Subject(row.id, row.name)), batched_reads.within(reads):
            report, marked = self._looked(own, row, SCHEDULE, lambda: None)
        if not marked:
            return False
        with self._database.reader() as tx:
            row = self._row(tx, own, stack_id)
            context = loading.stored_context(tx, row)
        with own.bound(Subject(row.id, row.name)):
            LOG.info('Drift of stack %s is repaired: %s', row.id,
                     ', '.join('/'.join(each.path) for each in report.resources if each.path in marked))
            # Refused after any other request: the tree may act for another user since, also with the same definition.
            self._updates.update(context, messages.UpdateStack(stack_id=row.id, existing=True),
                                 generation=row.generation)
        metrics.drift_repairs.inc()
        return True

    # --- helpers ------------------------------------------------------------------------------------------

    def _looked(self, context: RequestContext, row: stacks.StoredStack, by: str,
                may_go_on: Callable[[], None]) -> tuple[DriftReport, frozenset[tuple[str, ...]]]:
        """Look, store the report, add events, and mark what is to be repaired. Returns the report and the paths of
        what was marked."""
        at = self._runtime.now()
        drifts = self._reader.asked(row.id, context, lambda stack: list(drift_checks.compare(stack, may_go_on)))

        def store(tx: Connection) -> tuple[DriftReport, frozenset[tuple[str, ...]], list[Callable[[], None]]]:
            leases.lock(tx, row.id)                 # before the stack, as everywhere
            may_go_on()
            current = self._row(tx, context, row.id, for_update=True)
            if current.generation != row.generation:
                raise exception.Conflict(_('Another action of stack %s began while its objects were compared.')
                                         % row.name)
            before = drift_reports.report(tx, row.id)
            report = drift.report(isotime(at), by, drifts, before)
            repairs: tuple[ResourceDrift, ...] = ()
            if by == SCHEDULE:
                report = report.refused(dict(self._refusals(tx, current, report, at)))
                repairs = report.to_repair
            notices = [self._announce(tx, stacks.get(tx, stack_id), list(members), _('Drift: %s'))
                       for stack_id, members in _by_stack(drift.news(report, before))]
            notices += [self._mark(tx, stack_id, list(members)) for stack_id, members in _by_stack(repairs)]
            if repairs:
                drift_reports.note_repair(tx, row.id, at)
            drift_reports.store(tx, row.id, report)
            return report, frozenset(each.path for each in repairs), notices

        report, marked, notices = self._database.retry(store)
        for notify in notices:
            notify()
        metrics.drift_looks.labels(by, DRIFTED if report.drifted else SAME).inc()
        for finding, count in report.counts.items():
            metrics.drift_resources.labels(finding).inc(count)
        return report, marked

    def _refusals(self, tx: Connection, row: stacks.StoredStack, report: DriftReport,
                  now: datetime) -> Iterable[tuple[tuple[str, ...], str]]:
        """Yield (path, why it is not repaired)."""
        guarded = guards.of(tx, row.root_id)
        whole = ''
        last = drift_reports.repaired_at(tx, row.id)
        if guarded.lock is not None:
            whole = _('The stack is locked.')
        elif self._settings.plans_required:
            whole = _('Stacks are updated only by plans.')
        elif row.status != Status.COMPLETE:
            whole = _('The last action of the stack failed.')
        elif last is not None and now < last + timedelta(seconds=self._settings.repair_interval):
            whole = _('The last repair of the stack was at %s.') % isotime(last)
        suspended = {stack_id for stack_id in {_stack_of(each) for each in report.to_repair}
                     if _is_suspended(stacks.get(tx, stack_id))}
        for each in report.to_repair:
            denied = next(protection.blocked(guarded.protections, [(each.path, each.repair)]), None)
            if whole or denied is not None:
                yield each.path, whole or str(denied)
            elif _stack_of(each) in suspended:
                yield each.path, _('The stack is suspended.')

    def _mark(self, tx: Connection, stack_id: str, drifts: Sequence[ResourceDrift]) -> Callable[[], None]:
        """Make the next update of the tree bring these resources of one stack back."""
        leases.lock(tx, stack_id)
        row = stacks.get(tx, stack_id, for_update=True)
        if row is None:
            return lambda: None
        rows = {state.id: state for state in resources.light(tx, stack_id)}
        current = set(current_rows_of(row, rows.values()).values())
        leases.start_over(tx, stack_id)
        settled_stacks.unsettle(tx, stack_id)
        marked = []
        for each in drifts:
            state = rows.get(_row_of(each))
            if state is None or state.id not in current or state.in_progress:
                continue
            self._mark_one(tx, stack_id, state, each)
            marked.append(each)
        return self._announce(tx, row, marked, _('Drift is repaired: %s'))

    def _mark_one(self, tx: Connection, stack_id: str, state: ResourceState, resource_drift: ResourceDrift) -> None:
        is_gone = resource_drift.finding is drift.DriftFinding.GONE
        at = resource_drift.noticed_at or isotime(self._runtime.now())
        mark = (ReplacementCause(Reason.GONE, resource_drift.physical_id or '', at=at) if is_gone
                else ReplacementCause(Reason.DRIFT, str(resource_drift), at=at))
        if resource_drift.policy is DriftPolicy.REPLACE:
            resources.set_state(tx, stack_id, state._replace(
                action=Action.CHECK, status=Status.FAILED, reason=REPLACED, fingerprint=marks.unhealthy(state),
                updated_at=self._runtime.now()), mark)
        else:
            resources.set_fingerprint(tx, stack_id, state.id, marks.uncertain(state.fingerprint), mark)

    def _announce(self, tx: Connection, row: stacks.StoredStack | None, drifts: Sequence[ResourceDrift],
                  text: str) -> Callable[[], None]:
        """Add an event of each of these resources to their stack, if it is there; their states are not changed. `text`:
        with a place for the drift. Call the returned function after the commit."""
        if row is None or not drifts:
            return lambda: None
        return self._sinks.add_all(tx, row, [self._event(each, text % each) for each in drifts])

    def _event(self, resource_drift: ResourceDrift, reason: str) -> Event:
        failed = resource_drift.finding in drift.DRIFT and resource_drift.repair is Denial.REPLACE
        return Event(
            self._runtime.uuid(), self._runtime.now(), resource_drift.path[-1], resource_drift.type,
            resource_drift.physical_id, Action.CHECK, Status.FAILED if failed else Status.COMPLETE, reason,
            resource_id=_row_of(resource_drift))

    def _row(self, tx: Connection, context: RequestContext, stack_id: str,
             for_update: bool = False) -> stacks.StoredStack:
        row = visible(tx, stack_id, context, for_update=for_update)
        check_idle(row)
        return row


def _by_stack(drifts: Iterable[ResourceDrift]) -> Iterable[tuple[str, Iterable[ResourceDrift]]]:
    """Yield (id of a stack, the drifts of its resources in their order)."""
    return groupby(sorted(drifts, key=_stack_of), key=_stack_of)


def _stack_of(resource_drift: ResourceDrift) -> str:
    assert resource_drift.place is not None, 'it was read from a stored report'
    return resource_drift.place[0]


def _is_suspended(row: stacks.StoredStack | None) -> bool:
    return row is not None and request_keys.is_suspended(row)


def _row_of(resource_drift: ResourceDrift) -> int:
    assert resource_drift.place is not None, 'it was read from a stored report'
    return resource_drift.place[1]
