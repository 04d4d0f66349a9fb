"""Functions for the types in glance.yaml that a description cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

AMAZON = ('ami', 'ari', 'aki')


@hook
def image_activity(resource: DescribedResource, calls: list[DescribedCall],
                   changed: Mapping[str, object]) -> list[DescribedCall]:
    if 'active' not in changed:
        return calls
    action = 'reactivate' if changed['active'] else 'deactivate'
    return [*calls, DescribedCall('POST', f'/images/{resource.resource_id}/actions/{action}')]


@hook
def formats_match(resource: DescribedResource) -> None:
    given = resource.properties
    container, disk = given['container_format'], given['disk_format']
    if {'container_format', 'disk_format'} & given.deferred:
        return
    if {container, disk} & set(AMAZON) and container != disk:
        raise exception.StackValidationFailed(message=_(
            "Invalid mix of disk and container formats. When setting a disk or container format to one of "
            "'aki', 'ari', or 'ami', the container and disk formats must match."))
