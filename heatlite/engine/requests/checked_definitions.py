"""Remembers which stored definitions this engine has checked, so that an update need not check all of it again."""

from __future__ import annotations

import cachetools

from heatlite.engine.types.registry import TypeRegistry
from heatlite.language import registry as language_registry
from heatlite.language.definition import StackDefinition

MOST_DEFINITIONS = 10_000       # definitions; of each only ids are kept


class CheckedDefinitions:
    """What counts is the present state of this engine: other types, loaded since, may find other errors."""

    def __init__(self, registry: TypeRegistry) -> None:
        self._registry = registry
        self._known: cachetools.LRUCache[str, language_registry.Registry] = cachetools.LRUCache(
            MOST_DEFINITIONS)                                                                           # types then

    def note(self, template_id: str) -> None:
        """Note that the definition stored as this template was found right."""
        self._known[template_id] = self._registry.operator

    def same(self, definition: StackDefinition, template_id: str, before: StackDefinition) -> frozenset[str]:
        """Return the resources of `definition` that were found right with the stored definition `before`."""
        if self._known.get(template_id) is not self._registry.operator:
            return frozenset()
        return definition.shared_with(before).same
