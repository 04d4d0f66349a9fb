"""Reads values of stacks that only code of resource types can compute, whether or not this engine drives the stack."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.db import leases, stacks
from heatlite.engine.reconcile import loading, outputs
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.executors import Executors
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.runners import Runners
from heatlite.engine.reconcile.shared_answers import SharedAnswers
from heatlite.engine.resource import Resource

T = TypeVar('T')


class StackReader:
    """Reads any stack, driven here or not, in threads of requests, of looks for drift, and of types with a child."""

    def __init__(self, core: EngineCore, runners: Runners, executors: Executors) -> None:
        self._runtime = core.runtime
        self._database = core.database
        self._registry = core.registry
        self._runners = runners
        self._executors = executors
        self._shared_outputs: SharedAnswers[list[dict[str, object]]] = SharedAnswers(core.runtime)

    def load(self, stack_id: str, resource: str | None = None) -> LeasedStack | None:
        """Load a stack from its rows without a lease, or None if it is gone. `resource`: read the rows of that name,
        and the others when one of them is asked for."""
        return loading.for_reading(self._runtime, self._database, stack_id, self._registry, resource)

    def read(self, stack_id: str, resource: str | None = None) -> Stack | None:
        """Return the facade of a stack for reading, or None; it may be driven here, elsewhere or not at all.
        `resource`: as of `load`."""
        runner = self._runner(stack_id, of_last_request=True)
        if runner is not None:
            return runner.executor.facade
        leased = self.load(stack_id, resource)
        return self._executors.reading(leased).facade if leased is not None else None

    def objects(self, stack_id: str) -> ResourceObjects | None:
        """Return what makes objects of types for a stack, for reading; None if the stack is gone."""
        leased = self.load(stack_id)
        return self._executors.reading(leased).objects if leased is not None else None

    def resource_of(self, stack_id: str, name: str, row_id: int) -> Resource | None:
        """The object of one row of a name, whether or not another row has taken its place; None when there is no such
        row."""
        runner = self._runner(stack_id)
        leased = runner.leased if runner is not None else self.load(stack_id, name)
        row = leased.row_numbered(row_id) if leased is not None else None
        if leased is None or row is None:
            return None
        executor = runner.executor if runner is not None else self._executors.reading(leased)
        return executor.objects.stored(row)

    def outputs(self, stack_id: str, context: RequestContext,
                keys: Collection[str] | None = None) -> list[dict[str, object]]:
        """Return a stack's outputs, those with `keys` or all, resolved now for the caller; each with an error if the
        stack is given up for ending engines. Clients poll a stack in progress: those of a project that ask at the same
        time share one answer. Raises EntityNotFound."""
        wanted = None if keys is None else tuple(keys)
        seen_by = context.is_admin, context.project_id          # whether the caller may see the stack depends on these
        try:
            with self._guarded(stack_id, context):
                return self._shared_outputs.answer((stack_id, wanted, *seen_by),
                                                   lambda: self._outputs(stack_id, context, wanted))
        except exception.StackGivenUp as error:
            with self._database.reader() as tx:
                row = stacks.get(tx, stack_id)
            return [{**output, 'output_value': None, 'output_error': str(error)}
                    for output in (row.outputs if row is not None else None) or ()
                    if keys is None or output['output_key'] in keys]

    def _outputs(self, stack_id: str, context: RequestContext, keys: Collection[str] | None) -> list[dict[str, object]]:
        runner = self._runner(stack_id, of_last_request=True)
        if runner is not None and context.may_see(runner.leased.row.project_id, runner.leased.row.user_project_id):
            return outputs.resolve(runner.leased.definition, runner.executor.scope.present(), keys=keys)
        leased = self.load(stack_id)
        if leased is None or not context.may_see(leased.row.project_id, leased.row.user_project_id):
            raise exception.EntityNotFound(entity='Stack', name=stack_id)
        executor = self._executors.reading(leased)
        executor.attributes.forget_live()
        return outputs.resolve(leased.definition, executor.scope.present(), keys=keys)

    def asked(self, stack_id: str, context: RequestContext, ask: Callable[[Stack], T],
              resource: str | None = None) -> T:
        """Return `ask(stack)` for the caller; `resource`: what it asks for, as of `load`. Raises EntityNotFound, and
        StackGivenUp if the stack is given up for ending engines."""
        with self._guarded(stack_id, context):
            found = self.read(stack_id, resource)
            if found is None or not found.is_seen_by(context):
                raise exception.EntityNotFound(entity='Stack', name=stack_id)
            return ask(found)

    def reset_metadata(self, stack_id: str, context: RequestContext, name: str,
                       row_id: int) -> Mapping[str, object] | None:
        """Return the metadata that the type would store for a row of a name that is healthy again; None if it keeps the
        present ones. Raises StackGivenUp, EntityNotFound, and the errors of the type."""
        with self._guarded(stack_id, context):
            leased = self.load(stack_id, name)
            row = leased.row_numbered(row_id) if leased is not None else None
            if leased is None or row is None:
                return None
            objects = self._executors.reading(leased).objects
            if objects.kind_of(row).handle_metadata_reset is Resource.handle_metadata_reset:
                return None
            resource = objects.stored(row)
            resource.handle_metadata_reset()
            return resource.metadata_get()

    def _runner(self, stack_id: str, of_last_request: bool = False) -> Runner | None:
        """Return the runner of a stack that is driven here.

        A runner whose lease is gone is none: it has not ended yet, but another engine may have changed the stack.
        `of_last_request`: nor is one that has not read yet what the last request wants.
        """
        runner = self._runners.get(stack_id)
        if runner is None:
            return None
        with self._database.reader() as tx:
            if not leases.is_held(tx, runner.leased.lease):
                return None
            row = stacks.identity(tx, stack_id) if of_last_request else None
        return runner if row is None or row.generation == runner.leased.row.generation else None

    @contextmanager
    def _guarded(self, stack_id: str, context: RequestContext) -> Iterator[None]:
        """Guard a request that executes code of a stack to read it: if this engine ends meanwhile, the stack gets a
        strike.

        Raises StackGivenUp, and EntityNotFound if the caller may not see the stack.
        """
        with self._database.reader() as tx:
            count = leases.excessive_strikes(tx, stack_id)
            row = stacks.get(tx, stack_id) if count else None
        if row is not None:
            if not context.may_see(row.project_id, row.user_project_id):
                raise exception.EntityNotFound(entity='Stack', name=stack_id)
            raise exception.StackGivenUp(stack=row.name, count=count)
        before = self._runtime.serve(stack_id)
        try:
            yield
        finally:
            self._runtime.serve(before)
