"""The values of a stack's resources at this moment, for its outputs while an action runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heatlite.engine.reconcile.attribute_cache import StackScope
from heatlite.engine.resource import Resource
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.planning.states import ResourceState


class PresentScope(StackScope):
    """For one reading, in one thread: makes one object of each resource that is asked.

    What is cached of a resource in progress is of its last action. A nested stack is asked instead, which reads the
    database and changes nothing. Other types may call services or make users for a reference, so they are not asked.
    """

    def __init__(self, current: Callable[[str], ResourceState | None],
                 cached_values: Callable[[ResourceState], Mapping[str, object]],
                 known_kind: Callable[[ResourceState], type[Resource] | None],
                 stored: Callable[[ResourceState], Resource], unmade: Callable[[str], str]) -> None:
        """`known_kind(row)`: the class of its type, or None; `stored(row)`: an object of its stored state; others: as
        of `StackScope`."""
        super().__init__(current, self._values, self._asked, unmade=unmade)
        self._stored_values = cached_values
        self._known_kind = known_kind
        self._stored = stored
        self._objects: dict[int, Resource] = {}

    def reference(self, resource_name: str) -> object:
        row = self._current(resource_name)
        if row is None or not self._is_running_stack(row):
            return super().reference(resource_name)
        return self._object(row).FnGetRefId()

    def _values(self, row: ResourceState) -> Mapping[str, object]:
        return {} if self._is_running_stack(row) else self._stored_values(row)

    def _asked(self, row: ResourceState, attribute: str, path: tuple[object, ...]) -> object:
        resource = self._object(row)
        return resource.FnGetAtts() if attribute == '*' else resource.FnGetAtt(attribute, *path)

    def _object(self, row: ResourceState) -> Resource:
        if row.id not in self._objects:
            self._objects[row.id] = self._stored(row)
        return self._objects[row.id]

    def _is_running_stack(self, row: ResourceState) -> bool:
        """Whether it is a resource in progress that has a nested stack."""
        if not row.in_progress or row.physical_id is None:
            return False
        kind = self._known_kind(row)
        return kind is not None and issubclass(kind, StackResource)
