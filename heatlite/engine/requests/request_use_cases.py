"""The use cases of requests: builds them from the parts of an engine, and says which message each of them serves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from oslo_config import cfg

from heatlite.common.context import RequestContext
from heatlite.common.limits import Limits
from heatlite.engine.lifecycle_plugin import LifecyclePlugins
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.notify.in_order import InOrder
from heatlite.engine.reconcile.action_ends import ActionEnds
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.reconcile.controller import StackController
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.former_owners import FormerOwners
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.nesting import Children, Nesting
from heatlite.engine.reconcile.revisions import RevisionRecorder
from heatlite.engine.reconcile.runners import Runners
from heatlite.engine.reconcile.stack_reader import StackReader
from heatlite.engine.reconcile.use_cases import UseCases
from heatlite.engine.requests import price_file
from heatlite.engine.requests.acceptance import Acceptance
from heatlite.engine.requests.alarms import Alarms
from heatlite.engine.requests.checked_definitions import CheckedDefinitions
from heatlite.engine.requests.constraint_values import ConstraintValues
from heatlite.engine.requests.deployment_results import DeploymentResults
from heatlite.engine.requests.drift import Drift, DriftSettings
from heatlite.engine.requests.drift_watch import DriftWatch, DriftWatchSettings
from heatlite.engine.requests.forced_deletes import ForcedDeletes
from heatlite.engine.requests.guards import Guards
from heatlite.engine.requests.health import Health
from heatlite.engine.requests.live_values import LiveValues
from heatlite.engine.requests.nested_stacks import NestedStacks
from heatlite.engine.requests.ownership import Owners
from heatlite.engine.requests.plan_checks import PlanChecks
from heatlite.engine.requests.plan_policies import PlanPolicies, PolicySettings
from heatlite.engine.requests.plans import PlanBounds, Plans
from heatlite.engine.requests.previews import Previews
from heatlite.engine.requests.project_templates import ProjectTemplates
from heatlite.engine.requests.quotas import QuotaChecks, Quotas
from heatlite.engine.requests.refactor_store import RefactorStore
from heatlite.engine.requests.refactors import Refactors
from heatlite.engine.requests.request_parts import RequestParts
from heatlite.engine.requests.server_metadata import ServerMetadata
from heatlite.engine.requests.signals import Signals
from heatlite.engine.requests.snapshot_copies import SnapshotCopies
from heatlite.engine.requests.snapshots import Snapshots
from heatlite.engine.requests.software import Software
from heatlite.engine.requests.stack_actions import StackActions
from heatlite.engine.requests.stack_sets import StackSets
from heatlite.engine.requests.stack_updates import StackUpdates
from heatlite.engine.requests.stacks import Stacks
from heatlite.engine.requests.stored_stacks import StoredStacks
from heatlite.engine.requests.unchanged import UnchangedUpdates
from heatlite.rpc import messages


@dataclass(frozen=True)
class EngineParts:
    """What the use cases need of their engine. `wake(stack_id)`: looks at a stack or a shard now;
    `wake_other(stack_id, engine_id)`: wakes up another engine, or any (None)."""

    core: EngineCore
    controller: StackController
    reader: StackReader
    runners: Runners
    sinks: EventSinks
    recorder: RevisionRecorder
    authority: Authority
    former_owners: FormerOwners
    plugins: LifecyclePlugins
    notify: InOrder
    ends: ActionEnds
    alarms: Alarms
    wake: Callable[[str], None]
    wake_other: Callable[[str, str | None], None]


class RequestUseCases:
    """`drift_watch` and `forced_deletes` have threads; `plan_checks` and `policies` read files."""

    def __init__(self, conf: cfg.ConfigOpts, parts: EngineParts) -> None:
        runtime, database = parts.core.runtime, parts.core.database
        self._conf = conf
        self._parts = parts
        shared = self._shared_parts()
        self.stacks = Stacks(shared)
        self.updates = StackUpdates(shared)
        self.actions = StackActions(shared)
        self.nested = NestedStacks(shared, self.actions)
        self.children = Children(runtime, database)
        self.plan_checks = PlanChecks(runtime, conf.plans.check_timeout, lambda: price_file.load(conf.plans.prices),
                                      conf.plans.rating_currency if conf.plans.rating else None)
        self.policies = PlanPolicies(runtime, PolicySettings.of(conf))
        self.plans = Plans(runtime, database, self.stacks, self.updates, self.actions, PlanBounds(
            lifetime=conf.plans.lifetime, per_project=conf.plans.max_plans_per_project,
            needs_approval=conf.plans.needs_approval, refuse_errors=conf.plans.refuse_errors), self.plan_checks,
            self.policies)
        self.refactors = Refactors(
            shared, self.stacks, self.updates,
            RefactorStore(shared, parts.sinks, parts.ends, conf.max_events_per_stack), conf.max_nested_stack_depth)
        self.guards = Guards(runtime, database)
        self.snapshots = Snapshots(shared, self.actions, SnapshotCopies(runtime, parts.core.registry, parts.reader),
                                   conf.max_snapshots_per_stack)
        self.stack_sets = StackSets(runtime)
        self.drift = Drift(runtime, database, parts.reader, self.updates, parts.sinks,
                           DriftSettings(conf.drift.repair_interval, conf.plans.required))
        self.project_templates = ProjectTemplates(runtime, database)
        self.constraint_values = ConstraintValues(runtime)
        self.drift_watch = DriftWatch(runtime, database, DriftWatchSettings.of(conf), self.drift.watch)
        self.forced_deletes = ForcedDeletes(runtime, database, self.actions, conf.engine.force_delete_timeout)
        self.health = Health(runtime, database, parts.reader, parts.sinks, parts.wake_other)
        self.signals = Signals(parts.core, shared.acceptance, parts.sinks)
        self.software = Software(runtime, database, conf.max_software_configs_per_tenant,
                                 conf.max_software_deployments_per_tenant,
                                 ServerMetadata(database, parts.reader.resource_of, parts.runners.forget_row))
        self.deployment_results = DeploymentResults(self.software)
        self.live_values = LiveValues(parts.reader)

    def _shared_parts(self) -> RequestParts:
        """Build what the use cases of stacks share. The previews ask for the use cases when they are made."""
        conf, parts, core = self._conf, self._parts, self._parts.core
        limits = Limits.of(conf)
        return RequestParts(
            core=core,
            acceptance=Acceptance(core, parts.controller, parts.wake_other, parts.recorder, conf.action_retry_limit,
                                  parts.notify, conf.max_events_per_stack),
            stored_stacks=StoredStacks(core),
            owners=Owners(core.runtime, core.database, parts.authority),
            authority=parts.authority,
            former_owners=parts.former_owners,
            recorder=parts.recorder,
            limits=limits,
            quotas=QuotaChecks(core.database, core.registry, Quotas(
                resources_per_stack=conf.max_resources_per_stack, stacks_per_project=conf.max_stacks_per_tenant,
                stack_adopt=conf.enable_stack_adopt, stack_abandon=conf.enable_stack_abandon,
                plan_required=conf.plans.required), limits),
            checked_definitions=CheckedDefinitions(core.registry),
            previews=Previews(core, self.for_stacks, conf.max_resources_per_stack, conf.observe_on_update),
            unchanged=UnchangedUpdates(core, parts.recorder, conf.observe_on_update, conf.max_events_per_stack,
                                       parts.plugins, parts.ends))

    def for_stacks(self) -> UseCases:
        """Return the use cases that driving a stack needs."""
        return UseCases(self.snapshots, self.software, self._parts.alarms, self._nesting)

    def _nesting(self, leased: LeasedStack) -> Nesting:
        return Nesting(leased, self.nested, self.children, self._parts.core.database, self._parts.reader.read,
                       self._conf.max_nested_stack_depth, self._conf.auth_encryption_key or '')

    def by_message(self) -> dict[type[messages.Message], Callable[..., object]]:
        """Return message -> use case."""
        stacks, types, alarms = self.stacks, self._parts.core.registry, self._parts.alarms
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
            messages.LookForDrift: self.drift.check,
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
            messages.CollectDeployment: self.deployment_results.collect,
            messages.SignalResource: self.signals.signal,
            messages.MarkUnhealthy: self.health.mark,
            messages.ResolveOutputs: self.live_values.outputs,
            messages.ResourceAttributes: self.live_values.attributes,
            messages.ListResourceTypes: types.list_types,
            messages.ResourceSchema: types.schema,
            messages.GenerateTemplate: types.template,
            messages.ListConstraintValues: self.constraint_values.values,
            messages.PutMetricData: alarms.put_data,
            messages.PutAlarm: alarms.put_alarm,
            messages.DeleteAlarms: alarms.delete_alarms,
            messages.SetAlarmState: alarms.set_state,
            messages.EnableAlarmActions: alarms.enable_actions,
            messages.Wake: self._wake,
        }

    def _wake(self, context: RequestContext, message: messages.Wake) -> None:
        self._parts.wake(message.stack_id)
