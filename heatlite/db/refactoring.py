"""Statements that move resources between names and stacks, and rename stacks. Each is by primary key or an index.

Events stay with the stack in which they happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from oslo_db import exception as db_exception

from heatlite.common import exception
from heatlite.db import codec
from heatlite.db.tables import alarm, resource, resource_data, stack
from heatlite.planning.states import ResourceState

MOVED = ('stack_id', 'id', 'name', 'requires', 'replaces', 'template_id', 'fingerprint')


@dataclass(frozen=True)
class RowMove:
    """`source`: (stack, number) of a row now; `stack`, `row`: what it becomes; `large`: the heavy columns that
    change with the place."""

    source: tuple[str, int]
    stack: str
    row: ResourceState
    large: Mapping[str, object]


def move(tx: sa.Connection, moves: Sequence[RowMove]) -> None:
    """Move rows with their data. One statement for each set of large columns that change together, executed for each
    row, and one for the data of rows that go to another stack.

    A row never gets the number of another one: a stack does not reuse numbers."""
    encode = codec.encoder(tx)
    groups: dict[tuple[str, ...], list[dict[str, object]]] = {}
    for each in moves:
        row, large = each.row, {name: codec.encode_or_null(value, encode) for name, value in each.large.items()}
        groups.setdefault(tuple(sorted(large)), []).append({
            'at_stack': each.source[0], 'at_number': each.source[1], 'stack_id': each.stack, 'id': row.id,
            'name': row.name, 'requires': codec.encode(row.requires), 'replaces': row.replaces,
            'template_id': row.template_id, 'fingerprint': row.fingerprint, **large})
    for names, values in groups.items():
        tx.execute(resource.update().where(
            resource.c.stack_id == sa.bindparam('at_stack'), resource.c.id == sa.bindparam('at_number')).values(
            {name: sa.bindparam(name) for name in (*MOVED, *names)}), values)
    others = [{'at_stack': stack_id, 'at_number': number, 'to_stack': each.stack, 'to_number': each.row.id}
              for each in moves for stack_id, number in (each.source,) if each.source != (each.stack, each.row.id)]
    if others:
        tx.execute(resource_data.update().where(
            resource_data.c.stack_id == sa.bindparam('at_stack'),
            resource_data.c.resource_id == sa.bindparam('at_number')).values(
            stack_id=sa.bindparam('to_stack'), resource_id=sa.bindparam('to_number')), others)


def keep_data(tx: sa.Connection, key: str, values: Mapping[tuple[str, int], str]) -> None:
    """Store one datum of rows that do not have it. `values`: (stack, row number) -> value. Ranges of the primary
    key."""
    known = {(row.stack_id, row.resource_id) for row in tx.execute(sa.select(
        resource_data.c.stack_id, resource_data.c.resource_id).where(
        resource_data.c.stack_id.in_({stack_id for stack_id, _number in values}), resource_data.c.key == key))}
    seal = tx.get_execution_options().get('seal') or str
    new = [{'stack_id': place[0], 'resource_id': place[1], 'key': key, 'value': seal(codec.clean(value))}
           for place, value in values.items() if place not in known]
    if new:
        tx.execute(resource_data.insert(), new)


def move_alarms(tx: sa.Connection, moves: Sequence[tuple[tuple[str, str], tuple[str, str]]]) -> None:
    """Move the alarms of resources. `moves`: (stack, resource name) before and after. Index: (stack_id)."""
    to = dict(moves)
    found = tx.execute(sa.select(alarm.c.id, alarm.c.stack_id, alarm.c.resource_name).where(
        alarm.c.stack_id.in_({stack_id for stack_id, _name in to}))).all()
    for each in found:
        target = to.get((each.stack_id, each.resource_name))
        if target is not None:
            tx.execute(alarm.update().where(alarm.c.id == each.id).values(stack_id=target[0], resource_name=target[1]))


def rename(tx: sa.Connection, stack_id: str, name: str) -> None:
    """Rename a stack. Raises StackExists when a live stack of the project has this name."""
    try:
        tx.execute(stack.update().where(stack.c.id == stack_id).values(name=name))
    except db_exception.DBDuplicateEntry:
        raise exception.StackExists(stack_name=name) from None


def reparent(tx: sa.Connection, nested_id: str, owner_id: str, parent_resource: str) -> None:
    """Make a nested stack that of another resource."""
    tx.execute(stack.update().where(stack.c.id == nested_id).values(owner_id=owner_id, parent_resource=parent_resource))


def make_root(tx: sa.Connection, nested_id: str, acts_by_token: bool) -> None:
    """Make a nested stack, whose tree was changed by `move_in_trees`, a root."""
    tx.execute(stack.update().where(stack.c.id == nested_id).values(
        owner_id=None, parent_resource=None, acts_by_token=acts_by_token))


def move_in_trees(tx: sa.Connection, depths: Mapping[str, int], root_id: str, credentials_id: str | None) -> None:
    """Make nested stacks part of a tree. `depths`: by id; `credentials_id`: those of the tree. By primary keys."""
    for each, depth in depths.items():
        tx.execute(stack.update().where(stack.c.id == each).values(
            root_id=root_id, credentials_id=credentials_id, depth=depth, settled=None))
