"""The contexts of the steps under way, and the object of the resource type that each step works with."""

from __future__ import annotations

import logging

from heatlite.common import defects, exception
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.engine.reconcile.step_context import StepContext, definition_of, fingerprint, stored_definition
from heatlite.engine.resource import Resource
from heatlite.engine.resource_state import physical_name
from heatlite.engine.stored_resource import StoredResource
from heatlite.planning.states import MAKING, Action, ResourceState
from heatlite.planning.steps import Step

LOG = logging.getLogger(__name__)

LONGEST_ID = 255                        # characters of the physical id of an event, the size of the column


class StepContexts:
    """A step is worked on by one thread at a time; different steps may be by different threads."""

    def __init__(self, leased: LeasedStack, objects: ResourceObjects) -> None:
        self._leased = leased
        self._objects = objects
        self._contexts: dict[Step, StepContext] = {}

    def get(self, step: Step) -> StepContext | None:
        """Return the context of the step, or None if no command of it was executed here."""
        return self._contexts.get(step)

    def forget(self, step: Step) -> None:
        """Drop the context of a step that has ended."""
        work = self._contexts.pop(step, None)
        if work is not None and work.resource is not None:
            work.resource.forget_values()
            work.resource = None                    # it refers to the context

    def begin(self, step: Step) -> StepContext:
        """Return the context of the step, made at the first call. Raises DatabaseUnavailable."""
        work = self._contexts.get(step)
        return work if work is not None else self._as_wanted(step)

    def resume(self, step: Step, row: ResourceState) -> StepContext:
        """As `begin`, for an action that another owner may have begun: what makes an object goes on with the definition
        that it was begun with."""
        work = self._contexts.get(step)
        if work is None and step.applies and row.action in MAKING:
            work = self._as_stored(step, row)
        return work if work is not None else self.begin(step)

    def resolve(self, step: Step) -> StepContext:
        """Resolve the wanted definition of a step with the current values of its requirements. Stores an error in the
        context instead of raising it, but for DatabaseUnavailable: the next attempt may succeed."""
        work = StepContext()
        wanted = self._leased.definition.resources[step.name]
        try:
            resolved = self._with_files(step.name, wanted.resolved(self._objects.scope))
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            work.error = error
            self._contexts[step] = work
            return work
        self._contexts[step] = work
        work.fingerprint = fingerprint(resolved)
        work.definition = definition_of(step.name, resolved)
        work.metadata = resolved.get('metadata') or {}
        work.columns = {'properties': resolved.get('properties') or {},
                        'definition': {name: value for name, value in resolved.items()
                                       if name != 'properties' and value}}
        return work

    def _with_files(self, name: str, resolved: dict[str, object]) -> dict[str, object]:
        """Return the definition of a resource whose type sends the files of its stack, with their digest: other files
        are another definition. That of other types as it is."""
        files = self._leased.definition.files
        if not files or not self._objects.named_kind(str(resolved['type']), name).sends_files:
            return resolved
        return {**resolved, 'files': files.digest}

    def _as_wanted(self, step: Step) -> StepContext:
        if step.applies and step.name in self._leased.definition.resources:
            return self.resolve(step)
        work = self._contexts[step] = StepContext()
        return work

    def _as_stored(self, step: Step, row: ResourceState) -> StepContext:
        """Make the context from the definition stored with the intent. If there is none, the handler was never
        called."""
        record = self._objects.stored_resources.get(row)
        if record.properties is None:
            return self._as_wanted(step)
        work = self._contexts[step] = StepContext()
        work.as_stored = True
        work.definition = stored_definition(record)
        work.metadata = record.metadata
        work.fingerprint = fingerprint({**(record.definition or {}), 'type': record.state.type,
                                        'properties': record.properties})
        return work

    # --- the object of a step ---------------------------------------------------------------------------

    def resource(self, step: Step, row: ResourceState, first: bool = False) -> Resource:
        """Return the object of the resource type for `row` in this step.

        `first`: nothing but the intent is stored of the row, so that there is nothing to read.
        """
        work = self.begin(step)
        work.take_row(row.id)
        if work.resource is not None and work.resource.id == row.id:
            work.resource.take_state(row)
            return work.resource
        objects = self._objects
        applied = work.definition if step.applies and row.action is not Action.UPDATE else None
        fresh = applied is not None and row.physical_id is None and row.action in MAKING
        record = StoredResource(row) if fresh and first else objects.stored_resources.get(row)
        definition = stored_definition(record) if applied is None else applied
        if fresh:
            record.metadata = work.metadata
        environment = (objects.environment if applied is not None and not work.as_stored
                       else objects.environment_of(row))
        work.resource = objects.make(definition, record, environment, objects.step_writer(work))
        return work.resource

    def resource_as_stored(self, row: ResourceState, work: StepContext) -> Resource:
        """Make a new object of the stored state for the step with the context `work`."""
        objects = self._objects
        record = objects.stored_resources.get(row)
        work.resource = objects.make(stored_definition(record), record, objects.environment_of(row),
                                     objects.step_writer(work))
        return work.resource

    def physical_name(self, row: ResourceState, work: StepContext | None) -> str:
        """Return the physical name of the resource, for events before there is an id: at most LONGEST_ID characters."""
        return Resource.reduce_physical_resource_name(self._whole_name(row, work), LONGEST_ID)

    def _whole_name(self, row: ResourceState, work: StepContext | None) -> str:
        if work is not None and work.resource is not None and work.resource.id == row.id:
            try:
                return str(work.resource.physical_resource_name() or '')
            except Exception as error:              # of a plug-in that makes names itself; the event needs none of them
                defects.log(LOG, error, 'Naming %s in stack %s failed', row.name, self._leased.id)
        return physical_name(self._leased.row.name, row.name, row.uuid)
