"""The stored resources that a preview starts from: as they are, or as they will be after moves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection

from heatlite.db import resources
from heatlite.engine.reconcile import loading
from heatlite.engine.reconcile.stored_resource_cache import Read
from heatlite.engine.resource_state import PHYSICAL_NAME, physical_name
from heatlite.planning.refactoring import Arranged
from heatlite.planning.states import ResourceState


class StoredRows:
    """The resources of all stacks, as they are stored."""

    def light(self, tx: Connection, stack_id: str) -> list[ResourceState]:
        """Return the rows of a stack without their large columns, by number."""
        return resources.light(tx, stack_id)

    def kept(self, tx: Connection, stack_id: str) -> dict[int, Mapping[str, Any]]:
        """Return the cached values of a stack: row number -> {key: value} (`reconcile.attribute_cache`)."""
        return loading.kept_values(tx, stack_id)

    def secrets(self, tx: Connection, stack_id: str) -> set[str]:
        """Return the data of a stack that types have marked as secret."""
        return resources.secrets(tx, stack_id)

    def reader(self, stack_id: str) -> Read | None:
        """Return what reads the large columns of rows of a stack; None: as they are stored."""
        return None

    def renamed(self, stack_id: str) -> Mapping[int, bool]:
        """Return the rows whose names, or that of their stack, were others when their values were cached: number ->
        whether they were in another stack."""
        return {}

    def separated(self, stack_id: str) -> Collection[int]:
        """Return the numbers of rows that required what is in another stack now."""
        return ()


AS_STORED = StoredRows()


class MovedRows(StoredRows):
    """The resources of stacks after moves, under new definitions; those of other stacks are as they are stored."""

    def __init__(self, arranged: Mapping[str, list[Arranged]],
                 definitions: Mapping[str, Mapping[int, dict[str, Any] | None]], former: Mapping[str, str],
                 renamed: Collection[str]) -> None:
        """`arranged`: stack -> its rows; `definitions`: stack -> row number -> stored definition that differs from the
        present one; `former`: stack -> its present name; `renamed`: stacks that get another one."""
        self._arranged = {stack: {each.row.id: each for each in rows} for stack, rows in arranged.items()}
        self._definitions = definitions
        self._former = former
        self._renamed = renamed

    def light(self, tx: Connection, stack_id: str) -> list[ResourceState]:
        found = self._arranged.get(stack_id)
        return super().light(tx, stack_id) if found is None else [each.row for each in found.values()]

    def kept(self, tx: Connection, stack_id: str) -> dict[int, Mapping[str, Any]]:
        found = self._arranged.get(stack_id)
        if found is None:
            return super().kept(tx, stack_id)
        stored = {origin: loading.kept_values(tx, origin) for origin in {each.stack for each in found.values()}}
        return {number: stored[each.stack][each.before.id] for number, each in found.items()
                if each.before.id in stored[each.stack]}

    def secrets(self, tx: Connection, stack_id: str) -> set[str]:
        found = self._arranged.get(stack_id)
        if found is None:
            return super().secrets(tx, stack_id)
        origins = {stack_id, *(each.stack for each in found.values())}
        return {secret for origin in origins for secret in super(MovedRows, self).secrets(tx, origin)}

    def reader(self, stack_id: str) -> Read | None:
        if stack_id not in self._arranged:
            return None

        def read(tx: Connection, first: int, end: int) -> dict[int, tuple[dict[str, Any], list[resources.StoredDatum]]]:
            wanted = {number: each for number, each in self._arranged[stack_id].items() if first <= number < end}
            stored = {}
            for origin in {each.stack for each in wanted.values()}:
                numbers = [each.before.id for each in wanted.values() if each.stack == origin]
                stored[origin] = resources.stored(tx, origin, min(numbers), max(numbers) + 1)
            return {number: self._after(stack_id, number, each, *stored[each.stack][each.before.id])
                    for number, each in wanted.items() if each.before.id in stored[each.stack]}

        return read

    def renamed(self, stack_id: str) -> Mapping[int, bool]:
        return {number: each.stack != stack_id for number, each in self._arranged.get(stack_id, {}).items()
                if (each.is_moved or stack_id in self._renamed) and each.row.exists}

    def separated(self, stack_id: str) -> Collection[int]:
        return [number for number, each in self._arranged.get(stack_id, {}).items()
                if each.is_separated and each.row.exists]

    def _after(self, stack_id: str, number: int, each: Arranged, columns: dict[str, Any],
               data: list[resources.StoredDatum]) -> tuple[dict[str, Any], list[resources.StoredDatum]]:
        changed = self._definitions[stack_id]
        if (each.is_moved or stack_id in self._renamed) and not any(datum.key == PHYSICAL_NAME for datum in data):
            data = [*data, resources.StoredDatum(PHYSICAL_NAME, physical_name(
                self._former[each.stack], each.before.name, each.before.uuid), None)]
        return {**columns, **({'definition': changed[number]} if number in changed else {})}, data


def depending(definition: Mapping[str, Any] | None, names: list[str]) -> dict[str, Any] | None:
    """Return a stored definition with these `depends_on`."""
    if definition is None:
        return None
    found = {name: value for name, value in definition.items() if name != 'depends_on'}
    return {**found, 'depends_on': names} if names else found
