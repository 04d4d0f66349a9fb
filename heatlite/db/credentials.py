"""The `credentials` table: the authority under which a stack acts. Secrets are encrypted by the caller.

A tree of stacks has one set of credentials: that of its root, with the same id for the life of the tree. Credentials
that others have replaced are stored under ids that follow from that one, until their trusts are deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from dataclasses import replace as changed_copy
from datetime import datetime

import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db import bulk, codec
from heatlite.db.tables import credentials, stack
from heatlite.planning import identities
from heatlite.planning.states import Status

MOST_REPLACED = 4               # credentials of one tree whose trusts are not deleted yet


@dataclass(frozen=True, repr=False)
class Credentials:
    """`trust_id`, `password` and `token` are encrypted with `method`."""

    id: str
    project_id: str | None
    project_name: str | None
    user_id: str | None
    username: str | None
    auth_url: str | None
    region_name: str | None
    trust_id: str | None
    trustor_user_id: str | None
    password: str | None
    token: str | None
    method: str | None
    created_at: datetime

    def __repr__(self) -> str:
        return f'Credentials({self.id!r}, user_id={self.user_id!r})'


NAMES = tuple(field.name for field in fields(Credentials))      # the last one is the time
COLUMNS = codec.columns(credentials, Credentials)
_OF_TREE = sa.select(*COLUMNS).select_from(stack.join(credentials, credentials.c.id == stack.c.credentials_id)).where(
    stack.c.id == sa.bindparam('root_id'))


def insert(tx: sa.Connection, new: Credentials) -> None:
    values = [getattr(new, name) for name in NAMES]
    values[-1] = bulk.Times()(new.created_at)
    bulk.texts(tx.dialect.name).insert(tx, 'credentials', NAMES, [tuple(values)])


def get(tx: sa.Connection, credentials_id: str) -> Credentials | None:
    row = tx.execute(sa.select(*COLUMNS).where(credentials.c.id == credentials_id)).first()
    return None if row is None else Credentials(*row)


def of_tree(tx: sa.Connection, root_id: str) -> Credentials | None:
    """Those with which all stacks of a tree act: of its root. By primary keys."""
    row = tx.execute(_OF_TREE, {'root_id': root_id}).first()
    return None if row is None else Credentials(*row)


def update(tx: sa.Connection, credentials_id: str, **changed: object) -> bool:
    """Update any of the fields but the id. False when the row is gone."""
    return bool(tx.execute(credentials.update().where(credentials.c.id == credentials_id)
                           .values(**changed)).rowcount)


def keep(tx: sa.Connection, new: Credentials) -> None:
    """Insert credentials, or replace those with their id."""
    changed = {name: getattr(new, name) for name in NAMES if name != 'id'}
    if not update(tx, new.id, **changed):
        insert(tx, new)


def replace(tx: sa.Connection, present_id: str | None, new: Credentials, now: datetime) -> str:
    """Make `new` the credentials of a tree, under the id of the present ones, and return that id.

    Present ones with a trust are stored under another id until it is deleted, unless `new` has their id: these are the
    present ones with another token. `now`: the time of `tx`, not that of the trust, which was made before: until then
    the tree acts with the present ones. Raises Conflict where too many wait. The caller has locked the root."""
    if new.id == present_id:
        keep(tx, new)
        return new.id
    if present_id is None:
        keep(tx, changed_copy(new, created_at=now))
        return new.id
    present = get(tx, present_id)
    if present is not None and present.trust_id is not None:
        taken = {each.id for each in replaced(tx, present_id)}
        free = next((each for each in replaced_ids(present_id) if each not in taken), None)
        if free is None:
            raise exception.Conflict(_('The owner of the stack has changed too often; repeat the request when its '
                                       'action has ended.'))
        insert(tx, changed_copy(present, id=free, token=None))
    keep(tx, changed_copy(new, id=present_id, created_at=now))
    return present_id


def replaced_ids(credentials_id: str) -> list[str]:
    """Return the ids that credentials may have which others have replaced under `credentials_id`."""
    return [identities.of_replaced(credentials_id, number) for number in range(MOST_REPLACED)]


def replaced(tx: sa.Connection, credentials_id: str) -> list[Credentials]:
    """Those that others have replaced, and whose trusts may not be deleted yet. By primary key."""
    return _all(tx, replaced_ids(credentials_id))


def all_of_tree(tx: sa.Connection, root_id: str, credentials_id: str) -> list[Credentials]:
    """Those of a tree, `credentials_id`, and replaced ones. Earlier releases left nested stacks with replaced ones.

    Two statements; index: (root_id, depth)."""
    known = tx.execute(sa.select(stack.c.credentials_id).where(
        stack.c.root_id == root_id, stack.c.credentials_id.is_not(None)).distinct()).scalars()
    return _all(tx, sorted({credentials_id, *replaced_ids(credentials_id), *map(str, known)}))


def _all(tx: sa.Connection, ids: Sequence[str]) -> list[Credentials]:
    return [Credentials(*row) for row in tx.execute(sa.select(*COLUMNS).where(credentials.c.id.in_(ids)))]


def forget_token(tx: sa.Connection, credentials_id: str, stack_id: str) -> None:
    """Remove the token of a request, unless a newer action of the stack needs its own. The caller has locked it."""
    is_busy = sa.exists().where(stack.c.id == stack_id, stack.c.status == Status.IN_PROGRESS)
    tx.execute(credentials.update().where(
        credentials.c.id == credentials_id, credentials.c.token.is_not(None), ~is_busy).values(token=None))


def delete_retired(tx: sa.Connection, retired: Iterable[Credentials]) -> None:
    """Delete credentials whose trusts are deleted, unless others have their ids meanwhile."""
    for each in retired:
        is_same = (credentials.c.trust_id.is_(None) if each.trust_id is None
                   else credentials.c.trust_id == each.trust_id)
        tx.execute(credentials.delete().where(credentials.c.id == each.id, is_same))
