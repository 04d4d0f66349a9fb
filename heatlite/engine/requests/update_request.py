"""An update as it was requested: what its transaction checks again, and the columns that it changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.db import credentials, stacks
from heatlite.engine.durability import request_ids
from heatlite.engine.reconcile import request_keys
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.reconcile.revisions import Content
from heatlite.engine.requests import guarding
from heatlite.engine.requests.acceptance import Applying
from heatlite.engine.requests.stored_stacks import check_tag, check_updatable
from heatlite.language.definition import StackDefinition
from heatlite.planning.states import Action
from heatlite.rpc import messages


@dataclass(frozen=True)
class UpdateRequest:
    """One update. `row`: of the stack, as it was read for the request; `acts_by_token`: whether the stack needs the
    token of the request; `renewed`: credentials that replace those of its tree, or None; `replaces_trust`: whether they
    are of another user, so that a trust is to be deleted at the end of the action."""

    context: RequestContext
    message: messages.UpdateStack
    plan: Applying | None
    row: stacks.StoredStack
    definition: StackDefinition
    content: Content
    acts_by_token: bool | None
    renewed: credentials.Credentials | None
    replaces_trust: bool

    def without_token(self) -> UpdateRequest:
        """Return the request for a stack in which no action follows from it."""
        return self if self.renewed is None else replace(self, renewed=replace(self.renewed, token=None))

    def store(self, tx: Connection, current: stacks.StoredStack, now: datetime) -> stacks.Requested:
        """Check the request again, store what belongs to it, and return the columns that it changes. `current`: the
        row of the stack, locked by `tx`. May be called again, after a conflict of transactions."""
        message, plan, renewed = self.message, self.plan, self.renewed
        self.context.check_in_time(now)
        guarding.check_lock(tx, current)
        check_updatable(current)
        check_tag(current, message.if_match)
        if plan is not None:
            plan.accept(tx, current.id, current.generation)
        self._check_authority(tx, current)
        lasting = request_keys.lasting(current, Action.UPDATE, self.definition.resources)
        return {
            'description': str(self.definition.description), 'parameters': self.definition.parameters.shown(),
            'request': request_ids.stored(self.context, lasting, plan.reference if plan is not None else None),
            'timeout_mins': current.timeout_mins if message.timeout_mins is None else message.timeout_mins or None,
            'disable_rollback': (current.disable_rollback if message.disable_rollback is None
                                 else message.disable_rollback),
            'converge': bool(message.converge),
            'acts_by_token': self.acts_by_token or current.acts_by_token,
            'credentials_id': (current.credentials_id if renewed is None
                               else credentials.replace(tx, current.credentials_id, renewed, now)),
            'tags': current.tags if message.existing and message.tags is None else list(message.tags or ()) or None}

    def _check_authority(self, tx: Connection, current: stacks.StoredStack) -> None:
        """Check that the definition will be executed with credentials of its author, which are those of the root.

        Raise Forbidden for a nested stack that acts for another user, and Conflict if another user has updated the
        stack since it was read."""
        is_nested = current.owner_id is not None
        is_replaced = self.renewed is not None and self.renewed.id != current.credentials_id
        if not is_nested and (is_replaced or current.generation == self.row.generation):
            return
        if Authority.is_of(credentials.of_tree(tx, current.root_id), self.context):
            return
        if is_nested:
            raise exception.Forbidden(_('this nested stack: it acts for another user. An update of the root stack %s '
                                        'makes it act for you') % current.root_id)
        raise exception.Conflict(_('Another user has updated stack %s meanwhile; repeat the request.') % current.name)
