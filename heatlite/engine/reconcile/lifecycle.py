"""Writes the row of a stack itself during its life: the begin, the failure, the rollback and the end of its actions."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from heatlite.common import defects, exception
from heatlite.common.context import RequestContext
from heatlite.db import codec, stacks, templates
from heatlite.engine.durability.journal import LeaseLost, Superseded
from heatlite.engine.lifecycle_plugin import LifecyclePlugins
from heatlite.engine.reconcile import (
    action_spans,
    loading,
    outputs,
    plan_references,
    request_keys,
    rollback,
    stack_events,
)
from heatlite.engine.reconcile.accepted_definitions import AcceptedDefinitions
from heatlite.engine.reconcile.action_ends import ActionEnds
from heatlite.engine.reconcile.clean_up import CleanUp
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.revisions import Content, RevisionRecorder
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.settled import settled
from heatlite.engine.reconcile.timeouts import Timeouts
from heatlite.language.definition import StackDefinition
from heatlite.planning import commands, text
from heatlite.planning.revisions import DEFINING, RevisionOutcome
from heatlite.planning.states import Action, StackChange, Status

LOG = logging.getLogger(__name__)


class StackLifecycle:
    """Writes the rows of stacks, called back by their runners, each in its own thread: see `runner.RunnerCallbacks`."""

    def __init__(self, core: EngineCore, driving: DrivingParts, definitions: AcceptedDefinitions, timeouts: Timeouts,
                 clean_up: CleanUp, recorder: RevisionRecorder, plugins: LifecyclePlugins, ends: ActionEnds) -> None:
        self._runtime = core.runtime
        self._database = core.database
        self._registry = core.registry
        self._journal = driving.journal
        self._sinks = driving.sinks
        self._definitions = definitions
        self._timeouts = timeouts
        self._clean_up = clean_up
        self._recorder = recorder
        self._plugins = plugins
        self._ends = ends

    # --- the begin of an action -------------------------------------------------------------------------

    def begin(self, runner: Runner) -> list[commands.Command]:
        leased = runner.leased
        self._ends.end_snapshot(leased.row, leased.lease.epoch)
        if leased.row.status != Status.IN_PROGRESS:
            leased.complete_rows()
            return leased.traversal.conclude() + _cancelled_below(runner)
        refusal = self._refusal(runner)
        if refusal is not None:
            leased.traversal.stop()                  # the refusal is reported, not the traversal's own end
            return [commands.Finish(Status.FAILED, refusal)]
        return _prepared(leased, leased.traversal.start(self._runtime.now(), _leave_unvisited(runner)))

    def _refusal(self, runner: Runner) -> str | None:
        """Ask the lifecycle plug-ins of the operator whether an action may begin. Return why one refuses it, or None.
        Raises DatabaseUnavailable: the action begins once the database is there again."""
        if not self._plugins:
            return None
        leased = runner.leased
        try:
            self._plugins.before(leased.context, runner.executor.facade, None, leased.row.action)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            defects.log(LOG, error, 'A lifecycle plug-in refused %s of stack %s', leased.row.action, leased.id)
            return str(error.args[0]) if error.args else f'Failed stack pre-ops: {error}'
        return None

    # --- a newer request --------------------------------------------------------------------------------

    def catch_up(self, runner: Runner) -> list[commands.Command]:
        leased = runner.leased
        row = self._database.retry_until_available(lambda tx: stacks.get(tx, leased.id), reading=True)
        if row is None:
            raise LeaseLost(leased.id)
        if row.generation == leased.row.generation:
            runner.signal_dispatcher.check_for_signals()
            return runner.leave_if_idle()
        runner.follow()
        if row.status != Status.IN_PROGRESS:        # cancelled: work in flight ends, nothing new starts
            started = leased.row.started_at or leased.row.created_at
            self._take_row(leased, row, self._database.retry_until_available(
                lambda tx: loading.stored_context(tx, row), reading=True))
            self._timeouts.watch(runner, started)
            next_commands = leased.traversal.stop() + _cancelled_below(runner)
            shown = self._outputs(runner, has_failed=True)      # also those that work in flight will change
            self._journal.submit(leased.make_change(stack=StackChange(
                row.generation, outputs=codec.encode_or_null(shown))))
        else:
            next_commands = self._follow(runner, row)
        # After the credentials were read: they may be those of another user.
        runner.signal_dispatcher.check_for_signals()
        return next_commands

    def _follow(self, runner: Runner, row: stacks.StoredStack,
                definition: StackDefinition | None = None) -> list[commands.Command]:
        """Retarget the traversal to the request in the stack's row."""
        leased = runner.leased
        leased.complete_rows()
        self._ends.end_snapshot(_replaced(leased.row), leased.lease.epoch)
        self._ends.end_snapshot(row, leased.lease.epoch)
        if definition is None:
            definition = self._definition(row)
        permissions, context = self._database.retry_until_available(
            lambda tx: (plan_references.permissions(tx, row), loading.stored_context(tx, row)), reading=True)
        self._take_row(leased, row, context)            # the credentials may be those of another user now
        leased.define(definition)
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
        leased.follow(row, context)
        leased.bind()

    def _definition(self, row: stacks.StoredStack) -> StackDefinition:
        accepted = self._definitions.take(row)
        if accepted is not None:
            return accepted
        stored = self._database.retry_until_available(lambda tx: templates.get(tx, row.template_id), reading=True)
        return loading.definition(stored, row, self._registry)

    # --- a failure --------------------------------------------------------------------------------------

    def report_failure(self, runner: Runner, reason: str, rolls_back: bool) -> list[commands.Command]:
        failed = replace(runner.leased.row, status=Status.FAILED, reason=reason)
        try:
            return self._roll_back(runner, failed) if rolls_back else self._fail(runner, failed)
        except Superseded:
            return self.catch_up(runner)

    def _fail(self, runner: Runner, failed: stacks.StoredStack) -> list[commands.Command]:
        """Store that the action has failed, and report it. Work in flight ends by itself."""
        leased = runner.leased
        shown = self._outputs(runner, has_failed=True)
        self._journal.write(self._ends.change(failed, leased.lease.epoch, outputs=codec.encode_or_null(shown)))
        leased.take_end(failed)
        self._ends.report(failed, runner)
        return []

    def _roll_back(self, runner: Runner, failed: stacks.StoredStack) -> list[commands.Command]:
        """Store the begin of the rollback with the event of the failure, report both, and retarget the traversal."""
        leased = runner.leased
        now = self._runtime.now()
        target_id, definition = self._rollback_target(leased, now)
        started = text.started(Action.ROLLBACK)
        after = replace(leased.row, action=Action.ROLLBACK, status=Status.IN_PROGRESS, reason=started,
                        template_id=target_id, previous_template_id=leased.row.template_id,
                        parameters=definition.parameters.shown(), generation=leased.row.generation + 1,
                        revision=stacks.next_revision(leased.row), updated_at=now, started_at=now)
        events = tuple([stack_events.of_stack(self._runtime, each) for each in (failed, after)])
        self._journal.write(leased.make_change(events=events, stack=StackChange(
            leased.row.generation, action=Action.ROLLBACK, status=Status.IN_PROGRESS, reason=started,
            template_id=target_id, previous_template_id=leased.row.template_id,
            parameters=codec.encode(after.parameters), description=str(definition.description),
            next_generation=after.generation, updated_at=now, revision=after.revision,
            revisions=self._recorder.of(leased.row, after, Content.of(definition), None))))
        leased.take_end(failed)
        self._ends.report(failed, runner)
        self._ends.report_begin(after)
        return self._follow(runner, after, definition)

    def _rollback_target(self, leased: LeasedStack, now: datetime) -> tuple[str, StackDefinition]:
        def find(tx: Connection) -> tuple[str, templates.StoredTemplate]:
            target_id = rollback.target(tx, leased.row, self._runtime.uuid(), now)
            return target_id, templates.get(tx, target_id)

        target_id, stored = self._database.retry_until_available(find)
        return target_id, loading.definition(stored, leased.row, self._registry)

    # --- the end of an action ---------------------------------------------------------------------------

    def finish(self, runner: Runner, status: Status, reason: str, release: bool) -> bool:
        leased = runner.leased
        ended = replace(leased.row, status=status, reason=reason)
        self._ends.end_snapshot(ended, leased.lease.epoch)
        if ended.action == Action.DELETE and status is Status.COMPLETE:
            try:
                left = runner.fenced(lambda: self._before_removal(runner))
            except Superseded:
                return False
            ended = ended if left is None else replace(ended, status=Status.FAILED, reason=left)
        is_deleted = ended.action == Action.DELETE and ended.status == Status.COMPLETE
        deleted_at = self._runtime.now() if is_deleted else None
        shown = self._outputs(runner, has_failed=status is Status.FAILED)
        brought = None if shown is None else settled(
            leased, status, shown, runner.executor.objects.kind_of, runner.executor.attributes.is_live,
            self._recorder.key)
        try:
            self._journal.write(self._ends.change(
                ended, leased.lease.epoch, outputs=codec.encode_or_null(shown), settled=brought,
                deleted_at=deleted_at, release=release or is_deleted))
        except Superseded:
            return False
        leased.take_end(ended)                      # a runner may stay, for signals
        self._ends.report(ended, runner)
        if not is_deleted:
            self._clean_up.after_action(leased)
        return True

    def leave(self, runner: Runner, release: bool) -> bool:
        leased = runner.leased
        if leased.row.status == Status.IN_PROGRESS:         # a newer request took the place of the one that ended
            return False
        has_failed = leased.row.status == Status.FAILED     # perhaps while steps were under way: see `report_failure`
        if has_failed:
            self._ends.end_snapshot(leased.row, leased.lease.epoch)
        shown = codec.encode_or_null(self._outputs(runner, has_failed))
        # Only the deletion of what the definition no longer has is left: a rollback leads to it. Of an update that was
        # stopped before it was followed, the traversal has the one before.
        is_reached = (has_failed and leased.row.action in DEFINING and leased.traversal.has_applied
                      and leased.traversal.template_id == leased.row.template_id)
        try:
            self._journal.write(leased.make_change(stack=StackChange(
                leased.row.generation, outputs=shown, outcome=RevisionOutcome.COMPLETE if is_reached else None,
                release=release)))
        except Superseded:
            return False
        if has_failed:
            self._clean_up.after_action(leased)
        return True

    def _before_removal(self, runner: Runner) -> str | None:
        """Delete what belongs to a stack that is about to be marked as deleted. Returns why it may not be marked.
        Raises LeaseLost, and Superseded if another request was accepted meanwhile, or the runner was stopped."""
        leased = runner.leased

        def check() -> None:
            if runner.begins_nothing:
                raise Superseded(leased.id)
            self._journal.write(leased.make_change(stack=StackChange(leased.row.generation)))      # changes nothing

        if leased.row.owner_id is None:             # the stack needs its credentials for what is not deleted yet
            self._journal.check(leased.id, leased.lease.epoch)
        return self._clean_up.before_removal(leased, check)

    def _outputs(self, runner: Runner, has_failed: bool) -> list[dict[str, object]] | None:
        """Resolve the outputs of a stack; None while it is being deleted. `has_failed`: the action, so that a resource
        may be another row now than while it was being replaced."""
        leased, executor = runner.leased, runner.executor
        if leased.row.action == Action.DELETE:
            return None
        if has_failed:
            leased.traversal.choose_current()
        return outputs.resolve(leased.definition, executor.scope, executor.attributes.is_live)

    def has_unsent_events(self, runner: Runner, status: Status | None) -> bool:
        row = runner.leased.row
        if row.action == Action.DELETE and status is Status.COMPLETE:
            return False                            # its row is gone with that change
        return self._sinks.follows(row.id) if status is not None else self._sinks.is_behind(row.id)


