"""Whether the object of a described resource is there, and in a state in which it can be used."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.engine.resources.rest import hooks, service
from heatlite.planning import marks

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource


def check(resource: DescribedResource) -> None:
    """Raise EntityNotFound, ResourceInError. What merely differs from the template is for a preview to tell."""
    resource._check_created()
    try:
        found = resource.get_live_resource_data()
    except exception.ObjectUncomparable:
        if not _may_have_ended(resource):
            raise
        return
    wait = resource.description.waits.get('create')
    if wait is not None:
        with contextlib.suppress(exception.ResourceUnknownStatus):     # it came to that after it was made
            wait.is_over(found)


def read(resource: DescribedResource) -> object:
    """Return what is shown of the object. Raises EntityNotFound if it is not there, or what is shown in its place is
    without it; ObjectUncomparable if it may have ended by itself."""
    try:
        found = resource._show_resource()
    except Exception as error:
        if service.is_not_found(error):
            if _may_have_ended(resource):
                raise exception.ObjectUncomparable(resource.name, error) from error
            raise exception.EntityNotFound(entity='Resource', name=resource.name)
        raise
    what = resource.description
    if 'exists' in what.hooks and not _is_made_again(resource) and not hooks.call(
            what, 'exists', resource, resource.last_known(), found):
        raise exception.EntityNotFound(entity='Resource', name=resource.name)
    return found


def _is_made_again(resource: DescribedResource) -> bool:
    """Return whether the next update creates the object again, because its state is not known."""
    return (resource.description.repaired_in_place and resource.record is not None
            and marks.is_uncertain(resource.record.state.fingerprint))


def _may_have_ended(resource: DescribedResource) -> bool:
    """Return whether the service deletes the object itself once it is done: that it is not there is no fault."""
    given = resource.last_known()
    return any(given.get(name) is not None if word == 'when' else given.get(name) is None
               for condition in resource.description.ends for word, name in condition.items())
