"""Caches the stored resources of a stack, read in blocks: deleting ten thousand must not take ten thousand reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from sqlalchemy import Connection

from heatlite.common.runtime import Runtime
from heatlite.common.shared_computations import SharedComputations
from heatlite.db import resource_data, resource_lists, resources, templates
from heatlite.db.connection import Database
from heatlite.engine.stored_resource import StoredResource
from heatlite.planning.states import ResourceState

BLOCK = 256                                         # rows with consecutive numbers that are read together
BLOCKS = 8                                          # the most blocks in the cache
FEW = 4                                             # rows of a block that are read again, one by one, before all are
NOT_READ = ResourceState(0, '', '', '')              # placeholder until `get` sets the state

Read = Callable[[Connection, int, int], Mapping[int, tuple[Mapping[str, Any], list[resource_data.StoredDatum]]]]
"""(tx, first, end) -> rows with these numbers, `end` not included, as `db.resources.stored`."""


class StoredResources(Protocol):
    """The stored resources of one stack, by their rows."""

    def get(self, state: ResourceState) -> StoredResource:
        """Return the stored resource of a row, with `state`, which may be newer than the row."""

    def environment(self, template_id: str) -> Mapping[str, object] | None:
        """Return the environment of a template of the stack; None if the template is gone."""

    def holders(self, physical_id: str) -> list[resource_lists.Holder]:
        """Return the resources of all live stacks that have this object."""

    def forget(self, row: int) -> None:
        """Read a row anew the next time: it has changed."""


class StoredResourceCache:
    """Reads what is stored; changes of the stack that are pending are written before."""

    def __init__(self, runtime: Runtime, database: Database, settle: Callable[[], None] | None, stack_id: str,
                 read: Read | None = None, first_alone: bool = False) -> None:
        """`settle()`: writes the pending changes of the stack; None: nothing is written meanwhile (a preview, a
        question). `read`: by default the rows of the stack. `first_alone`: the first row of a block is read by itself,
        as it may be the only one."""
        self._first_alone = first_alone
        self._database = database
        self._settle = settle
        self._stored: Read = read or (lambda tx, first, end: resources.stored(tx, stack_id, first, end))
        self._blocks: dict[int, dict[int, StoredResource]] = {}
        self._whole: dict[int, set[int]] = {}       # of those that were read as a whole, the rows read again since
        self._reads: SharedComputations[bool] = SharedComputations(runtime)         # by block
        self._changed: dict[int, set[int]] = {}     # rows that changed while their block was being read
        self._environments: dict[str, Mapping[str, object] | None] = {}    # by template id; templates never change

    def get(self, state: ResourceState) -> StoredResource:
        """Return the stored resource of a row, with `state`, which may be newer than the row."""
        number = state.id // BLOCK
        while state.id not in self._blocks.get(number, ()):
            if self._reads.wait(number):
                continue                            # another thread may have read another row of the block only
            if not self._reads.get(number, partial(self._read, number, state.id)):
                break
        block = self._blocks.get(number, {})
        if self._settle is None:                    # a preview makes several objects of one row, and changes none
            known = block.get(state.id)
            return StoredResource(state) if known is None else replace(
                known, state=state, data=dict(known.data), attributes={})
        found = block.pop(state.id, None) or StoredResource(state)
        found.state = state
        return found

    def environment(self, template_id: str) -> Mapping[str, object] | None:
        """Return the environment of a template of this stack; None if the template is gone. Reads it once."""
        if template_id not in self._environments:
            self._environments[template_id] = self._database.retry_until_available(
                lambda tx: templates.environment(tx, template_id), reading=True)
        return self._environments[template_id]

    def holders(self, physical_id: str) -> list[resource_lists.Holder]:
        """Return the resources of all live stacks that have this object. Not cached."""
        return self._database.retry_until_available(lambda tx: resource_lists.holders(tx, physical_id), reading=True)

    def forget(self, row: int) -> None:
        """Drop a row from the cache after a change."""
        number = row // BLOCK
        self._blocks.get(number, {}).pop(row, None)
        if number in self._changed:
            self._changed[number].add(row)

    def _read(self, number: int, row_number: int) -> bool:
        """Read a block into the cache. Returns False if the row `row_number` is not stored; True if it is in the cache
        now, or has changed meanwhile."""
        changed = self._changed[number] = set()
        try:
            if self._settle is not None:
                self._settle()
            is_whole = self._reads_whole(number, row_number)
            first = number * BLOCK if is_whole else row_number
            end = first + BLOCK if is_whole else row_number + 1
            stored = self._database.retry_until_available(
                lambda tx: self._stored(tx, first, end), reading=True)
            while number not in self._blocks and len(self._blocks) >= BLOCKS:
                dropped = next(iter(self._blocks))
                del self._blocks[dropped]
                self._whole.pop(dropped, None)
            if is_whole:
                self._whole[number] = set()
            self._blocks.setdefault(number, {}).update({
                row: StoredResource(NOT_READ, columns['properties'], columns['definition'], columns['metadata'],
                                    {entry.key: value for entry in data if (value := entry.clear()) is not None}, {},
                                    cause=columns['cause'])
                for row, (columns, data) in stored.items() if row not in changed})
            return row_number in stored or row_number in changed
        finally:
            del self._changed[number]

    def _reads_whole(self, number: int, row_number: int) -> bool:
        """Whether the whole block is read for a row. An update that replaces all resources of a stack takes each stored
        resource twice; others ask for the same row again and again."""
        again = self._whole.get(number)
        if again is None:
            return number in self._blocks or not self._first_alone
        again.add(row_number)
        return len(again) > FEW
