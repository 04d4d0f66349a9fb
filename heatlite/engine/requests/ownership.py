"""The user for whom a tree of stacks acts: the author of its definition (docs/spec/engine.rst, "Credentials")."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import credentials, stacks
from heatlite.db.connection import Database
from heatlite.db.credentials import Credentials
from heatlite.engine.reconcile.authority import Authority
from heatlite.language.definition import StackDefinition


@dataclass(frozen=True)
class Ownership:
    """For whom a stack acts after a request that brings it a definition.

    `row`, `present`: the stack and the credentials of a root, as they were read for the request; `acts_by_token`:
    whether the stack needs the token of the request; `renewed`: credentials that replace the present ones, or None;
    `keeps_owner`: whether the tree goes on acting for its owner, though another user gives it the definition."""

    context: RequestContext
    row: stacks.StoredStack
    present: Credentials | None
    acts_by_token: bool | None
    renewed: Credentials | None
    keeps_owner: bool = False

    @property
    def replaces_trust(self) -> bool:
        """Whether a trust is to be deleted at the end of the action."""
        return self.made is not None and self.present is not None and self.present.trust_id is not None

    @property
    def made(self) -> Credentials | None:
        """Credentials that only this request has, perhaps with a new trust."""
        is_present = self.renewed is not None and self.present is not None and self.present.id == self.renewed.id
        return None if is_present else self.renewed

    def without_token(self) -> Ownership:
        """Return the same for a request from which no action follows."""
        return self if self.renewed is None else replace(self, renewed=replace(self.renewed, token=None))

    def store(self, tx: Connection, current: stacks.StoredStack, now: datetime) -> stacks.Requested:
        """Check the request again, store the credentials, and return the columns of the stack that follow. `current`:
        its row, locked by `tx`. May be called again, after a conflict of transactions.

        Raises Forbidden for a nested stack that acts for another user, and Conflict if another user has taken the stack
        over since it was read, or owners change too often."""
        if self.keeps_owner:
            return {'acts_by_token': current.acts_by_token, 'credentials_id': current.credentials_id}
        self._check(tx, current)
        return {'acts_by_token': self.acts_by_token or current.acts_by_token,
                'credentials_id': (current.credentials_id if self.renewed is None else
                                   credentials.replace(tx, current.credentials_id, self.renewed, now))}

    def _check(self, tx: Connection, current: stacks.StoredStack) -> None:
        """Check that the definition will be executed with credentials of its author, which are those of the root."""
        if current.owner_id is not None:
            check_nested(tx, current, self.context)
            return
        is_replaced = self.renewed is not None and self.renewed.id != current.credentials_id
        if is_replaced or current.generation == self.row.generation:
            return
        stored = credentials.of_tree(tx, current.root_id)
        if not Authority.is_of(stored, self.context) or self._is_outdated(stored):
            raise exception.Conflict(
                _('Another user has updated stack %s meanwhile; repeat the request.') % current.name)

    def _is_outdated(self, stored: Credentials | None) -> bool:
        """Whether the new credentials have a trust that others, `stored`, have replaced since it was read."""
        return (self.renewed is not None and self.present is not None and stored is not None
                and stored.created_at != self.present.created_at)


class Owners:
    """Finds for whom a stack acts after a request that is accepted now, in the thread of the request."""

    def __init__(self, runtime: Runtime, database: Database, authority: Authority) -> None:
        self._runtime = runtime
        self._database = database
        self._authority = authority

    def of_request(self, context: RequestContext, row: stacks.StoredStack, definition: StackDefinition) -> Ownership:
        """Make what a stack needs to act for the caller with a definition: a trust, if others own it. Raises what
        `Authority.record` raises."""
        acts_by_token = row.acts_by_token or self._authority.needs_token(definition)
        present = self._present(row)
        return Ownership(context, row, present, acts_by_token, self._renewed(
            context, replace(row, acts_by_token=acts_by_token), definition, self._runtime.now(), present))

    def of_former(self, context: RequestContext, row: stacks.StoredStack, definition: StackDefinition) -> Ownership:
        """As `of_request`, for a definition that the stack had before. An administrator of another project acts for the
        owner of the stack: the tree stays in its project."""
        if _is_of_other_project(context, row):
            return Ownership(context, row, None, None, None, keeps_owner=True)
        return self.of_request(context, row, definition)

    def renewed(self, context: RequestContext, row: stacks.StoredStack, definition: StackDefinition,
                now: datetime, is_dead: bool | None = None) -> Credentials | None:
        """Return new credentials if another user owns the stack, or it may need a trust that it lacks, or Keystone
        refuses the one it has; else None. A nested stack has those of its root.

        `row.acts_by_token`: whether they hold the token of the request. Credentials from a backup are renewed, too:
        their trust may have been deleted with a stack since. `is_dead`: whether Keystone refuses the present trust;
        None: it is asked if need be."""
        return self._renewed(context, row, definition, now, self._present(row), is_dead)

    def unless_refused(self, ownership: Ownership) -> AbstractContextManager[None]:
        """As `Authority.unless_refused`, for a block that stores `ownership`."""
        return self._authority.unless_refused(ownership.context, [ownership.made])

    def _present(self, row: stacks.StoredStack) -> Credentials | None:
        """Return the stored credentials of a root stack; None if it has none, or is nested."""
        if row.owner_id is not None or not row.credentials_id:
            return None
        with self._database.reader() as tx:
            return credentials.get(tx, row.credentials_id)

    def _renewed(self, context: RequestContext, row: stacks.StoredStack, definition: StackDefinition, now: datetime,
                 stored: Credentials | None, is_dead: bool | None = None) -> Credentials | None:
        """As `renewed`. `stored`: the present credentials of the stack."""
        if row.owner_id is not None:
            return None
        is_own = self._authority.is_of(stored, context)
        can_act = stored is not None and bool(stored.trust_id or stored.password)
        if stored is not None and is_own:
            if not context.own_token:
                return None
            has_trust = (bool(stored.trust_id) and not is_from_backup(row, stored)
                         and not (self._authority.is_dead(stored) if is_dead is None else is_dead))
            if has_trust or (stored.password and not context.password):
                return self._authority.with_token(context, stored) if row.acts_by_token else None
        return self._authority.record(context, definition, now, bool(row.acts_by_token), needs_service=can_act)


def is_from_backup(row: stacks.StoredStack, stored: Credentials) -> bool:
    """Whether the credentials of a stack may have been replaced, or their trust deleted, after the backup from which
    the database was restored."""
    return row.restored_from is not None and stored.created_at <= row.restored_from


def check_nested(tx: Connection, row: stacks.StoredStack, context: RequestContext) -> None:
    """Raise Forbidden for a nested stack that acts for a user other than the caller, who would give it a definition."""
    if row.owner_id is not None and not Authority.is_of(credentials.of_tree(tx, row.root_id), context):
        raise exception.Forbidden(_('this nested stack: it acts for another user. An update of the root stack %s '
                                    'makes it act for you') % row.root_id)


def check_former(tx: Connection, row: stacks.StoredStack, context: RequestContext) -> None:
    """As `check_nested`, for a definition that the stack had before: see `Owners.of_former`."""
    if not _is_of_other_project(context, row):
        check_nested(tx, row, context)


def _is_of_other_project(context: RequestContext, row: stacks.StoredStack) -> bool:
    """Whether the caller, who may see the stack, is an administrator of another project."""
    return context.project_id != row.project_id
