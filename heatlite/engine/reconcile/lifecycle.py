"""Writes the row of a stack itself during its life: the begin, the failure, the rollback and the end of its actions."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from heatlite.common import defects, exception, metrics
from heatlite.common.context import RequestContext
from heatlite.db import codec, stacks, templates
from heatlite.engine.durability.journal import Journal, LeaseLost, Superseded
from heatlite.engine.lifecycle_plugin import LifecyclePlugins
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.notify.notifications import Notify
from heatlite.engine.reconcile import action_spans, loading, outputs, plan_references, rollback, stack_events
from heatlite.engine.reconcile.accepted_definitions import AcceptedDefinitions
from heatlite.engine.reconcile.clean_up import CleanUp
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.revisions import Content, Recorder
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.runners import Runners
from heatlite.engine.reconcile.settled import settled
from heatlite.engine.reconcile.timeouts import Timeouts
from heatlite.engine.reconcile.use_cases import Provider
from heatlite.language.definition import StackDefinition
from heatlite.planning import commands, text
from heatlite.planning.states import Action, Event, StackChange, Status

LOG = logging.getLogger(__name__)


class StackLifecycle:
    """Writes the rows of stacks, called back by their runners, each in its own thread: see `runner.RunnerCallbacks`."""

    def __init__(self, core: EngineCore, journal: Journal, runners: Runners, definitions: AcceptedDefinitions,
                 timeouts: Timeouts, clean_up: CleanUp, sinks: EventSinks, recorder: Recorder, notify: Notify,
                 use_cases: Provider, plugins: LifecyclePlugins) -> None:
        self._runtime = core.runtime
        self._database = core.database
        self._registry = core.registry
        self._journal = journal
        self._runners = runners
        self._definitions = definitions
        self._timeouts = timeouts
        self._clean_up = clean_up
        self._sinks = sinks
        self._recorder = recorder
        self._notify = notify
        self._use_cases = use_cases
        self._plugins = plugins

    # --- the begin of an action -------------------------------------------------------------------------

    def begin(self, runner: Runner) -> list[commands.Command]:
        refusal = self._refusal(runner)
        if refusal is not None:
            runner.leased.traversal.stop()           # the refusal is reported, not the traversal's own end
            return [commands.Finish(Status.FAILED, refusal)]
        return _prepared(runner.leased, runner.leased.traversal.start(self._runtime.now(), _leave_unvisited(runner)))

    def _refusal(self, runner: Runner) -> str | None:
        """Return why a lifecycle plug-in of the operator refuses the action, or None."""
        if not self._plugins:
            return None
        leased = runner.leased
        try:
            self._plugins.before(leased.context, runner.executor.facade, None, leased.row.action)
        except exception.DatabaseUnavailable:
            raise                                   # the action begins once the database is there again
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
        return loading.definition(stored, row, self._registry.operator)

    # --- a failure --------------------------------------------------------------------------------------

    def unwind(self, runner: Runner, reason: str, rolls_back: bool) -> list[commands.Command]:
        leased = runner.leased
        failed = self._event(leased, leased.row.action, Status.FAILED, reason)
        self._notify(leased.row, leased.row.action, Status.FAILED, reason)
        self._measure(leased.row, leased.row.action, Status.FAILED)
        LOG.info('Stack %s [%s] %s_%s: %s', leased.row.name, leased.id, leased.row.action, Status.FAILED, reason)
        action_spans.ended(leased, Status.FAILED, reason)
        self._inform_plugins(runner, failed=True)
        if rolls_back:
            return self._roll_back(runner, failed)
        leased.row = replace(leased.row, status=Status.FAILED, reason=reason)
        self._journal.submit(leased.make_change(events=(failed,), stack=StackChange(
            leased.row.generation, status=Status.FAILED, reason=reason)),
            lambda why_not: self._runners.poll_parent(leased.row))
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
        self._notify(after, Action.ROLLBACK, Status.IN_PROGRESS, started)
        return self._follow(runner, after, definition)

    def _rollback_target(self, leased: LeasedStack, now: datetime) -> tuple[str, StackDefinition]:
        def find(tx: Connection) -> tuple[str, templates.StoredTemplate]:
            target_id = rollback.target(tx, leased.row, self._runtime.uuid(), now)
            return target_id, templates.get(tx, target_id)

        target_id, stored = self._database.retry_until_available(find)
        return target_id, loading.definition(stored, leased.row, self._registry.operator)

    # --- the end of an action ---------------------------------------------------------------------------

    def finish(self, runner: Runner, status: Status | None, reason: str, release: bool = True) -> bool:
        leased = runner.leased
        now = self._runtime.now()
        action = leased.row.action
        deleted = action == Action.DELETE and status is Status.COMPLETE
        if action == Action.SNAPSHOT and (status is not None or leased.row.status == Status.FAILED):
            self._journal.check(leased.id, leased.lease.epoch)
            self._use_cases().snapshots.finished(leased.row, status or Status.FAILED, reason or leased.row.reason)
        if deleted:
            if leased.row.owner_id is None:         # the stack needs its credentials for what is not deleted yet
                self._journal.check(leased.id, leased.lease.epoch)
            self._clean_up.before_removal(leased)
        shown = brought = None
        if not deleted and action != Action.DELETE:
            executor = runner.executor
            resolved = outputs.resolve(leased.definition, executor.scope, executor.attributes.is_live)
            shown = codec.encode(resolved)
            brought = settled(leased, status, resolved, executor.objects.kind_of, executor.attributes.is_live,
                              self._recorder.key)
        noted: tuple[Event, ...] = ()
        if status is not None:
            noted = (self._event(leased, action, status, reason),)
        try:
            self._journal.write(leased.make_change(events=noted, stack=StackChange(
                leased.row.generation, status=status, reason=reason if status is not None else None, outputs=shown,
                deleted_at=now if deleted else None, settled=brought, release=release or deleted)))
        except Superseded:
            return False
        if status is not None:
            leased.row = replace(leased.row, status=status, reason=reason)      # a runner may stay, for signals
            self._measure(leased.row, action, status)
            action_spans.ended(leased, status, reason)
            self._notify(leased.row, action, status, reason)
            self._inform_plugins(runner, failed=status is Status.FAILED)
            self._runners.poll_parent(leased.row)
            LOG.info('Stack %s [%s] %s_%s: %s', leased.row.name, leased.id, action, status, reason)
        if not deleted and (status is not None or leased.row.status == Status.FAILED):      # reported by `unwind`
            self._clean_up.after_action(leased)
        return True

    def has_unsent_events(self, runner: Runner, status: Status | None) -> bool:
        row = runner.leased.row
        if row.action == Action.DELETE and status is Status.COMPLETE:
            return False                            # its row is gone with that change
        return self._sinks.follows(row.id) if status is not None else self._sinks.is_behind(row.id)

    def _inform_plugins(self, runner: Runner, failed: bool) -> None:
        if self._plugins:
            self._plugins.after(runner.leased.context, runner.executor.facade, None, runner.leased.row.action,
                                is_stack_failure=failed)

    def give_up(self, leased: LeasedStack, reason: str) -> None:
        """Set a stack to FAILED that the engine cannot drive, so that its user can act."""
        self._journal.submit(leased.make_change(
            events=(self._event(leased, leased.row.action, Status.FAILED, reason),),
            stack=StackChange(leased.row.generation, status=Status.FAILED, reason=reason, release=True)))

    def announce_given_up(self, row: stacks.StoredStack) -> None:
        """Inform everything that waits for a stack that it was given up, as at any other end of an action."""
        if row.action == Action.SNAPSHOT:
            self._use_cases().snapshots.finished(row, Status.FAILED, row.reason)
        metrics.stacks_given_up.inc()
        self._measure(row, row.action, Status.FAILED)
        action_spans.send(row, Status.FAILED, row.reason)
        self._notify(row, row.action, Status.FAILED, row.reason)
        self._runners.poll_parent(row)

    def _measure(self, row: stacks.StoredStack, action: str, status: str) -> None:
        metrics.stacks.labels(action, status).inc()
        metrics.stack_seconds.labels(action, status).observe(
            (self._runtime.now() - action_spans.begin_of(row)).total_seconds())

    def _event(self, leased: LeasedStack, action: str, status: str, reason: str) -> Event:
        return stack_events.of_stack(self._runtime, leased.row)._replace(action=action, status=status, reason=reason)


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
