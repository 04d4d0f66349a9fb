"""Functions for the types in blazar.yaml that a description cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

FIELDS = {                                  # of a reservation, by what is reserved
    'virtual:instance': ('amount', 'vcpus', 'memory_mb', 'disk_gb', 'affinity', 'resource_properties'),
    'physical:host': ('min', 'max', 'hypervisor_properties', 'resource_properties', 'before_end'),
}


@hook
def capability_without_name(resource: DescribedResource, body: dict[str, object], given: Mapping[str, object],
                            action: str) -> dict[str, object]:
    """A capability called name would rename the host."""
    return {**body, 'name': given['name']}


@hook
def extra_capabilities(resource: DescribedResource, name: str) -> object:
    found = resource.shown()
    return {key: found[key] for key in resource.properties['extra_capability'] or {} if key in found and key != 'name'}


@hook
def fields_of_each_reservation(resource: DescribedResource, body: dict[str, object], given: Values,
                               action: str) -> dict[str, object]:
    body['reservations'] = [
        {'resource_type': entry['resource_type'],
         **{name: entry[name] for name in FIELDS[entry['resource_type']] if entry.get(name) is not None}}
        for entry in given['reservations']]
    return body


@hook
def there_are_hosts(resource: DescribedResource) -> None:
    if not resource.client_plugin().has_host():
        raise exception.StackValidationFailed(
            message=_("Couldn't find any host in Blazar. You must create a host before creating a lease."))
