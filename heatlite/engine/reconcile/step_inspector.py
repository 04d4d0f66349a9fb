"""Compares the resources of one stack with their definitions, for the steps of its traversal and for previews.

Makes no decisions: planning decides what follows from a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from heatlite.common import exception
from heatlite.common.runtime import Runtime
from heatlite.engine.reconcile import diff, unvisited
from heatlite.engine.reconcile.attribute_reader import AttributeReader
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.preparations import Preparations
from heatlite.engine.reconcile.preview_state import PreviewState
from heatlite.engine.reconcile.resource_objects import FacadeMaker, ResourceObjects
from heatlite.engine.reconcile.resource_writer import ChangeLog
from heatlite.engine.reconcile.settled import has_known_inputs, is_waiting
from heatlite.engine.reconcile.step_context import StepContext, fingerprint
from heatlite.engine.reconcile.step_contexts import StepContexts
from heatlite.engine.reconcile.step_failures import StepFailures
from heatlite.engine.reconcile.stored_resource_cache import StoredResources
from heatlite.engine.resource import Resource
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.engine.rsrc_defn import ResourceDefinition
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language.definition import StackDefinition
from heatlite.planning import commands, marks
from heatlite.planning.decide import Verdict
from heatlite.planning.states import MAKING, Action, ResourceState
from heatlite.planning.steps import Step

UNCHANGED = Verdict(changed=False)


class StepInspector:
    """The objects of one stack's resources, and whether they are as the definition wants them."""

    def __init__(self, runtime: Runtime, leased: LeasedStack, journal: ChangeLog, registry: TypeRegistry,
                 facade: FacadeMaker, stored_resources: StoredResources, *, observe: bool) -> None:
        """`facade(objects)`: makes the stack as its types see it; `observe`: compare with the state that the services
        report."""
        self._leased = leased
        self._observe = observe
        self._failures = StepFailures(leased)
        self._preparations = Preparations(runtime)
        self.stored_resources = stored_resources
        self.preview_state = PreviewState()
        self.objects = ResourceObjects(runtime, leased, journal, registry, stored_resources, facade, self.preview_state)
        self.facade = self.objects.facade
        self.scope = self.objects.scope
        self.attributes = AttributeReader(leased, self.objects)
        self.contexts = StepContexts(leased, self.objects)

    def unvisited(self) -> unvisited.Unvisited:
        """Return what the action need not visit."""
        return unvisited.VISIT_ALL if self._observe else unvisited.of_update(self._leased, self.objects)

    def is_plainly_unchanged(self, step: Step, row: ResourceState) -> bool:
        """Whether the definition alone shows that nothing has changed, as for most resources in most updates.

        Calls no type and never blocks, so it needs no thread of the pool.
        """
        shared = self._leased.definition.as_applied
        if step.name in shared.others:              # most have changed: the inspection finds those that have not
            return False
        wanted, row = self._leased.definition.resources[step.name], self._present(row)
        try:
            if (wanted.needs or wanted.is_external or self._preparations.is_under_way(row.id)
                    or not self._is_settled(row, wanted.type) or self.objects.kind_of(row).sends_files):
                return False
            if step.name in shared.same:
                return bool(marks.applied(row.fingerprint))
            return marks.applied(row.fingerprint) == fingerprint(wanted.resolved(self.scope))
        except Exception:                           # the inspection reports it
            return False

    def inspect(self, step: Step, row: ResourceState,
                definition: StackDefinition) -> commands.Inspected | commands.Failed:
        """Compare the row with `definition`, which was the stack's when the comparison was asked for. Runs in a thread
        of the pool, and may ask types and services.

        It may have waited since, for a thread or for the lease. If the stack follows a newer definition by now, the
        traversal drops the step and this event: nothing is compared. If the resource is being prepared for a
        replacement that a former definition wanted, that ends first."""
        self._preparations.wait(row.id)
        row = self._present(row)
        if self._leased.definition is not definition:
            return commands.Inspected(step, UNCHANGED)
        try:
            work = self.contexts.resolve(step)
            wanted, is_applied = work.wanted(), marks.applied(row.fingerprint) == work.fingerprint
            if is_applied and (self._is_settled(row, wanted.resource_type)
                                                        or self._is_made(row, wanted.resource_type)):
                return commands.Inspected(step, UNCHANGED)
            if self._is_settled_below(row, work):
                return commands.Inspected(step, UNCHANGED)
            resource = self.contexts.resource_as_stored(row, work)
            kind = self.objects.wanted_kind(wanted)
            verdict = self._verdict(step, row, work, resource, kind)
            if verdict.changed and issubclass(kind, StackResource) and is_applied:
                verdict = replace(verdict, visits=True)
            is_other = not verdict.changed and not is_applied
            return commands.Inspected(step, verdict, work.fingerprint if is_other else '')
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            return self._failure(step, row, error, Action.UPDATE)

    def _verdict(self, step: Step, row: ResourceState, work: StepContext, resource: Resource,
                 resource_class: type[Resource]) -> Verdict:
        if row.replaced_by is not None and diff.is_of_class(resource, resource_class):
            resource.restore_prev_rsrc(convergence=True)    # a rollback or an update returns to it
        verdict = self._compared(row, work, resource, resource_class)
        if not self._is_replaced(row, verdict) and resource.was_released():
            resource.restore_prev_rsrc(convergence=True)    # and to one whose replacement was not begun
            verdict = self._compared(row, work, resource, resource_class)
        work.cause = verdict.cause
        traversal = self._leased.traversal
        if self._is_replaced(row, verdict) and not (traversal.has_ended(step) or traversal.is_stopped):
            with self._preparations.of(row.id):
                resource.prepare_for_replace()
        return verdict

    def _compared(self, row: ResourceState, work: StepContext, resource: Resource,
                  resource_class: type[Resource]) -> Verdict:
        verdict, work.difference = diff.inspect(resource, resource_class, work.wanted(), self._leased, row,
                                                observe=self._observe)
        return verdict

    def _is_replaced(self, row: ResourceState, verdict: Verdict) -> bool:
        """Whether the verdict is a replacement, and nothing refuses it."""
        return (verdict.replace is not None and verdict.refused is None
                and self._leased.traversal.may_replace(row.name))

    def _present(self, row: ResourceState) -> ResourceState:
        """Return the row as it is now: a preparation for a former definition may have marked it since."""
        return self._leased.row_numbered(row.id) or row

    def _is_settled(self, row: ResourceState, wanted_type: str) -> bool:
        """Whether an unchanged definition means that there is nothing to do."""
        return self._is_as_applied(row, wanted_type) and not self.objects.kind_of(row).always_inspected

    def _is_made(self, row: ResourceState, wanted_type: str) -> bool:
        """Whether a resource, perhaps with a nested stack, was completed by the create that goes on with it: by another
        engine, or before this one was interrupted."""
        return self._leased.row.action in MAKING and self._is_as_applied(row, wanted_type)

    def _is_as_applied(self, row: ResourceState, wanted_type: str) -> bool:
        return (row.status == 'COMPLETE' and row.replaced_by is None
                and not (self._observe or self._leased.row.converge) and row.type == wanted_type
                and self.objects.means_the_same(row))

    def _is_settled_below(self, row: ResourceState, work: StepContext) -> bool:
        """Whether an unchanged resource has a nested stack that need not be visited."""
        wanted = work.wanted()
        return (self._leased.row.action == Action.UPDATE and marks.applied(row.fingerprint) == work.fingerprint
                and row.physical_id is not None and self._is_as_applied(row, wanted.resource_type)
                and (is_waiting(self._leased.row, row.name) or self._has_settled_stack(row, wanted)))

    def _has_settled_stack(self, row: ResourceState, definition: ResourceDefinition) -> bool:
        """Whether nothing can have changed in the nested stack of a resource whose definition is still `definition`."""
        return (row.physical_id is not None and has_known_inputs(self.objects.kind_of(row))
                and self.facade.nesting.is_settled(row.physical_id, definition))

    def _import_of(self, row: ResourceState) -> Mapping[str, str] | None:
        """Return what is imported into the resource of a row, as the environment says that its action began with."""
        return self.objects.environment_of(row).import_of(row.name)

    def _failure(self, step: Step, row: ResourceState, error: Exception, action: Action) -> commands.Failed:
        work = self.contexts.get(step)
        return self._failures.of(step, row, error, action, work.resource if work is not None else None)
