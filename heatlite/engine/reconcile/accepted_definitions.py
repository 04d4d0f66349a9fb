"""The definitions that requests of this engine have just built, so that the runner of the stack need not build them."""

from __future__ import annotations

from heatlite.db import stacks
from heatlite.language.definition import StackDefinition


class AcceptedDefinitions:
    """Each is kept until it is taken, or the stack's runner ends."""

    def __init__(self) -> None:
        self._definitions: dict[tuple[str, int], StackDefinition] = {}  # (stack, generation) -> its definition

    def put(self, stack_id: str, generation: int, definition: StackDefinition) -> None:
        self._definitions[stack_id, generation] = definition

    def take(self, row: stacks.StoredStack) -> StackDefinition | None:
        """Return the definition of the row's generation, which is not kept any longer; or None."""
        return self._definitions.pop((row.id, row.generation), None)

    def drop(self, stack_id: str) -> None:
        for key in [key for key in self._definitions if key[0] == stack_id]:
            del self._definitions[key]
