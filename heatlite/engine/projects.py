"""The project in which users inside a tree of stacks live: one for all of it, made by whoever needs it first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from heatlite.common.world import Signal, World
from heatlite.db import stacks
from heatlite.db.connection import Database
from heatlite.engine.owned import OwnedStack


class Projects:
    def __init__(self, world: World, database: Database) -> None:
        self._world = world
        self._database = database
        self._making: dict[str, Signal] = {}        # root stacks whose project is being made here

    def of(self, owned: OwnedStack, make: Callable[[str], str], unmake: Callable[[str], None]) -> str:
        """`make(root id)`: a new one; `unmake(project)`: it was not needed, another engine was faster."""
        root_id = owned.row.root_id
        while root_id in self._making:
            self._making[root_id].wait()
        with self._database.reader() as tx:
            root = stacks.get(tx, root_id)
        project = root.user_project_id if root is not None else None
        if project is None:
            done = self._making[root_id] = self._world.signal()
            try:
                project = self._keep(root_id, make(root_id), unmake)
            finally:
                del self._making[root_id]
                done.set()
        owned.row = replace(owned.row, user_project_id=project)
        return project

    def _keep(self, root_id: str, made: str, unmake: Callable[[str], None]) -> str:
        with self._database.writer() as tx:
            root = stacks.get(tx, root_id, for_update=True)
            known = root.user_project_id if root is not None else None
            if known is None:
                stacks.set_user_project_of_tree(tx, root_id, made)
        if known is None:
            return made
        unmake(made)
        return known
