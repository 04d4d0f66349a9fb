"""Quotas of stacks and of their resources, and what the operator allows beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.limits import UNLIMITED, Limits
from heatlite.db import project_limits, resources, stack_lists
from heatlite.db.connection import Database
from heatlite.engine.requests import validation
from heatlite.engine.types import tree_size
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language.definition import StackDefinition

StoringCheck = Callable[[Connection], None]
"""Raises to refuse what a transaction is about to store. Call it before anything is stored."""


@dataclass(frozen=True)
class Quotas:
    """Quotas of stacks, or UNLIMITED, and optional features."""

    resources_per_stack: int
    stacks_per_project: int
    stack_adopt: bool
    stack_abandon: bool
    plan_required: bool                 # creates, updates, restores and deletes without a plan are refused


class QuotaChecks:
    """Checks sizes before anything is stored, in threads of requests and, for nested stacks, of the pool."""

    def __init__(self, database: Database, registry: TypeRegistry, quotas: Quotas, limits: Limits) -> None:
        self._database = database
        self._registry = registry
        self.quotas = quotas
        self._limits = limits

    def check_planned(self, plan: object) -> None:
        """Raise Forbidden for a request without a plan if the operator requires plans."""
        if plan is None and self.quotas.plan_required:
            raise exception.Forbidden(_('this request without a plan: make one, and apply it'))

    def check_stacks(self, context: RequestContext, project_id: str, ahead: int = 0) -> StoringCheck | None:
        """Raise RequestLimitExceeded if the project may have no further stack. `ahead`: new ones that are not stored.

        Returns what raises the same in the transaction that stores the stack, as requests that arrive together may
        exceed the limit together; None if the project is far from it."""
        limit = self.quotas.stacks_per_project
        if context.is_admin or limit == UNLIMITED:
            return None
        with self._database.reader() as tx:
            found = stack_lists.count_live_roots(tx, project_id) + ahead

        def check(is_room: bool) -> None:
            if not is_room:
                raise exception.RequestLimitExceeded(
                    _('You have reached the maximum stacks per tenant, %d. Please delete some stacks.') % limit)

        check(found < limit)
        if not project_limits.is_near(limit, found):
            return None
        return lambda tx: check(project_limits.has_room(
            tx, project_id, limit, lambda: stack_lists.count_live_roots(tx, project_id)))

    def check_size(self, definition: StackDefinition) -> None:
        """Check the number of resources that the template itself names. Raises RequestLimitExceeded."""
        tree_size.check(len(definition.snippets), self.quotas.resources_per_stack)

    def check_sizes(self, definition: StackDefinition, context: RequestContext) -> None:
        """Check the number of resources of the whole tree, as far as it is known. Raises RequestLimitExceeded."""
        validation.check_sizes(definition, self._registry, context, self.quotas.resources_per_stack,
                               self._limits.max_members)

    def check_room(self, root_id: str, count: int, child_id: str | None = None) -> None:
        """Check that a nested stack may have `count` resources, together with the present resources of the tree.

        `child_id`: the nested stack if it exists; its present resources do not count. Call it before the resources
        are named, built or defined. Raises RequestLimitExceeded.
        """
        limit = self.quotas.resources_per_stack
        tree_size.check_members(count, limit, self._limits.max_members)     # without the database
        if limit == UNLIMITED:
            return
        with self._database.reader() as tx:
            count += resources.count_in_tree(tx, root_id)
            if child_id is not None:
                count -= resources.count(tx, [child_id])
        tree_size.check(count, limit)
