"""Resources that must be there first although no template says so: the `after` of descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception, turns
from heatlite.engine.dependencies import Edges
from heatlite.engine.resources import edges
from heatlite.engine.resources.rest import hooks
from heatlite.engine.resources.rest.templating import pick
from heatlite.language.unknown import UNKNOWN

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource
    from heatlite.engine.resources.rest.described_resource import DescribedResource


def add(resource: DescribedResource, deps: Edges) -> None:
    """`deps += (resource, other)` for each other of a rule's type whose properties equal ours, or that a hook picks."""
    for rule in resource.description.after:
        for other in turns.paced(edges.of_type(resource, rule['type'])):
            matches = hooks.REGISTERED[rule['hook']](resource, other) if 'hook' in rule else _equal(
                resource, other, rule['where'])
            if matches:
                deps += (resource, other)


def _equal(resource: DescribedResource, other: Resource, where: Mapping[str, str]) -> bool:
    """`where`: property of the other -> ours. What cannot be read is equal to nothing."""
    for theirs, ours in where.items():
        value = known(resource, ours)
        if value is None or value != known(other, theirs):
            return False
    return True


def known(resource: Resource, path: str) -> object:
    """A property's value as far as it is known now."""
    first, _dot, rest = path.partition('.')
    try:
        value = resource.properties.get(first)
    except (exception.HeatException, ValueError, TypeError):
        return None
    value = pick(value, rest) if rest else value
    return None if value is UNKNOWN or value == '' else value
