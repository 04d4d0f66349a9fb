"""Deletes the object of a described resource, and what must be deleted before it.

All requests are sent again at each attempt: it is harmless to delete what is gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from keystoneauth1.exceptions import HttpError

from heatlite.engine.resources.rest import begun_additions, hooks, plans, readiness, service, waits
from heatlite.engine.resources.rest.calls import DescribedCall

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource


def delete(resource: DescribedResource) -> None:
    """Send all requests. Raises ObjectNotDeletable if a hook finds that the object cannot be deleted now."""
    what = resource.description
    scope = resource.scope(resource.last_known())
    with _gone_is_fine():
        calls = plans.before_delete(what, scope, resource.read) + begun_additions.dropped(resource, scope.properties)
        for call in calls:
            with _gone_is_fine():
                resource.send(call)
    if what.delete is None:
        return
    with _gone_is_fine():
        call = plans.versioned(what, what.delete.fill(scope), scope.properties)
        for each in hooks.changed(what, 'delete', [call], resource):
            _send(resource, each)


def delete_in_turn(resource: DescribedResource) -> bool:
    """Send all requests. Return False if the service is busy with something that must end first."""
    try:
        return readiness.sent_in_turn(resource, 'delete', partial(delete, resource))
    except waits.ObjectNotDeletable:
        return False


def discard(resource: DescribedResource, physical_id: str) -> None:
    """Delete an object whose reply is lost: only the reply had some of its values, such as a secret.

    Leave it if it was made by the replacement of this resource, which may have the same name.
    """
    resource.resource_id = physical_id
    try:
        if not resource.is_taken_over():
            delete(resource)
    finally:
        resource.resource_id = None


def _send(resource: DescribedResource, call: DescribedCall) -> None:
    """Send the request; accept a refusal if the object is being deleted already, as after an answer that was lost."""
    try:
        resource.send(call)
    except HttpError:
        gone = resource.description.gone
        if gone is None or not gone.is_under_way(resource.shown(fresh=True, properties=resource.last_known())):
            raise


@contextlib.contextmanager
def _gone_is_fine() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not service.is_not_found(error):
            raise
