"""Makes the Keystone project of the users inside a tree of stacks: one for the whole tree, at the first need."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.runtime import Runtime
from heatlite.common.shared_computations import SharedComputations
from heatlite.db import stacks
from heatlite.db.connection import Database
from heatlite.engine.reconcile.leased_stack import LeasedStack


class Projects:
    """Makes the project of a tree, in threads of the pool: in the call of a type that makes the first of its users."""

    def __init__(self, runtime: Runtime, database: Database) -> None:
        self._database = database
        self._making: SharedComputations[str] = SharedComputations(runtime)        # by root stack

    def of(self, leased: LeasedStack, make: Callable[[str], str], unmake: Callable[[str], None]) -> str:
        """Return the project of the tree. `make(root id)`: makes it, or returns the one of that name, which may be in
        use elsewhere; `unmake(project)`: deletes one that is certainly unused. Threads of the same tree share what is
        made, and the error of making it."""
        root_id = leased.row.root_id
        project = self._making.get(root_id, partial(self._present, root_id, make, unmake))
        if root_id != leased.id:                    # this stack may have been stored while the project was being made
            self._database.retry(lambda tx: stacks.set_user_project(tx, leased.id, project))
        leased.users_are_in(project)
        return project

    def _present(self, root_id: str, make: Callable[[str], str], unmake: Callable[[str], None]) -> str:
        """Return the project that the tree has; make it if there is none."""
        with self._database.reader() as tx:
            root = stacks.get(tx, root_id)
        project = root.user_project_id if root is not None else None
        return project if project is not None else self._keep(root_id, make(root_id), unmake)

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
