"""Finds out after a crash, or a lost reply, whether an object was created.

The physical name of a resource is random, so what carries it is its own. A name from the template may also be that
of another user's object: then the ids of the objects with that name are stored right before the create. An object that
is there afterwards and was not there before is ours. No clock is asked, neither ours nor the service's. When it is
unknown, the resource fails rather than make a second object or take over that of another user.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from heatlite.common import exception
from heatlite.engine.clients.os import http
from heatlite.planning import text

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource

BEFORE = 'there_before'                     # resource data: ids, as JSON; null: the service did not tell
CLOCKS_APART = timedelta(minutes=1)         # of the services and the database
MADE_AT = ('created_at', 'created')

Entries = Iterable[Mapping[str, object]]


class Noting(Protocol):
    """The part of a resource that notes what is there before a create."""

    resource_id: str | None

    def data(self) -> dict[str, str]: ...

    def data_set(self, key: str, value: object, redact: bool = False) -> None: ...

    def data_delete(self, key: str) -> bool: ...

    def store_data(self) -> None: ...


class Findable(Noting, Protocol):
    """A resource whose type finds what an interrupted create has made."""

    def find_existing(self) -> str | None: ...


def create(resource: Findable, make: Callable[[], str], same_name: Callable[[], Entries] | None = None) -> str:
    """`make()`, the id of the new thing; looked for when the service did not answer.

    `same_name()`: what has the name that the template gives; None: nothing else has the resource's name.
    """
    if same_name is not None:
        snapshot_candidates(resource, lambda: (str(entry['id']) for entry in same_name()))
    try:
        made = make()
    except Exception as error:
        if not http.reply_was_lost(error):
            raise
        found = resource.find_existing()
        if found is None:
            raise
        made = str(found)
    forget(resource)
    return made


def choose(resource: Resource, entries: Entries, own_name: bool,
           wanted: Mapping[str, object] | None = None) -> str | None:
    """The id of the resource's own thing among `entries`, which have its name; None: it was not made.

    `own_name`: nothing else has that name. `wanted`: fields it was asked for. Raises Error when that is unknown.
    """
    found = {str(entry['id']): entry for entry in entries}
    if own_name:
        return next(iter(found), None)
    return find_created(resource, found, lambda entry: all(
        entry.get(name) == value for name, value in (wanted or {}).items() if name in entry and value is not None))


def snapshot_candidates(resource: Noting, ids: Callable[[], Iterable[str]]) -> None:
    """Right before a create: stores `ids()`, what could be taken for the resource's own. Durable when it returns."""
    if BEFORE in resource.data():
        return                              # the engine that died has looked; what was made since may be ours
    try:
        known = sorted(ids())
    except Exception as error:
        if not 400 <= (http.status_of(error) or 0) < 500:
            raise
        known = None                        # it may be created but not listed: after a crash that is unknown
    resource.data_set(BEFORE, json.dumps(known))
    resource.store_data()


def forget(resource: Noting) -> None:
    """Delete what `snapshot_candidates` has stored. Durable with the physical id."""
    resource.data_delete(BEFORE)


def find_created(resource: Resource, found: Mapping[str, Mapping[str, object]],
                 fits: Callable[[Mapping[str, object]], bool]) -> str | None:
    """The id of the thing in `found` (by id) that was not there before the create.

    Of several the only one that `fits`; a single one need not, because services write values in ways of their own.
    None when nothing has come since. Raises Error when that is unknown.
    """
    if not found:
        return None
    if BEFORE not in resource.data():       # nothing was ever asked for, as far as the database knows
        return _made_since_the_backup(resource, found, fits)
    before = json.loads(resource.data()[BEFORE])
    if before is None:
        raise ambiguous()
    siblings = [other for other in resource.stack.values()
                if other.name != resource.name and other.type() == resource.type()]
    new = set(found) - set(before) - {other.resource_id for other in siblings}
    if not new:
        return None
    fitting = list(new) if len(new) == 1 else [each for each in new if fits(found[each])]
    if len(fitting) != 1 or any(_is_indistinguishable(resource, other) for other in siblings):
        raise ambiguous()
    return fitting[0]


def _made_since_the_backup(resource: Resource, found: Mapping[str, Mapping[str, object]],
                           fits: Callable[[Mapping[str, object]], bool]) -> str | None:
    """The one in `found` that was made after the backup from which the stack was restored; None if there is none.

    Raises Error when that is unknown: services need not tell when an object was made.
    """
    backup = getattr(resource.stack, 'restored_from', None)
    if backup is None:
        return None
    siblings = {other.resource_id for other in resource.stack.values() if other.type() == resource.type()}
    new = [each for each, entry in found.items() if each not in siblings
           and (made_at(entry) or backup) >= backup - CLOCKS_APART]
    if not new:
        return None
    fitting = [each for each in new if fits(found[each])]
    if len(fitting) != 1 or made_at(found[fitting[0]]) is None:
        raise ambiguous()
    return fitting[0]


def made_at(entry: Mapping[str, object]) -> datetime | None:
    """Return when a service made an object, by its entry in a list, in UTC; None if the entry does not say."""
    said = next((entry[name] for name in MADE_AT if entry.get(name)), None)
    try:
        found = datetime.fromisoformat(str(said))
    except ValueError:
        return None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo is not None else found


def ambiguous() -> exception.Error:
    return exception.Error(text.INTERRUPTED % 'CREATE')


def _is_indistinguishable(resource: Resource, other: Resource) -> bool:
    """Return whether both are created at the same time from the same properties: a found object may be of either."""
    return (other.state == (other.CREATE, other.IN_PROGRESS) and other.resource_id is None
            and dict(other.properties.items()) == dict(resource.properties.items()))
