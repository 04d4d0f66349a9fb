"""How many calls of a list were made. It is stored after each one, so that an engine that goes on with the action after
a crash makes none twice. A list is known by its name in the description.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heatlite.engine.resources import stored_json
from heatlite.engine.resources.rest.calls import DescribedCall

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

DATA_KEY = 'rest_progress'                  # name of a list -> number of its calls that were made


def run(resource: DescribedResource, name: str, calls: Sequence[DescribedCall], last: bool = True) -> None:
    """Make the calls that were not made yet. `last`: nothing follows, so the last one need not be remembered."""
    begin = made(resource, name)
    for number, call in enumerate(calls[begin:], begin + 1):
        resource.send(call)
        if number < len(calls) or not last:
            stored_json.note(resource, DATA_KEY, {**_all(resource), name: number})


def made(resource: DescribedResource, name: str) -> int:
    """Return how many calls of a list were made."""
    return _all(resource).get(name, 0)


def forget(resource: DescribedResource) -> None:
    """The action is over, or begins again from the start."""
    stored_json.write(resource, DATA_KEY, {})


def _all(resource: DescribedResource) -> dict[str, int]:
    return stored_json.read(resource, DATA_KEY, {})
