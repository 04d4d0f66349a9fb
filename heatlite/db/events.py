"""The `event` table: a stack's history. Its owner appends to it; the oldest events are removed beyond a limit."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from heatlite.common import limits
from heatlite.db import bulk, codec, listing, texts
from heatlite.db.codec import WORDS
from heatlite.db.listing import Page, after, in_slices, ordered
from heatlite.db.tables import event, stack
from heatlite.planning.states import Action, Event, Status


@dataclass(frozen=True, eq=False)
class ShownEvent(codec.CachedRow):
    """An event as the API shows it. `properties`: those in force when it happened; None in lists."""

    id: int
    uuid: str
    stack_id: str
    resource_id: int | None
    resource_name: str
    resource_type: str
    physical_id: str | None
    action: str
    status: str
    reason: str
    created_at: datetime
    properties: Mapping[str, object] | None = None


LISTED = tuple(event.c[name] for name in ShownEvent.__dataclass_fields__ if name != 'properties')
_WITHOUT_REASON = tuple(sa.literal('').label('reason') if column is event.c.reason else column for column in LISTED)
_listed = codec.cached_reader(ShownEvent)
_LENGTH = sa.func.length(event.c.properties).label('length')
_WITHIN = {True: event.c.stack_id == sa.bindparam('stack_id'),          # of one stack, of several
           False: event.c.stack_id.in_(sa.bindparam('stack_ids', expanding=True))}
PURGED_AT_ONCE = 10_000                 # rows that a transaction removes: others wait for the lease meanwhile

EVENT = ('uuid', 'stack_id', 'resource_id', 'resource_name', 'resource_type', 'physical_id', 'action', 'status',
         'reason', 'properties', 'created_at')


def insert_many(tx: sa.Connection, stack_id: str, new: Iterable[Event]) -> None:
    """Insert events in the order given."""
    time, encode = bulk.Times(), codec.encoder(tx)
    bulk.texts(tx.dialect.name).insert(tx, 'event', EVENT, [event_values(stack_id, each, time, encode) for each in new])


def event_values(stack_id: str, new: Event, time: bulk.Times,
                 encode: Callable[[object], str]) -> tuple[str, str, *tuple[object, ...]]:
    """Return the values of the columns EVENT for one row. `encode`: codec.encoder."""
    action, status = new.action, new.status
    return (new.uuid, stack_id, new.resource_id, new.resource_name, new.resource_type, new.physical_id,
            WORDS.get(action, action), WORDS.get(status, status),       # type: ignore[call-overload]
            codec.stored_text('reason', new.reason), None if new.properties is None else encode(new.properties),
            time(new.created_at))


def skip_numbers(tx: sa.Connection, count: int) -> None:
    """Have the next event numbered at least `count` higher than any stored one: streams continue after a number."""
    number = (tx.execute(sa.select(sa.func.max(event.c.id))).scalar() or 0) + count
    if tx.dialect.name == 'postgresql':
        tx.execute(sa.text("SELECT setval(pg_get_serial_sequence('event', 'id'), :number)"), {'number': number})
        return
    tx.execute(event.insert().values(id=number, uuid='', stack_id='', resource_name='', resource_type='', action='',
                                     status='', reason='', created_at=datetime.min.replace(year=1970)))
    tx.execute(event.delete().where(event.c.id == number))


def page(tx: sa.Connection, stack_ids: Sequence[str], wanted: Page,
         yield_control: Callable[[], None] = lambda: None, last: ShownEvent | None = None,
         most: int = sys.maxsize) -> list[ShownEvent]:
    """Events of these stacks, newest first unless sorted, at most `limit`, after `marker`; an unknown one is ignored.
    The order is that of their numbers, which grow with time.

    `last`: the event, of the same list, after which it continues; then without a marker. Calls `yield_control`
    after each whole slice of rows, as resource_lists.page. `most`: characters of reasons with which the page ends early
    (`is_cut`). One statement, two with a marker, and those of `_edge` for several stacks; without these, with filters
    or sorted, a page reads all events of the stacks. Index: (stack_id, id).
    """
    if wanted.limit == 0 or not stack_ids:
        return []
    is_one, sort_keys = len(stack_ids) == 1, tuple(wanted.sort_keys)
    keys, ascending = _order(sort_keys, wanted.sort_dir)
    parameters = {'stack_id': stack_ids[0], 'stack_ids': list(stack_ids), 'limit': wanted.limit}
    position: Sequence[object] | None = None if last is None else [getattr(last, key.key) for key in keys]
    if position is None and wanted.marker:
        position = tx.execute(sa.select(*keys).where(_WITHIN[is_one], event.c.uuid == wanted.marker),
                              parameters).first()
    beyond = [] if position is None else [after(keys, position, ascending)]
    if is_one or sort_keys or wanted.filters or wanted.limit is None:
        query = _listing(is_one, sort_keys, wanted.sort_dir, wanted.limit is not None).where(*beyond, *(
            texts.is_one_of(event.c[column], values) for column, values in wanted.filters.items()))
    else:
        edge = _edge(tx, stack_ids, wanted.limit, beyond, ascending)
        query = _by_number(is_one, ascending, [*beyond, *_up_to(edge, ascending)])
    rows = listing.cut(tx.execute(query, parameters), lambda row: len(row.reason), most)
    return in_slices(((*row, None) for row in rows), _listed, yield_control)


def _edge(tx: sa.Connection, stack_ids: Sequence[str], limit: int, beyond: Sequence[sa.ColumnElement[bool]],
          ascending: bool) -> int | None:
    """Return the number of an event up to which there are at least `limit` events of these stacks, and not many more;
    None if there are fewer, or few more, in all. `beyond`: the condition for those that count.

    The n-th event of each stack is looked for, for growing n: once limit/n stacks have n events up to some number,
    it is an edge, and only stacks that reach it are asked again. So it reads one entry of the index for each stack, and
    about `limit` for each n, however many events there are. At most six statements for each 500 stacks, and one where
    there are few events.
    """
    number, edge, left = max(1, limit // len(stack_ids)), None, list(stack_ids)
    while left:
        found = _nth(tx, left, number, [*beyond, *_up_to(edge, ascending)], ascending)
        needed = -(-limit // number)
        if len(found) >= needed:
            edge = sorted(found.values(), reverse=not ascending)[needed - 1]
        if number == limit:
            break
        left = [stack_id for stack_id, nth in found.items()
                if edge is None or (nth <= edge if ascending else nth >= edge)]
        number = min(4 * number, limit)
    return edge


def _nth(tx: sa.Connection, stack_ids: Sequence[str], number: int, conditions: Sequence[sa.ColumnElement[bool]],
         ascending: bool) -> dict[str, int]:
    """Return the number of the event that is the `number`-th of each stack, without stacks that have not so many.
    Index: (stack_id, id)."""
    key = event.c.id.asc() if ascending else event.c.id.desc()
    nth = sa.select(event.c.id).where(event.c.stack_id == stack.c.id, *conditions).order_by(key).limit(1).offset(
        number - 1).scalar_subquery()
    return {stack_id: found for chunk in bulk.chunks(stack_ids) for stack_id, found in
            tx.execute(sa.select(stack.c.id, nth).where(stack.c.id.in_(chunk))) if found is not None}


def _up_to(edge: int | None, ascending: bool) -> list[sa.ColumnElement[bool]]:
    return [] if edge is None else [event.c.id <= edge if ascending else event.c.id >= edge]


def is_cut(found: Iterable[ShownEvent], most: int) -> bool:
    """Whether a page of `page` has ended early, so that others may follow it."""
    return sum(len(each.reason) for each in found) >= most


def newest(tx: sa.Connection, stack_ids: Sequence[str], limit: int, before: int | None = None,
           yield_control: Callable[[], None] = lambda: None) -> list[ShownEvent]:
    """At most `limit` events of these stacks, the highest number first: numbers grow as events are stored. `before`:
    only those with a lower number.

    Calls `yield_control` as `page` does. One statement, which finds the numbers in the index alone and reads only the
    rows that it returns. Index: (stack_id, id).
    """
    if not stack_ids:
        return []
    is_one = len(stack_ids) == 1
    query = _by_number(is_one, False, [] if before is None else [event.c.id < before])
    parameters = {'stack_id': stack_ids[0], 'stack_ids': list(stack_ids), 'limit': limit}
    return in_slices(((*row, None) for row in tx.execute(query, parameters)), _listed, yield_control)


def _by_number(is_one: bool, ascending: bool,
               conditions: Sequence[sa.ColumnElement[bool]]) -> sa.Select[tuple[object, ...]]:
    """Return a statement that finds numbers in the index alone, and reads only the rows that it returns. Parameters: as
    of `_listing`."""
    chosen = ordered(sa.select(event.c.id).where(_WITHIN[is_one], *conditions), [_number(is_one)], ascending, True)
    numbers = chosen.subquery('chosen')
    return sa.select(*LISTED).join_from(numbers, event, event.c.id == numbers.c.id).order_by(
        numbers.c.id.asc() if ascending else numbers.c.id.desc())


def _number(is_one: bool) -> sa.ColumnElement[object]:
    """Return the number to sort by. For several stacks it is an expression: in the order of the primary key, the
    database might read the events of all others."""
    number: sa.ColumnElement[object] = event.c.id if is_one else event.c.id + 0
    return number


@functools.lru_cache(maxsize=128)
def _listing(is_one: bool, sort_keys: tuple[str, ...], sort_dir: str | None,
             is_limited: bool) -> sa.Select[tuple[object, ...]]:
    """Return the statement of `page` without filters, built once: that costs more than executing it. Parameters:
    `stack_id` (`is_one`) or `stack_ids`, `limit` (`is_limited`)."""
    keys, ascending = _order(sort_keys, sort_dir)
    return ordered(sa.select(*LISTED).where(_WITHIN[is_one]), [*keys[:-1], _number(is_one)], ascending, is_limited)


def _order(sort_keys: Sequence[str], sort_dir: str | None) -> tuple[list[sa.Column[object]], bool]:
    """Return the columns to sort by, the number last, and whether ascending."""
    keys: list[sa.Column[object]] = [event.c[name] for name in dict.fromkeys(sort_keys)]
    return [*keys, event.c.id], sort_dir == 'asc' or (bool(sort_keys) and sort_dir != 'desc')


def show(tx: sa.Connection, stack_id: str, uuid: str) -> ShownEvent | None:
    """One event. Properties are stored only where they changed: the last ones at or before it apply.

    Two statements at most. Index: (stack_id, id).
    """
    row = tx.execute(sa.select(*LISTED, event.c.properties).where(
        event.c.stack_id == stack_id, event.c.uuid == uuid)).first()
    if row is None:
        return None
    properties = row.properties
    if properties is None:
        properties = _properties_before(tx, stack_id, row)
    return replace(ShownEvent(*row[:-1]), properties=codec.decode(properties))


def _properties_before(tx: sa.Connection, stack_id: str, row: sa.Row[tuple[object, ...]]) -> str | None:
    """Return the encoded properties in force before this event; None for events of the stack itself."""
    if row.resource_id is None:
        return None
    return tx.execute(sa.select(event.c.properties).where(
        event.c.stack_id == stack_id, event.c.id < row.id, event.c.resource_id == row.resource_id,
        event.c.properties.is_not(None)).order_by(event.c.id.desc()).limit(1)).scalar()


def following(tx: sa.Connection, stack_id: str, position: int, limit: int) -> list[ShownEvent]:
    """Return the first events after number `position`, oldest first, each with its properties as `show` gives them,
    which are decoded when they are first read. At most `limit`, up to the one with which the properties reach MOST_PAGE
    characters. Properties that cannot be decoded are empty: no later event waits for them.

    Two statements, and one for each resource whose first event here has unchanged properties. Index: (stack_id, id).
    """
    rows = tx.execute(sa.select(*LISTED, _LENGTH).where(
        event.c.stack_id == stack_id, event.c.id > position).order_by(event.c.id).limit(limit)).all()
    in_force: dict[int | None, str | None] = {}         # resource -> its properties before the next event

    def read(row: sa.Row[tuple[object, ...]]) -> int:
        """Return how many characters of properties the event adds, after those before it are read, if needed."""
        if row.length is None and row.resource_id not in in_force:
            in_force[row.resource_id] = _properties_before(tx, stack_id, row)
            return len(in_force[row.resource_id] or '')
        in_force.setdefault(row.resource_id, None)
        return int(row.length or 0)

    chosen = list(listing.cut(rows, read, limits.MOST_PAGE))
    changed = [row.id for row in chosen if row.length is not None]
    stored = dict(tx.execute(sa.select(event.c.id, event.c.properties).where(event.c.id.in_(changed))).tuples().all())
    found = list[ShownEvent]()
    for row in chosen:
        text = in_force[row.resource_id] = stored.get(row.id, in_force[row.resource_id])
        found.append(replace(ShownEvent(*row[:-1]), properties=None if text is None else codec.Undecoded(text, {})))
    return found


def position(tx: sa.Connection, stack_id: str, *, of_action: bool) -> int:
    """Return the number of the last event; with `of_action` the one before the beginning of the stack's last action.

    Index: (stack_id, id).
    """
    found = sa.select(sa.func.max(event.c.id)).where(event.c.stack_id == stack_id)
    if of_action:
        found = found.where(event.c.resource_id.is_(None), event.c.status == Status.IN_PROGRESS)
    return (tx.execute(found).scalar() or 0) - of_action


def count(tx: sa.Connection, stack_id: str) -> int:
    return int(tx.execute(sa.select(sa.func.count()).select_from(event)
                          .where(event.c.stack_id == stack_id)).scalar_one())


def purge_over(tx: sa.Connection, stack_id: str, keep: int) -> int:
    """Remove the oldest events beyond `keep`, PURGED_AT_ONCE at most, and return how many. `keep` 0: no limit, removes
    nothing."""
    edge = prepare_purge(tx, stack_id, keep)
    return 0 if edge is None else purge(tx, stack_id, edge)


def prepare_purge(tx: sa.Connection, stack_id: str, keep: int) -> int | None:
    """Return the id of the newest event beyond `keep`, for `purge`; None if there is none, or `keep` is 0.

    Properties still in force move to a later event first. Index: (stack_id, id).
    """
    if not keep:
        return None
    edge = tx.execute(sa.select(event.c.id).where(event.c.stack_id == stack_id)
                      .order_by(event.c.id.desc()).offset(keep).limit(1)).scalar()
    if edge is not None:
        _carry_properties(tx, stack_id, edge, _until(stack_id, edge))
    return edge


def purge(tx: sa.Connection, stack_id: str, edge: int) -> int:
    """Remove the oldest events up to `edge`, PURGED_AT_ONCE at most, and return how many. Index: (stack_id, id)."""
    last = tx.execute(sa.select(event.c.id).where(_until(stack_id, edge))
                      .order_by(event.c.id).offset(PURGED_AT_ONCE - 1).limit(1)).scalar()
    return int(tx.execute(event.delete().where(_until(stack_id, edge if last is None else last))).rowcount)


def _until(stack_id: str, edge: int) -> sa.ColumnElement[bool]:
    return sa.and_(event.c.stack_id == stack_id, event.c.id <= edge)


def _carry_properties(tx: sa.Connection, stack_id: str, edge: int, going: sa.ColumnElement[bool]) -> None:
    """Copy properties to the first remaining event of each resource, unless that event has its own."""
    first = sa.select(sa.func.min(event.c.id)).where(
        event.c.stack_id == stack_id, event.c.id > edge, event.c.resource_id.is_not(None)).group_by(
        event.c.resource_id)
    bare = dict(tx.execute(sa.select(event.c.resource_id, event.c.id).where(
        event.c.id.in_(first), event.c.properties.is_(None))).tuples().all())
    for chunk in bulk.chunks(bare):
        latest = sa.select(sa.func.max(event.c.id)).where(
            going, event.c.resource_id.in_(chunk), event.c.properties.is_not(None)).group_by(event.c.resource_id)
        carried = {bare[number]: sa.literal(properties, event.c.properties.type) for number, properties in tx.execute(
            sa.select(event.c.resource_id, event.c.properties).where(event.c.id.in_(latest)))}
        if carried:                                 # not kept compiled: each number of cases is another statement
            tx.execute(event.update().where(event.c.id.in_(carried)).values(
                properties=sa.case(carried, value=event.c.id)), execution_options={'compiled_cache': None})


def beginning(tx: sa.Connection, stack_id: str) -> ShownEvent | None:
    """Return the event with which the stack's last action began, rollbacks excepted: they belong to the action before.

    Index: (stack_id, id).
    """
    row = tx.execute(sa.select(*LISTED).where(
        event.c.stack_id == stack_id, event.c.resource_id.is_(None), event.c.status == Status.IN_PROGRESS,
        event.c.action != Action.ROLLBACK).order_by(event.c.id.desc()).limit(1)).first()
    return None if row is None else ShownEvent(*row)


def last_duration(tx: sa.Connection, stack_id: str, action: str, before: int | None = None) -> timedelta | None:
    """How long this action of the stack took when it was last completed; None: it never was, or its events are gone.

    `before`: the number of an event; what ended after it does not count. Index: (stack_id, id).
    """
    own = sa.select(event.c.id, event.c.created_at).where(
        event.c.stack_id == stack_id, event.c.resource_id.is_(None), event.c.action == action).order_by(
        event.c.id.desc()).limit(1)
    if before is not None:
        own = own.where(event.c.id < before)
    end = tx.execute(own.where(event.c.status == Status.COMPLETE)).first()
    if end is None:
        return None
    begin = tx.execute(own.where(event.c.status == Status.IN_PROGRESS, event.c.id < end.id)).first()
    return None if begin is None else end.created_at - begin.created_at


def of_resource(tx: sa.Connection, stack_id: str, name: str, limit: int) -> list[ShownEvent]:
    """Return the newest `limit` events of a resource, oldest first. Index: (stack_id, id)."""
    rows = tx.execute(sa.select(*LISTED).where(
        event.c.stack_id == stack_id, texts.is_exactly(event.c.resource_name, name), event.c.resource_id.is_not(None))
        .order_by(event.c.id.desc()).limit(limit))
    return [ShownEvent(*row) for row in rows][::-1]


def of_resources(tx: sa.Connection, stack_id: str, limit: int, *, after: int = 0,
                 before: int | None = None) -> list[ShownEvent]:
    """Events of the resources of one stack, oldest first, without their reasons, which may be long: the first `limit`
    with a number over `after`, or the last `limit` with a number below `before`. Index: (stack_id, id)."""
    query = sa.select(*_WITHOUT_REASON).where(
        event.c.stack_id == stack_id, event.c.resource_id.is_not(None)).limit(limit)
    if before is None:
        return [ShownEvent(*row) for row in tx.execute(query.where(event.c.id > after).order_by(event.c.id))]
    found = tx.execute(query.where(event.c.id < before).order_by(event.c.id.desc()))
    return [ShownEvent(*row) for row in found][::-1]


def since(tx: sa.Connection, stack_ids: Sequence[str], first: datetime, limit: int,
          status: str | None = None, after: int = 0) -> list[ShownEvent]:
    """Events of resources from `first` on, oldest first, at most `limit`; with this status, if given. Fewer where their
    reasons are long: limits.MOST_PAGE. `after`: the number of an event, if one is known, that all of them follow:
    without it, all events of the stacks are read.

    Index: (stack_id, id).
    """
    query = sa.select(*LISTED).where(event.c.stack_id.in_(list(stack_ids)), event.c.id > after,
                                     event.c.resource_id.is_not(None), event.c.created_at >= first)
    if status is not None:
        query = query.where(event.c.status == status)
    rows = tx.execute(query.order_by(event.c.created_at, event.c.id).limit(limit))
    return [ShownEvent(*row) for row in listing.cut(rows, lambda row: len(row.reason), limits.MOST_PAGE)]


def beginnings(tx: sa.Connection, stack_ids: Sequence[str], names: Sequence[str],
               first: datetime) -> dict[tuple[str, str], datetime]:
    """When the last action on these resources began: (stack, name) -> time. Reads the events of the stacks.

    Index: (stack_id, id).
    """
    query = sa.select(event.c.stack_id, event.c.resource_name, sa.func.max(event.c.created_at)).where(
        event.c.stack_id.in_(list(stack_ids)), texts.is_one_of(event.c.resource_name, names),
        event.c.created_at >= first, event.c.resource_id.is_not(None), event.c.status == Status.IN_PROGRESS.value)
    query = query.group_by(event.c.stack_id, event.c.resource_name, sa.func.length(event.c.resource_name))  # see texts
    return {(stack_id, name): at for stack_id, name, at in tx.execute(query)}
