"""After a crash, or a reply that was lost: was the thing made? For types with code of their own.

The physical name of a resource is random, so what carries it is its own. A name from the template may be somebody
else's: such a thing is taken only if it is the only one that was made since the resource began and looks as asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from heatlite.common import exception
from heatlite.engine.clients.os import http
from heatlite.planning import text

SKEW = timedelta(minutes=1)                 # that the clock of a service may be wrong


def create(resource: Any, make: Callable[[], str]) -> str:
    """`make()`, the id of the new thing; looked for when the service did not answer."""
    try:
        return make()
    except Exception as error:
        if not http.reply_was_lost(error):
            raise
        found = resource.find_existing()
        if found is None:
            raise
        return str(found)


def choose(resource: Any, entries: Iterable[Mapping[str, Any]], own_name: bool,
           wanted: Mapping[str, Any] | None = None) -> str | None:
    """The id of the resource's own thing among `entries`, which have its name; None: it was not made.

    `own_name`: nobody else has that name. `wanted`: fields it was asked for. Raises Error when nobody can tell.
    """
    found = list(entries)
    if not found:
        return None
    if own_name:
        return str(found[0]['id'])
    fitting = [entry for entry in found if all(entry.get(name) == value for name, value in (wanted or {}).items()
                                               if name in entry and value is not None)]
    ages = [_is_newer(resource, entry) for entry in fitting]
    if not any(age is not False for age in ages):
        return None                         # all of them were there before
    if len(fitting) == 1 and ages == [True]:
        return str(fitting[0]['id'])
    raise cannot_tell()


def cannot_tell() -> exception.Error:
    return exception.Error(text.INTERRUPTED % 'CREATE')


def _is_newer(resource: Any, entry: Mapping[str, Any]) -> bool | None:
    """Made since the resource began? None when nothing tells."""
    made = entry.get('created_at') or entry.get('created')
    if not made or resource.created_time is None:
        return None
    try:
        at = datetime.fromisoformat(str(made).replace('Z', '+00:00'))
    except ValueError:
        return None
    at = at.astimezone(UTC).replace(tzinfo=None) if at.tzinfo else at
    return bool(at >= resource.created_time - SKEW)
