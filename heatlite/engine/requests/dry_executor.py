"""Executes the commands of a preview: types are asked what they would do, but no handler is called."""

from __future__ import annotations

from heatlite.common.runtime import Runtime
from heatlite.engine import rsrc_defn
from heatlite.engine.reconcile import diff, imports, unknowns
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import FacadeMaker
from heatlite.engine.reconcile.resource_writer import NothingStored
from heatlite.engine.reconcile.step_context import StepContext, stored_definition
from heatlite.engine.reconcile.step_inspector import UNCHANGED, StepInspector
from heatlite.engine.reconcile.stored_resource_cache import StoredResources
from heatlite.engine.requests.previewed_change import PreviewedChanges
from heatlite.engine.resource import Resource
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.engine.types.registry import TypeRegistry
from heatlite.planning.decide import Verdict
from heatlite.planning.states import ResourceState
from heatlite.planning.steps import Step


class DryExecutor(StepInspector):
    """Notes in `changes` what the inspections have found."""

    def __init__(self, runtime: Runtime, leased: LeasedStack, registry: TypeRegistry, facade: FacadeMaker,
                 stored_resources: StoredResources, observe: bool) -> None:
        super().__init__(runtime, leased, NothingStored(), registry, facade, stored_resources, observe=observe)
        self.changes = PreviewedChanges()

    def import_object(self, step: Step, row: ResourceState) -> tuple[str, dict[str, diff.PropertyChange]] | None:
        """Return the id of the object that would be imported into the resource of a new row, with the properties that
        differ; None if nothing would be imported. Raises ImportFailed.

        The row has its object afterwards, so that what refers to it is known."""
        wanted = self._import_of(row)
        if wanted is None:
            return None
        resource = self.contexts.resource(step, row, first=True)
        imports.take(resource, wanted, self._leased, self.stored_resources.holders)
        self._leased.attribute_cache.put(row.id, self.attributes.read(resource, row.name))
        return str(resource.resource_id), imports.differences(resource)

    def _is_settled_below(self, row: ResourceState, work: StepContext) -> bool:
        """Return False: a preview shows what is inside, also where nothing changes."""
        if super()._is_settled_below(row, work):
            self.changes[row.name].is_settled = True
        return False

    def _verdict(self, step: Step, row: ResourceState, work: StepContext, resource: Resource,
                 resource_class: type[Resource]) -> Verdict:
        stored, definition = stored_definition(self.stored_resources.get(row)), work.wanted()
        change = self.changes[row.name]

        def ask(definition: rsrc_defn.ResourceDefinition) -> tuple[Verdict, diff.UpdateArguments | None]:
            return diff.inspect(self.contexts.resource_as_stored(row, work), resource_class, definition, self._leased,
                                row, observe=self._observe)

        try:
            verdict, work.difference = ask(definition)
        except Exception:
            unknown = unknowns.unknown_properties(definition)
            if not unknown:
                raise
            change.doubt = unknowns.Doubt(unknowns.why(unknown), True)
            return Verdict(changed=True)
        observed = work.resource.observed if work.resource is not None else None
        change.is_gone = observed is not None and observed.is_gone and row.physical_id is not None
        if verdict.cause is not None:
            change.cause, change.stored = verdict.cause, stored['Properties']
        change.doubt = unknowns.find(resource_class, definition, stored, verdict, lambda wanted: (
            UNCHANGED if self._may_stay(row, resource_class, wanted, stored) else ask(wanted)[0]))
        change.properties = diff.property_changes(self.contexts.resource_as_stored(row, work), definition, observed)
        return verdict

    def _may_stay(self, row: ResourceState, resource_class: type[Resource], definition: rsrc_defn.ResourceDefinition,
                  stored: rsrc_defn.ResourceDefinition) -> bool:
        """Whether the nested stack of a resource with the definition `definition` need not be visited."""
        return (issubclass(resource_class, StackResource) and definition['Properties'] == stored['Properties']
                and definition.metadata() == stored.metadata() and self._is_as_applied(row, definition.resource_type)
                and self._has_settled_stack(row, definition))
