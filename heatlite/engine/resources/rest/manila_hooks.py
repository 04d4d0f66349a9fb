"""Functions for the types in manila.yaml that a description cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook
from heatlite.engine.resources.rest.subresources import items, without

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

NEW_NAMES = {'name': 'display_name', 'description': 'display_description'}
RULE = ('access_type', 'access_to', 'access_level')


@hook
def network_of_the_subnet(resource: DescribedResource, body: dict[str, object], given: Mapping[str, object],
                          action: str) -> dict[str, object]:
    if body.get('neutron_subnet_id') and not body.get('neutron_net_id'):
        body['neutron_net_id'] = resource.client_plugin('neutron').network_id_from_subnet_id(body['neutron_subnet_id'])
    return body


@hook
def subnet_of_the_network(resource: DescribedResource) -> None:
    given = resource.properties
    network, subnet = given['neutron_network'], given['neutron_subnet']
    if not network or not subnet or {'neutron_network', 'neutron_subnet'} & given.deferred:
        return
    if resource.client_plugin('neutron').network_id_from_subnet_id(subnet) != network:
        raise exception.StackValidationFailed(message=_('Provided neutron_subnet does not belong to provided '
                                                        'neutron_network.'))


@hook
def share_names(resource: DescribedResource, body: dict[str, object], given: Mapping[str, object],
                action: str) -> dict[str, object]:
    """An update of a share has names of its own for two fields."""
    if action == 'update':
        return {NEW_NAMES.get(name, name): value for name, value in body.items()}
    return body


@hook
def access_denied_first(resource: DescribedResource, calls: list[DescribedCall],
                        changed: Mapping[str, object]) -> list[DescribedCall]:
    """Rules are taken away by an id that only the list tells."""
    if 'access_rules' not in changed:
        return calls
    gone = without(items(resource.properties['access_rules']), items(changed['access_rules']))
    if not gone:
        return calls
    path = f'/shares/{resource.resource_id}/action'
    known = resource.read(DescribedCall('POST', path, {'access_list': None}, answer='access_list')) or []
    return [*calls,
            *(DescribedCall('POST', path, {'deny_access': {'access_id': entry['id']}}, ignore=(404,))
              for entry in known
              if any(all(entry.get(name) == rule.get(name) for name in RULE if name in rule) for rule in gone
                     if isinstance(rule, Mapping)))]
