"""Creates the object of a described resource: sends the request, stores what its answer says, and makes the calls that
follow.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from heatlite.engine.resources import existing
from heatlite.engine.resources.rest import (
    applied_names,
    call_progress,
    existing_objects,
    hooks,
    kept_values,
    names,
    plans,
    readiness,
    service,
)
from heatlite.engine.resources.rest.calls import CallTemplate, DescribedCall

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource


def create(resource: DescribedResource) -> None:
    """Send the request and store the physical id. If the reply is lost, look for the object, and send again if there
    is none."""
    what = resource.description
    if what.create is None:
        hooks.changed(what, 'create', None, resource)
        _store_id(resource, str(names.physical_id(resource, {})))
        return
    existing_objects.snapshot_candidates(resource)
    call = plans.create(what, resource.scope(), resource)
    try:
        answer = resource.send(call)
    except Exception as error:
        if not service.reply_was_lost(error):
            raise
        lost = resource.find_existing()
        if lost is not None:
            _store_id(resource, lost)
            return
        answer = resource.send(call)        # it never arrived
    found = names.unwrapped(what, answer)
    kept_values.store(resource, found)
    _store_id(resource, str(names.physical_id(resource, found)))


def create_in_turn(resource: DescribedResource) -> bool:
    """Create the object, unless an interrupted creation has made it. Return False if the service is busy with something
    that must end first."""
    if not resource.made_here:              # begun by an engine that is gone: perhaps it was made
        resource.made_here = True
        found = resource.find_existing()
        if found is not None:
            _store_id(resource, found)
            return True
    return readiness.sent_in_turn(resource, 'create', partial(create, resource))


def _store_id(resource: DescribedResource, physical_id: str) -> None:
    existing.forget(resource)
    applied_names.store(resource, resource.properties)
    resource.resource_id_set(physical_id)


def complete(resource: DescribedResource) -> bool:
    """Carry out what follows the creation of the object: further calls, the wait, the sub-collections. Return whether
    all is done."""
    what = resource.description
    if call_progress.made(resource, 'then') < len(what.then):
        call_progress.run(resource, 'then', _filled(resource, what.then), last=False)
    if not readiness.is_ready(resource, 'create'):
        return False
    if what.follow:
        calls = plans.follow(what, resource.scope(), resource.properties, None, resource.read)
        call_progress.run(resource, 'follow', calls, last=not what.finish)
    if what.finish:
        call_progress.run(resource, 'finish', _filled(resource, what.finish))
    call_progress.forget(resource)
    return True


def _filled(resource: DescribedResource, templates: Iterable[CallTemplate]) -> list[DescribedCall]:
    scope = resource.scope()
    return [plans.versioned(resource.description, template.fill(scope), scope.properties) for template in templates
            if template.applies(scope)]
