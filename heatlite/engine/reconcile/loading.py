"""Loads a stack from its rows. A start after a crash is the normal start, with more states filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from heatlite.common.context import RequestContext, hide
from heatlite.common.runtime import Runtime
from heatlite.db import credentials, resource_data, stack_trees, stacks, templates
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine.durability import request_ids
from heatlite.engine.reconcile import plan_references, request_keys
from heatlite.engine.reconcile.authority import context_of
from heatlite.engine.reconcile.leased_stack import LeasedStack, desired
from heatlite.engine.reconcile.nesting import StoredFacade
from heatlite.engine.reconcile.settled import tolerance
from heatlite.engine.reconcile.unread_rows import NOTHING_READ, UnreadRows
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language import definition as definitions
from heatlite.language import template as language_template
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.registry import HOOK_TYPES
from heatlite.planning import identities
from heatlite.planning.breakpoints import Hooks, no_hooks
from heatlite.planning.plan import EVERYTHING, Permissions
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.planning.steps import avoided_template
from heatlite.planning.target import Target
from heatlite.planning.traversal import Traversal


def definition(stored: templates.StoredTemplate, row: stacks.StoredStack, types: TypeRegistry) -> StackDefinition:
    """Build the definition of a stack from a stored template. It was accepted before, so no limits of templates apply
    to it, but they do to templates that are read for it now. Log lines of this thread have no hidden values of it from
    now on."""
    made = definitions.build(language_template.Template(dict(stored.document)),
                             Environment(stored.environment, types.operator),
                             stored.files, StackIdentity(row.name, row.id, row.project_id),
                             limits=types.limits.of_accepted, facade=facade(row))
    made.prepare_mask()
    hide(made.masked)
    return made


def facade(row: stacks.StoredStack) -> StoredFacade | None:
    """Return the facade of a nested stack's parent resource, as stored with its request, or None."""
    parts = (row.request or {}).get(request_keys.FACADE)
    return StoredFacade(parts) if parts is not None else None


def target(row: stacks.StoredStack, definition: StackDefinition, permissions: Permissions = EVERYTHING) -> Target:
    """Return the target that the stack's row requests. `permissions`: what the applied plan and protections allow."""
    return Target(row.action, desired(definition, row.action, request_keys.adopted(row)), row.template_id,
                  uuid=partial(identities.of_row, row.id, row.generation), rollback=not row.disable_rollback,
                  avoid_template_id=avoided_template(row.action, row.previous_template_id), hooks=_hooks(definition),
                  permissions=permissions, tolerance=tolerance(row))


def traversal(runtime: Runtime, row: stacks.StoredStack, target: Target, rows: Iterable[ResourceState],
              retry_limit: int, held: Mapping[int, str] | None = None, is_partial: bool = False) -> Traversal:
    """Make the traversal that the stack's row requests. `held`: row number -> breakpoint that holds it; `is_partial`:
    as of `Traversal`."""
    return Traversal(target, rows, next_row=row.next_resource, random=runtime.random, retry_limit=retry_limit,
                     held=held, is_restored=row.restored_from is not None, is_partial=is_partial)


def _hooks(definition: StackDefinition) -> Hooks:
    """Return a function: resource name -> breakpoints that the environment sets for it."""
    environment = definition.environment
    if not environment.has_hooks():
        return no_hooks
    return lambda name: [hook for hook in HOOK_TYPES if environment.hooks(name, hook)]


def as_updated(row: stacks.StoredStack) -> stacks.StoredStack:
    """Return the row as it would be after an update is accepted, for a preview."""
    return replace(row, action=Action.UPDATE, status=Status.IN_PROGRESS, generation=row.generation + 1,
                   template_id='preview', request=request_keys.lasting(row, Action.UPDATE))


def load(runtime: Runtime, database: Database, lease: Lease, types: TypeRegistry, retry_limit: int,
         known: Callable[[stacks.StoredStack], StackDefinition | None] = lambda row: None,
         resource: str | None = None) -> LeasedStack | None:
    """Load a stack; None if it is gone. `known(row)`: its definition, if it is in memory already; `resource`: read the
    rows of that name only, and the others when one of them is asked for; they may be newer then. An update that need
    not visit all resources begins without rows."""
    with database.reader() as tx:
        row = stacks.get(tx, lease.stack_id)
        if row is None:
            return None
        wanted = known(row) or definition(templates.get(tx, row.template_id), row, types)
        unread = UnreadRows(database, row.id, is_driven=bool(lease.epoch))
        is_partial = not tolerance(row) and (resource is not None or (bool(wanted.as_applied) and not row.converge))
        if not is_partial:
            read = unread.all_in(tx)
        else:
            read = unread.of_name(tx, resource) if resource is not None else NOTHING_READ
        context = stored_context(tx, row)
        permissions = plan_references.permissions(tx, row)
        path = stack_trees.whole_path(tx, row)
    held = _held(database, row, wanted)
    leased = LeasedStack(row, lease, wanted, context, traversal(
        runtime, row, target(row, wanted, permissions), read.rows, retry_limit, held, is_partial), path, unread)
    leased.attribute_cache.fill(read.cached_values)
    return leased


def _held(database: Database, row: stacks.StoredStack, definition: StackDefinition) -> dict[int, str]:
    if not definition.environment.has_hooks():
        return {}
    with database.reader() as tx:
        return resource_data.held(tx, row.id, HOOK_TYPES)


def stored_context(tx: Connection, row: stacks.StoredStack) -> RequestContext:
    """Return the context of a stack: the credentials of its tree, with the ids of its own last request."""
    is_nested = row.owner_id is not None
    found = credentials.of_tree(tx, row.root_id) if is_nested or row.credentials_id is not None else None
    if found is None:
        return RequestContext(project_id=row.project_id, username=row.username, overwrite=False,
                              **request_ids.of_action(row))
    return context_of(found, **request_ids.of_action(row))


def for_reading(runtime: Runtime, database: Database, stack_id: str, types: TypeRegistry,
                resource: str | None = None) -> LeasedStack | None:
    """Load a stack without a lease, for reading only. None if it is gone. `resource`: as of `load`."""
    return load(runtime, database, Lease(stack_id, '', 0), types, 0, resource=resource)
