"""Makes the executor of a stack, with the facade that its resource types see."""

from __future__ import annotations

from heatlite.engine import clients
from heatlite.engine.durability.journal import Journal
from heatlite.engine.notify.notifications import Notify, Scaling
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.projects import Projects
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.engine.reconcile.resource_writer import NothingStored
from heatlite.engine.reconcile.stored_resource_cache import StoredResourceCache
from heatlite.engine.reconcile.use_cases import Provider


class Executors:
    """Makes the executor of any stack, in threads that load a stack to drive it and in those that only read one."""

    def __init__(self, core: EngineCore, driving: DrivingParts, notify: Notify, use_cases: Provider) -> None:
        self._runtime = core.runtime
        self._database = core.database
        self._registry = core.registry
        self._journal = driving.journal
        self._settings = driving.settings
        self._may_act = driving.may_act
        self._notify = notify
        self._use_cases = use_cases
        self._projects = Projects(core.runtime, core.database)

    def driving(self, leased: LeasedStack) -> StepExecutor:
        return self._make(leased, self._journal)

    def reading(self, leased: LeasedStack) -> StepExecutor:
        """Make the executor of a stack that is only read: nothing is written."""
        return self._make(leased, None)

    def _make(self, leased: LeasedStack, journal: Journal | None) -> StepExecutor:
        def tell_scaling(scaling: Scaling) -> None:
            row = leased.row
            self._notify(row, row.action, row.status, row.reason, scaling)

        def facade(objects: ResourceObjects) -> Stack:
            use_cases = self._use_cases()
            return Stack(leased, objects.by_name, clients.of, self._runtime, scope=objects.scope,
                         nesting=use_cases.nest(leased), software=use_cases.software, alarms=use_cases.alarms,
                         default_timeout=self._registry.action_timeout,
                         project=lambda make, unmake: self._projects.of(leased, make, unmake),
                         tell_scaling=tell_scaling)

        settle = None if journal is None else lambda: journal.settle(leased.make_change())
        return StepExecutor(self._runtime, leased, NothingStored() if journal is None else journal,
                            self._registry.frozen(), facade,
                            StoredResourceCache(self._runtime, self._database, settle, leased.id,
                                                first_alone=journal is None and leased.unread_rows is not None),
                            self._may_act, observe=self._settings.observe, interval=self._settings.interval)
