"""Rows to test with: whole values with little to say."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from heatlite.db import engines, leases, stacks, tables
from heatlite.planning.states import Action, Change, Event, ResourceState, StackChange, Status

HEAVY = ('properties', 'definition', 'metadata', 'attributes')      # columns of resources that only `columns` reads
NOW = datetime(2026, 1, 2, 3, 4, 5, 678901)


class Clock:
    """Seconds since 1970, moved by hand."""

    START = 1_700_000_000.0

    def __init__(self):
        self.seconds = self.START

    def __call__(self):
        return self.seconds


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def stack(stack_id='s1', name=None, **changed) -> stacks.StoredStack:
    row = stacks.StoredStack(
        id=stack_id, name=name or f'name-{stack_id}', project_id='p1', username='ann', owner_id=None, root_id=stack_id,
        parent_resource=None, depth=0, action='CREATE', status='IN_PROGRESS', reason='Stack CREATE started',
        description='', template_id=f't-{stack_id}', previous_template_id=None, generation=1, next_resource=1,
        timeout_mins=None, disable_rollback=True, converge=False, credentials_id=None, user_project_id=None,
        tags=None, parameters=None, outputs=None, request=None, created_at=NOW, updated_at=None, started_at=NOW,
        deleted_at=None)
    return replace(row, **changed)


def nested(stack_id, parent, resource, **changed) -> stacks.StoredStack:
    return stack(stack_id, owner_id=parent.id, root_id=parent.root_id, depth=parent.depth + 1,
                 parent_resource=resource, **changed)


def delete_soft(tx, stack_id, at) -> None:
    """Marks a stack as deleted and frees its name; the row stays until it is purged."""
    tx.execute(tables.stack.update().where(tables.stack.c.id == stack_id, tables.stack.c.live == 1)
               .values(live=None, deleted_at=at))


def state(number=1, name=None, **changed) -> ResourceState:
    return ResourceState(number, name or f'r{number}', f'uuid-{number}', 'OS::Heat::None', created_at=NOW)._replace(
        **changed)


def event(uuid, number=1, at=NOW, **changed) -> Event:
    name = 'stack' if number is None else f'r{number}'
    return Event(uuid, at, name, 'OS::Heat::None', None, Action.CREATE, Status.IN_PROGRESS, 'state changed',
                 number)._replace(**changed)


def change(stack_id='s1', epoch=1, **parts) -> Change:
    return Change(stack_id, epoch, **parts)


def finished(generation=1, status=Status.COMPLETE, **parts) -> StackChange:
    return StackChange(generation, status=status, reason='done', **parts)


def engine(tx, engine_id='e1', ttl=5.0, **changed) -> str:
    engines.register(tx, **{'engine_id': engine_id, 'host': 'h1', 'hostname': 'h1.example', 'binary': 'heatlite-engine',
                            'topic': 'engine', 'report_interval': 2, 'ttl': ttl, 'now': NOW, **changed})
    return engine_id


def leased(tx, *rows: stacks.StoredStack, by='e1') -> None:
    """Stacks and their leases, epoch 1."""
    for row in rows:
        stacks.insert(tx, row)
        leases.insert(tx, row.id, by)


def template_ids(tx) -> set[str]:
    """The ids of all stored templates."""
    return set(tx.execute(sa.select(tables.template.c.id)).scalars())


def ids(found: Iterable[Any]) -> list[str]:
    return [each.id for each in found]


@dataclass
class Wanted:
    limit: int | None = None
    marker: str | None = None
    sort_keys: tuple[str, ...] = ()
    sort_dir: str | None = None
    show_deleted: bool = False
    show_nested: bool = False
    tags: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    not_tags: tuple[str, ...] = ()
    not_tags_any: tuple[str, ...] = ()
    filters: dict[str, tuple[Any, ...]] = field(default_factory=dict)
