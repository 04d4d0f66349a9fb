"""Functions for the types in keystone.yaml that a description cannot express."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from keystoneauth1 import exceptions

from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource


@hook
def default_security_group_first(resource: DescribedResource, calls: list[DescribedCall]) -> list[DescribedCall]:
    """Neutron gives every project a security group, which would outlive it."""
    if resource.client_plugin('neutron') is None:
        return calls
    listing = DescribedCall('GET', '/security-groups', query={'tenant_id': resource.resource_id, 'name': 'default'},
                            service='neutron', answer='security_groups.*.id')
    try:
        found = resource.read(listing) or []
    except exceptions.CatalogException:
        return calls                        # a cloud without Neutron
    return [*(DescribedCall('DELETE', f'/security-groups/{group}', service='neutron',
                            ignore=(404,)) for group in found), *calls]


@hook
def region_of_own_id(resource: DescribedResource, call: DescribedCall) -> DescribedCall:
    wanted = resource.properties['id']
    return replace(call, verb='PUT', path=f'/regions/{quote(wanted, safe="")}') if wanted else call
