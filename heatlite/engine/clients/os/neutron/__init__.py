"""Networking (Neutron): the client, the finders of ids by name, the extensions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NotRequired, TypedDict

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.clients import library_errors
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import collection, http, service
from heatlite.engine.clients.os.neutron.client import NetworkClient
from heatlite.engine.clients.os.neutron.paths import key_of, path_of, plural_of

CLIENT_NAME = 'neutron'

# Found by looking through a whole list: their collections take no filter by name.
WHOLE_LIST = frozenset({'port_pair', 'port_pair_group', 'flow_classifier', 'port_chain', 'tap_flow', 'tap_service'})


class GroupOfPorts(TypedDict):
    """What is used of a security group. `tenant_id`: the former name."""

    id: str
    name: str
    project_id: NotRequired[str]
    tenant_id: NotRequired[str]


class NoUniqueMatch(collection.AmbiguousMatch):
    """Several things have the name."""


class NoMatch(exception.EntityNotFound):
    """Nothing has the name. The words are those of the service's own client."""

    wire_name = 'EntityNotFound'
    msg_fmt = _("Unable to find %(entity)s with name or id '%(name)s'")


def _is_over_quota(error: BaseException) -> bool:
    """Return whether an error says that a quota is used up: one of our client, or of python-neutronclient, which a
    plug-in may use by itself."""
    reported = http.reported_name(getattr(error, 'response', None))
    return reported == 'OverQuota' or any(kind.__name__ == 'OverQuotaClient' for kind in type(error).__mro__)


def _no_match(entity: str, name: str | None) -> NoMatch:
    return library_errors.with_status(NoMatch(entity=entity, name=name), NeutronClientPlugin.NETWORK, 404)


