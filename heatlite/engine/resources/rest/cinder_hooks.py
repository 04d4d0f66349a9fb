"""Functions for the types in cinder.yaml that a description cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Fields
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

PUBLIC = 'os-volume-type-access:is_public'


@hook
def public_has_two_names(resource: DescribedResource, body: dict[str, object], given: Mapping[str, object],
                         action: str) -> dict[str, object]:
    """A new type takes one name of the field, an existing one the other."""
    if action == 'update' and PUBLIC in body:
        body['is_public'] = body.pop(PUBLIC)
    return body


@hook
def has_encryption(resource: DescribedResource, given: Values, found: Fields) -> bool:
    """Cinder shows an empty map for a type without encryption."""
    return bool(found.get('encryption_id'))


@hook
def removed_specs(resource: DescribedResource, calls: list[DescribedCall], changed: Values) -> list[DescribedCall]:
    gone = sorted(set(resource.before()['specs'] or ()) - set(changed.get('specs') or ()))
    if 'specs' not in changed or not gone:
        return calls
    return [*calls, DescribedCall('PUT', f'/qos-specs/{resource.resource_id}/delete_keys', {'keys': gone})]


@hook
def specs_and_consumer(resource: DescribedResource, wanted: Values,
                       found: Fields) -> dict[str, object]:
    """The consumer stands beside the other specs in answers."""
    specs = dict(found.get('specs') or {})
    if 'consumer' in (wanted.get('specs') or {}):
        specs['consumer'] = found.get('consumer')
    return {'specs': specs}
