"""Whether an action on an object has ended, and whether a service that is busy may be asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.engine.resources.rest import service

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource


def is_ready(resource: DescribedResource, action: str) -> bool:
    """Return whether the object is as `action` ('create', 'update') leaves it. Raises ResourceInError,
    ResourceUnknownStatus."""
    wait = resource.description.waits.get(action)
    return wait is None or wait.is_over(resource.shown(fresh=True))


def is_gone(resource: DescribedResource) -> bool:
    """Return whether the object is gone, after the request to delete it. Raises ResourceInError."""
    gone = resource.description.gone
    if gone is None:
        return True
    try:
        return gone.is_over(resource.shown(fresh=True, properties=resource.last_known()))
    except exception.ObjectUncomparable:    # what it was a part of is gone
        return True
    except Exception as error:
        if not service.is_not_found(error):
            raise
        return True


def sent_in_turn(resource: DescribedResource, action: str, send: Callable[[], None]) -> bool:
    """Send the requests of an action by `send()`. Return False if the service is busy with something that must
    end first: they are to be sent again."""
    try:
        send()
    except Exception as error:
        if not _may_ask_again(resource, action, error):
            raise
        return False
    return True


def _may_ask_again(resource: DescribedResource, action: str, error: Exception) -> bool:
    """Return whether the service is busy with something else and says so: not an error, for as long as the stack's time
    allows.

    A replacement that conflicts with what it replaces would wait for ever: the old object is deleted after its
    replacement was made."""
    what = resource.description
    if service.status_of(error) not in what.retry.get(action, ()):
        return False
    can_stay = action == 'create' and resource.replaces is not None and bool(what.busy_says)
    return not can_stay or any(text in str(error) for text in what.busy_says)
