"""Updates the object of a described resource in place, and creates it again if it is not known what there is of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from heatlite.engine.properties import Properties
from heatlite.engine.resources.rest import (
    applied_names,
    begun_additions,
    call_progress,
    kept_values,
    names,
    plans,
    readiness,
)
from heatlite.engine.resources.rest.applied_names import Applied
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.templating import places

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource


class UpdateCalls(TypedDict):
    """What `start` returns, as stored. `calls`: those that are sent while polling; the others were sent."""

    calls: list[dict[str, object]]


def start(resource: DescribedResource, wanted: Properties, prop_diff: Mapping[str, object]) -> UpdateCalls | None:
    """Send the requests, or return them if the service may be busy. None: there is nothing to change.

    `wanted`: the translated new properties; `prop_diff`: those that changed.
    """
    what = resource.description
    changed = {**prop_diff, **applied_names.led_elsewhere(resource, wanted)}
    if not changed and not resource.is_uncertain:
        applied_names.store(resource, wanted)                   # the same ids may be given by name now
        return None
    call_progress.forget(resource)          # of whatever was interrupted before
    calls, again = _calls(resource, wanted, changed)
    waits_for_others = bool(what.retry.get('update'))
    for call in () if waits_for_others else calls:
        answer = resource.send(call)
        if call is again:
            kept_values.store(resource, names.unwrapped(what, answer))
    if not waits_for_others:
        begun_additions.forget(resource)
    applied_names.store(resource, wanted)
    if what.repaired_in_place and changed.keys() & set(places(what.id)):
        _store_new_id(resource, wanted)
    return {'calls': [call.stored() for call in calls] if waits_for_others else []}


def _calls(resource: DescribedResource, wanted: Properties,
           changed: Mapping[str, object]) -> tuple[list[DescribedCall], DescribedCall | None]:
    """Return all requests of an update, in order, and that of them which creates the object again; None if none does.
    Stores which items they begin to add."""
    what = resource.description
    before = resource.before()
    staying = Applied(applied_names.lasting(resource, wanted), wanted)
    scope = resource.scope(staying, old=before, changed=changed)
    calls = plans.update(what, scope, changed, resource) if changed else []
    again = None
    if resource.is_uncertain and what.create is not None:
        with _having(resource, wanted):
            again = plans.create(what, scope, resource)
        calls.append(again)
    calls += begun_additions.dropped(resource, wanted)
    calls += plans.follow(what, scope, wanted, before, resource.read, set(changed), resource.is_uncertain)
    begun_additions.note(resource, wanted, before)
    return calls, again


def _store_new_id(resource: DescribedResource, wanted: Properties) -> None:
    """Store the physical id that the wanted properties give the object."""
    with _having(resource, wanted):
        physical_id = str(names.physical_id(resource, {}))
        if physical_id != resource.resource_id:
            resource.resource_id_set(physical_id)


@contextlib.contextmanager
def _having(resource: DescribedResource, properties: Properties) -> Iterator[None]:
    """Make `resource.properties` the wanted ones within the context, for what a create would do with them."""
    applied = resource.properties
    resource.properties = properties
    try:
        yield
    finally:
        resource.properties = applied


def complete(resource: DescribedResource, stored: UpdateCalls) -> bool:
    """Send the requests that `start` has returned, and wait for the object. Return whether all is done."""
    calls = [DescribedCall.read(call) for call in stored['calls']]
    send = partial(call_progress.run, resource, 'update', calls, last='update' not in resource.description.waits)
    if not readiness.sent_in_turn(resource, 'update', send) or not readiness.is_ready(resource, 'update'):
        return False
    begun_additions.forget(resource)        # the calls were made here if the service may be busy
    call_progress.forget(resource)
    return True
