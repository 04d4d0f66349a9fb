"""Functions for the types in designate.yaml that a description cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Fields
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

WHOLE = '.'                                 # at the end of a name that is not relative to its zone


@hook
def whole_name(resource: DescribedResource, body: dict[str, object], given: Mapping[str, object],
               action: str) -> dict[str, object]:
    """Designate takes whole names only; its client library, which Heat uses, completes others by the zone's name."""
    name = body.get('name')
    if not isinstance(name, str) or name.endswith(WHOLE):
        return body
    zone = resource.read(DescribedCall('GET', f'/zones/{resource.properties["zone"]}', answer='name'))
    return {**body, 'name': f'{name}.{zone}'}


@hook
def name_as_written(resource: DescribedResource, wanted: Values, found: Fields) -> dict[str, object]:
    """Return the name as the template has it, if that is the name of the record without the zone's; else {}."""
    name = wanted.get('name')
    is_same = name and found.get('name') == f'{name}.{found.get("zone_name")}'
    return {'name': name} if is_same else {}
