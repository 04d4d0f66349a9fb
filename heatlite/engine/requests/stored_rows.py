"""The stored resources that a preview starts from: as they are, or as they will be after moves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from heatlite.db import resource_data, resources
from heatlite.engine.reconcile.leased_stack import desired
from heatlite.engine.reconcile.step_context import fingerprint
from heatlite.engine.reconcile.stored_resource_cache import Read
from heatlite.engine.resource_state import PHYSICAL_NAME, physical_name
from heatlite.language.definition import StackDefinition
from heatlite.planning import marks
from heatlite.planning.refactoring import Arranged, with_requirements
from heatlite.planning.states import Action, ResourceState


class StoredRows:
    """The resources of all stacks, as they are stored."""

    def begin(self, tx: Connection, stack_id: str, definition: StackDefinition) -> None:
        """Called with the definition of each stack, before any of its rows is read."""

    def light(self, tx: Connection, stack_id: str) -> list[ResourceState]:
        """Return the rows of a stack without their large columns, by number."""
        return resources.light(tx, stack_id)

    def cached_values(self, tx: Connection, stack_id: str) -> dict[int, Mapping[str, object]]:
        """Return the cached values of a stack: row number -> {key: value} (`reconcile.attribute_cache`)."""
        return resources.cached_values(tx, stack_id)

    def secrets(self, tx: Connection, stack_id: str) -> set[str]:
        """Return the data of a stack that types have marked as secret."""
        return resource_data.secrets(tx, stack_id)

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
    """The resources of stacks after moves, under new definitions; those of other stacks are as they are stored.

    `rows`: stack -> its rows after the moves; `definitions`: stack -> row number -> stored definition that differs from
    the present one. Both are complete once the definition of the stack is known (`begin`)."""

    def __init__(self, rows: Mapping[str, Sequence[Arranged]], former: Mapping[str, str],
                 renamed: Collection[str]) -> None:
        """`rows`: without what follows from the definitions; `former`: stack -> its present name; `renamed`: stacks
        that get another one."""
        self.rows: dict[str, list[Arranged]] = {stack: list(each) for stack, each in rows.items()}
        self.definitions: dict[str, dict[int, dict[str, object] | None]] = {stack: {} for stack in rows}
        self._numbered: dict[str, dict[int, Arranged]] = {}
        self._former = former
        self._renamed = renamed
        for stack in rows:
            self._number(stack)

    def begin(self, tx: Connection, stack_id: str, definition: StackDefinition) -> None:
        if stack_id not in self.rows:
            return
        requires = {name: each.requires for name, each in desired(definition, Action.UPDATE).items()}
        rows, changed = _as_depending(tx, definition, with_requirements(self.rows[stack_id], requires))
        self.rows[stack_id], self.definitions[stack_id] = rows, changed
        self._number(stack_id)

    def _number(self, stack_id: str) -> None:
        self._numbered[stack_id] = {each.row.id: each for each in self.rows[stack_id]}

    def light(self, tx: Connection, stack_id: str) -> list[ResourceState]:
        found = self._numbered.get(stack_id)
        return super().light(tx, stack_id) if found is None else [each.row for each in found.values()]

    def cached_values(self, tx: Connection, stack_id: str) -> dict[int, Mapping[str, object]]:
        found = self._numbered.get(stack_id)
        if found is None:
            return super().cached_values(tx, stack_id)
        stored = {origin: resources.cached_values(tx, origin) for origin in {each.stack for each in found.values()}}
        return {number: stored[each.stack][each.before.id] for number, each in found.items()
                if each.before.id in stored[each.stack]}

    def secrets(self, tx: Connection, stack_id: str) -> set[str]:
        found = self._numbered.get(stack_id)
        if found is None:
            return super().secrets(tx, stack_id)
        origins = {stack_id, *(each.stack for each in found.values())}
        return {secret for origin in origins for secret in super(MovedRows, self).secrets(tx, origin)}

    def reader(self, stack_id: str) -> Read | None:
        if stack_id not in self._numbered:
            return None

        def read(tx: Connection, first: int,
                 end: int) -> dict[int, tuple[dict[str, object], list[resource_data.StoredDatum]]]:
            wanted = {number: each for number, each in self._numbered[stack_id].items() if first <= number < end}
            stored = {}
            for origin in {each.stack for each in wanted.values()}:
                numbers = [each.before.id for each in wanted.values() if each.stack == origin]
                stored[origin] = resources.stored(tx, origin, min(numbers), max(numbers) + 1)
            return {number: self._after(stack_id, number, each, *stored[each.stack][each.before.id])
                    for number, each in wanted.items() if each.before.id in stored[each.stack]}

        return read

    def renamed(self, stack_id: str) -> Mapping[int, bool]:
        return {number: each.stack != stack_id for number, each in self._numbered.get(stack_id, {}).items()
                if (each.is_moved or stack_id in self._renamed) and each.row.exists}

    def separated(self, stack_id: str) -> Collection[int]:
        return [number for number, each in self._numbered.get(stack_id, {}).items()
                if each.is_separated and each.row.exists]

    def _after(self, stack_id: str, number: int, each: Arranged, columns: dict[str, object],
               data: list[resource_data.StoredDatum]) -> tuple[dict[str, object], list[resource_data.StoredDatum]]:
        changed = self.definitions[stack_id]
        if (each.is_moved or stack_id in self._renamed) and not any(datum.key == PHYSICAL_NAME for datum in data):
            data = [*data, resource_data.StoredDatum(PHYSICAL_NAME, physical_name(
                self._former[each.stack], each.before.name, each.before.uuid), None)]
        return {**columns, **({'definition': changed[number]} if number in changed else {})}, data


def _as_depending(tx: Connection, definition: StackDefinition,
                  rows: Sequence[Arranged]) -> tuple[list[Arranged], dict[int, dict[str, object] | None]]:
    """Return the rows of one stack with the fingerprints that follow from the `depends_on` of its definition, and by
    number the stored definitions that it changes. It only orders actions: another one is no change."""
    columns = {origin: resources.columns(tx, origin, [each.before.id for each in rows if each.stack == origin], (
        'definition', 'properties')) for origin in {each.stack for each in rows}}
    arranged_rows, changed = [], {}
    for each in rows:
        known = columns[each.stack].get(each.before.id, {})
        resource, before = definition.resources.get(each.row.name), known.get('definition')
        after = before if resource is None else _depending(before, sorted(resource.parsed.depends_on))
        if after != before:
            changed[each.row.id] = after
            sign = fingerprint({**(after or {}), 'type': each.row.type, 'properties': known['properties']})
            each = replace(each, row=each.row._replace(
                fingerprint=marks.with_definition(each.row.fingerprint, sign)))
        arranged_rows.append(each)
    return arranged_rows, changed


def _depending(definition: Mapping[str, object] | None, names: list[str]) -> dict[str, object] | None:
    """Return a stored definition with these `depends_on`."""
    if definition is None:
        return None
    found = {name: value for name, value in definition.items() if name != 'depends_on'}
    return {**found, 'depends_on': names} if names else found
