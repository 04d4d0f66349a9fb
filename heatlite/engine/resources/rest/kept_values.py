"""Stores values that only the answer to a creation has, such as a secret: the `keep` of descriptions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from heatlite.engine.resources.rest.templating import pick
from heatlite.engine.resources.rest.words import Kept

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource


def store(resource: DescribedResource, answer: object) -> None:
    """Store the values that `answer`, the one to the creation, has. Durable with the physical id."""
    for key, how in resource.description.keep.items():
        value = pick(answer, how.get('field', key))
        if value is not None and _is_wanted(resource, how):
            resource.data_set(key, value if isinstance(value, str) else json.dumps(value), bool(how.get('redact')))


def are_wanted(resource: DescribedResource) -> bool:
    """Return whether the resource needs any of them, so that an object whose answer is lost is of no use."""
    return any(_is_wanted(resource, how) for how in resource.description.keep.values())


def _is_wanted(resource: DescribedResource, how: Kept) -> bool:
    return how.get('when') is None or bool(resource.properties.get(how['when']))
