"""Functions for the types in nova.yaml that a description cannot express."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest import service
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook
from heatlite.engine.resources.rest.templating import pick

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Fields
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

ONE_POLICY, SOFT_POLICIES = (2, 64), (2, 15)        # microversions


@hook
def policy_or_policies(resource: DescribedResource, call: DescribedCall) -> DescribedCall:
    """Send one policy with its rules from microversion 2.64 on, and a list of policies before."""
    fields = dict(pick(call.body, 'server_group'))
    policies, rules = fields.pop('policies'), resource.properties['rules']
    newest = getattr(service.adapter_of(resource).get_endpoint_data(), 'max_microversion', None) or (2, 1)
    if tuple(newest) >= ONE_POLICY:
        fields['policy'] = policies[0]
        if rules:
            fields['rules'] = {name: int(value) for name, value in rules.items() if value is not None}
        return replace(call, body={'server_group': fields}, microversion='2.64')
    if rules:
        raise exception.NotSupported(feature=_('Cannot use "rules" property - compute service does not support the '
                                               'required api microversion; it'))
    soft = any(policy.startswith('soft-') for policy in policies)
    return replace(call, body={'server_group': {**fields, 'policies': policies}},
                   microversion='2.15' if soft and tuple(newest) >= SOFT_POLICIES else None)


@hook
def metadata_without_zone(resource: DescribedResource, wanted: Values,
                          found: Fields) -> dict[str, object]:
    """The service has the zone of an aggregate in its metadata, too."""
    given = wanted.get('metadata')
    if given is None:
        return {}
    return {'metadata': {name: value for name, value in (found.get('metadata') or {}).items()
                         if name != 'availability_zone' or name in given}}


@hook
def external_network_of_the_pool(resource: DescribedResource, body: dict[str, object], given: Values,
                                 action: str) -> dict[str, object]:
    """Pools were external networks: the named one, or the only one."""
    query = {'router:external': 'True'}
    if given.get('pool'):
        query['name'] = given['pool']
    found = resource.read(DescribedCall('GET', '/networks', query=query, answer='networks')) or []
    if len(found) != 1:
        raise exception.EntityNotFound(entity='External network', name=given.get('pool') or _('the only one'))
    return {**body, 'floating_network_id': found[0]['id']}


@hook
def first_port_of_the_server(resource: DescribedResource, call: DescribedCall) -> DescribedCall:
    return replace(call, body={'floatingip': _port_of(resource, resource.properties['server_id'])})


@hook
def first_port_again(resource: DescribedResource, calls: list[DescribedCall], changed: Values) -> list[DescribedCall]:
    server = changed.get('server_id') or resource.properties['server_id']
    return [*calls[:-1], replace(calls[-1], body={'floatingip': _port_of(resource, server)})]


def _port_of(resource: DescribedResource, server: str) -> dict[str, object]:
    """The first port of a server with its first IPv4 address."""
    ports = resource.read(DescribedCall('GET', '/ports', query={'device_id': server}, answer='ports')) or []
    for port in ports:
        for fixed in port.get('fixed_ips') or ():
            if ipaddress.ip_address(fixed['ip_address']).version == 4:
                return {'port_id': port['id'], 'fixed_ip_address': fixed['ip_address']}
    raise exception.EntityNotFound(entity='Port of server', name=server)
