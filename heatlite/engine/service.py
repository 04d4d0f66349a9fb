"""One engine: creates its parts and connects them, starts and stops it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Mapping

from oslo_config import cfg
from sqlalchemy import Connection

from heatlite.common import crypt, exception, metrics, urlfetch
from heatlite.common.context import RequestContext
from heatlite.common.limits import Limits
from heatlite.common.runtime import Runtime
from heatlite.db import codec, shards
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine import attributes
from heatlite.engine.alarms.settings import AlarmSettings
from heatlite.engine.alarms.shard_controller import ShardController
from heatlite.engine.durability.journal import Journal
from heatlite.engine.durability.lease_manager import EngineDescription, LeaseManager
from heatlite.engine.durability.pool import Pool
from heatlite.engine.durability.timers import Timers
from heatlite.engine.lifecycle_plugin import LifecyclePlugins
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.notify.in_order import InOrder
from heatlite.engine.notify.notifications import Notify, silent
from heatlite.engine.reconcile import loading
from heatlite.engine.reconcile.accepted_definitions import AcceptedDefinitions
from heatlite.engine.reconcile.clean_up import CleanUp
from heatlite.engine.reconcile.controller import StackController
from heatlite.engine.reconcile.executors import Executors
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.lifecycle import StackLifecycle
from heatlite.engine.reconcile.nesting import Children, Nesting
from heatlite.engine.reconcile.revisions import Recorder
from heatlite.engine.reconcile.room import Room
from heatlite.engine.reconcile.runners import Runners
from heatlite.engine.reconcile.settings import ReconcileSettings
from heatlite.engine.reconcile.stack_reader import StackReader
from heatlite.engine.reconcile.timeouts import Timeouts
from heatlite.engine.reconcile.use_cases import UseCases
from heatlite.engine.requests import price_file
from heatlite.engine.requests.acceptance import Acceptance
from heatlite.engine.requests.admission import Admission
from heatlite.engine.requests.alarms import Alarms
from heatlite.engine.requests.checked_definitions import CheckedDefinitions
from heatlite.engine.requests.constraint_values import ConstraintValues
from heatlite.engine.requests.drift import Drift, DriftSettings
from heatlite.engine.requests.drift_watch import DriftWatch, DriftWatchSettings
from heatlite.engine.requests.endpoint import Endpoint
from heatlite.engine.requests.forced_deletes import ForcedDeletes
from heatlite.engine.requests.foresight import Foresight
from heatlite.engine.requests.guards import Guards
from heatlite.engine.requests.health import Health
from heatlite.engine.requests.nested_stacks import NestedStacks
from heatlite.engine.requests.plan_checks import PlanChecks
from heatlite.engine.requests.plan_policies import PlanPolicies, PolicySettings
from heatlite.engine.requests.plans import PlanBounds, Plans
from heatlite.engine.requests.project_templates import ProjectTemplates
from heatlite.engine.requests.quotas import QuotaChecks, Quotas
from heatlite.engine.requests.refactors import Refactors
from heatlite.engine.requests.signals import Signals
from heatlite.engine.requests.snapshots import Snapshots
from heatlite.engine.requests.software import Software
from heatlite.engine.requests.stack_actions import StackActions
from heatlite.engine.requests.stack_sets import StackSets
from heatlite.engine.requests.stack_updates import StackUpdates
from heatlite.engine.requests.stacks import Stacks
from heatlite.engine.requests.stored_stacks import StoredStacks
from heatlite.engine.requests.unchanged import UnchangedUpdates
from heatlite.engine.resource import Resource
from heatlite.engine.types import registry as registries
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)

BINARY, TOPIC = 'heat-engine', 'engine'


class EngineService:
    def __init__(self, conf: cfg.ConfigOpts, runtime: Runtime, database: Database, *, engine_id: str | None = None,
                 wake: Callable[[str, str | None], None] = lambda stack_id, engine_id: None,
                 notify: Notify = silent) -> None:
        """`wake(stack_id, engine_id)`: wakes up another engine, or any (None). Raises Error for wrong options."""
        crypt.check_keys(conf)
        self.engine_id = engine_id or runtime.uuid()
        self._conf = conf
        self._runtime = runtime
        self._database = database
        self._wake_other = wake
        self._notify = InOrder(notify)
        self.registry = registries.create(conf)
        self._sinks = EventSinks(runtime, database, lambda stack_id: loading.for_reading(
            runtime, database, stack_id, self.registry.operator))
        self._recorder = Recorder(conf.revisions.keep, conf.auth_encryption_key)
        self._plugins = LifecyclePlugins.installed()
        self.runners = Runners()
        self._journal = Journal(runtime, database, largest=conf.journal.max_changes, refused=self.runners.stop_failed,
                                noted=self._sinks.wake, owners=self.runners.owners)
        self._pool = Pool(runtime, conf.engine.runner_pool_size)
        room = Room(self._pool, conf.engine.max_stacks, conf.engine.max_resources_of_tree)
        self._timers = Timers(runtime)
        self._build_controller(room)
        self.lease_manager = LeaseManager(
            runtime, database, self.engine_id, self._describe, ttl=conf.engine.lease_ttl,
            sweep_interval=conf.engine.sweep_interval, vacant=self.controller.vacant, acquire=self._acquire,
            is_driven=self._drives, begin_sweep=self.controller.wake_signalled)
        alarm_settings = AlarmSettings.of(conf)
        self.shards = ShardController(
            runtime, database, self.engine_id, alarm_settings,
            lambda url, body: urlfetch.post(url, body, alarm_settings.webhook_timeout), self._may_act, self._wake_owner)
        self.alarms = Alarms(runtime, database, alarm_settings, self.shards.tell, self._wake_owner)
        self._build_use_cases()
        self.endpoint = Endpoint(self._handlers(), Admission(
            runtime, lambda project: self._pool.users(project) + self._journal.trees(project)).wait)

    @property
    def is_idle(self) -> bool:
        """Whether this engine drives no stack."""
        return self.controller.is_idle

    def _build_controller(self, room: Room) -> None:
        """Build the controller and its parts. They ask for the use cases when they drive a stack."""
        conf, runtime, database, registry = self._conf, self._runtime, self._database, self.registry
        settings = ReconcileSettings(
            action_timeout=conf.stack_action_timeout, retry_limit=conf.action_retry_limit,
            interval=conf.engine.poll_interval, patience=conf.error_wait_time, observe=conf.observe_on_update,
            events=conf.max_events_per_stack)
        executors = Executors(runtime, database, registry, self._journal, self._may_act, self._notify,
                              self._for_stacks, settings.observe, settings.interval)
        self.reader = StackReader(runtime, database, registry, self.runners, executors)
        definitions = AcceptedDefinitions()
        timeouts = Timeouts(runtime, self._timers, self.runners, settings.action_timeout)
        clean_up = CleanUp(runtime, database, registry, self._recorder, self._for_stacks, settings.events)
        lifecycle = StackLifecycle(runtime, database, registry, self._journal, self.runners, definitions, timeouts,
                                   clean_up, self._sinks, self._recorder, self._notify, self._for_stacks, self._plugins)
        self.controller = StackController(runtime, database, self.engine_id, registry, self._journal, self._pool,
                                          room, self._timers, settings, self._sinks, self.runners, definitions,
                                          executors, timeouts, lifecycle, self._claim)

    def _build_use_cases(self) -> None:
        conf, runtime, database, registry = self._conf, self._runtime, self._database, self.registry
        limits, stored = Limits.of(conf), StoredStacks(database, registry)
        quotas = QuotaChecks(database, registry, Quotas(
            resources_per_stack=conf.max_resources_per_stack, stacks_per_project=conf.max_stacks_per_tenant,
            stack_adopt=conf.enable_stack_adopt, stack_abandon=conf.enable_stack_abandon,
            plan_required=conf.plans.required), limits)
        acceptance = Acceptance(runtime, database, self.controller, self.engine_id, self._wake_other, self._recorder,
                                conf.action_retry_limit, self._notify)
        foresight = Foresight(runtime, database, registry, self._for_stacks, conf.max_resources_per_stack,
                              conf.observe_on_update)
        known = CheckedDefinitions(registry)
        self.stacks = Stacks(runtime, database, registry, acceptance, quotas, limits, foresight, known)
        unchanged = UnchangedUpdates(runtime, database, self.engine_id, self._recorder, conf.observe_on_update,
                                     conf.max_events_per_stack, self._plugins, self._notify)
        self.updates = StackUpdates(runtime, database, registry, acceptance, stored, quotas, limits, foresight,
                                    self._recorder, unchanged, known)
        self.actions = StackActions(runtime, database, acceptance, stored, quotas, foresight, self._recorder,
                                    self.updates.renewed_authority)
        self.nested = NestedStacks(runtime, database, registry, acceptance, stored, quotas, self.actions)
        self.children = Children(runtime, database)
        self.plan_checks = PlanChecks(runtime, conf.plans.check_timeout, lambda: price_file.load(conf.plans.prices),
                                      conf.plans.rating_currency if conf.plans.rating else None)
        self.policies = PlanPolicies(runtime, PolicySettings.of(conf))
        self.plans = Plans(runtime, database, self.stacks, self.updates, self.actions, PlanBounds(
            lifetime=conf.plans.lifetime, per_project=conf.plans.max_plans_per_project,
            needs_approval=conf.plans.needs_approval, refuse_errors=conf.plans.refuse_errors), self.plan_checks,
            self.policies)
        self.refactors = Refactors(runtime, database, registry, self.engine_id, stored, quotas, self.stacks,
                                   self.updates, foresight, self._recorder, self._sinks, conf.max_events_per_stack,
                                   conf.max_nested_stack_depth, self._notify)
        self.guards = Guards(runtime, database)
        self.snapshots = Snapshots(runtime, database, self.actions, self.reader.read, conf.max_snapshots_per_stack)
        self.stack_sets = StackSets(runtime)
        self.drift = Drift(runtime, database, self.reader, self.updates, self._sinks,
                           DriftSettings(conf.drift.repair_interval, conf.plans.required))
        self.project_templates = ProjectTemplates(runtime, database)
        self.constraint_values = ConstraintValues(runtime)
        self.drift_watch = DriftWatch(runtime, database, DriftWatchSettings.of(conf), self.drift.watch)
        self.forced_deletes = ForcedDeletes(runtime, database, self.actions, conf.engine.force_delete_timeout)
        self.health = Health(runtime, database, self.reader, self._sinks, self._wake_other)
        self.signals = Signals(runtime, database, registry, acceptance, self._sinks)
        self.software = Software(runtime, database, conf.max_software_configs_per_tenant,
                                 conf.max_software_deployments_per_tenant,
                                 self.reader.resource_of, self.runners.forget_row)

    def _for_stacks(self) -> UseCases:
        """Return the use cases that driving a stack needs."""
        return UseCases(self.snapshots, self.software, self.alarms, self._nesting)

    def _nesting(self, leased: LeasedStack) -> Nesting:
        return Nesting(leased, self.nested, self.children, self._database, self.reader.read,
                       self._conf.max_nested_stack_depth, self._conf.auth_encryption_key or '')

    def start(self) -> None:
        """Load the plug-ins, register the engine and begin to sweep."""
        self.registry.load_plugins()
        self.lease_manager.start()
        self.drift_watch.start()
        self.forced_deletes.start()
        self._measure()
        LOG.info('Engine %s is up (process %d)', self.engine_id, os.getpid())

    def _measure(self) -> None:
        """Make metrics tell how much work waits, whenever they are collected."""
        for gauge, read in (
                (metrics.steps_waiting, lambda: self._pool.waiting),
                (metrics.steps_waiting_for_room, lambda: self.controller.waiting_for_room),
                (metrics.steps_running, lambda: self._pool.running),
                (metrics.stacks_loading, lambda: self.controller.loading),
                (metrics.timers_waiting, lambda: len(self._timers)),
                (metrics.journal_waiting, lambda: len(self._journal)),
                (metrics.lease_seconds_left, lambda: self.lease_manager.seconds_left)):
            gauge.set_function(read)

    def reload(self) -> None:
        """Reload plug-ins, environment files, prices and the rules about plans, for what begins from now on; running
        actions keep their types."""
        for what, reload in (('plug-ins', self.registry.reload_plugins), ('prices', self.plan_checks.reload),
                             ('rules about plans', self.policies.reload)):
            try:
                reload()
            except exception.Error as error:
                LOG.error('The %s were not read again: %s', what, error)
            except Exception:
                LOG.exception('The %s were not read again', what)
            else:
                LOG.info('The %s were read again', what)

    def stop(self) -> None:
        """Stop all runners, write pending changes, and give up all leases."""
        self.drift_watch.stop()
        self.forced_deletes.stop()
        self.controller.stop()
        self.shards.stop()
        if not self._journal.flush(self._conf.engine.stop_timeout):
            LOG.warning('Some changes could not be written before the engine stopped; others begin from what was')
        self.lease_manager.stop()
        self._pool.stop()
        self._timers.stop()
        self._journal.stop()
        LOG.info('Engine %s has stopped', self.engine_id)

    def _claim(self, tx: Connection, stack_id: str) -> Lease | None:
        return self.lease_manager.claim(tx, stack_id)

    def _may_act(self, lease: Lease) -> None:
        self.lease_manager.may_act(lease)

    def _acquire(self, lease: Lease) -> None:
        """Begin to drive a stack or a shard whose lease was just claimed."""
        (self.shards if shards.is_shard(lease.stack_id) else self.controller).acquire(lease)

    def _drives(self, stack_id: str) -> bool:
        """Whether this engine drives a stack or a shard."""
        return (self.shards if shards.is_shard(stack_id) else self.controller).drives(stack_id)

    def _wake(self, context: RequestContext, message: messages.Wake) -> None:
        """Look at a stack or a shard now."""
        if shards.is_shard(message.stack_id):
            self.shards.wake(message.stack_id)
        else:
            self.controller.wake(message.stack_id)

    def _wake_owner(self, stack_id: str, engine_id: str | None) -> None:
        """Wake up the owner of a stack or a shard; without one, this engine claims the stack if it has room."""
        if engine_id in (None, self.engine_id):
            self._wake(RequestContext(overwrite=False), messages.Wake(stack_id))
        else:
            self._wake_other(stack_id, engine_id)

    def _describe(self) -> EngineDescription:
        host = self._conf.host or socket.gethostname()
        return {'host': host, 'hostname': socket.gethostname(), 'binary': BINARY, 'topic': TOPIC,
                'report_interval': self._conf.periodic_interval}

    def _handlers(self) -> dict[type[messages.Message], Callable[..., object]]:
        stacks, types = self.stacks, self.registry
        return {
            messages.CreateStack: stacks.create,
            messages.PreviewStack: stacks.preview,
            messages.CheckCreate: stacks.check,
            messages.UpdateStack: self.updates.update,
            messages.CheckUpdate: self.updates.check,
            messages.PreviewUpdateStack: self.updates.preview,
            messages.ValidateTemplate: stacks.validate,
            messages.DeleteStack: self.actions.delete,
            messages.ForceDeleteStack: self.forced_deletes.begin,
            messages.ReleaseStack: self.forced_deletes.release,
            messages.StackAction: self.actions.act,
            messages.CancelStack: self.actions.cancel,
            messages.AbandonStack: self.actions.abandon,
            messages.ExportStack: self.actions.export,
            messages.CreatePlan: self.plans.make,
            messages.ApprovePlan: self.plans.approve,
            messages.ApplyPlan: self.plans.apply,
            messages.DeletePlan: self.plans.delete,
            messages.SetProtections: self.guards.protect,
            messages.ChangeProtections: self.guards.change_protections,
            messages.LockStack: self.guards.lock,
            messages.UnlockStack: self.guards.unlock,
            messages.Refactor: self.refactors.refactor,
            messages.PreviewRefactor: self.refactors.preview,
            messages.LookForDrift: self.drift.look,
            messages.ListRegions: self.stack_sets.regions,
            messages.ListProjects: self.stack_sets.projects,
            messages.PreviewStackSet: self.stack_sets.preview,
            messages.StackSetDrift: self.stack_sets.drift,
            messages.GenerateProjectTemplate: self.project_templates.generate,
            messages.SnapshotStack: self.snapshots.create,
            messages.RestoreSnapshot: self.snapshots.restore,
            messages.DeleteSnapshot: self.snapshots.delete,
            messages.CreateSoftwareConfig: self.software.create_config,
            messages.DeleteSoftwareConfig: self.software.delete_config,
            messages.CreateSoftwareDeployment: self.software.create_deployment,
            messages.UpdateSoftwareDeployment: self.software.update_deployment,
            messages.DeleteSoftwareDeployment: self.software.delete_deployment,
            messages.SignalResource: self.signals.signal,
            messages.MarkUnhealthy: self.health.mark,
            messages.ResolveOutputs: self._resolve_outputs,
            messages.ResourceAttributes: self._resource_attributes,
            messages.ListResourceTypes: types.list_types,
            messages.ResourceSchema: types.schema,
            messages.GenerateTemplate: types.template,
            messages.ListConstraintValues: self.constraint_values.values,
            messages.PutMetricData: self.alarms.put_data,
            messages.PutAlarm: self.alarms.put_alarm,
            messages.DeleteAlarms: self.alarms.delete_alarms,
            messages.SetAlarmState: self.alarms.set_state,
            messages.EnableAlarmActions: self.alarms.enable_actions,
            messages.Wake: self._wake,
        }

    def _resolve_outputs(self, context: RequestContext, message: messages.ResolveOutputs) -> list[dict[str, object]]:
        found = self.reader.outputs(message.stack_id, context)
        return [each for each in found if message.keys is None or each['output_key'] in message.keys]

    def _resource_attributes(self, context: RequestContext, message: messages.ResourceAttributes) -> dict[str, object]:
        """Read the value of `show` if the type has it, else all attributes; and those in `names`. Calls services.

        A value is null if the resource does not have it, or it cannot be read now.
        """
        def ask(stack: Stack) -> dict[str, object]:
            resource = stack[message.resource_name]
            shown = _or_null(resource, attributes.SHOW_ATTR) if attributes.SHOW_ATTR in resource.attributes else None
            if not isinstance(shown, Mapping):
                shown = {name: _or_null(resource, name) for name in resource.attributes if name != attributes.SHOW_ATTR}
            named = {name: _or_null(resource, name) for name in message.names}
            return {**named, **shown, **{name: value for name, value in named.items() if value is not None}}

        found: dict[str, object] = codec.decode(codec.encode(self.reader.asked(
            message.stack_id, context, ask, message.resource_name)))
        return found


def _or_null(resource: Resource, attribute: str) -> object:
    try:
        return resource.live_attribute(attribute)
    except Exception as error:
        LOG.info('Attribute %s of %s cannot be read: %s', attribute, resource.name, error)
        return None