class NeutronClientPlugin(shared.ExtensionMixin, service.ServicePlugin[NetworkClient]):
    option_group = CLIENT_NAME
    service_types = [NETWORK] = ['network']
    api_version = {'min_version': '2.0', 'max_version': '2.latest'}
    client_class = NetworkClient
    # What the finder is asked for -> what the service calls it, where old versions gave it another word.
    res_cmdres_mapping = {'policy': 'qos_policy'}

    @shared.MEMOIZE_EXTENSIONS
    def _list_extensions(self) -> list[str]:
        return [entry['alias'] for entry in self.client().list_extensions()['extensions']]

    # --- errors -------------------------------------------------------------------------------------------

    def is_invalid(self, ex: BaseException) -> bool:
        return service.status_of(ex) == 400

    def is_no_unique(self, ex: BaseException) -> bool:
        return isinstance(ex, collection.AmbiguousMatch | exception.PhysicalResourceNameAmbiguity)

    def is_not_found(self, ex: BaseException) -> bool:
        return super().is_not_found(ex)

    def is_conflict(self, ex: BaseException) -> bool:
        """Not that a quota is used up, which is a 409 as well: a repetition does not help."""
        return super().is_conflict(ex) and not _is_over_quota(ex)

    # --- names --------------------------------------------------------------------------------------------

    @shared.MEMOIZE_FINDER
    def find_resourceid_by_name_or_id(self, resource: str, name_or_id: str | None,
                                      cmd_resource: str | None = None) -> str:
        """Return the id of an object. Raises EntityNotFound, NoUniqueMatch."""
        thing = cmd_resource or self.res_cmdres_mapping.get(resource, resource)
        if not name_or_id:                  # no name of things without one
            raise _no_match(thing, name_or_id)
        plural = plural_of(thing)
        key = key_of(plural)
        lister = getattr(self.client(), f'list_{plural}')
        filtered = thing not in WHOLE_LIST
        for field in ('id', 'name'):
            found = lister(**{field: name_or_id}, fields=['id', 'name']) if filtered else lister()
            matching = [entry for entry in found[key] if entry.get(field) == name_or_id]
            if len(matching) > 1:
                raise library_errors.no_unique_match(
                    NoUniqueMatch(f"Multiple {resource} matches found for name '{name_or_id}', use an ID to be more "
                                  'specific.'), self.NETWORK)
            if matching:
                return str(matching[0]['id'])
        raise _no_match(thing, name_or_id)

    @shared.MEMOIZE_FINDER
    def network_id_from_subnet_id(self, subnet_id: str) -> str:
        return str(self.client().show_subnet(subnet_id)['subnet']['network_id'])

    def get_qos_policy_id(self, policy: str) -> str:
        return str(self.find_resourceid_by_name_or_id('policy', policy))

    def get_secgroup_uuids(self, security_groups: Iterable[object]) -> list[str]:
        """Ids of groups given as names, ids, or references of resources. Raises EntityNotFound, or
        PhysicalResourceNameAmbiguity when the project has several of the name."""
        found: list[str] = []
        known: list[GroupOfPorts] | None = None
        own: str | None = None
        for group in security_groups:
            name = getattr(group, 'get_reference_id', lambda group=group: group)()
            if service.looks_like_uuid(name):
                found.append(name)
                continue
            if known is None:
                own = self.context.cloud_project_id
                known = self.client().list_security_groups(project_id=own)['security_groups']
            named = [entry for entry in known if entry['name'] == name]
            if len(named) > 1:                  # shared ones of others do not count
                named = [entry for entry in named
                         if (entry.get('project_id') or entry.get('tenant_id')) == own] or named
            if not named:
                named = [{'id': self.find_resourceid_by_name_or_id('security_group', name), 'name': name}]
            if len(named) > 1:
                raise exception.PhysicalResourceNameAmbiguity(name=name)
            found.append(str(named[0]['id']))
        return found

    # --- old names ----------------------------------------------------------------------------------------

    def resolve_router(self, props: Mapping[str, str | None], router_key: str, router_id_key: str) -> str:
        wanted = props.get(router_id_key) or props.get(router_key)
        return self.find_resourceid_by_name_or_id('router', wanted)

    def resolve_pool(self, props: Mapping[str, str | None], pool_key: str, pool_id_key: str) -> str:
        wanted = props.get(pool_id_key) or props.get(pool_key)
        return self.find_resourceid_by_name_or_id('pool', wanted, cmd_resource='lbaas_pool')

    def check_lb_status(self, lb_id: str) -> bool:
        """Whether the load balancer is ready. Raises ResourceInError."""
        found = self.client().get(f'/lbaas/loadbalancers/{lb_id}')['loadbalancer']
        if found['provisioning_status'] == 'ERROR':
            raise exception.ResourceInError(resource_status='ERROR')
        return bool(found['provisioning_status'] == 'ACTIVE')

    # --- things of extensions that have no word of their own ----------------------------------------------

    def _ext(self, collection: str, resource_id: str | None = None) -> str:
        path = collection if collection.startswith('/') else f'/{collection}'
        return f'{path}/{resource_id}' if resource_id else path

    def create_ext_resource(self, path: str, body: object, **kwargs: object) -> object:
        return self.client().post(self._ext(path), body)

    def update_ext_resource(self, path: str, body: object, resource_id: str) -> object:
        return self.client().put(self._ext(path, resource_id), body)

    def delete_ext_resource(self, path: str, resource_id: str) -> None:
        self.client().delete(self._ext(path, resource_id))

    def show_ext_resource(self, path: str, resource_id: str) -> collection.Fields:
        return self.client().get(self._ext(path, resource_id))

    def check_ext_resource_status(self, resource: str, resource_id: str) -> bool:
        """Whether its status is ACTIVE. Raises ResourceInError."""
        found = self.show_ext_resource(resource, resource_id)
        status = next(iter(found.values()))['status']
        if status == 'ERROR':
            raise exception.ResourceInError(resource_status=status)
        return bool(status == 'ACTIVE')

    def resolve_ext_resource(self, resource: str, name_or_id: str) -> str:
        """Return the id of an object. Raises EntityNotFound, NoUniqueMatch."""
        plural = plural_of(resource)
        entries = self.client().get(path_of(plural))[key_of(plural)] if name_or_id else []
        for field in ('id', 'name'):
            matching = [entry for entry in entries if entry.get(field) == name_or_id]
            if len(matching) > 1:
                raise library_errors.no_unique_match(
                    NoUniqueMatch(f'Multiple {resource} matches found for {name_or_id}.'), self.NETWORK)
            if matching:
                return str(matching[0]['id'])
        raise library_errors.with_status(
            exception.EntityNotFound(entity=resource, name=name_or_id), self.NETWORK, 404)
