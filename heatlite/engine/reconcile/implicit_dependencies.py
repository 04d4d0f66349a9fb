"""Adds the dependencies that resource types declare themselves, such as of a port on the subnets of its network, and
removes those on types that nothing waits for (`strict_dependency` False).

Every definition that is driven has them. They follow from the definition alone, so they are the same after a restart.
"""

from __future__ import annotations

import logging
from typing import Any

from heatlite.common import exception, turns
from heatlite.common.context import RequestContext
from heatlite.engine.clients import OpenStackClients
from heatlite.engine.resource import Resource
from heatlite.engine.types import catalog, registry
from heatlite.engine.types.draft import DraftStack
from heatlite.language.definition import StackDefinition

LOG = logging.getLogger(__name__)

STEPS_PER_RESOURCE = 5                  # of `turns`: an object is made of it


def complete(definition: StackDefinition) -> StackDefinition:
    """Change `requires` of the resources, in place, and return `definition`. Calls no service. Other green threads may
    run meanwhile; one that completes the same definition adds the same."""
    if definition.is_complete:
        return definition
    types = registry.current()
    classes = _kinds(definition, types)
    released = [name for name, resource_class in classes.items() if not resource_class.strict_dependency]
    if released:
        for resource in definition.resources.values():
            resource.release(released)
    adding = {name: resource_class for name, resource_class in classes.items()
              if resource_class.add_dependencies is not Resource.add_dependencies}
    if adding:
        draft = _OfflineDraft(definition, RequestContext(overwrite=False), types)
        for name, resource_class in turns.paced(adding.items(), STEPS_PER_RESOURCE):
            resource = definition.resources[name]
            needs = catalog.Needs(name)
            try:
                draft.make(resource_class, resource).add_dependencies(needs)
            except Exception as error:          # raised by a plug-in; the dependencies found so far are used
                LOG.warning('Dependencies of %s (%s) are not complete: %s', name, resource.type, error)
            resource.require(needs.names)
    definition.is_complete = True
    return definition


class _OfflineDraft(DraftStack):
    """A draft that cannot call services."""

    @property
    def clients(self) -> Any:
        return _NoClients(super().clients)


class _NoClients:
    """The clients of an offline draft: refuses each client. Used in the thread that builds the definition."""

    def __init__(self, known: OpenStackClients) -> None:
        self.client_plugin = known.client_plugin

    def client(self, name: str, version: str | None = None) -> object:
        raise exception.ClientNotAvailable(client_name=name)


def _kinds(definition: StackDefinition, types: registry.TypeRegistry) -> dict[str, type[Resource]]:
    """Return resource name -> class, without those that change no requirements, and those whose type is unknown."""
    classes: dict[str, type[Resource]] = {}
    for type_name, names in definition.names_by_type.items():
        by_name = definition.environment.registry.is_by_resource
        for alike in ([name] for name in names) if by_name else (names,):
            try:
                resource_class = types.resolve(type_name, alike[0], definition.environment)
            except exception.HeatException:
                continue
            if hasattr(resource_class, 'add_dependencies') and (
                    not resource_class.strict_dependency
                    or resource_class.add_dependencies is not Resource.add_dependencies):
                classes.update(dict.fromkeys(alike, resource_class))
    return classes
