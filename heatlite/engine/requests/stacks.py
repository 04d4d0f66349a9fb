"""Use cases of stacks: each request is checked, stored in one transaction, then answered and driven."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.identifier import HeatIdentifier
from heatlite.common.limits import Limits
from heatlite.common.runtime import Runtime
from heatlite.common.timeutils import isotime
from heatlite.db import credentials, leases, resources, revisions, stacks, templates
from heatlite.db import events as event_rows
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine.durability import request_ids
from heatlite.engine.notify.notifications import Notify, silent
from heatlite.engine.reconcile import events, exports, implicit_dependencies, loading, outputs, planned, rollback
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.reconcile.controller import StackController
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.planned import Reference
from heatlite.engine.reconcile.revisions import Content, Recorder
from heatlite.engine.requests import guarding, plan_making, presenters, preview_create, sources, validation
from heatlite.engine.requests import preview_update as previews
from heatlite.engine.requests.sources import Update
from heatlite.engine.types import tree_size
from heatlite.engine.types.registry import Registry
from heatlite.engine.types.tree_size import UNLIMITED
from heatlite.language import masking
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.planning import text
from heatlite.planning.plan import EVERYTHING
from heatlite.planning.states import Action, Event, ResourceState, Status
from heatlite.rpc import messages

PLANNED = (Action.DELETE, Action.RESTORE)       # with creates and updates, what [plans] required is about
NAME = re.compile(r'[a-zA-Z][a-zA-Z0-9_.-]{0,254}\Z')


@dataclass(frozen=True)
class Quotas:
    """Quotas of stacks (-1: no limit), and optional features."""

    resources_per_stack: int = 1000
    stacks_per_project: int = 512
    stack_adopt: bool = False
    stack_abandon: bool = False
    plan_required: bool = False         # creates, updates, restores and deletes without a plan are refused


class Applying(Protocol):
    """A plan that a request applies."""

    @property
    def reference(self) -> Reference: ...

    def accept(self, tx: Connection, stack_id: str, generation: int | None) -> None:
        """Mark the plan as applied, in the transaction of the request. `generation`: of the stack; None: a new one.

        Raises Conflict if the plan is no longer valid. May be called again, after a conflict of transactions."""


class Stacks:
    def __init__(self, runtime: Runtime, database: Database, registry: Registry, controller: StackController,
                 engine_id: str, quotas: Quotas, limits: Limits, wake: Callable[[str, str | None], None],
                 recorder: Recorder, retry_limit: int = 5, notify: Notify = silent) -> None:
        """`wake(stack_id, engine_id)`: wakes up the engine that owns a stack, or any engine (None)."""
        self._limits = limits
        self._notify = notify
        self._authority = Authority(runtime, registry)
        self._runtime = runtime
        self._database = database
        self._registry = registry
        self._controller = controller
        self._engine_id = engine_id
        self._quotas = quotas
        self._wake = wake
        self._recorder = recorder
        self._retry_limit = retry_limit

    # --- create -----------------------------------------------------------------------------------------

    def create(self, context: RequestContext, message: messages.CreateStack,
               plan: Applying | None = None) -> dict[str, str]:
        """Return the identity of the new stack, once its row, its resources, its first event and its lease are
        stored. `plan`: the plan that the request applies."""
        self._check_planned(plan)
        now = self._runtime.now()
        row, definition = self._checked_create(context, message, now)
        authority = self._authority.record(context, definition, now)
        row = replace(row, credentials_id=authority.id if authority is not None else None, request=request_ids.stored(
            context, row.request, plan.reference if plan is not None else None))
        rows = self._new_resources(definition, row.template_id, now)
        row = replace(row, next_resource=len(rows) + 1)
        self._store(context, row, definition, rows, now, authority, plan)
        return dict(identity(row))

    def _checked_create(self, context: RequestContext, message: messages.CreateStack,
                        now: datetime) -> tuple[stacks.Stack, StackDefinition]:
        """Return the row and the definition of a new stack, after all checks of its request."""
        if message.adopt is not None and not self._quotas.stack_adopt:
            raise exception.NotSupported(feature='Stack Adopt')
        stack_id = self._runtime.uuid()
        self._check_name_free(context, message.stack_name)
        definition = self._define(message, StackIdentity(message.stack_name, stack_id, context.owning_project()))
        self._check_quota(context, definition.identity.project_id)
        check_name(message.stack_name)
        self._check_size(definition)
        validation.check_request(definition, self._registry, context)
        self._check_sizes(definition, context)
        action = Action.CREATE if message.adopt is None else Action.ADOPT
        return self._new_row(context, message, definition, stack_id, action, now), definition

    def foresee_create(self, context: RequestContext, message: messages.CreateStack) -> previews.Previewed:
        """Return what a create would do. Raises what it would be refused with."""
        row, definition = self._checked_create(context, message, self._runtime.now())
        return self._preview(context).of_create(row, definition)

    def _preview(self, context: RequestContext) -> previews.Preview:
        return previews.Preview(
            self._runtime, self._database, self._registry, context, self._controller.nest, self._controller.software,
            self._controller.alarms, self._quotas.resources_per_stack, preview_create.MOST_SHOWN,
            self._controller.observes)

    def _store(self, context: RequestContext, row: stacks.Stack, definition: StackDefinition,
               rows: list[ResourceState], now: datetime, authority: credentials.Credentials | None = None,
               plan: Applying | None = None) -> None:
        """Store a new stack in one transaction, then drive it here or wake up another engine."""
        permissions = EVERYTHING
        content = Content.of(definition)

        def store(tx: Connection) -> Lease | None:
            nonlocal permissions
            if plan is not None:
                plan.accept(tx, row.id, None)
            permissions = planned.of_plan(tx, row)
            lease = leases.insert(tx, row.id, self._engine_id if self._controller.room() > 0 else None)
            stacks.insert(tx, row)              # StackExists when another request was faster
            context.check_in_time(self._runtime.now())
            templates.insert(tx, row.template_id, content.document, content.environment, content.files, now,
                             stack_id=row.id, is_nested=row.owner_id is not None)
            self._recorder.record(tx, None, row, content, context, _id_of(plan))
            if authority is not None:
                credentials.insert(tx, authority)
            resources.insert_many(tx, row.id, rows)
            event_rows.insert_many(tx, row.id, [self._event_of(row)])
            return lease

        lease = self._database.retry(store)
        context.deadline = None                 # the request is over; the work that follows has no deadline
        self._announce(row)
        if lease is None:
            self._wake(row.id, None)
        else:
            self._controller.adopt(LeasedStack(
                row, lease, definition, request_ids.following(context, row),
                loading.traversal(self._runtime, row, definition, rows, self._retry_limit,
                                  permissions=permissions)))

    def preview(self, context: RequestContext, message: messages.PreviewStack) -> dict[str, Any]:
        self._check_name_free(context, message.stack_name)
        check_name(message.stack_name)
        definition = self._define(message, StackIdentity(message.stack_name, None, context.project_id or ''))
        self._check_size(definition)
        validation.check_request(definition, self._registry, context)
        return preview_create.shown(*validation.checker(definition, self._registry, context), message, context.username,
                                    isotime(self._runtime.now()), self._quotas.resources_per_stack)

    def _new_resources(self, definition: StackDefinition, template_id: str, now: datetime) -> list[ResourceState]:
        implicit_dependencies.complete(definition)
        numbers = {name: number for number, name in enumerate(definition.resources, 1)}
        return [ResourceState(id=numbers[name], name=name, uuid=self._runtime.uuid(), type=resource.type,
                              requires={needed: numbers[needed] for needed in resource.requires},
                              template_id=template_id, created_at=now)
                for name, resource in definition.resources.items()]

    def _new_row(self, context: RequestContext, message: messages.CreateStack, definition: StackDefinition,
                 stack_id: str, action: Action, now: datetime) -> stacks.Stack:
        return stacks.Stack(
            id=stack_id, name=message.stack_name, project_id=definition.identity.project_id, username=context.username,
            owner_id=None, root_id=stack_id, parent_resource=None, depth=0, action=action,
            status=Status.IN_PROGRESS, reason=text.started(action), description=str(definition.description),
            template_id=self._runtime.uuid(), previous_template_id=None, generation=1, next_resource=1,
            timeout_mins=message.timeout_mins or None, disable_rollback=message.disable_rollback, converge=False,
            credentials_id=None, user_project_id=None,
            tags=list(message.tags) if message.tags else None, parameters=definition.parameters.shown(),
            outputs=outputs.unknown(definition),
            request=request_ids.stored(
                context, {'adopt': message.adopt.get('resources', {})} if message.adopt else None),
            created_at=now, updated_at=None, started_at=now, deleted_at=None, revision=1)

    # --- update -----------------------------------------------------------------------------------------

    def update(self, context: RequestContext, message: messages.UpdateStack,
               plan: Applying | None = None) -> dict[str, str]:
        """Return the identity of the stack, once the request is stored. `plan`: the plan that it applies."""
        self._check_planned(plan)
        with self._database.reader() as tx:
            row, stored = self._stored(tx, message.stack_id, context)
            protections = guarding.check_lock(tx, row).protections
        self._check_updatable(row)
        self._check_rights(row.id, context)
        definition, before = self._checked_update(context, row, stored, message)
        if protections and plan is None:            # what is not known before the update is refused when it comes to it
            found = self._previewed_update(context, row, definition, before, message, with_causes=False)
            guarding.refuse(row, plan_making.made(messages.UPDATE, found, protections).blockers)
        now = self._runtime.now()
        renewed = self._renewed_authority(context, row, definition, now)
        content = Content.of(definition)

        def accept(tx: Connection) -> tuple[Lease | str | None, stacks.Stack]:
            owner = self._claim(tx, row.id, context)
            current = self._current(tx, row.id, context)
            guarding.check_lock(tx, current)
            self._check_updatable(current)
            if plan is not None:
                plan.accept(tx, row.id, current.generation)
            credentials_id = current.credentials_id
            if renewed is not None:
                credentials.insert(tx, renewed)
                credentials_id = renewed.id
            template_id = templates.insert(tx, self._runtime.uuid(), content.document, content.environment,
                                           content.files, now, stack_id=row.id)
            accepted = stacks.accept(
                tx, row.id, action=Action.UPDATE, reason=text.started(Action.UPDATE), now=now,
                template_id=template_id, previous_template_id=rollback.last_good(current),
                description=str(definition.description), parameters=definition.parameters.shown(),
                request=request_ids.stored(context, None, plan.reference if plan is not None else None),
                keeps_revision=self._recorder.is_present(tx, current, content),
                timeout_mins=current.timeout_mins if message.timeout_mins is None else message.timeout_mins or None,
                disable_rollback=(current.disable_rollback if message.disable_rollback is None
                                  else message.disable_rollback),
                converge=bool(message.converge), credentials_id=credentials_id,
                tags=current.tags if message.existing and message.tags is None else list(message.tags or ()) or None)
            self._recorder.record(tx, current, accepted, content, context, _id_of(plan))
            event_rows.insert_many(tx, row.id, [self._event_of(accepted)])
            return owner, accepted

        return dict(identity(self._commit(accept, definition)))

    def _renewed_authority(self, context: RequestContext, row: stacks.Stack, definition: StackDefinition,
                           now: datetime) -> credentials.Credentials | None:
        """Return new credentials if another user updates, or the stack may need a trust that it lacks; else None."""
        if row.owner_id is not None:
            return None
        with self._database.reader() as tx:
            stored = credentials.get(tx, row.credentials_id) if row.credentials_id else None
        if stored is not None and stored.trust_id and self._authority.is_of(stored, context):
            return None
        if stored is not None and not context.auth_token and self._authority.is_of(stored, context):
            return None
        return self._authority.record(context, definition, now)

    def _checked_update(self, context: RequestContext, row: stacks.Stack, stored: templates.Template,
                        message: messages.UpdateStack) -> tuple[StackDefinition, StackDefinition]:
        """Return the new and the present definition of a stack, after the checks of the request."""
        definition = self._redefine(row, stored, message)
        self._check_size(definition)
        before = loading.definition(stored, row, self._registry.operator)
        validation.check_immutable(before, definition)
        definition.hide_too(before.mask)
        validation.check_request(definition, self._registry, context, updating=True)
        self._check_sizes(definition, context)
        return definition, before

    def preview_update(self, context: RequestContext, message: messages.PreviewUpdateStack) -> dict[str, Any]:
        _row, found = self.foresee_update(context, message, with_causes=False)
        return presenters.changes(found, show_nested=message.show_nested)

    def foresee_update(self, context: RequestContext, message: messages.UpdateStack,
                       with_causes: bool = True) -> tuple[stacks.Stack, previews.Previewed]:
        """Return the present row, and what an update would do. Raises what it would be refused with.

        `with_causes`: with the present definitions, also of nested stacks, from which the causes of changes follow."""
        with self._database.reader() as tx:
            row, stored = self._stored(tx, message.stack_id, context)
        definition, before = self._checked_update(context, row, stored, message)
        return row, self._previewed_update(context, row, definition, before, message, with_causes)

    def _previewed_update(self, context: RequestContext, row: stacks.Stack, definition: StackDefinition,
                          before: StackDefinition, message: messages.UpdateStack,
                          with_causes: bool) -> previews.Previewed:
        return self._preview(context).of_update(
            row, definition, definition.mask | before.mask, converge=bool(message.converge),
            before=before if with_causes else None)

    def at_revision(self, context: RequestContext, message: Update, number: int) -> Update:
        """Return the message with the definition of a revision of its stack as its source, and the present tags.

        Raises EntityNotFound."""
        with self._database.reader() as tx:
            row = self._found(tx, message.stack_id, context)
            found = revisions.definition(tx, row.id, number)
        if found is None:
            raise exception.EntityNotFound(entity='Revision', name=str(number))
        _revision, stored = found
        return replace(message, template=stored.document, environment=stored.environment, files=stored.files,
                       tags=tuple(row.tags or ()) if message.tags is None else message.tags)

    def foresee_delete(self, context: RequestContext, stack_id: str) -> tuple[stacks.Stack, previews.Previewed]:
        """Return the present row, and what a delete would do."""
        with self._database.reader() as tx:
            row, stored = self._stored(tx, stack_id, context)
        return row, self._preview(context).of_delete(row, loading.definition(stored, row, self._registry.operator))

    def validate(self, context: RequestContext, message: messages.ValidateTemplate) -> dict[str, Any]:
        definition = self._define(message, StackIdentity('validate', None, context.project_id or ''))
        return validation.described(definition, self._registry, context, message)

    def _redefine(self, row: stacks.Stack, stored: templates.Template,
                  message: messages.UpdateStack) -> StackDefinition:
        if message.existing:
            message = sources.over_existing(message, stored)
        if message.files == stored.files:           # unchanged files need no second row
            message = replace(message, files=stored.files)
        return self._define(message, StackIdentity(row.name, row.id, row.project_id))

    def _check_planned(self, plan: object) -> None:
        """Raise Forbidden for a request without a plan if the operator requires plans."""
        if plan is None and self._quotas.plan_required:
            raise exception.Forbidden(_('this request without a plan: make one, and apply it'))

    def _check_updatable(self, row: stacks.Stack) -> None:
        if row.action == Action.SUSPEND:
            raise exception.NotSupported(feature=_('Updating a stack when it is suspended'))
        if row.action == Action.DELETE:
            raise exception.NotSupported(feature=_('Updating a stack when it is deleting'))

    # --- other actions ----------------------------------------------------------------------------------

    def delete(self, context: RequestContext, message: messages.DeleteStack, plan: Applying | None = None) -> None:
        """Delete a stack; accepted at any time, and aborts work in flight. A deleted stack is not found.

        `plan`: the plan that the request applies."""
        def store(tx: Connection, row: stacks.Stack) -> Mapping[str, Any]:
            if plan is not None:
                plan.accept(tx, row.id, row.generation)
            return {'request': None}

        self.begin(message.stack_id, Action.DELETE, store, context,
                   plan=plan.reference if plan is not None else None)

    def act(self, context: RequestContext, message: messages.StackAction) -> None:
        action = Action(message.action.upper())
        if action not in (Action.SUSPEND, Action.RESUME, Action.CHECK):
            raise exception.HTTPBadRequest(_('Invalid action %s specified') % message.action)
        try:
            self.begin(message.stack_id, action, refuse_while_deleting(action), context)
        except Unneeded:
            return

    def cancel(self, context: RequestContext, message: messages.CancelStack) -> None:
        """Cancel the action. With rollback: go back to the last good definition at once. Without: start no further
        step."""
        now = self._runtime.now()
        if message.rollback:
            self.check_target(context, message.stack_id, lambda tx, row: templates.get(tx, row.previous_template_id)
                              if row.previous_template_id is not None else None)

        def accept(tx: Connection) -> tuple[Lease | str | None, stacks.Stack]:
            owner = self._claim(tx, message.stack_id, context)
            row = self._current(tx, message.stack_id, context)
            guarding.check_lock(tx, row)
            allowed = (Action.UPDATE,) if message.rollback else (Action.UPDATE, Action.CREATE)
            if row.action not in allowed or row.status != Status.IN_PROGRESS:
                raise exception.NotSupported(feature=_('Cancelling update when stack is %(action)s_%(status)s')
                                             % {'action': row.action, 'status': row.status})
            if message.rollback:
                target_id = rollback.target(tx, row, self._runtime.uuid(), now)
                target = templates.get(tx, target_id)
                accepted = stacks.accept(
                    tx, row.id, action=Action.ROLLBACK, reason=text.started(Action.ROLLBACK), now=now,
                    template_id=target_id, previous_template_id=row.template_id,
                    request=request_ids.stored(context, row.request, planned.of(row)),
                    **self.as_shown(target, row))
                self._recorder.record(tx, row, accepted, Content.of_template(target), context)
            else:
                accepted = stacks.accept(tx, row.id, action=row.action, status=Status.FAILED,
                                         reason=text.cancelled(row.action), now=now,
                                         request=request_ids.stored(context, row.request, planned.of(row)))
            event_rows.insert_many(tx, row.id, [self._event_of(accepted)])
            return owner, accepted

        self._commit(accept)

    def as_shown(self, stored: templates.Template, row: stacks.Stack) -> Mapping[str, Any]:
        """Return the columns of a stack's row that follow from its template: keywords of `db.stacks.accept`."""
        definition = loading.definition(stored, row, self._registry.operator)
        return {'parameters': definition.parameters.shown(), 'description': str(definition.description)}

    def begin(self, stack_id: str, action: Action,
              store: Callable[[Connection, stacks.Stack], Mapping[str, Any]] = lambda tx, row: {},
              context: RequestContext | None = None, asked_by: RequestContext | None = None,
              plan: Reference | None = None) -> stacks.Stack:
        """Accept an action requested by `context`, or by the engine itself (None). `store(tx, row)` raises to refuse
        it, or stores what belongs to it and returns keywords of `db.stacks.accept`; it may be called again.

        `asked_by`: the context on whose behalf the engine acts; `plan`: the plan that holds for the action. Raises
        EntityNotFound also for a stack of another project."""
        now = self._runtime.now()
        if context is not None and action in PLANNED:
            self._check_planned(plan)
        if context is not None and action is not Action.CHECK:
            self._check_rights(stack_id, context)
        if context is not None and action is Action.DELETE:
            self._check_protected(stack_id, context)

        def accept(tx: Connection) -> tuple[Lease | str | None, stacks.Stack]:
            owner = self._claim(tx, stack_id, context)
            row = self._current(tx, stack_id, context or asked_by)
            if context is not None and action is not Action.CHECK:
                guarding.check_lock(tx, row)
            requested = dict(store(tx, row))
            caller = context or asked_by
            if caller is not None:
                requested['request'] = request_ids.stored(caller, requested.get('request', row.request), plan)
            accepted = stacks.accept(tx, row.id, action=action, reason=text.started(action), now=now, **requested)
            if 'template_id' in requested:
                stored = templates.get(tx, accepted.template_id)
                self._recorder.record(tx, row, accepted, Content.of_template(stored), caller)
            new = [self._event_of(accepted)]
            if action is Action.DELETE and row.status == Status.IN_PROGRESS and row.action != Action.DELETE:
                new.insert(0, events.of_stack(self._runtime, row.id, row.name, row.action, Status.FAILED,
                                              text.cancelled(row.action)))
            event_rows.insert_many(tx, row.id, new)
            return owner, accepted

        return self._commit(accept)

    def abandon(self, context: RequestContext, message: messages.AbandonStack) -> dict[str, Any]:
        """Return the export and delete the stack without deleting the objects of its resources."""
        found = self.export(context, messages.ExportStack(message.stack_id))
        self.begin(message.stack_id, Action.DELETE, lambda tx, row: {'request': exports.ABANDONING}, context)
        return found

    def export(self, context: RequestContext, message: messages.ExportStack) -> dict[str, Any]:
        if not self._quotas.stack_abandon:
            raise exception.NotSupported(feature='Stack Abandon')
        with self._database.reader() as tx:
            self._found(tx, message.stack_id, context)
            return exports.document(tx, message.stack_id)

    # --- nested stacks (engine.reconcile.nesting) -------------------------------------------------------

    def create_child(self, parent: LeasedStack, resource_name: str, name: str,
                     define: Callable[[StackIdentity], StackDefinition], facade: Mapping[str, Any], *,
                     timeout_mins: int | None, adopt: Mapping[str, Any] | None) -> stacks.Stack:
        above = parent.row
        stack_id = self._runtime.uuid()
        definition = define(StackIdentity(name, stack_id, above.project_id))
        validation.check_child(definition, self._registry, parent.context)
        now = self._runtime.now()
        action = Action.CREATE if adopt is None else Action.ADOPT
        row = stacks.Stack(
            id=stack_id, name=name, project_id=above.project_id, username=above.username, owner_id=above.id,
            root_id=above.root_id, parent_resource=resource_name, depth=above.depth + 1, action=action,
            status=Status.IN_PROGRESS, reason=text.started(action), description=str(definition.description),
            template_id=self._runtime.uuid(), previous_template_id=None, generation=1,
            next_resource=len(definition.resources) + 1,
            timeout_mins=above.timeout_mins if timeout_mins is None else timeout_mins, disable_rollback=True,
            converge=False, credentials_id=above.credentials_id, user_project_id=above.user_project_id, tags=None,
            parameters=definition.parameters.shown(), outputs=outputs.unknown(definition),
            request=request_ids.stored(request_ids.asking(parent.context), {
                'facade': facade, **({'adopt': adopt.get('resources', {})} if adopt else {})},
                planned.below(parent, resource_name)),
            created_at=now, updated_at=None, started_at=now, deleted_at=None)
        self._store(parent.context, row, definition, self._new_resources(definition, row.template_id, now), now)
        return row

    def update_child(self, parent: LeasedStack, stack_id: str, define: Callable[[StackIdentity], StackDefinition],
                     facade: Mapping[str, Any], *, timeout_mins: int | None, converge: bool) -> stacks.Stack:
        is_signalled = parent.row.status != Status.IN_PROGRESS      # no action of the parent, which was checked before
        with self._database.reader() as tx:
            row = self._found(tx, stack_id, _on_behalf_of(parent))
            found = guarding.read(tx, row) if is_signalled else None
        definition = define(StackIdentity(row.name, row.id, row.project_id))
        if found is not None:
            found.check_members(definition.resources)
        if definition.mask or parent.definition.mask:
            with self._database.reader() as tx:
                stored = templates.show(tx, row.template_id)
            definition.hide_too(masking.of_documents(stored.document, stored.environment))
        validation.check_child(definition, self._registry, parent.context)
        now = self._runtime.now()

        def accept(tx: Connection) -> tuple[Lease | str | None, stacks.Stack]:
            owner = self._claim(tx, row.id)
            current = self._current(tx, row.id, None)
            if is_signalled:
                guarding.check_lock(tx, current)
            accepted = stacks.accept(
                tx, row.id, action=Action.UPDATE, reason=text.started(Action.UPDATE), now=now,
                template_id=templates.insert(
                    tx, self._runtime.uuid(), definition.template.document, definition.environment.document(),
                    definition.files, now, stack_id=row.id, is_nested=True),
                previous_template_id=rollback.last_good(current), description=str(definition.description),
                parameters=definition.parameters.shown(), converge=converge,
                request=request_ids.stored(request_ids.asking(parent.context), {'facade': facade},
                                           planned.below(parent, str(row.parent_resource))),
                timeout_mins=current.timeout_mins if timeout_mins is None else timeout_mins)
            event_rows.insert_many(tx, row.id, [self._event_of(accepted)])
            return owner, accepted

        return self._commit(accept, definition)

    def act_on_child(self, parent: LeasedStack, stack_id: str, action: Action, abandon: bool = False) -> stacks.Stack:
        """Begin an action of a nested stack. Raises EntityNotFound if it is gone, or of another project."""
        plan = None
        if planned.of(parent.row) is not None:
            with self._database.reader() as tx:
                plan = planned.below(parent, str(self._found(tx, stack_id, None).parent_resource))
        return self.begin(stack_id, action, lambda tx, row: {
            'request': {**(row.request or {}), **(exports.ABANDONING if abandon else {})}},
            asked_by=_on_behalf_of(parent), plan=plan)

    def cancel_child(self, parent: LeasedStack, stack_id: str) -> None:
        try:
            self.cancel(_on_behalf_of(parent), messages.CancelStack(stack_id, rollback=False))
        except (exception.NotSupported, exception.EntityNotFound):
            return                              # no action is in progress

    def check_room(self, root_id: str, count: int, child_id: str | None = None) -> None:
        """Check that a nested stack may have `count` resources, together with the present resources of the tree.

        `child_id`: the nested stack if it exists; its present resources do not count. Call it before the resources
        are named, built or defined. Raises RequestLimitExceeded.
        """
        limit = self._quotas.resources_per_stack
        tree_size.check_members(count, limit, self._limits.max_members)     # without the database
        if limit == UNLIMITED:
            return
        with self._database.reader() as tx:
            count += resources.count_in_tree(tx, root_id)
            if child_id is not None:
                count -= resources.count(tx, [child_id])
        tree_size.check(count, limit)

    # --- helpers ----------------------------------------------------------------------------------------

    def _define(self, message: messages.Source, whose: StackIdentity) -> StackDefinition:
        return sources.define(message, whose, self._registry.operator, self._limits)

    def _stored(self, tx: Connection, stack_id: str,
                caller: RequestContext) -> tuple[stacks.Stack, templates.Template]:
        row = self._found(tx, stack_id, caller)
        return row, templates.get(tx, row.template_id)

    def _current(self, tx: Connection, stack_id: str, caller: RequestContext | None) -> stacks.Stack:
        return self._found(tx, stack_id, caller, for_update=True)

    def _found(self, tx: Connection, stack_id: str, caller: RequestContext | None,
               for_update: bool = False) -> stacks.Stack:
        """Return the stack's row. Raises EntityNotFound. `caller` None: the caller's access was checked before.

        The API has looked the stack up within the caller's project, but an id may also come from a template.
        """
        row = stacks.get(tx, stack_id, for_update=for_update)
        if row is None or (caller is not None and not caller.may_see(row.project_id, row.user_project_id)):
            raise exception.EntityNotFound(entity='Stack', name=stack_id)
        return row

    def _claim(self, tx: Connection, stack_id: str, context: RequestContext | None = None) -> Lease | str | None:
        """Return the lease if this engine has it now, else its owner's id or None. Locks the lease before the stack.
        Raises TooLate."""
        lease = None
        if self._controller.owns(stack_id) or self._controller.room() > 0:
            lease = leases.claim(tx, stack_id, self._engine_id)
        if context is not None:
            context.check_in_time(self._runtime.now())
        return lease if lease is not None else leases.owner(tx, stack_id)

    def _commit(self, accept: Callable[[Connection], tuple[Lease | str | None, stacks.Stack]],
                definition: StackDefinition | None = None) -> stacks.Stack:
        """Commit a request, then announce it and wake up the owner of the stack. Return the stack's row.

        `accept(tx)`: stores the request; returns the lease if this engine has it, else the owner's id or None, and the
        row. `definition`: the accepted one, so that this engine need not load it. If the engine dies after the commit,
        the sweep finds the stack.
        """
        owner, accepted = self._database.retry(accept)
        if definition is not None and isinstance(owner, Lease):     # else another engine drives it, from what is stored
            self._controller.expect(accepted.id, accepted.generation, definition)
        self._announce(accepted)
        if isinstance(owner, Lease):
            self._controller.go_on(owner)
        else:
            self._wake(accepted.id, owner)
        return accepted

    def _announce(self, row: stacks.Stack) -> None:
        """Send the notification, after the commit."""
        self._notify(row, row.action, row.status, row.reason)

    def _event_of(self, row: stacks.Stack) -> Event:
        return events.of_stack(self._runtime, row.id, row.name, row.action, row.status, row.reason)

    def _check_name_free(self, context: RequestContext, name: str) -> None:
        with self._database.reader() as tx:
            if stacks.by_name(tx, context.project_id, name) is not None:
                raise exception.StackExists(stack_name=name)

    def _check_rights(self, stack_id: str, context: RequestContext) -> None:
        with self._database.reader() as tx:
            names = resources.types(tx, stack_id)
        validation.check_rights(names, self._registry, context)

    def _check_protected(self, stack_id: str, context: RequestContext) -> None:
        """Raise StackProtected if the stack must not be deleted."""
        with self._database.reader() as tx:
            found = guarding.read(tx, self._found(tx, stack_id, context))
        found.check_delete()

    def check_target(self, context: RequestContext, stack_id: str,
                     target: Callable[[Connection, stacks.Stack], templates.Template | None]) -> None:
        """Raise StackProtected if protections deny what would lead a stack to another definition. `target`: reads it;
        None: there is nothing to be checked. A preview, if the stack has protections; what cannot be previewed is
        refused when it comes to it."""
        with self._database.reader() as tx:
            row = self._found(tx, stack_id, context)
            protections = guarding.check_lock(tx, row).protections
            wanted = target(tx, row) if protections else None
        if wanted is not None:
            try:
                definition = loading.definition(wanted, row, self._registry.operator)
                found = self._preview(context).of_update(row, definition, definition.mask, converge=False)
            except exception.DatabaseUnavailable:
                raise
            except exception.HeatException:
                return
            guarding.refuse(row, plan_making.made(messages.UPDATE, found, protections).blockers)

    def _check_quota(self, context: RequestContext, project_id: str) -> None:
        limit = self._quotas.stacks_per_project
        if limit == UNLIMITED or context.is_admin:
            return
        with self._database.reader() as tx:
            count = stacks.count_live_roots(tx, project_id)
        if count >= limit:
            raise exception.RequestLimitExceeded(
                _('You have reached the maximum stacks per tenant, %d. Please delete some stacks.') % limit)

    def _check_sizes(self, definition: StackDefinition, context: RequestContext) -> None:
        validation.check_sizes(definition, self._registry, context, self._quotas.resources_per_stack,
                               self._limits.max_members)

    def _check_size(self, definition: StackDefinition) -> None:
        tree_size.check(len(definition.snippets), self._quotas.resources_per_stack)


