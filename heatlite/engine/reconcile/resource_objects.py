"""Makes the objects of resource types for one stack: of the stored state, of a wanted definition, or before any state.

A type name means what the environment says with which its definition was applied, so that an old resource keeps its
type when the environment of the stack changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from heatlite.common import exception
from heatlite.common.runtime import Runtime
from heatlite.engine import rsrc_defn
from heatlite.engine.reconcile.attribute_cache import StackScope
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.present_scope import PresentScope
from heatlite.engine.reconcile.preview_state import PreviewState
from heatlite.engine.reconcile.resource_writer import ChangeLog, JournalWriter
from heatlite.engine.reconcile.step_context import StepContext, definition_of, stored_definition
from heatlite.engine.reconcile.stored_resource_cache import StoredResources
from heatlite.engine.resource import Resource
from heatlite.engine.stored_resource import ResourceWriter, StoredResource
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language.environment import Environment
from heatlite.language.unknown import UNKNOWN
from heatlite.planning.states import ResourceState

T = TypeVar('T')


class ResourceObjects:
    """May be used by several threads of the pool: each makes objects of its own."""

    def __init__(self, runtime: Runtime, leased: LeasedStack, journal: ChangeLog, registry: TypeRegistry,
                 stored_resources: StoredResources, facade: FacadeMaker, preview_state: PreviewState) -> None:
        """`facade(objects)`: makes `self.stack` of the types."""
        self._runtime = runtime
        self._leased = leased
        self._journal = journal
        self._registry = registry
        self.stored_resources = stored_resources
        self._preview_state = preview_state
        self._environments: dict[str, Environment] = {}     # former template -> its environment
        self._kinds: dict[tuple[str, Environment], type[Resource]] = {}     # type name -> its class
        self.scope = StackScope(leased.current, self._cached_values, self._ask, preview_state.is_future,
                                self._early_reference, self._present_scope)
        self.facade = facade(self)                  # types have only a weak reference to it

    def use_types(self, registry: TypeRegistry) -> None:
        """Use `registry` from the next object on."""
        self._registry = registry
        self._kinds.clear()

    # --- objects ----------------------------------------------------------------------------------------

    def make(self, definition: rsrc_defn.ResourceDefinition, record: StoredResource, environment: Environment,
             writer: ResourceWriter | None = None) -> Resource:
        """`environment`: the one that belongs to `definition`; `writer`: takes the writes of the type."""
        kind = self._kind(definition.resource_type, definition.name, environment)
        resource = kind(definition.name, definition, self.facade)
        resource.type_environment = environment
        resource.bind(record, writer or self.step_writer(StepContext()))
        return resource

    def step_writer(self, work: StepContext) -> JournalWriter:
        """Return the writer for a step: data are stored with its next change."""
        return JournalWriter(self._journal, self._leased, self._runtime, work, self.stored_resources)

    def stored(self, row: ResourceState, writer: ResourceWriter | None = None) -> Resource:
        """Return an object of the stored state, outside any step: for reading, or for a signal with its `writer`."""
        record = self.stored_resources.get(row)
        return self.make(stored_definition(record), record, self.environment_of(row), writer)

    def with_definition(self, resource: Resource, definition: rsrc_defn.ResourceDefinition) -> Resource:
        """Return an object of the same stored state with another definition. For a preview."""
        assert resource.record is not None
        return self.make(definition, resource.record, self.environment)

    def unmade(self, name: str) -> Resource:
        """Return an object for a resource that does not exist yet, with the values known so far."""
        resolved = self._leased.definition.resources[name].resolved(self.scope)
        definition = definition_of(name, resolved)
        kind = self._registry.resolve(definition.resource_type, name, self.environment)
        return kind(name, definition, self.facade)

    def by_name(self, name: str) -> Resource:
        """Return the object of the current row of that name, or one that does not exist yet."""
        return self.present(name) or self.unmade(name)

    def present(self, name: str) -> Resource | None:
        """Return the object of the current row of that name, or None if there is no object in the cloud."""
        row = self._leased.current(name)
        return self.stored(row) if row is not None and row.exists else None

    # --- types ------------------------------------------------------------------------------------------

    @property
    def environment(self) -> Environment:
        """The environment of the wanted definition."""
        return self._leased.definition.environment

    def environment_of(self, row: ResourceState) -> Environment:
        """Return the environment with which `row` was last applied: it defines the meaning of the row's type name.

        It is stored as long as a row refers to its template (db.templates.prune).
        """
        template_id = row.template_id
        if template_id is None or template_id == self._leased.row.template_id:
            return self.environment
        if template_id not in self._environments:
            stored = self.stored_resources.environment(template_id)
            if stored is None:
                return self.environment
            self._environments[template_id] = Environment(stored, self.environment.operator)
        return self._environments[template_id]

    def kind_of(self, row: ResourceState) -> type[Resource]:
        """Return the class of the row's type. Raises StackValidationFailed if it is no longer registered."""
        return self._kind(row.type, row.name, self.environment_of(row))

    def known_kind(self, row: ResourceState) -> type[Resource] | None:
        """As `kind_of`; None if the type is no longer registered, or cannot be loaded. For what must go on without."""
        try:
            return self.kind_of(row)
        except exception.DatabaseUnavailable:
            raise
        except Exception:
            return None

    def named_kind(self, type_name: str, name: str) -> type[Resource]:
        """As `kind_of`, for the names of a type and of a resource in the wanted definition."""
        return self._kind(type_name, name, self.environment)

    def _kind(self, type_name: str, name: str, environment: Environment) -> type[Resource]:
        kind = self._kinds.get((type_name, environment))
        if kind is None:
            kind = self._registry.resolve(type_name, name, environment)
            if not environment.registry.is_by_resource:
                self._kinds[type_name, environment] = kind
        return kind

    def by_type(self, question: Callable[[ResourceState], T]) -> Callable[[ResourceState], T]:
        """Return a function that answers `question(row)`, which depends on nothing but the meaning of the row's type.
        It asks once for all rows of a type that were last applied with the same template."""
        known: dict[tuple[str, str | None], T] = {}

        def answer(row: ResourceState) -> T:
            key = row.type, row.template_id
            found = known.get(key)
            if found is None:
                found = question(row)
                if not (self.environment.registry.is_by_resource or self.environment_of(row).registry.is_by_resource):
                    known[key] = found
            return found

        return answer

    def wanted_kind(self, definition: rsrc_defn.ResourceDefinition) -> type[Resource]:
        """As `kind_of`, for a wanted definition."""
        return self.named_kind(definition.resource_type, definition.name)

    def class_name(self, row: ResourceState) -> str:
        return self.kind_of(row).__name__

    def means_the_same(self, row: ResourceState) -> bool:
        """Whether the row's type name has the same target in the wanted definition."""
        then, now = self.environment_of(row), self.environment
        return then is now or then.find(row.type, row.name).target == now.find(row.type, row.name).target

    def type_of(self, row: ResourceState) -> str:
        """Return the name of the built-in type, plug-in or template that the row's type name stands for. Raises
        StackValidationFailed if it is no longer registered."""
        return self._registry.meaning(row.type, row.name, self.environment_of(row))

    def wanted_type(self, name: str) -> str:
        """As `type_of`, for the type in the wanted definition."""
        return self._registry.meaning(self._leased.definition.resources[name].type, name, self.environment)

    # --- values for the template language (attribute_cache.StackScope) ------------------------------------

    def _cached_values(self, row: ResourceState) -> Mapping[str, object]:
        return self._leased.attribute_cache.of(row.id)

    def _ask(self, row: ResourceState, attribute: str, path: tuple[object, ...]) -> object:
        future_object = self._preview_state.objects.get(row.id)
        try:
            resource = future_object if future_object is not None else self.stored(row)
            if attribute == '*':
                return resource.FnGetAtts()
            return resource.FnGetAtt(attribute, *path)
        except Exception:                           # the value may exist once the update is done
            if future_object is not None:
                return UNKNOWN
            raise

    def _present_scope(self) -> StackScope:
        return PresentScope(self._leased.current, self._cached_values, self.known_kind, self.stored,
                            self._early_reference)

    def _early_reference(self, name: str) -> str:
        """Return the reference of a resource that has no object yet."""
        wanted = self._leased.definition.resources.get(name)
        if wanted is None:
            return name
        try:
            kind = self._registry.resolve(wanted.type, name, self.environment)
        except exception.StackValidationFailed:
            return name
        return str(kind.early_reference(self._leased.row.name, name))


FacadeMaker = Callable[[ResourceObjects], Stack]
