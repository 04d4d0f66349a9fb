"""Loads the stacks that this engine has acquired, of projects and trees in turn; those that cannot be loaded are tried
again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from heatlite.common import defects, exception, outages, turns
from heatlite.common.context import Subject, bind
from heatlite.common.fair_queue import NO_OWNERS
from heatlite.db import leases, signals, stack_trees, stacks
from heatlite.db.leases import Lease
from heatlite.engine.durability import lease_manager, request_ids
from heatlite.engine.durability.journal import LeaseLost, NotStored
from heatlite.engine.durability.pool import Pool
from heatlite.engine.reconcile import loading
from heatlite.engine.reconcile.accepted_definitions import AcceptedDefinitions
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.given_up_stacks import GivenUpStacks
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.unloadable import Unloadable
from heatlite.language.definition import StackDefinition
from heatlite.planning.states import Action

LOG = logging.getLogger(__name__)

LOADERS = 8                 # stacks that are read at a time: more would only wait for each other

LEAST_PATIENCE = 1.0        # seconds that calls of a former runner have to return, though options say less


class StackLoader:
    """Loads stacks in threads of its own, and gives back the leases of those that are not to be driven."""

    def __init__(self, core: EngineCore, driving: DrivingParts, definitions: AcceptedDefinitions,
                 given_up: GivenUpStacks, adopt: Callable[[LeasedStack], None]) -> None:
        """`adopt(leased)`: begins to drive a stack."""
        self._runtime = core.runtime
        self._database = core.database
        self._engine_id = core.engine_id
        self._registry = core.registry
        self._journal = driving.journal
        self._capacity = driving.capacity
        self._timers = driving.timers
        self._settings = driving.settings
        self._definitions = definitions
        self._given_up = given_up
        self._adopt = adopt
        self._loading: dict[str, Lease] = {}            # leases of stacks that are not loaded yet
        self._put_off_leases: dict[str, Lease] = {}     # of stacks that cannot be loaded, until they are tried again
        self._unloadable = Unloadable(core.runtime, core.database, driving.journal, driving.settings.action_timeout,
                                      given_up.fail)
        self._loaders = Pool(core.runtime, LOADERS)
        self._of_unknown: list[Lease] = []              # of stacks whose project is to be read before they are loaded

    @property
    def loading(self) -> int:
        """The number of stacks that are not loaded yet."""
        return len(self._loading)

    def __contains__(self, stack_id: object) -> bool:
        """Whether a stack is being loaded, or is not to be loaded yet."""
        return stack_id in self._loading or stack_id in self._put_off_leases

    def is_loading(self, lease: Lease) -> bool:
        """Whether the stack is being loaded with this lease."""
        known = self._loading.get(lease.stack_id)
        return known is not None and known.epoch == lease.epoch

    def load(self, lease: Lease, former: Sequence[Runner], row: stacks.StoredStack | None = None) -> None:
        """Load a stack whose lease was just claimed, and begin to drive it. `former`: runners of the stack whose calls
        still run; `row`: as in `StackCapacity.begin_loading`."""
        self._put_off_leases.pop(lease.stack_id, None)
        self._loading[lease.stack_id] = lease
        self._capacity.begin_loading(lease, row)
        if former:                                  # in a thread of its own: other stacks are loaded meanwhile
            self._runtime.spawn(self._load_after, former, lease, row)
        else:
            self._queue(lease, row)

    def _load_after(self, former: Sequence[Runner], lease: Lease, row: stacks.StoredStack | None) -> None:
        """Load a stack once the calls of its former runners have ended, or they would be made twice. Those that do not
        return in time are ended."""
        for runner in former:
            while not runner.calls_done.wait(max(self._settings.patience, LEAST_PATIENCE)):
                runner.kill_calls()
        self._queue(lease, row)

    def _queue(self, lease: Lease, row: stacks.StoredStack | None) -> None:
        """Have a stack loaded in the turn of its project and tree, which a request and a sweep know. Else they are read
        first, for all stacks that wait for that in one statement."""
        known = row or lease.place
        if known is not None:
            self._run(lease, (known.project_id, known.root_id))
            return
        self._of_unknown.append(lease)
        if len(self._of_unknown) == 1:
            self._runtime.spawn(self._queue_unknown)

    def _queue_unknown(self) -> None:
        found, self._of_unknown = self._of_unknown, []
        rows: dict[str, stacks.Identity] = {}
        try:
            with self._database.reader() as tx:
                rows = stack_trees.children(tx, {lease.stack_id for lease in found})
        except exception.DatabaseUnavailable as error:      # to load them fails as well, and gives the leases back
            LOG.debug('The projects of stacks that are to be loaded could not be read: %s', error)
        except Exception as error:
            defects.log(LOG, error, 'The projects of stacks that are to be loaded were not read')
        for lease in found:
            row = rows.get(lease.stack_id)
            self._run(lease, NO_OWNERS if row is None else (row.project_id, row.root_id))

    def _run(self, lease: Lease, owners: tuple[str, str]) -> None:
        def load() -> None:
            turns.begin(*owners)
            self._load_guarded(lease)

        self._loaders.run(load, *owners)

    def _load_guarded(self, lease: Lease) -> None:
        """Load a stack. It has one outcome: the stack is driven, or put off, or its lease is given back, unless that
        was lost, or the stack was given up. One of which a change is not stored is found by a later sweep."""
        bind(None, Subject(lease.stack_id))         # until the stack is read, its request is not known
        self._runtime.serve(lease.stack_id)           # reading a definition may end the engine
        try:
            self._load(lease)
            self._unloadable.loaded(lease.stack_id)
        except LeaseLost:
            LOG.debug('Stack %s has another owner', lease.stack_id)
        except NotStored as error:
            LOG.debug('Stack %s is not driven until a sweep finds it: %s', lease.stack_id, error)
        except exception.DatabaseUnavailable as error:
            outages.away(outages.DATABASE, error)
            LOG.debug('Stack %s could not be loaded; another sweep will claim it', lease.stack_id)
            self._give_back(lease)
        except Exception as error:
            self._put_off(lease, error)
        finally:
            self._runtime.serve(None)
            bind(None)
            if self._loading.get(lease.stack_id) is lease:
                del self._loading[lease.stack_id]
                self._capacity.end_loading(lease.stack_id)

    def _load(self, lease: Lease) -> None:
        if not lease.is_new:                        # pending changes of this engine are written before reading
            self._journal.begin(lease.stack_id, lease.epoch)
        if self._given_up.give_up(lease):
            return
        leased = loading.load(self._runtime, self._database, lease, self._registry,
                              self._settings.retry_limit, self._known)
        if leased is None or (leased.is_at_rest and leased.row.action == Action.DELETE):
            self._forget_signals(lease)
            return
        if self._loading.get(lease.stack_id) is not lease:
            return                                  # the lease was lost and claimed again meanwhile
        self._log_taking(leased, lease)
        # Also stacks whose action has ended: signals may wait for them, or the engine that handled the last signal died
        # before it stored the outputs that changed.
        self._adopt(leased)

    def _known(self, row: stacks.StoredStack) -> StackDefinition | None:
        """Return the definition of a row that was just read, if a request has just built it, else None."""
        request_ids.bind_to(row)
        return self._definitions.take(row)

    def _log_taking(self, leased: LeasedStack, lease: Lease) -> None:
        if lease.former is None:
            return                                  # claimed for a request, not by the sweep
        if lease.former == self._engine_id:
            LOG.warning('Stack %s [%s] was ours and nothing drove it; going on', leased.row.name, leased.id)
        else:
            # Of many stacks the sweep has logged one line.
            LOG.log(logging.INFO if lease.among <= lease_manager.MOST_NAMED else logging.DEBUG,
                    'Taking over stack %s [%s] from %s (epoch %d)', leased.row.name, leased.id,
                    lease_manager.former_of(lease), lease.epoch)

    def _put_off(self, lease: Lease, error: Exception) -> None:
        """Keep a stack that cannot be loaded for a while, and then leave it to any engine."""
        pause = self._unloadable.failed(lease, error)
        if pause is None:
            return

        def due() -> None:
            self._runtime.spawn(self._try_again, lease)         # waits for the database

        self._put_off_leases[lease.stack_id] = lease
        self._timers.after(pause, due)

    def _try_again(self, lease: Lease) -> None:
        if self._put_off_leases.get(lease.stack_id) is lease:        # else a newer request has come
            del self._put_off_leases[lease.stack_id]
            self._give_back(lease)

    def _give_back(self, lease: Lease) -> None:
        """Release the lease of a stack that could not be loaded: the sweep of any engine claims it again."""
        self._release(lease, lambda tx: leases.release(tx, lease.stack_id, self._engine_id, lease.epoch, wanted=True))

    def _forget_signals(self, lease: Lease) -> None:
        """Give back the lease of a stack that is deleted. A signal that arrived just before would keep it wanted, and
        engines would claim it again and again."""
        def forget(tx: Connection) -> None:
            signals.clear(tx, lease.stack_id)
            leases.release(tx, lease.stack_id, self._engine_id, lease.epoch)

        self._release(lease, forget)

    def _release(self, lease: Lease, release: Callable[[Connection], object]) -> None:
        try:
            self._database.retry(release)
        except exception.DatabaseUnavailable:
            LOG.warning('The lease of stack %s was not given back; it runs out by itself', lease.stack_id)
        except Exception as error:                  # a later sweep takes it as one that nothing drives
            defects.log(LOG, error, 'The lease of stack %s was not given back', lease.stack_id)
