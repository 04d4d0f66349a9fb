"""Writes the row of a stack itself during its life: the begin, the failure, the rollback and the end of its actions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.db import codec, stacks, templates
from heatlite.engine.durability.journal import LeaseLost, Superseded
from heatlite.engine.reconcile import action_spans, loading, outputs, plan_references, rollback, stack_events
from heatlite.engine.reconcile.accepted_definitions import AcceptedDefinitions
from heatlite.engine.reconcile.clean_up import CleanUp
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.revisions import Content, RevisionRecorder
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.settled import settled
from heatlite.engine.reconcile.stack_reporter import StackReporter
from heatlite.engine.reconcile.timeouts import Timeouts
from heatlite.engine.reconcile.use_cases import Provider
from heatlite.language.definition import StackDefinition
from heatlite.planning import commands, text
from heatlite.planning.states import Action, Change, Event, StackChange, Status


class StackLifecycle:
    """Writes the rows of stacks, called back by their runners, each in its own thread: see `runner.RunnerCallbacks`."""

    def __init__(self, core: EngineCore, driving: DrivingParts, definitions: AcceptedDefinitions, timeouts: Timeouts,
                 clean_up: CleanUp, recorder: RevisionRecorder, reporter: StackReporter, use_cases: Provider) -> None:
        self._runtime = core.runtime
        self._database = core.database
        self._registry = core.registry
        self._journal = driving.journal
        self._sinks = driving.sinks
        self._definitions = definitions
        self._timeouts = timeouts
        self._clean_up = clean_up
        self._recorder = recorder
        self._reporter = reporter
        self._use_cases = use_cases

    # --- the begin of an action -------------------------------------------------------------------------

    def begin(self, runner: Runner) -> list[commands.Command]:
        refusal = self._reporter.refusal(runner)
        if refusal is not None:
            runner.leased.traversal.stop()           # the refusal is reported, not the traversal's own end
            return [commands.Finish(Status.FAILED, refusal)]
        return _prepared(runner.leased, runner.leased.traversal.start(self._runtime.now(), _leave_unvisited(runner)))

    # --- a newer request --------------------------------------------------------------------------------

    def catch_up(self, runner: Runner) -> list[commands.Command]:
        leased = runner.leased
        row = self._database.retry_until_available(lambda tx: stacks.get(tx, leased.id), reading=True)
        if row is None:
            raise LeaseLost(leased.id)
        if row.generation == leased.row.generation:
            runner.signal_dispatcher.check_for_signals()
            return [commands.Finish(None, '')] if runner.is_idle and not runner.signal_dispatcher.is_busy else []
        runner.is_idle = False
        if row.status != Status.IN_PROGRESS:        # cancelled: work in flight ends, nothing new starts
            started = leased.row.started_at or leased.row.created_at
            self._take_row(leased, row, self._database.retry_until_available(
                lambda tx: loading.stored_context(tx, row), reading=True))
            self._timeouts.watch(runner, started)
            next_commands = leased.traversal.stop()
        else:
            next_commands = self._follow(runner, row)
        # After the credentials were read: they may be those of another user.
        runner.signal_dispatcher.check_for_signals()
        return next_commands

    def _follow(self, runner: Runner, row: stacks.StoredStack,
                definition: StackDefinition | None = None) -> list[commands.Command]:
        """Retarget the traversal to the request in the stack's row."""
        leased = runner.leased
        if leased.row.action == Action.SNAPSHOT and leased.row.status == Status.IN_PROGRESS:
            self._use_cases().snapshots.finished(leased.row, Status.FAILED, text.cancelled(Action.SNAPSHOT))
        if definition is None:
            definition = self._definition(row)
        permissions, context = self._database.retry_until_available(
            lambda tx: (plan_references.permissions(tx, row), loading.stored_context(tx, row)), reading=True)
        self._take_row(leased, row, context)            # the credentials may be those of another user now
        leased.definition, leased.unread = definition, None
        runner.executor.objects.use_types(self._registry.frozen())
        self._sinks.follow(leased, runner.finish_if_idle)
        self._timeouts.watch(runner)
        return _prepared(leased, leased.traversal.retarget(
            loading.target(row, definition, permissions), self._runtime.now(),
            abort=text.USER_CANCEL if row.action == Action.DELETE else None, unvisited=_leave_unvisited(runner)))

    def _take_row(self, leased: LeasedStack, row: stacks.StoredStack, context: RequestContext) -> None:
        """Make the stack follow the request in `row`, and act in `context` from now on."""
        if leased.row.status == Status.IN_PROGRESS:
            action_spans.ended(leased, action_spans.SUPERSEDED)
        leased.row, leased.context = row, context
        leased.bind()

    def _definition(self, row: stacks.StoredStack) -> StackDefinition:
        accepted = self._definitions.take(row)
        if accepted is not None:
            return accepted
        stored = self._database.retry_until_available(lambda tx: templates.get(tx, row.template_id), reading=True)
        return loading.definition(stored, row, self._registry)

    # --- a failure --------------------------------------------------------------------------------------

    def report_failure(self, runner: Runner, reason: str, rolls_back: bool) -> list[commands.Command]:
        leased = runner.leased
        failed = self._event(leased, Status.FAILED, reason)
        self._reporter.ended(runner, Status.FAILED, reason)
        if rolls_back:
            return self._roll_back(runner, failed)
        leased.row = replace(leased.row, status=Status.FAILED, reason=reason)
        self._journal.submit(leased.make_change(events=(failed,), stack=StackChange(
            leased.row.generation, status=Status.FAILED, reason=reason)),
            lambda why_not: self._reporter.poll_parent(leased.row))
        return []

    def _roll_back(self, runner: Runner, failed: Event) -> list[commands.Command]:
        """Store the begin of the rollback with the event of the failure, and retarget the traversal."""
        leased = runner.leased
        now = self._runtime.now()
        target_id, definition = self._rollback_target(leased, now)
        started = text.started(Action.ROLLBACK)
        after = replace(leased.row, action=Action.ROLLBACK, status=Status.IN_PROGRESS, reason=started,
                        template_id=target_id, previous_template_id=leased.row.template_id,
                        parameters=definition.parameters.shown(), generation=leased.row.generation + 1,
                        revision=stacks.next_revision(leased.row), updated_at=now, started_at=now)
        begun = stack_events.of_stack(self._runtime, after)
        try:
            self._journal.write(leased.make_change(events=(failed, begun), stack=StackChange(
                leased.row.generation, action=Action.ROLLBACK, status=Status.IN_PROGRESS, reason=started,
                template_id=target_id, previous_template_id=leased.row.template_id,
                parameters=codec.encode(after.parameters), description=str(definition.description),
                next_generation=after.generation, updated_at=now, revision=after.revision,
                revisions=self._recorder.of(leased.row, after, Content.of(definition), None))))
        except Superseded:
            return self.catch_up(runner)
        self._reporter.begun(after)
        return self._follow(runner, after, definition)

    def _rollback_target(self, leased: LeasedStack, now: datetime) -> tuple[str, StackDefinition]:
        def find(tx: Connection) -> tuple[str, templates.StoredTemplate]:
            target_id = rollback.target(tx, leased.row, self._runtime.uuid(), now)
            return target_id, templates.get(tx, target_id)

        target_id, stored = self._database.retry_until_available(find)
        return target_id, loading.definition(stored, leased.row, self._registry)

    # --- the end of an action ---------------------------------------------------------------------------

    def finish(self, runner: Runner, status: Status | None, reason: str, release: bool = True) -> bool:
        leased = runner.leased
        is_deleted = leased.row.action == Action.DELETE and status is Status.COMPLETE
        deleted_at = self._runtime.now() if is_deleted else None
        self._before_end(leased, status, reason, is_deleted)
        change = self._end_change(runner, status, reason, deleted_at, release)
        try:
            self._journal.write(change)
        except Superseded:
            return False
        if status is not None:
            leased.row = replace(leased.row, status=status, reason=reason)      # a runner may stay, for signals
            self._reporter.ended(runner, status, reason)
            self._reporter.poll_parent(leased.row)
        if not is_deleted and (status is not None or leased.row.status == Status.FAILED):   # see `report_failure`
            self._clean_up.after_action(leased)
        return True

    def _before_end(self, leased: LeasedStack, status: Status | None, reason: str, is_deleted: bool) -> None:
        """Do what must be done while the stack is not at its end: complete its snapshot, delete what belongs to it."""
        row = leased.row
        if row.action == Action.SNAPSHOT and (status is not None or row.status == Status.FAILED):
            self._journal.check(leased.id, leased.lease.epoch)
            self._use_cases().snapshots.finished(row, status or Status.FAILED, reason or row.reason)
        if is_deleted:
            if row.owner_id is None:                # the stack needs its credentials for what is not deleted yet
                self._journal.check(leased.id, leased.lease.epoch)
            self._clean_up.before_removal(leased)

    def _end_change(self, runner: Runner, status: Status | None, reason: str, deleted_at: datetime | None,
                    release: bool) -> Change:
        """Return the change that ends an action. `status` None: it has ended before, and the outputs may have changed
        since."""
        leased, executor = runner.leased, runner.executor
        shown = brought = None
        if leased.row.action != Action.DELETE:
            resolved = outputs.resolve(leased.definition, executor.scope, executor.attributes.is_live)
            shown = codec.encode(resolved)
            brought = settled(leased, status, resolved, executor.objects.kind_of, executor.attributes.is_live,
                              self._recorder.key)
        return leased.make_change(
            events=() if status is None else (self._event(leased, status, reason),),
            stack=StackChange(
                leased.row.generation, status=status, reason=reason if status is not None else None, outputs=shown,
                deleted_at=deleted_at, settled=brought, release=release or deleted_at is not None))

    def has_unsent_events(self, runner: Runner, status: Status | None) -> bool:
        row = runner.leased.row
        if row.action == Action.DELETE and status is Status.COMPLETE:
            return False                            # its row is gone with that change
        return self._sinks.follows(row.id) if status is not None else self._sinks.is_behind(row.id)

    def give_up(self, leased: LeasedStack, reason: str) -> None:
        """Set a stack to FAILED that the engine cannot drive, so that its user can act."""
        self._journal.submit(leased.make_change(
            events=(self._event(leased, Status.FAILED, reason),),
            stack=StackChange(leased.row.generation, status=Status.FAILED, reason=reason, release=True)))

    def announce_given_up(self, row: stacks.StoredStack) -> None:
        """Inform everything that waits for a stack that it was given up, as at any other end of an action."""
        if row.action == Action.SNAPSHOT:
            self._use_cases().snapshots.finished(row, Status.FAILED, row.reason)
        self._reporter.given_up(row)

    def _event(self, leased: LeasedStack, status: str, reason: str) -> Event:
        return stack_events.of_stack(self._runtime, leased.row)._replace(status=status, reason=reason)


def _leave_unvisited(runner: Runner) -> frozenset[str]:
    """Return the resources that the action need not visit. If the rows of the stack are unread, the traversal takes
    over those that it needs then; it reads the others when one of them is asked for."""
    leased = runner.leased
    found = runner.executor.unvisited()
    leased.unread = None
    if found.read is not None:
        leased.traversal.take(found.read.rows, found.read.next_row, found.read.unread)
    return found.names


def _prepared(leased: LeasedStack, next_commands: list[commands.Command]) -> list[commands.Command]:
    """Return `next_commands`. Computes what their steps will ask of the whole definition before many ask at once."""
    if leased.row.action != Action.DELETE and not all(
            isinstance(command, commands.Finish) for command in next_commands):
        with suppress(exception.HeatException):     # the step that asks reports it
            leased.definition.find_referenced_attributes()
    return next_commands
