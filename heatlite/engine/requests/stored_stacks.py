"""Looks up the stored stack of a request, within what its caller may see."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.db import resources, stacks, templates
from heatlite.engine.reconcile import loading, request_keys
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.requests import repeated_calls, validation
from heatlite.language.definition import StackDefinition
from heatlite.planning import definition_tags
from heatlite.planning.states import Action, Status


def visible(tx: Connection, stack_id: str, caller: RequestContext | None,
            for_update: bool = False) -> stacks.StoredStack:
    """Return the stack's row. Raises EntityNotFound. `caller` None: the caller's access was checked before.

    The API has looked the stack up within the caller's project, but an id may also come from a template.
    """
    row = stacks.get(tx, stack_id, for_update=for_update)
    if row is None or (caller is not None and not caller.may_see(row.project_id, row.user_project_id)):
        raise exception.EntityNotFound(entity='Stack', name=stack_id)
    return row


class StoredStacks:
    """Reads stacks for other use cases, in the threads and transactions of their requests."""

    def __init__(self, core: EngineCore) -> None:
        self._runtime = core.runtime
        self._database = core.database
        self._registry = core.registry

    def current(self, tx: Connection, stack_id: str, caller: RequestContext | None) -> stacks.StoredStack:
        """As `visible`, and lock the row until the end of the transaction. Raises what `repeated_calls.check` does."""
        row = visible(tx, stack_id, caller, for_update=True)
        if caller is not None:
            repeated_calls.check(tx, caller, row, self._runtime.now())
        return row

    def with_template(self, tx: Connection, stack_id: str,
                      caller: RequestContext) -> tuple[stacks.StoredStack, templates.StoredTemplate]:
        """Return the stack, and its template with a document that is decoded when it is first read."""
        row = visible(tx, stack_id, caller)
        return row, templates.undecoded(tx, row.template_id)

    def definition(self, row: stacks.StoredStack, stored: templates.StoredTemplate) -> StackDefinition:
        """Build the definition of a stack from a stored template of it."""
        return loading.definition(stored, row, self._registry)

    def check_rights(self, stack_id: str, context: RequestContext) -> None:
        """Check that the caller may use the types of all resources of the stack. Raises Forbidden."""
        with self._database.reader() as tx:
            names = resources.types(tx, stack_id)
        validation.check_rights(names, self._registry, context)


def check_idle(row: stacks.StoredStack) -> None:
    """Raise ActionInProgress for a stack whose action has not ended."""
    if row.status == Status.IN_PROGRESS:
        raise exception.ActionInProgress(stack_name=row.name, action=row.action)


def check_updatable(row: stacks.StoredStack) -> None:
    """Raise NotSupported for a stack that is suspended or being deleted."""
    check_not_suspended(row)
    check_not_deleting(row, Action.UPDATE)


def check_not_suspended(row: stacks.StoredStack) -> None:
    """Raise NotSupported for a stack that is suspended: neither an update nor a restore changes it."""
    if request_keys.is_suspended(row):
        raise exception.NotSupported(feature=_('Updating a stack when it is suspended'))


def check_ready(row: stacks.StoredStack) -> None:
    """Raise NotSupported or ActionInProgress for a stack that cannot be updated, or whose action has not ended."""
    check_updatable(row)
    check_idle(row)


def check_not_deleting(row: stacks.StoredStack, action: Action) -> None:
    """Raise NotSupported if `action`, of a user or of a parent, would take the place of a delete. After a delete that
    has failed, only updates are refused, as in Heat."""
    if row.action != Action.DELETE or action is Action.DELETE:
        return
    if action is Action.UPDATE:
        raise exception.NotSupported(feature=_('Updating a stack when it is deleting'))
    if row.status == Status.IN_PROGRESS:
        raise exception.NotSupported(feature=_('%s of a stack that is being deleted') % action.capitalize())


def check_tag(row: stacks.StoredStack, tags: Collection[str] | None) -> None:
    """Raise PreconditionFailed unless the definition of the stack has one of the tags `tags`; None: any will do."""
    if tags is not None and definition_tags.of(row) not in tags:
        raise exception.PreconditionFailed(stack_name=row.name, why=(
            _('the stack was changed since it was read') if tags else _('it has only weak ones, which never match')))


def check_generation(row: stacks.StoredStack, generation: int | None) -> None:
    """Raise Conflict if the stack has accepted a request since it had that generation; None: any will do.

    Unlike its tag, a stack's generation only grows: a definition may come back, with another owner."""
    if generation not in (None, row.generation):
        raise exception.Conflict(_('Another action of stack %s has begun meanwhile.') % row.name)
