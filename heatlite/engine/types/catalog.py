"""Describes resource types to the template language (`language.facts.TypeCatalog`), from their classes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Self

from heatlite.common import exception, urlfetch
from heatlite.common.context import RequestContext
from heatlite.common.shared_errors import SharedError
from heatlite.engine import attributes, properties, support
from heatlite.engine.clients import constraint_cache
from heatlite.engine.resource import Resource
from heatlite.engine.resource_checking import says_of_check
from heatlite.engine.types import event_sink_types
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language import template as templates
from heatlite.language.definition import DefinedResource, StackDefinition
from heatlite.language.environment import Environment
from heatlite.language.facts import NO_SNAPSHOTS, SNAPSHOTS, TypeFacts
from heatlite.language.translation import TranslationRule

LOG = logging.getLogger(__name__)

Make = Callable[[type[Resource], DefinedResource], Resource]
"""(class, definition of the language) -> an object of the type for queries only."""


class Catalog:
    """The types of one request. `context`: its services and rights are used.

    `forbidden`: the first requested type that the caller may not use, or None. `asks`: whether the services of types
    are asked if they are available; `before`: the definition that an update replaces: services are not asked again
    about its external resources.
    """

    def __init__(self, registry: TypeRegistry, context: RequestContext, make: Make) -> None:
        self._registry = registry
        self._context = context
        self._make = make
        self._known: dict[object, TypeFacts] = {}
        self._sizeless: set[tuple[str, object]] = set()        # types that are no groups, in an environment
        self.forbidden: str | None = None
        self.asks = True
        self.before: StackDefinition | None = None
        self.lookup = constraint_cache.lookup(registry.constraint, context)

    def sink_error(self, sink: Mapping[str, object]) -> str:
        return event_sink_types.error(sink)

    def facts(self, type_name: str, resource_name: str | None, environment: Environment) -> TypeFacts:
        kind = self._registry.resolve(type_name, resource_name or '', environment)
        key = (kind, type_name)
        if key not in self._known:
            self._known[key] = self._facts_of(kind, type_name)
            if not self._registry.allows_wanted(self._context, type_name, resource_name or '', environment):
                self.forbidden = self.forbidden or type_name
        return self._known[key]

    def asked(self, definition: DefinedResource) -> Resource:
        """Return an object of the type for a resource that does not exist. Raises StackValidationFailed."""
        return self._make(self._registry.resolve(definition.type, definition.name, definition.owner.environment),
                          definition)

    def is_sizeless(self, definition: DefinedResource) -> bool:
        """Whether `size` has found that no resource of that type has members."""
        return (definition.type, definition.owner.environment) in self._sizeless

    def size(self, definition: DefinedResource) -> int:
        """Return the number of members that a new group will have; 0 if it is unknown, and for other types."""
        environment = definition.owner.environment
        if self.is_sizeless(definition):
            return 0
        try:
            kind = self._registry.resolve(definition.type, definition.name, environment)
            if not hasattr(kind, 'get_size'):       # most types: no object of them is needed
                if not environment.registry.is_by_resource:
                    self._sizeless.add((definition.type, environment))
                return 0
            size = getattr(self._make(kind, definition), 'get_size', None)
            return int(size()) if size is not None else 0
        except Exception:                           # types may fail on unknown values
            return 0

    def fetch(self, template_name: str, by_operator: bool) -> str:
        try:
            return urlfetch.get_template(template_name, by_operator)
        except urlfetch.URLFetchError as error:
            raise templates.missing_template(template_name, str(error)) from None

    def _facts_of(self, resource_class: type[Resource], type_name: str) -> TypeFacts:
        schemas = attributes.all_schemata(resource_class)
        anything = getattr(resource_class, 'accepts_anything', False)
        checks = resource_class.validate is not Resource.validate and not anything
        return TypeFacts(
            name=type_name,
            properties=properties.schemata(resource_class.properties_schema),
            attributes={name: schema.type for name, schema in schemas.items()},
            update_policy=properties.schemata(resource_class.update_policy_schema),
            class_name=resource_class.__name__,
            description=resource_class.getdoc(),
            accepts_any_property=anything,
            accepts_any_attribute=resource_class.accepts_any_attribute,
            deletion_policies=(SNAPSHOTS if anything or hasattr(resource_class, 'handle_snapshot_delete')
                               else NO_SNAPSHOTS),
            hidden=resource_class.support_status.status == support.HIDDEN,
            hidden_attributes=frozenset(
                name for name, schema in schemas.items() if schema.support_status.status == support.HIDDEN),
            strict_dependency=resource_class.strict_dependency,
            rules=(self._rules(resource_class)
                   if resource_class.translation_rules is not Resource.translation_rules else None),
            own_check=self._own_check(resource_class) if checks else None,
            own_check_is_pure=says_of_check(resource_class, 'validates_alone'),
            nested=getattr(resource_class, 'nested_members', None),
            nested_at=getattr(resource_class, 'nested_at', None),
            has_members=hasattr(resource_class, 'child_template') and hasattr(resource_class, 'get_size'),
            needs=(self._needs(resource_class)
                   if resource_class.add_dependencies is not Resource.add_dependencies else None),
            # Objects that the engine itself stores are looked up when the resource is made: a draft reads no rows.
            check_external=(self._external_check(resource_class) if self.asks and resource_class.entity is not None
                            and not resource_class.shows_none_when_gone else None),
            available=(self._available(resource_class, type_name)
                       if self.asks and resource_class.default_client_name is not None else None),
        )

    def _rules(self, resource_class: type[Resource]) -> Callable[
            [DefinedResource, Mapping[str, object]], list[TranslationRule]]:
        def rules(definition: DefinedResource, given: Mapping[str, object]) -> list[TranslationRule]:
            asked = self._make(resource_class, definition)
            return asked.translation_rules(
                properties.Properties(resource_class.properties_schema, given, parent_name=definition.name,
                                      deferred=frozenset(definition.referring)))
        return rules

    def _own_check(self, resource_class: type[Resource]) -> Callable[
            [DefinedResource, Mapping[str, object]], Iterable[exception.HeatException]]:
        def check(definition: DefinedResource, values: Mapping[str, object]) -> Iterable[exception.HeatException]:
            try:
                text = self._make(resource_class, definition).validate()
            except exception.HeatException as error:
                return [error]
            return [exception.StackValidationFailed(message=text)] if text else []
        return check

    def _external_check(self, resource_class: type[Resource]) -> Callable[[DefinedResource], None]:
        def check(definition: DefinedResource) -> None:
            if not self._is_kept(definition):
                made = self._make(resource_class, definition)
                constraint_cache.ask(made.external_id, made.check_external)
        return check

    def _is_kept(self, definition: DefinedResource) -> bool:
        """Whether an external resource is as it was before. Nested stacks of an update are checked on their own."""
        before = self.before
        if before is None:
            return False
        if definition.owner.identity.id != before.identity.id:
            return True
        old = before.resources.get(definition.name)
        return (old is not None and old.is_external and old.type == definition.type
                and old.external_id() == definition.external_id())

    def _needs(self, resource_class: type[Resource]) -> Callable[[DefinedResource], Iterable[str]]:
        def needs(definition: DefinedResource) -> Iterable[str]:
            collected = Needs(definition.name)
            try:
                self._make(resource_class, definition).add_dependencies(collected)
            except Exception as error:      # an invalid resource, which its own check reports, or a plug-in's defect
                LOG.info('Dependencies of %s (%s) are not complete: %s', definition.name, definition.type, error)
            return collected.names
        return needs

    def _available(self, resource_class: type[Resource], type_name: str) -> Callable[[], None]:
        """Return a check that runs once: its result is the same for all resources of the type in a request."""
        answers: list[SharedError | None] = []

        def available() -> None:
            if not answers:
                try:
                    resource_class.check_service_available(self._context, type_name)
                    answers.append(None)
                except exception.ResourceTypeUnavailable as error:
                    answers.append(SharedError(error))
            if answers[0] is not None:
                raise answers[0].again()
        return available


class Needs:
    """Collects the names that `requirer` needs, from `deps += (self, other)`."""

    def __init__(self, requirer: str) -> None:
        self._requirer = requirer
        self.names: list[str] = []

    def __iadd__(self, edge: tuple[object, object]) -> Self:
        requirer, required = edge
        if required is not None and getattr(requirer, 'name', requirer) == self._requirer:
            self.names.append(str(getattr(required, 'name', required)))
        return self
