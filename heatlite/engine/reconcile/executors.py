"""Makes the executor of a stack, with the facade that its resource types see."""

from __future__ import annotations

from collections.abc import Callable

from heatlite.common.runtime import Runtime
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine import clients
from heatlite.engine.durability.journal import Journal
from heatlite.engine.notify.notifications import Notify, Scaling
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.projects import Projects
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.engine.reconcile.resource_writer import NothingStored
from heatlite.engine.reconcile.restored_snapshot import RestoredSnapshot
from heatlite.engine.reconcile.stored_resource_cache import StoredResourceCache
from heatlite.engine.reconcile.use_cases import Provider
from heatlite.engine.types.registry import TypeRegistry


class Executors:
    """Makes the executor of any stack, in threads that load a stack to drive it and in those that only read one."""

    def __init__(self, runtime: Runtime, database: Database, registry: TypeRegistry, journal: Journal,
                 may_act: Callable[[Lease], None], notify: Notify, use_cases: Provider, observe: bool,
                 interval: float) -> None:
        """`may_act(lease)`: returns once the lease is certainly valid; `observe`: every update compares with the state
        that the services report; `interval`: seconds between two checks."""
        self._interval = interval
        self._runtime = runtime
        self._database = database
        self._registry = registry
        self._journal = journal
        self._may_act = may_act
        self._notify = notify
        self._use_cases = use_cases
        self._observe = observe
        self._projects = Projects(runtime, database)

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
                         project=lambda make, unmake: self._projects.of(leased, make, unmake),
                         tell_scaling=tell_scaling)

        return StepExecutor(self._runtime, leased, NothingStored() if journal is None else journal,
                            self._registry.frozen(), facade,
                            StoredResourceCache(self._runtime, self._database, journal, leased.id,
                                                first_alone=journal is None and leased.unread is not None),
                            self._may_act,
                            observe=self._observe, saved=RestoredSnapshot(self._runtime, self._database, leased).entry,
                            interval=self._interval)