def _leave_unvisited(runner: Runner) -> frozenset[str]:
    """Return the resources that the action need not visit. If the rows of the stack are unread, those that the
    traversal needs then are filled in, which are all if it visits all resources."""
    found = runner.executor.unvisited()
    if found.read is not None and found.names:
        runner.leased.fill(found.read)
    else:
        runner.leased.complete_rows()
    return found.names


def _cancelled_below(runner: Runner) -> list[commands.Command]:
    """Return what cancels the nested stacks that steps of a cancelled action wait for; for others, nothing."""
    if not request_keys.is_cancelled(runner.leased.row):
        return []
    return runner.leased.traversal.cut_short(runner.executor.owns_stack)


def _replaced(row: stacks.StoredStack) -> stacks.StoredStack:
    """Return the row of an action as it ends when another request takes its place."""
    if row.status != Status.IN_PROGRESS:
        return row
    return replace(row, status=Status.FAILED, reason=text.cancelled(row.action))


def _prepared(leased: LeasedStack, next_commands: list[commands.Command]) -> list[commands.Command]:
    """Return `next_commands`. Computes what their steps will ask of the whole definition before many ask at once."""
    if leased.row.action != Action.DELETE and not all(
            isinstance(command, commands.Finish) for command in next_commands):
        with suppress(exception.HeatException):     # the step that asks reports it
            leased.definition.find_referenced_attributes()
    return next_commands
