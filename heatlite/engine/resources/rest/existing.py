"""After a crash, or a reply that was lost: was the thing made?

The physical name of a resource is random, so a thing with that name is its own. A name from the template may be
somebody else's: such a thing is taken only if it is alone, has everything that was asked for, and was made since
the resource began. When nobody can tell, the resource fails rather than make a second thing or take a stranger's.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from heatlite.common import exception
from heatlite.engine.resources.rest import names, plans, service
from heatlite.engine.resources.rest.calls import Call, first_that_applies, templates
from heatlite.engine.resources.rest.filling import fill_path, pick
from heatlite.planning import text

AGAIN = 'again'                             # creating it again changes nothing
UNKNOWN = 'unknown'                         # nothing tells
LONGEST_QUESTION = 64                       # characters: no service lists by a public key or the like
SKEW = timedelta(minutes=1)                 # that the clocks of services may be wrong


def find(resource: Any) -> str | None:
    """The id; None when it is safe to create. Raises Error when nobody can tell."""
    what = resource.description
    how = what.existing
    if how == AGAIN or what.create is None:
        return None
    if how == UNKNOWN:
        raise cannot_tell()
    if isinstance(how, Mapping):
        return _by_fields(resource, how)
    if what.name_property not in resource.properties or not what.path:
        raise cannot_tell()
    wanted = names.chosen(resource, resource.properties)
    found = [entry for entry in listed(resource, {'name': wanted}) if entry.get('name') == wanted]
    if not names.is_given(resource):
        return _id(resource, found[0]) if found else None
    return _among_strangers(resource, found)


def cannot_tell() -> exception.Error:
    return exception.Error(text.INTERRUPTED % 'CREATE')


def listed(resource: Any, query: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Entries of the collection; a service may ignore the query, so look at them."""
    what = resource.description
    path = fill_path(what.path, resource.scope())
    found = service.send(resource, plans.versioned(what, Call('GET', path, query=query), resource.properties))
    plural = what.plural if what.plural is not None else f'{what.key}s' if what.key else ''
    entries = pick(found, plural)
    if isinstance(entries, Mapping):        # a flat service still names its list
        entries = next((value for value in entries.values() if isinstance(value, list)), [])
    inner = what.key
    return [entry.get(inner, entry) if inner and isinstance(entry.get(inner), Mapping) else entry
            for entry in entries or () if isinstance(entry, Mapping)]


def _by_fields(resource: Any, how: Mapping[str, Any]) -> str | None:
    """`{by: [fields]}`: the service allows only one with these fields as they were asked for; nobody can tell when one
    of `must` was left to the service.

    `{mark: field}`: a field that holds the physical name. `{calls: [...]}`: what such a request answers.
    """
    what = resource.description
    if 'calls' in how:
        calls = first_that_applies(templates(how['calls']), resource.scope())
        answers = [resource.read(plans.versioned(what, call, resource.properties)) for call in calls]
        found = next((each for each in answers if each), None)
        first = found[0] if isinstance(found, list) else found
        if first is None or (isinstance(first, str) and '{' not in what.id):
            return first
        return _id(resource, first)
    body = plans.new_body(what, resource.scope(), resource)
    fields = [how['mark']] if 'mark' in how else how['by']
    if any(pick(body, name) is None for name in how.get('must', ())):
        raise cannot_tell()
    query = {name: body[name] for name in fields if isinstance(body.get(name), str | int)
             and len(str(body[name])) <= LONGEST_QUESTION}
    found = [entry for entry in listed(resource, query)
             if all(_same(pick(entry, name), pick(body, name)) for name in fields)]
    return _id(resource, found[0]) if found else None


def _among_strangers(resource: Any, found: list[Mapping[str, Any]]) -> str | None:
    if not found:
        return None
    body = plans.new_body(resource.description, resource.scope(), resource)
    ours = [entry for entry in found if _since(resource, entry) and
            all(_same(entry[name], value) for name, value in body.items() if name in entry)]
    if len(ours) == 1:
        return _id(resource, ours[0])
    if not ours and all(_since(resource, entry) is False for entry in found):
        return None                         # all of them are older than we are
    raise cannot_tell()


def _since(resource: Any, entry: Mapping[str, Any]) -> bool | None:
    """Whether it was made since the resource began; None when that cannot be told."""
    made = next((entry[name] for name in ('created_at', 'created', 'createdAt') if entry.get(name)), None)
    if made is None or resource.created_time is None:
        return None
    try:
        at = datetime.fromisoformat(str(made).replace('Z', '+00:00'))
    except ValueError:
        return None
    at = at.astimezone(UTC).replace(tzinfo=None) if at.tzinfo else at
    return bool(at >= resource.created_time - SKEW)


def _same(theirs: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(theirs, Mapping) and all(_same(theirs.get(name), value) for name, value in wanted.items())
    return theirs == wanted or str(theirs) == str(wanted) or (not theirs and not wanted)


def _id(resource: Any, entry: Mapping[str, Any]) -> str:
    """A list may call `id` what the answer to a creation calls by a longer name."""
    plain = resource.description.id.isidentifier() and resource.description.id not in entry and 'id' in entry
    return str(entry['id'] if plain else resource._id_of(entry))
