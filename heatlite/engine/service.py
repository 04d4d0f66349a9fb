"""One engine: creates its parts and connects them, starts and stops it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable

from oslo_config import cfg
from sqlalchemy import Connection

from heatlite.common import crypt, exception, metrics, urlfetch
from heatlite.common.runtime import Runtime
from heatlite.db import shards
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine import stopping
from heatlite.engine.alarms.settings import AlarmSettings
from heatlite.engine.alarms.shard_controller import ShardController
from heatlite.engine.durability.event_history import EventHistory
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
from heatlite.engine.reconcile.action_ends import ActionEnds
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.reconcile.capacity import StackCapacity
from heatlite.engine.reconcile.clean_up import CleanUp
from heatlite.engine.reconcile.controller import StackController
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.executors import Executors
from heatlite.engine.reconcile.former_owners import FormerOwners
from heatlite.engine.reconcile.given_up_stacks import GivenUpStacks
from heatlite.engine.reconcile.lifecycle import StackLifecycle
from heatlite.engine.reconcile.revisions import RevisionRecorder
from heatlite.engine.reconcile.runners import Runners
from heatlite.engine.reconcile.settings import ReconcileSettings
from heatlite.engine.reconcile.stack_reader import StackReader
from heatlite.engine.reconcile.timeouts import Timeouts
from heatlite.engine.reconcile.use_cases import UseCases
from heatlite.engine.requests.admission import Admission
from heatlite.engine.requests.alarms import Alarms
from heatlite.engine.requests.container_files import ContainerFiles
from heatlite.engine.requests.endpoint import Endpoint
from heatlite.engine.requests.repeated_calls import RepeatedCalls
from heatlite.engine.requests.request_use_cases import EngineParts, RequestUseCases
from heatlite.engine.types import registry as registries

LOG = logging.getLogger(__name__)

BINARY = 'heat-engine'


class EngineService:
    def __init__(self, conf: cfg.ConfigOpts, runtime: Runtime, database: Database, *, engine_id: str | None = None,
                 wake: Callable[[str, str | None], None] = lambda stack_id, engine_id: None,
                 notify: Notify = silent) -> None:
        """`wake(stack_id, engine_id)`: wakes up another engine, or any (None). Raises Error for wrong options."""
        crypt.check_keys(conf)
        self.engine_id = engine_id or runtime.uuid()
        self._conf = conf
        self._wake_other = wake
        self._notify = InOrder(notify)
        self.registry = registries.create(conf)
        self.registry.check_access_rules()
        self.core = EngineCore(self.engine_id, runtime, database, self.registry)
        self._history = EventHistory(runtime, database, conf.max_events_per_stack)
        self._sinks = EventSinks(runtime, database, self._history, lambda stack_id: loading.for_reading(
            runtime, database, stack_id, self.registry))
        self._recorder = RevisionRecorder(conf.revisions.keep, conf.auth_encryption_key)
        self._authority = Authority(runtime, self.registry)
        self._former_owners = FormerOwners(database, self._authority)
        self._plugins = LifecyclePlugins.installed()
        self.runners = Runners()
        self._journal = Journal(runtime, database, largest=conf.journal.max_changes, refused=self.runners.stop_failed,
                                noted=self._sinks.wake, owners=self.runners.owners)
        self._pool = Pool(runtime, conf.engine.runner_pool_size)
        capacity = StackCapacity(self._pool, conf.engine.max_stacks, conf.engine.max_resources_of_tree)
        self._timers = Timers(runtime)
        self._build_controller(capacity)
        self.lease_manager = LeaseManager(
            runtime, database, self.engine_id, self._describe, ttl=conf.engine.lease_ttl,
            sweep_interval=conf.engine.sweep_interval, slots=self.controller.slots, acquire=self._acquire,
            is_driven=self._drives, begin_sweep=self.controller.wake_signalled)
        alarm_settings = AlarmSettings.of(conf)
        self.shards = ShardController(
            runtime, database, alarm_settings,
            lambda url, body: urlfetch.post(url, body, alarm_settings.webhook_timeout), self._may_act, self._wake_owner)
        self.alarms = Alarms(runtime, database, alarm_settings, self.shards.tell, self._wake_owner)
        self.use_cases = RequestUseCases(conf, EngineParts(
            core=self.core, controller=self.controller, reader=self.reader, runners=self.runners, sinks=self._sinks,
            recorder=self._recorder, authority=self._authority, former_owners=self._former_owners,
            plugins=self._plugins, notify=self._notify, ends=self._ends, alarms=self.alarms,
            wake=self._wake_here, wake_other=wake))
        self.endpoint = Endpoint(self.use_cases.by_message(), Admission(
            runtime, lambda project: self._pool.users(project) + self._journal.trees(project)).wait,
            ContainerFiles(runtime, conf.max_json_body_size).complete, RepeatedCalls(runtime, database).recognized)

    @property
    def is_idle(self) -> bool:
        """Whether this engine drives no stack."""
        return self.controller.is_idle

    def _build_controller(self, capacity: StackCapacity) -> None:
        """Build the controller and its parts. They ask for the use cases when they drive a stack."""
        core, settings = self.core, ReconcileSettings.of(self._conf)
        driving = DrivingParts(self._journal, self._pool, capacity, self._timers, self._history, self._sinks, settings,
                               self._may_act)
        executors = Executors(core, driving, self._notify, self._for_stacks)
        self.reader = StackReader(core, self.runners, executors)
        definitions = AcceptedDefinitions()
        timeouts = Timeouts(core.runtime, self._timers, settings.action_timeout)
        clean_up = CleanUp(core.database, self._authority, self._former_owners, self._recorder, self._for_stacks,
                           self._history)
        self._ends = ActionEnds(core.runtime, self._journal, self._notify, self._plugins, self.runners,
                                self._for_stacks)
        lifecycle = StackLifecycle(core, driving, definitions, timeouts, clean_up, self._recorder, self._plugins,
                                   self._ends)
        self.controller = StackController(core, driving, self.runners, executors, lifecycle,
                                          GivenUpStacks(core, self._journal, self._ends), timeouts, definitions,
                                          self._claim)

    def _for_stacks(self) -> UseCases:
        """Return the use cases that driving a stack needs: they are built after the controller."""
        return self.use_cases.for_stacks()

    def start(self) -> None:
        """Load the plug-ins, register the engine and begin to sweep."""
        self.registry.load_plugins()
        self.lease_manager.start()
        self.use_cases.drift_watch.start()
        self.use_cases.forced_deletes.start()
        self._measure()
        LOG.info('Engine %s is up (process %d)', self.engine_id, os.getpid())

    def _measure(self) -> None:
        """Serve the metrics of engines; those of work that waits are read whenever they are collected."""
        for gauge, read in (
                (metrics.steps_waiting, lambda: self._pool.waiting),
                (metrics.steps_waiting_for_room, lambda: self.controller.waiting_for_capacity),
                (metrics.steps_running, lambda: self._pool.running),
                (metrics.stacks_loading, lambda: self.controller.loading),
                (metrics.timers_waiting, lambda: len(self._timers)),
                (metrics.journal_waiting, lambda: len(self._journal)),
                (metrics.lease_seconds_left, lambda: self.lease_manager.seconds_left)):
            gauge.set_function(read)
        metrics.serve_engine()

    def reload(self) -> None:
        """Reload plug-ins, environment files, prices and the rules about plans, for what begins from now on; running
        actions keep their types."""
        for what, reload in (('plug-ins', self.registry.reload_plugins), ('prices', self.use_cases.plan_checks.reload),
                             ('rules about plans', self.use_cases.policies.reload)):
            try:
                reload()
            except exception.Error as error:
                LOG.error('The %s were not read again: %s', what, error)
            except Exception:
                LOG.exception('The %s were not read again', what)
            else:
                LOG.info('The %s were read again', what)

    def stop(self) -> None:
        """Hand all stacks over, after calls under way have returned (`stopping`), and end all threads."""
        self.use_cases.drift_watch.stop()
        self.use_cases.forced_deletes.stop()
        self.shards.stop()
        stopping.stop(self.core.runtime, self.controller, self.lease_manager, self._journal,
                      self._conf.engine.stop_timeout)
        self._pool.stop()
        self._timers.stop()
        self._journal.stop()
        LOG.info('Engine %s has stopped', self.engine_id)

    def _claim(self, tx: Connection, stack_id: str) -> Lease | None:
        return self.lease_manager.claim(tx, stack_id)

    def _may_act(self, lease: Lease) -> None:
        self.lease_manager.may_act(lease)

    def _driver_of(self, stack_id: str) -> ShardController | StackController:
        """Return what drives a stack, or a shard, which has a lease as a stack has."""
        return self.shards if shards.is_shard(stack_id) else self.controller

    def _acquire(self, lease: Lease) -> None:
        """Begin to drive a stack or a shard whose lease was just claimed."""
        self._driver_of(lease.stack_id).acquire(lease)

    def _drives(self, stack_id: str) -> bool:
        """Whether this engine drives a stack or a shard."""
        return self._driver_of(stack_id).drives(stack_id)

    def _wake_here(self, stack_id: str) -> None:
        """Look at a stack or a shard now."""
        self._driver_of(stack_id).wake(stack_id)

    def _wake_owner(self, stack_id: str, engine_id: str | None) -> None:
        """Wake up the owner of a stack or a shard; without one, this engine claims the stack if it has room."""
        if engine_id in (None, self.engine_id):
            self._wake_here(stack_id)
        else:
            self._wake_other(stack_id, engine_id)

    def _describe(self) -> EngineDescription:
        host = self._conf.host or socket.gethostname()
        return {'host': host, 'hostname': socket.gethostname(), 'binary': BINARY, 'topic': self._conf.engine.topic,
                'report_interval': self._conf.periodic_interval}