def _on_behalf_of(parent: LeasedStack) -> RequestContext:
    """Return the context in which a parent acts on nested stacks: its project, no administrator, its current request
    ids."""
    asking = request_ids.asking(parent.context)
    return RequestContext(project_id=parent.row.project_id, overwrite=False, request_id=asking.request_id,
                          global_request_id=asking.global_request_id)


def _id_of(plan: Applying | None) -> str | None:
    return None if plan is None else str(plan.reference['id'])


class Unneeded(Exception):
    """The stack is in the requested state already."""


def refuse_while_deleting(action: Action) -> Callable[[Connection, stacks.Stack], Mapping[str, Any]]:
    """Return a `store` function for `begin` that refuses any action during a delete. Raises Unneeded, NotSupported."""
    def check(tx: Connection, row: stacks.Stack) -> Mapping[str, Any]:
        if action in (Action.SUSPEND, Action.RESUME) and (row.action, row.status) == (action, Status.COMPLETE):
            raise Unneeded
        if row.action == Action.DELETE:
            raise exception.NotSupported(feature=_('%s of a stack that is being deleted') % action.capitalize())
        return {}
    return check


def check_name(name: str) -> None:
    if not NAME.match(name):
        raise exception.StackValidationFailed(message=_(
            'Invalid stack name %s must contain only alphanumeric or "_-." characters, must start with alpha '
            'and must be 255 characters or less.') % name)


def identity(row: stacks.Stack) -> HeatIdentifier:
    return HeatIdentifier(row.project_id, row.name, row.id)


