"""Use cases of new stacks: a request is checked, stored in one transaction, then answered and driven."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from heatlite.common import exception
from heatlite.common.context import RequestContext, note
from heatlite.common.i18n import _
from heatlite.common.identifier import HeatIdentifier
from heatlite.common.timeutils import isotime
from heatlite.db import stacks
from heatlite.engine.durability import request_ids
from heatlite.engine.reconcile import outputs, request_keys
from heatlite.engine.requests import preview_create, sources, validation
from heatlite.engine.requests.acceptance import Applying
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.quotas import StoringCheck
from heatlite.engine.requests.request_parts import RequestParts
from heatlite.language import describe
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.planning import definition_tags, text
from heatlite.planning.states import Action, Status
from heatlite.rpc import messages

NAME = re.compile(r'[a-zA-Z][a-zA-Z0-9_.-]{0,254}\Z')


class Stacks:
    """Checks, previews and creates new stacks, in threads of requests."""

    def __init__(self, parts: RequestParts) -> None:
        self._runtime = parts.core.runtime
        self._database = parts.core.database
        self._registry = parts.core.registry
        self._acceptance = parts.acceptance
        self._limits = parts.limits
        self._quotas = parts.quotas
        self._checked_definitions = parts.checked_definitions
        self._previews = parts.previews
        self._authority = parts.authority

    def create(self, context: RequestContext, message: messages.CreateStack,
               plan: Applying | None = None) -> dict[str, str]:
        """Return the identity of the new stack and the tag of its definition, once its row, its resources, its first
        event and its lease are stored. `plan`: the plan that the request applies."""
        self._quotas.check_planned(plan)
        now = self._runtime.now()
        row, definition, check = self._checked(context, message, now, is_planned=plan is not None)
        note(stack_id=row.id, stack_name=row.name)
        if definition.environment.has_imports():    # refused here, and not when others have been imported already
            self._previews.of_create(context, row, definition)
        acts_by_token = self._authority.needs_token(definition)
        authority = self._authority.record(context, definition, now, acts_by_token)
        with self._authority.unless_refused(context, [authority]):
            row = replace(row, acts_by_token=acts_by_token, credentials_id=None if authority is None else authority.id,
                          request=request_ids.stored(context, row.request,
                                                     plan.reference if plan is not None else None))
            rows = self._acceptance.new_resources(row.id, definition, row.template_id, now)
            row = replace(row, next_resource=len(rows) + 1)
            self._acceptance.commit_new(context, row, definition, rows, now, authority, plan, check=check)
        self._checked_definitions.note(row.template_id)
        return identified(row)

    def preview_create(self, context: RequestContext, message: messages.CreateStack) -> PreviewedStack:
        """Return what a create would do. Raises what it would be refused with."""
        row, definition, _check = self._checked(context, message, self._runtime.now())
        return self._previews.of_create(context, row, definition)

    def check(self, context: RequestContext, message: messages.CheckCreate) -> None:
        """Raise what a create would be refused with."""
        self._checked(context, message, self._runtime.now())

    def preview(self, context: RequestContext, message: messages.PreviewStack) -> dict[str, object]:
        self.check_name_free(context, message.stack_name)
        check_name(message.stack_name)
        definition = self.define(message, StackIdentity(message.stack_name, None, context.project_id or ''))
        self._quotas.check_size(definition)
        validation.check_request(definition, self._registry, context, timeout_mins=message.timeout_mins)
        return preview_create.shown(*validation.checker(definition, self._registry, context), message, context.username,
                                    isotime(self._runtime.now()), self._quotas.quotas.resources_per_stack)

    def validate(self, context: RequestContext, message: messages.ValidateTemplate) -> dict[str, object]:
        try:
            definition = self.define(message, StackIdentity('dummy', None, context.project_id or ''))
        except describe.TEMPLATE_ERRORS as error:
            raise exception.HTTPBadRequest(str(error)) from None
        return validation.described(definition, self._registry, context, message,
                                    self._quotas.quotas.resources_per_stack)

    def _checked(self, context: RequestContext, message: messages.CreateStack, now: datetime, *,
                 is_planned: bool = False) -> tuple[stacks.StoredStack, StackDefinition, StoringCheck | None]:
        """Return the row and the definition of a new stack, after all checks of its request, and what is left to be
        checked in the transaction that stores it."""
        if message.adopt is not None and not self._quotas.quotas.stack_adopt:
            raise exception.NotSupported(feature='Stack Adopt')
        stack_id = self._runtime.uuid()
        self.check_name_free(context, message.stack_name)
        definition = self.define(
            message, StackIdentity(message.stack_name, stack_id, context.owning_project()), is_planned)
        check = self._quotas.check_stacks(context, definition.identity.project_id)
        check_name(message.stack_name)
        self._quotas.check_size(definition)
        validation.check_request(definition, self._registry, context, timeout_mins=message.timeout_mins)
        self._quotas.check_sizes(definition, context)
        action = Action.CREATE if message.adopt is None else Action.ADOPT
        return self.new_row(context, message, definition, stack_id, action, now), definition, check

    def new_row(self, context: RequestContext, message: messages.CreateStack, definition: StackDefinition,
                stack_id: str, action: Action, now: datetime) -> stacks.StoredStack:
        """Return the row of a new stack whose create begins."""
        return stacks.StoredStack(
            id=stack_id, name=message.stack_name, project_id=definition.identity.project_id, username=context.username,
            owner_id=None, root_id=stack_id, parent_resource=None, depth=0, action=action,
            status=Status.IN_PROGRESS, reason=text.started(action), description=str(definition.description),
            template_id=self._runtime.uuid(), previous_template_id=None, generation=1, next_resource=1,
            timeout_mins=message.timeout_mins or None, disable_rollback=message.disable_rollback, converge=False,
            credentials_id=None, user_project_id=None,
            tags=list(message.tags) if message.tags else None, parameters=definition.parameters.shown(),
            outputs=outputs.unknown(definition),
            request=request_ids.stored(
                context, {request_keys.ADOPT: message.adopt.get('resources', {})} if message.adopt else None),
            created_at=now, updated_at=None, started_at=now, deleted_at=None, revision=1)

    def define(self, message: messages.Source, whose: StackIdentity, is_planned: bool = False) -> StackDefinition:
        """Build the definition of a new stack, without checks. `is_planned`: see `sources.define`."""
        return sources.define(message, whose, self._registry.operator, self._limits, is_planned)

    def check_name_free(self, context: RequestContext, name: str) -> None:
        """Raise StackExists if a live stack of the caller's project has this name."""
        with self._database.reader() as tx:
            if stacks.by_name(tx, context.project_id, name) is not None:
                raise exception.StackExists(stack_name=name)


def check_name(name: str) -> None:
    if not NAME.match(name):
        raise exception.StackValidationFailed(message=_(
            'Invalid stack name %s must contain only alphanumeric or "_-." characters, must start with alpha '
            'and must be 255 characters or less.') % name)


def identified(row: stacks.StoredStack) -> dict[str, str]:
    """Return the answer to a create or an update."""
    return {**identity(row), messages.DEFINITION_TAG: definition_tags.of(row)}


def identity(row: stacks.StoredStack) -> HeatIdentifier:
    return HeatIdentifier(row.project_id, row.name, row.id)
