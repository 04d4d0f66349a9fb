"""Neutron's API as its library shows it: `create_port({'port': {...}})`, `list_networks(name=...)`, answers as is.

A method's name says the verb and the thing; where the thing's collection is not "/<things>", a table has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from keystoneauth1 import exceptions

from heatlite.engine.clients import library_errors
from heatlite.engine.clients.os import collection
from heatlite.engine.clients.os.collection import Fields

if TYPE_CHECKING:
    from requests import Response

PATHS = {                                   # plural -> path, where it is not the plural with dashes
    'networks': '/networks', 'firewalls': '/fw/firewalls', 'firewall_policies': '/fw/firewall_policies',
    'firewall_rules': '/fw/firewall_rules', 'sfc_flow_classifiers': '/sfc/flow_classifiers',
    'flow_classifiers': '/sfc/flow_classifiers', 'port_chains': '/sfc/port_chains',
    'sfc_port_chains': '/sfc/port_chains',
    'port_pairs': '/sfc/port_pairs', 'sfc_port_pairs': '/sfc/port_pairs', 'port_pair_groups': '/sfc/port_pair_groups',
    'sfc_port_pair_groups': '/sfc/port_pair_groups', 'ikepolicies': '/vpn/ikepolicies',
    'ipsecpolicies': '/vpn/ipsecpolicies', 'vpnservices': '/vpn/vpnservices',
    'ipsec_site_connections': '/vpn/ipsec-site-connections', 'metering_labels': '/metering/metering-labels',
    'metering_label_rules': '/metering/metering-label-rules', 'qos_policies': '/qos/policies',
    'policies': '/qos/policies', 'bgpvpns': '/bgpvpn/bgpvpns', 'pools': '/lb/pools',
    'tap_services': '/taas/tap_services',
    'tap_flows': '/taas/tap_flows', 'loadbalancers': '/lbaas/loadbalancers', 'listeners': '/lbaas/listeners',
    'lbaas_pools': '/lbaas/pools',
}
PLURALS = {'qos_policy': 'qos_policies', 'policy': 'policies', 'firewall_policy': 'firewall_policies',
           'ikepolicy': 'ikepolicies', 'ipsecpolicy': 'ipsecpolicies', 'rbac_policy': 'rbac_policies'}
KEYS = {'qos_policy': 'policy', 'qos_policies': 'policies'}     # where the word in bodies is another one
VERBS = ('create', 'show', 'update', 'delete', 'list')


def plural_of(thing: str) -> str:
    return PLURALS.get(thing, f'{thing}s')


def path_of(plural: str) -> str:
    """The collection, below the API's version."""
    return PATHS.get(plural, '/' + plural.replace('_', '-'))


class NetworkClient(collection.Client):
    """Methods not written here are made from their names. `list_*` follows pages."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb, _underscore, thing = name.partition('_')
        if verb not in VERBS or not thing:
            raise AttributeError(name)
        if verb == 'list':
            return lambda **filters: self._list(thing, filters)
        path = path_of(plural_of(thing))
        match verb:
            case 'create':
                return lambda body: self.post(path, body)
            case 'show':
                return lambda what, **params: self.get(f'{path}/{what}', params=params)
            case 'update':
                return lambda what, body=None: self.put(f'{path}/{what}', body)
        return lambda what: self.delete(f'{path}/{what}')

    def _list(self, plural: str, filters: dict[str, object], retrieve_all: bool = True) -> dict[str, list[Fields]]:
        key = KEYS.get(plural, plural)
        filters.pop('retrieve_all', None)
        pages = collection.Collection(self, path_of(plural), None, key)
        return {key: list(pages._pages(path_of(plural), filters))}

    def find_resource(self, resource: str, name_or_id: str, project_id: str | None = None,
                      cmd_resource: str | None = None, parent_id: str | None = None, fields: object = None) -> Fields:
        """One thing by its id, else by its name, as a dictionary. Raises NotFound; AmbiguousMatch for several.

        `cmd_resource`: what its collection is called, where that is another word. `parent_id`: not supported.
        """
        if parent_id is not None:
            raise NotImplementedError('find_resource with parent_id')
        plural = plural_of(cmd_resource or resource)
        params = {'fields': fields, **({'tenant_id': project_id} if project_id else {})}
        for field in ('id', 'name'):
            found = [entry for entry in self._list(plural, {field: name_or_id, **params})[KEYS.get(plural, plural)]
                     if entry.get(field) == name_or_id]
            if len(found) > 1:
                raise library_errors.no_unique_match(collection.AmbiguousMatch(
                    f"Multiple {resource} matches found for name '{name_or_id}', use an ID to be more specific."),
                    self.http.service_type)
            if found:
                return found[0]
        raise library_errors.with_status(
            exceptions.NotFound(f"Unable to find {resource} with name or id '{name_or_id}'"),
            self.http.service_type, 404)

    # --- requests -----------------------------------------------------------------------------------------

    def get(self, path: str, params: Mapping[str, object] | None = None) -> Fields:
        found: Fields = self.http.get(path, params=params).json()
        return found

    def post(self, path: str, body: object = None) -> object:
        return _body(self.http.post(path, json=body))

    def put(self, path: str, body: object = None) -> object:
        return _body(self.http.put(path, json=body))

    def delete(self, path: str) -> None:
        self.http.delete(path)

    # --- what is not create, show, update, delete, list ---------------------------------------------------

    def list_extensions(self) -> Fields:
        return dict(self.get('/extensions'))

    def add_interface_router(self, router: str, body: object) -> object:
        return self.put(f'/routers/{router}/add_router_interface', body)

    def remove_interface_router(self, router: str, body: object) -> object:
        return self.put(f'/routers/{router}/remove_router_interface', body)

    def add_gateway_router(self, router: str, body: object) -> object:
        return self.put(f'/routers/{router}', {'router': {'external_gateway_info': body}})

    def remove_gateway_router(self, router: str) -> object:
        return self.put(f'/routers/{router}', {'router': {'external_gateway_info': {}}})

    def add_extra_routes_to_router(self, router: str, body: object) -> object:
        return self.put(f'/routers/{router}/add_extraroutes', body)

    def remove_extra_routes_from_router(self, router: str, body: object) -> object:
        return self.put(f'/routers/{router}/remove_extraroutes', body)

    def replace_tag(self, collection: str, what: str, body: object) -> object:
        return self.put(f'/{collection}/{what}/tags', body)

    def list_l3_agent_hosting_routers(self, router: str) -> object:
        return self.get(f'/routers/{router}/l3-agents')

    def add_router_to_l3_agent(self, agent: str, body: object) -> object:
        return self.post(f'/agents/{agent}/l3-routers', body)

    def remove_router_from_l3_agent(self, agent: str, router: str) -> None:
        self.delete(f'/agents/{agent}/l3-routers/{router}')

    def list_dhcp_agent_hosting_networks(self, network: str) -> object:
        return self.get(f'/networks/{network}/dhcp-agents')

    def add_network_to_dhcp_agent(self, agent: str, body: object) -> object:
        return self.post(f'/agents/{agent}/dhcp-networks', body)

    def remove_network_from_dhcp_agent(self, agent: str, network: str) -> None:
        self.delete(f'/agents/{agent}/dhcp-networks/{network}')

    def show_quota(self, project_id: str) -> object:
        return self.get(f'/quotas/{project_id}')

    def update_quota(self, project_id: str, body: object) -> object:
        return self.put(f'/quotas/{project_id}', body)

    def delete_quota(self, project_id: str) -> None:
        self.delete(f'/quotas/{project_id}')


def _body(answer: Response) -> object:
    return answer.json() if answer.content else None
