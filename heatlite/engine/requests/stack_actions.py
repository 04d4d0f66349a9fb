"""Use cases that act on a stack with the definition it has: delete, suspend, resume, check, cancel, abandon."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.db import credentials, events, forced_deletes, stack_sets, stacks, templates
from heatlite.db.credentials import Credentials
from heatlite.engine.durability import request_ids
from heatlite.engine.reconcile import exports, plan_references, request_keys, rollback, stack_events
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.plan_references import PlanReference
from heatlite.engine.reconcile.revisions import Content
from heatlite.engine.requests import guard_checks, plan_builder, validation
from heatlite.engine.requests.acceptance import Applying, StackOwner
from heatlite.engine.requests.orphans import Orphans
from heatlite.engine.requests.ownership import Ownership, check_former, is_from_backup
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.request_parts import RequestParts
from heatlite.engine.requests.stored_stacks import check_idle, check_not_deleting, check_tag, visible
from heatlite.planning import text
from heatlite.planning.states import Action, Status
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)

Store = Callable[[Connection, stacks.StoredStack], stacks.Requested]
"""`store(tx, row)` raises to refuse an action, or stores what belongs to it and returns keywords of `db.stacks.accept`;
`request`: what the action adds to that which lasts of the former request (`reconcile.request_keys`).
It may be called again, after a conflict of transactions."""
PLANNED = (Action.DELETE, Action.RESTORE)       # with creates and updates, what [plans] required is about
# Actions in progress whose place another one may take: nothing that was asked for is lost. What a create or an update
# has not begun yet would never be made, and the stack would be COMPLETE without it.
TAKEN_OVER = {
    Action.CHECK: (Action.CHECK,),
    Action.SUSPEND: (Action.CHECK, Action.SUSPEND, Action.RESUME),
    Action.RESUME: (Action.CHECK, Action.SUSPEND, Action.RESUME),
}


class StackActions:
    """Accepts actions: of users in threads of requests, of types on nested stacks in threads of the pool."""

    def __init__(self, parts: RequestParts) -> None:
        self._runtime = parts.core.runtime
        self._database = parts.core.database
        self._registry = parts.core.registry
        self._acceptance = parts.acceptance
        self._stored_stacks = parts.stored_stacks
        self._owners = parts.owners
        self._recorder = parts.recorder
        self._quotas = parts.quotas
        self._previews = parts.previews
        self._authority = parts.authority
        self._orphans = Orphans(self._runtime, self._database, self._authority, self._stored_stacks)

    def delete(self, context: RequestContext, message: messages.DeleteStack, plan: Applying | None = None) -> None:
        """Delete a stack; accepted at any time, and aborts work in flight. A deleted stack is not found.

        `plan`: the plan that the request applies. Raises PreconditionFailed."""
        if message.if_match is not None:            # before credentials are made for the delete
            with self._database.reader() as tx:
                check_tag(visible(tx, message.stack_id, context), message.if_match)

        def store(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
            check_tag(row, message.if_match)
            if plan is not None:
                plan.accept(tx, row.id, row.generation)
            return {}

        self.begin_delete(context, message.stack_id, store, plan.reference if plan is not None else None)

    def begin_delete(self, context: RequestContext, stack_id: str, store: Store,
                     plan: PlanReference | None = None) -> None:
        """As `begin` for a delete, with the credentials that it needs to act. They are made once nothing but a lock
        can refuse the request. Raises what `Orphans.made_roots` raises, too."""
        self.check_request(context, stack_id, Action.DELETE, plan)
        with self._renewal(context, stack_id) as renew, self._orphans.made_roots(context, stack_id) as make_root:

            def store_with_credentials(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
                requested = store(tx, row)
                renew(tx, row)
                return {**requested, **make_root(tx, row)}

            self._begin_checked(context, stack_id, Action.DELETE, store_with_credentials, plan)

    @contextmanager
    def _renewal(self, context: RequestContext,
                stack_id: str) -> Iterator[Callable[[Connection, stacks.StoredStack], None]]:
        """Make what a delete needs to act, and yield a function that stores it with the request, unless the stack has
        other credentials by then. A trust that is not stored is deleted."""
        present, renewed = self._renewed(context, stack_id)
        is_stored = False

        def store(tx: Connection, row: stacks.StoredStack) -> None:
            nonlocal is_stored
            is_stored = False
            if present is None or renewed is None or not _is_unchanged(tx, row, present):
                return
            with suppress(exception.Conflict):      # too many await the end of an action: it is tried with the old ones
                credentials.replace(tx, present.id, renewed, self._runtime.now())
                is_stored = True

        made = [renewed] if renewed is not None and present is not None and renewed.id != present.id else []
        with self._authority.unless_refused(context, made):
            yield store
        if not is_stored:
            self._authority.delete_unstored(context, made)

    def _renewed(self, context: RequestContext, stack_id: str) -> tuple[Credentials | None, Credentials | None]:
        """Return the credentials of a stack, and those that a delete puts in their place: of the owner, if the stack
        acts by the token of the request or its trust may have been deleted since a backup; of a user of the project, if
        Keystone refuses the trust. None where the present ones suffice, or no others can be made: the delete is tried
        with the old ones, by which it reaches what belongs to the owner alone, as key pairs."""
        with self._database.reader() as tx:
            row = visible(tx, stack_id, context)
            if not context.own_token or row.owner_id is not None or not row.credentials_id:
                return None, None
            present = credentials.get(tx, row.credentials_id)
            if present is None:
                return None, None
            acts_by_token = present.trust_id is not None and (
                stack_sets.acts_by_token(tx, row.id) if row.acts_by_token is None else row.acts_by_token)
        is_own = self._authority.is_of(present, context)
        needs_others = is_own and (acts_by_token or is_from_backup(row, present))
        # The objects are in the project of the stack: an administrator of another one could not reach them.
        is_dead = (not needs_others and context.project_id == row.project_id
                   and (self._authority.is_dead(present) or self._may_have_left(present, context)))
        if not (needs_others or is_dead):
            return None, None
        with self._database.reader() as tx:
            template = templates.get(tx, row.template_id)
        try:
            return present, self._owners.renewed(
                context, replace(row, acts_by_token=acts_by_token), self._stored_stacks.definition(row, template),
                self._runtime.now(), is_dead or None)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            LOG.info('The credentials of stack %s are not renewed for its delete: %s', stack_id, error)
            return None, None

    def _may_have_left(self, present: Credentials, context: RequestContext) -> bool:
        """Whether another user owns the stack by a password, which only a login could try, and this one gives one."""
        return bool(not self._authority.is_of(present, context) and present.trust_id is None and present.password
                    and context.password)

    def preview_delete(self, context: RequestContext, stack_id: str) -> tuple[stacks.StoredStack, PreviewedStack]:
        """Return the present row, and what a delete would do."""
        with self._database.reader() as tx:
            row, template = self._stored_stacks.with_template(tx, stack_id, context)
        return row, self._previews.of_delete(context, row, self._stored_stacks.definition(row, template))

    def act(self, context: RequestContext, message: messages.StackAction) -> None:
        action = Action(message.action.upper())
        if action not in (Action.SUSPEND, Action.RESUME, Action.CHECK):
            raise exception.HTTPBadRequest(_('Invalid action %s specified') % message.action)
        try:
            self.begin(context, message.stack_id, action, only_if_nothing_is_lost(action))
        except AlreadyInState:
            return

    def cancel(self, context: RequestContext, message: messages.CancelStack, generation: int | None = None,
               by: LeasedStack | None = None) -> None:
        """Cancel the action. With rollback: go back to the last good definition at once. Without: start no further
        step.

        `generation`: of the request whose action is meant; None: of any. Raises GenerationChanged for another one.
        `by`: see `Acceptance.check_owner`."""
        ownership = None
        if message.rollback:
            self.check_target(context, message.stack_id, self._rollback_target)
            ownership = self._owner_of_rollback(context, message.stack_id)
        new_credentials = [] if ownership is None else [ownership.made]

        def accept(tx: Connection) -> tuple[StackOwner, stacks.StoredStack]:
            self._acceptance.check_owner(tx, by)
            owner = self._acceptance.claim(tx, message.stack_id, context, by)
            row = self._stored_stacks.current(tx, message.stack_id, context)
            if generation not in (None, row.generation):
                raise GenerationChanged
            guard_checks.check_lock(tx, row)
            _check_cancel(row, message.rollback)
            now = self._runtime.now()
            if ownership is not None:
                if rollback.stored_target(row) != rollback.stored_target(ownership.row):
                    raise exception.Conflict(
                        _('Another update of stack %s has begun meanwhile; repeat the request.') % row.name)
                owned = ownership.store(tx, row, now)
                target_id = rollback.target(tx, row, self._runtime.uuid(), now)
                target = templates.get(tx, target_id)
                accepted = stacks.accept(
                    tx, row.id, action=Action.ROLLBACK, reason=text.started(Action.ROLLBACK), now=now,
                    template_id=target_id, previous_template_id=row.template_id,
                    request=request_ids.stored(context, request_keys.lasting(row, Action.ROLLBACK),
                                               plan_references.of(row)),
                    acts_by_token=owned['acts_by_token'], credentials_id=owned['credentials_id'],
                    **self.as_shown(target, row))
                self._recorder.record(tx, row, accepted, Content.of_template(target), context)
            else:
                request = {**(row.request or {}), request_keys.CANCELLED: True}
                accepted = stacks.accept(tx, row.id, action=row.action, status=Status.FAILED,
                                         reason=text.cancelled(row.action), now=now,
                                         request=request_ids.stored(context, request, plan_references.of(row)))
            events.insert_many(tx, row.id, [stack_events.of_stack(self._runtime, accepted)])
            return owner, accepted

        with self._authority.unless_refused(context, new_credentials):
            self._acceptance.commit(accept)

    def _owner_of_rollback(self, context: RequestContext, stack_id: str) -> Ownership:
        """Return for whom a stack acts after a rollback that a user requests. Raises Forbidden if the user may not use
        a type of the definition to which it leads, and for a nested stack that acts for another user."""
        with self._database.reader() as tx:
            row = visible(tx, stack_id, context)
            _check_cancel(row, True)
            check_former(tx, row, context)
            target = self._rollback_target(tx, row)
            if target is None:
                raise exception.EntityNotFound(entity='Stack', name=stack_id)
        definition = self._stored_stacks.definition(row, target)
        validation.check_types(definition, self._registry, context)
        return self._owners.of_former(context, row, definition)

    @staticmethod
    def _rollback_target(tx: Connection, row: stacks.StoredStack) -> templates.StoredTemplate | None:
        target_id = rollback.stored_target(row)
        return None if target_id is None else templates.get(tx, target_id)

    def as_shown(self, template: templates.StoredTemplate, row: stacks.StoredStack) -> stacks.TemplateColumns:
        """Return the columns of a stack's row that follow from its template: keywords of `db.stacks.accept`."""
        definition = self._stored_stacks.definition(row, template)
        return {'parameters': definition.parameters.shown(), 'description': str(definition.description)}

    def begin(self, context: RequestContext, stack_id: str, action: Action, store: Store,
              plan: PlanReference | None = None) -> stacks.StoredStack:
        """Accept an action that a user requests. Raises EntityNotFound also for a stack of another project, Forbidden,
        StackProtected, StackLocked. `plan`: the plan that holds for the action."""
        self.check_request(context, stack_id, action, plan)
        return self._begin_checked(context, stack_id, action, store, plan)

    def _begin_checked(self, context: RequestContext, stack_id: str, action: Action, store: Store,
                       plan: PlanReference | None) -> stacks.StoredStack:
        """As `begin`, after `check_request`."""
        def unless_locked(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
            if action is not Action.CHECK:
                guard_checks.check_lock(tx, row)
            return store(tx, row)

        return self._accept(stack_id, action, unless_locked, context, plan)

    def check_request(self, context: RequestContext, stack_id: str, action: Action,
                      plan: PlanReference | None = None) -> None:
        """Raise what `begin` raises before its transaction."""
        if action in PLANNED:
            self._quotas.check_planned(plan)
        if action is not Action.CHECK:
            self._stored_stacks.check_rights(stack_id, context)
        if action is Action.DELETE:
            self._check_protected(stack_id, context)

    def begin_by_engine(self, stack_id: str, action: Action, store: Store, on_behalf_of: RequestContext | None = None,
                        plan: PlanReference | None = None, by: LeasedStack | None = None) -> stacks.StoredStack:
        """Accept an action that the engine requests itself: neither rights nor locks and protections are checked.

        `on_behalf_of`: the context of the stack that the action follows from; `plan`: the plan that holds for the
        action; `by`: see `Acceptance.check_owner`. Raises EntityNotFound also for a stack of another project."""
        return self._accept(stack_id, action, store, on_behalf_of, plan, by)

    def _accept(self, stack_id: str, action: Action, store: Store, caller: RequestContext | None,
                plan: PlanReference | None, by: LeasedStack | None = None) -> stacks.StoredStack:
        def accept(tx: Connection) -> tuple[StackOwner, stacks.StoredStack]:
            self._acceptance.check_owner(tx, by)
            owner = self._acceptance.claim(tx, stack_id, caller, by)
            row = self._stored_stacks.current(tx, stack_id, caller)
            _check_not_forced(tx, row, action)
            requested: stacks.Requested = {**store(tx, row)}
            requested['request'] = {**request_keys.lasting(row, action), **(requested.get('request') or {})}
            if caller is not None:
                requested['request'] = request_ids.stored(caller, requested['request'], plan)
            # Not before the time of new credentials: a stack that began before those has had others (`is_busy`).
            now = self._runtime.now()
            accepted = stacks.accept(tx, row.id, action=action, reason=text.started(action), now=now, **requested)
            if 'template_id' in requested:
                template = templates.get(tx, accepted.template_id)
                self._recorder.record(tx, row, accepted, Content.of_template(template), caller)
            new = [stack_events.of_stack(self._runtime, accepted)]
            if action is Action.DELETE and row.status == Status.IN_PROGRESS and row.action != Action.DELETE:
                new.insert(0, stack_events.of_stack(self._runtime, row)._replace(
                    status=Status.FAILED, reason=text.cancelled(row.action)))
            events.insert_many(tx, row.id, new)
            return owner, accepted

        return self._acceptance.commit(accept)

    def abandon(self, context: RequestContext, message: messages.AbandonStack) -> dict[str, object]:
        """Return the export and delete the stack without deleting the objects of its resources."""
        found = self.export(context, messages.ExportStack(message.stack_id))
        self.begin(context, message.stack_id, Action.DELETE, lambda tx, row: {'request': exports.ABANDONING})
        return found

    def export(self, context: RequestContext, message: messages.ExportStack) -> dict[str, object]:
        if not self._quotas.quotas.stack_abandon:
            raise exception.NotSupported(feature='Stack Abandon')
        with self._database.reader() as tx:
            visible(tx, message.stack_id, context)
            found = exports.Export(tx, message.stack_id)
        return found.document()

    def _check_protected(self, stack_id: str, context: RequestContext) -> None:
        """Raise StackProtected if the stack must not be deleted."""
        with self._database.reader() as tx:
            found = guard_checks.read(tx, visible(tx, stack_id, context))
        found.check_delete()

    def check_target(self, context: RequestContext, stack_id: str,
                     target: Callable[[Connection, stacks.StoredStack], templates.StoredTemplate | None]) -> None:
        """Raise StackProtected if protections deny what would lead a stack to another definition. `target`: reads it;
        None: there is nothing to be checked. A preview, if the stack has protections; what cannot be previewed is
        refused when it comes to it."""
        with self._database.reader() as tx:
            row = visible(tx, stack_id, context)
            protections = guard_checks.check_lock(tx, row).protections
            wanted = target(tx, row) if protections else None
        if wanted is not None:
            try:
                definition = self._stored_stacks.definition(row, wanted)
                found = self._previews.of_update(context, row, definition, definition, False, with_causes=False)
            except exception.DatabaseUnavailable:
                raise
            except exception.HeatException:
                return
            guard_checks.refuse(row, plan_builder.build(messages.UPDATE, found, protections).blockers)


class GenerationChanged(Exception):
    """A newer request of the stack has been accepted."""


class AlreadyInState(Exception):
    """The stack is in the requested state already."""


def _is_unchanged(tx: Connection, row: stacks.StoredStack, known: Credentials) -> bool:
    """Whether a stack still has the credentials that were read before, perhaps with another token."""
    present = credentials.get(tx, row.credentials_id) if row.credentials_id else None
    return present is not None and (present.id, present.created_at, present.user_id, present.project_id) == (
        known.id, known.created_at, known.user_id, known.project_id)


def _check_cancel(row: stacks.StoredStack, rollback: bool) -> None:
    """Raise NotSupported if there is nothing to be cancelled. `rollback`: whether the stack is to go back."""
    allowed = (Action.UPDATE,) if rollback else (Action.UPDATE, Action.CREATE)
    if row.action not in allowed or row.status != Status.IN_PROGRESS:
        raise exception.NotSupported(feature=_('Cancelling update when stack is %(action)s_%(status)s')
                                     % {'action': row.action, 'status': row.status})


def _check_not_forced(tx: Connection, row: stacks.StoredStack, action: Action) -> None:
    """Raise NotSupported if `action` would take the place of a forced delete, or of a release, that has failed and goes
    on by itself."""
    if row.action == Action.DELETE and action is not Action.DELETE and forced_deletes.is_open(tx, row.id):
        raise exception.NotSupported(feature=_('%s of a stack that is being deleted') % action.capitalize())


def only_if_nothing_is_lost(action: Action) -> Store:
    """Return a function for `StackActions.begin` that refuses a check, suspend or resume in the place of what has to go
    on (TAKEN_OVER): it raises AlreadyInState, NotSupported during a delete, or ActionInProgress. After a delete that
    has failed, the resources that are left can be acted on."""
    def check(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
        if action in (Action.SUSPEND, Action.RESUME) and (row.action, row.status) == (action, Status.COMPLETE):
            raise AlreadyInState
        check_place(row, action)
        return {}
    return check


def check_place(row: stacks.StoredStack, action: Action) -> None:
    """Raise NotSupported if `action`, of a user or of a parent, would take the place of a delete, and ActionInProgress
    if a check, suspend or resume would take that of what has to go on (TAKEN_OVER)."""
    check_not_deleting(row, action)
    if action in TAKEN_OVER and row.action not in TAKEN_OVER[action]:
        check_idle(row)
