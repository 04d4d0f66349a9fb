"""Container clusters (Magnum)."""

from __future__ import annotations

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import collection, service

CLIENT_NAME = 'magnum'


class MagnumClientPlugin(service.ServicePlugin[collection.Client]):
    option_group = CLIENT_NAME
    service_types = [CONTAINER] = ['container-infra']
    client_class = collection.Client

    @shared.MEMOIZE_FINDER
    def get_cluster_template(self, value: str) -> str:
        """Return the id of a cluster template: the service itself takes a name. Raises EntityNotFound."""
        found = self._got(collection.path_of('clustertemplates', value), None)
        if found is None:
            raise exception.EntityNotFound(entity='ClusterTemplate', name=value)
        return str(found['uuid'])

    get_baymodel = get_cluster_template


class ClusterTemplateConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_cluster_template'
