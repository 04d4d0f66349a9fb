"""Finds out after a crash, or a lost reply, whether an object of a described type was created. The rules are those of
`engine.resources.existing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.engine.resources import existing
from heatlite.engine.resources.rest import names, plans, service
from heatlite.engine.resources.rest.calls import DescribedCall, first_that_applies, templates
from heatlite.engine.resources.rest.templating import fill, fill_path, pick
from heatlite.engine.resources.rest.words import Existing

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Fields
    from heatlite.engine.resources.rest.described_resource import DescribedResource

CREATE_AGAIN = 'again'                      # creating it again changes nothing
UNKNOWN = 'unknown'                         # nothing tells
LONGEST_QUESTION = 64                       # characters: no service lists by a public key or the like


def find(resource: DescribedResource) -> str | None:
    """The id; None when it is safe to create. Raises Error when that is unknown."""
    what = resource.description
    if what.existing == CREATE_AGAIN or what.create is None:
        return None
    if not _can_tell(resource):
        raise existing.ambiguous()
    found = _candidates(resource)
    if _is_its_own(resource):
        return next(iter(found), None)
    return existing.find_created(resource, found, lambda entry: _is_as_asked(resource, entry))


def snapshot_candidates(resource: DescribedResource) -> None:
    """Right before a create: remembers what could be mistaken for what it makes."""
    if (resource.description.existing != CREATE_AGAIN and resource.description.create is not None
            and _can_tell(resource) and not _is_its_own(resource)):
        existing.snapshot_candidates(resource, lambda: _candidates(resource))


def _can_tell(resource: DescribedResource) -> bool:
    what = resource.description
    if what.existing == UNKNOWN:
        return False
    return isinstance(what.existing, Mapping) or bool(what.name_property in resource.properties and what.path)


def _is_its_own(resource: DescribedResource) -> bool:
    """Return whether the object carries the physical name of the resource, which no other object has."""
    how = resource.description.existing
    if isinstance(how, Mapping):
        if 'mark' in how:                   # unless the definition has a value of its own for the field
            return bool(plans.new_body(resource.description, resource.scope(), resource).get(how['mark'])
                        == resource.physical_resource_name())
        named = 'name' in how.get('by', ()) and resource.description.name_property in resource.properties
        return named and not names.is_given(resource)
    return not names.is_given(resource)


def _candidates(resource: DescribedResource) -> dict[str, Fields]:
    """Return the objects that may be that of the resource, by id: the answers to `calls`, or else the entries of the
    collection that have the wanted name, or `mark`, or values of all given fields of `by`."""
    what = resource.description
    how = what.existing
    if isinstance(how, Mapping) and 'calls' in how:
        return _answers(resource, how)
    if isinstance(how, Mapping):
        body = plans.new_body(what, resource.scope(), resource)
        fields = [how['mark']] if 'mark' in how else how['by']
        wanted = {name: pick(body, name) for name in fields if pick(body, name) is not None}
    else:
        wanted = {'name': names.chosen(resource, resource.properties)}
    query = {name: value for name, value in wanted.items()
             if isinstance(value, str | int) and '.' not in name and len(str(value)) <= LONGEST_QUESTION}
    return {id_of(resource, entry): entry for entry in listed(resource, query)
            if all(_same(pick(entry, name), value) for name, value in wanted.items())}


def _answers(resource: DescribedResource, how: Existing) -> dict[str, Fields]:
    """Return the object in the first answer that is not empty, by id; {} if all are."""
    what = resource.description
    calls = first_that_applies(templates(how['calls']), resource.scope())
    answers = [resource.read(plans.versioned(what, call, resource.properties)) for call in calls]
    found = next((each for each in answers if each), None)
    first = found[0] if isinstance(found, list) else found
    if first is None or (isinstance(first, str) and '{' not in what.id):
        return {} if first is None else {first: {}}
    return {id_of(resource, first): first if isinstance(first, Mapping) else {}}


def listed(resource: DescribedResource, query: Mapping[str, object]) -> list[Fields]:
    """Entries of the collection; a service may ignore the query, so look at them."""
    what = resource.description
    assert what.path is not None
    path = fill_path(what.path, resource.scope())
    found = service.send(resource, plans.versioned(what, DescribedCall('GET', path, query=query), resource.properties))
    plural = what.plural if what.plural is not None else f'{what.key}s' if what.key else ''
    entries = pick(found, plural)
    if isinstance(entries, Mapping):        # a flat service still names its list
        entries = next((value for value in entries.values() if isinstance(value, list)), [])
    inner = what.key
    return [entry.get(inner, entry) if inner and isinstance(entry.get(inner), Mapping) else entry
            for entry in entries or () if isinstance(entry, Mapping)]


def is_shown(resource: DescribedResource, found: object) -> bool:
    """Whether `found`, the answer to `show`, is about the object with the resource's physical id: some services show an
    object by its name, too, and some descriptions show what the object is a part of."""
    what = resource.description
    if isinstance(what.existing, Mapping) and 'calls' in what.existing:
        return resource.resource_id in _candidates(resource)
    if 'id' in what.hooks or (what.id == '{name}' and not names.is_given(resource)):
        return True
    value = fill(what.id, resource.scope(answer=found)) if '{' in what.id else pick(found, what.id)
    return value is None or str(value) == resource.resource_id


def _is_as_asked(resource: DescribedResource, entry: Mapping[str, object]) -> bool:
    body = plans.new_body(resource.description, resource.scope(), resource)
    return all(_same(entry[name], value) for name, value in body.items() if name in entry)


def _same(theirs: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(theirs, Mapping) and all(_same(theirs.get(name), value) for name, value in wanted.items())
    return theirs == wanted or str(theirs) == str(wanted) or (not theirs and not wanted)


def id_of(resource: DescribedResource, entry: Mapping[str, object]) -> str:
    """A list may call `id` what the answer to a creation calls by a longer name."""
    plain = resource.description.id.isidentifier() and resource.description.id not in entry and 'id' in entry
    return str(entry['id'] if plain else names.physical_id(resource, entry))
