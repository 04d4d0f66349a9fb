"""Makes the Keystone project of the users inside a tree of stacks: one for the whole tree, at the first need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.runtime import Flag, Runtime
from heatlite.db import stacks
from heatlite.db.connection import Database
from heatlite.engine.reconcile.leased_stack import LeasedStack


class Projects:
    """Makes the project of a tree, in threads of the pool: in the call of a type that makes the first of its users."""

    def __init__(self, runtime: Runtime, database: Database) -> None:
        self._runtime = runtime
        self._database = database
        self._making: dict[str, Flag] = {}        # root stack -> set when its project has been made by this engine

    def of(self, leased: LeasedStack, make: Callable[[str], str], unmake: Callable[[str], None]) -> str:
        """Return the project of the tree. `make(root id)`: makes it, or returns the one of that name, which may be in
        use elsewhere; `unmake(project)`: deletes one that is certainly unused."""
        root_id = leased.row.root_id
        while root_id in self._making:
            self._making[root_id].wait()
        # Entered before this thread yields, so that every other thread waits from now on.
        done = self._making[root_id] = self._runtime.flag()
        try:
            with self._database.reader() as tx:
                root = stacks.get(tx, root_id)
            project = root.user_project_id if root is not None else None
            if project is None:
                project = self._keep(root_id, make(root_id), unmake)
            elif root_id != leased.id:               # this stack may have been stored while the project was being made
                self._database.retry(lambda tx: stacks.set_user_project(tx, leased.id, project))
        finally:
            del self._making[root_id]
            done.set()
        leased.row = replace(leased.row, user_project_id=project)
        return project

    def _keep(self, root_id: str, project_id: str, unmake: Callable[[str], None]) -> str:
        def store(tx: Connection) -> str:
            root = stacks.get(tx, root_id, for_update=True)
            if root is None:
                raise exception.EntityNotFound(entity='Stack', name=root_id)
            if root.user_project_id is None:
                stacks.set_user_project_of_tree(tx, root_id, project_id)
            return root.user_project_id or project_id

        try:
            known = self._database.retry(store)
        except exception.EntityNotFound:
            unmake(project_id)                      # the tree is gone, so no later request deletes it
            raise
        if known != project_id:                     # another engine was faster; `known` is in use by the stacks
            unmake(project_id)
        return known
