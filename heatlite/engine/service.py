"""One engine: creates its parts and connects them, starts and stops it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oslo_config import cfg

from heatlite.common import crypt, exception, urlfetch
from heatlite.common.context import RequestContext
from heatlite.common.limits import Limits as TemplateLimits
from heatlite.common.runtime import Runtime
from heatlite.db import codec, shards
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine import attributes
from heatlite.engine.alarms.settings import Settings as AlarmSettings
from heatlite.engine.alarms.shard_controller import ShardController
from heatlite.engine.durability.journal import Journal
from heatlite.engine.durability.lease_manager import LeaseManager
from heatlite.engine.durability.pool import Pool
from heatlite.engine.durability.timers import Timers
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.notify.notifications import Notify, silent
from heatlite.engine.reconcile import loading
from heatlite.engine.reconcile.controller import Limits, StackController
from heatlite.engine.reconcile.nesting import Children, Nesting
from heatlite.engine.reconcile.revisions import Recorder
from heatlite.engine.requests import price_file
from heatlite.engine.requests.alarms import Alarms
from heatlite.engine.requests.drift import Drift
from heatlite.engine.requests.drift import Settings as DriftSettings
from heatlite.engine.requests.drift_watch import DriftWatch
from heatlite.engine.requests.drift_watch import Settings as WatchSettings
from heatlite.engine.requests.endpoint import Endpoint
from heatlite.engine.requests.forced_deletes import ForcedDeletes
from heatlite.engine.requests.guards import Guards
from heatlite.engine.requests.health import Health
from heatlite.engine.requests.plan_checks import PlanChecks
from heatlite.engine.requests.plan_policies import PlanPolicies
from heatlite.engine.requests.plan_policies import Settings as PolicySettings
from heatlite.engine.requests.plans import Bounds, Plans
from heatlite.engine.requests.signals import Signals
from heatlite.engine.requests.snapshots import Snapshots
from heatlite.engine.requests.software import Software
from heatlite.engine.requests.stacks import Quotas, Stacks
from heatlite.engine.types import registry as registries
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)

BINARY, TOPIC = 'heat-engine', 'engine'


class EngineService:
    def __init__(self, conf: cfg.ConfigOpts, runtime: Runtime, database: Database, *, engine_id: str | None = None,
                 wake: Callable[[str, str | None], None] = lambda stack_id, engine_id: None,
                 notify: Notify = silent) -> None:
        """`wake(stack_id, engine_id)`: wakes up another engine, or any (None). Raises Error for wrong options."""
        crypt.check_key(conf.auth_encryption_key)
        self.engine_id = engine_id or runtime.uuid()
        self._conf = conf
        self._runtime = runtime
        self._database = database
        self._wake_other = wake
        self._journal = Journal(runtime, database, largest=conf.journal.max_changes)
        self._pool = Pool(runtime, conf.engine.runner_pool_size)
        self._timers = Timers(runtime)
        self.registry = registries.create(conf)
        limits = Limits(stacks=conf.engine.max_stacks, action_timeout=conf.stack_action_timeout,
                        retry_limit=conf.action_retry_limit, interval=conf.engine.poll_interval,
                        patience=conf.error_wait_time, observe=conf.observe_on_update, events=conf.max_events_per_stack)
        sinks = EventSinks(runtime, database, lambda stack_id: loading.for_reading(
            runtime, database, stack_id, self.registry.operator))
        recorder = Recorder(conf.revisions.keep, conf.auth_encryption_key)
        self.controller = StackController(runtime, database, self.engine_id, self._journal, self._pool, self._timers,
                                          self.registry, limits, self._may_act, sinks, recorder, notify)
        self._journal.refused = self.controller.let_go
        self._journal.noted = sinks.ring
        self.lease_manager = LeaseManager(
            runtime, database, self.engine_id, self._describe, ttl=conf.engine.lease_ttl,
            sweep_interval=conf.engine.sweep_interval, room=self.controller.room, take=self._take,
            missing=self._missing)
        quotas = Quotas(resources_per_stack=conf.max_resources_per_stack,
                        stacks_per_project=conf.max_stacks_per_tenant,
                        stack_adopt=conf.enable_stack_adopt, stack_abandon=conf.enable_stack_abandon,
                        plan_required=conf.plans.required)
        self.stacks = Stacks(runtime, database, self.registry, self.controller, self.engine_id, quotas,
                             TemplateLimits.of(conf), wake, recorder, conf.action_retry_limit, notify)
        self.plan_checks = PlanChecks(runtime, conf.plans.check_timeout, lambda: price_file.load(conf.plans.prices))
        self.policies = PlanPolicies(runtime, PolicySettings.of(conf))
        self.plans = Plans(runtime, database, self.stacks, Bounds(
            lifetime=conf.plans.lifetime, per_project=conf.plans.max_plans_per_project,
            needs_approval=conf.plans.needs_approval, refuse_errors=conf.plans.refuse_errors), self.plan_checks,
            self.policies)
        self.guards = Guards(runtime, database)
        self.snapshots = Snapshots(runtime, database, self.stacks, self.controller.read, conf.max_snapshots_per_stack)
        self.controller.snapshots = self.snapshots
        self.drift = Drift(runtime, database, self.controller, self.stacks, sinks,
                           DriftSettings(conf.drift.repair_interval, conf.plans.required))
        self.drift_watch = DriftWatch(runtime, database, WatchSettings.of(conf), self.drift.watch)
        self.forced_deletes = ForcedDeletes(runtime, database, self.stacks, conf.engine.force_delete_timeout)
        self.health = Health(runtime, database, sinks, wake)
        self.signals = Signals(runtime, database, self.registry, self.controller, self.engine_id, wake,
                               sinks)
        self.software = Software(runtime, database, conf.max_software_configs_per_tenant,
                                 conf.max_software_deployments_per_tenant,
                                 self.controller.resource_of, self.controller.forget_row)
        self.controller.software = self.software
        alarm_settings = AlarmSettings.of(conf)
        self.shards = ShardController(
            runtime, database, self.engine_id, alarm_settings,
            lambda url, body: urlfetch.post(url, body, alarm_settings.webhook_timeout), self._may_act, self._wake_owner)
        self.alarms = Alarms(runtime, database, alarm_settings, self.shards.tell, self._wake_owner)
        self.controller.alarms = self.alarms
        children = Children(runtime, database)
        self.controller.nest = lambda leased: Nesting(leased, self.stacks, children, database, self.controller.read,
                                                      conf.max_nested_stack_depth)
        self.endpoint = Endpoint(self._use_cases())

    def start(self) -> None:
        """Load the plug-ins, register the engine and begin to sweep."""
        self.registry.load_plugins()
        self.lease_manager.start()
        self.drift_watch.start()
        self.forced_deletes.start()
        LOG.info('Engine %s is up (process %d)', self.engine_id, os.getpid())

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

    def _may_act(self, lease: Lease) -> None:
        self.lease_manager.may_act(lease)

    def _take(self, lease: Lease) -> None:
        """Begin to drive a stack or a shard whose lease was just claimed."""
        (self.shards if shards.is_shard(lease.stack_id) else self.controller).take(lease)

    def _missing(self, held: Iterable[Lease]) -> list[Lease]:
        """Return those of the leases `held` that nothing drives, at two calls in a row."""
        found = list(held)
        return [*self.controller.missing([each for each in found if not shards.is_shard(each.stack_id)]),
                *self.shards.missing([each for each in found if shards.is_shard(each.stack_id)])]

    def _wake(self, context: RequestContext, message: messages.Wake) -> None:
        """Look at a stack or a shard now."""
        if shards.is_shard(message.stack_id):
            self.shards.ring(message.stack_id)
        else:
            self.controller.wake(message.stack_id)

    def _wake_owner(self, stack_id: str, engine_id: str | None) -> None:
        """Wake up the owner of a stack or a shard; without one, this engine claims the stack if it has room."""
        if engine_id in (None, self.engine_id):
            self._wake(RequestContext(overwrite=False), messages.Wake(stack_id))
        else:
            self._wake_other(stack_id, engine_id)

    def _describe(self) -> dict[str, Any]:
        host = self._conf.host or socket.gethostname()
        return {'host': host, 'hostname': socket.gethostname(), 'binary': BINARY, 'topic': TOPIC,
                'report_interval': self._conf.periodic_interval}

    def _use_cases(self) -> dict[type[messages.Message], Callable[..., Any]]:
        stacks, types = self.stacks, self.registry
        return {
            messages.CreateStack: stacks.create,
            messages.PreviewStack: stacks.preview,
            messages.UpdateStack: stacks.update,
            messages.PreviewUpdateStack: stacks.preview_update,
            messages.ValidateTemplate: stacks.validate,
            messages.DeleteStack: stacks.delete,
            messages.ForceDeleteStack: self.forced_deletes.begin,
            messages.ReleaseStack: self.forced_deletes.release,
            messages.StackAction: stacks.act,
            messages.CancelStack: stacks.cancel,
            messages.AbandonStack: stacks.abandon,
            messages.ExportStack: stacks.export,
            messages.CreatePlan: self.plans.make,
            messages.ApprovePlan: self.plans.approve,
            messages.ApplyPlan: self.plans.apply,
            messages.DeletePlan: self.plans.delete,
            messages.SetProtections: self.guards.protect,
            messages.LockStack: self.guards.lock,
            messages.UnlockStack: self.guards.unlock,
            messages.LookForDrift: self.drift.look,
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
            messages.PutMetricData: self.alarms.put_data,
            messages.PutAlarm: self.alarms.put_alarm,
            messages.DeleteAlarms: self.alarms.delete_alarms,
            messages.SetAlarmState: self.alarms.set_state,
            messages.EnableAlarmActions: self.alarms.enable_actions,
            messages.Wake: self._wake,
        }

    def _resolve_outputs(self, context: RequestContext, message: messages.ResolveOutputs) -> list[dict[str, Any]]:
        found = self.controller.outputs(message.stack_id, context)
        return [each for each in found if message.keys is None or each['output_key'] in message.keys]

    def _resource_attributes(self, context: RequestContext, message: messages.ResourceAttributes) -> dict[str, Any]:
        """Read the value of `show` if the type has it, else all attributes; and those in `names`. Calls services.

        A value is null if the resource does not have it, or it cannot be read now.
        """
        def ask(stack: Any) -> dict[str, Any]:
            resource = stack[message.resource_name]
            shown = _or_null(resource, attributes.SHOW_ATTR) if attributes.SHOW_ATTR in resource.attributes else None
            if not isinstance(shown, Mapping):
                shown = {name: _or_null(resource, name) for name in resource.attributes if name != attributes.SHOW_ATTR}
            named = {name: _or_null(resource, name) for name in message.names}
            return {**named, **shown, **{name: value for name, value in named.items() if value is not None}}

        found: dict[str, Any] = codec.decode(codec.encode(self.controller.asked(message.stack_id, context, ask)))
        return found


def _or_null(resource: Any, attribute: str) -> Any:
    try:
        return resource.live_attribute(attribute)
    except Exception as error:
        LOG.info('Attribute %s of %s cannot be read: %s', attribute, resource.name, error)
        return None
