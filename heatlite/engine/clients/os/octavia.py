"""Load balancing (Octavia)."""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import collection, service

CLIENT_NAME = 'octavia'


class OctaviaClientPlugin(service.ServicePlugin[collection.Client]):
    option_group = CLIENT_NAME
    service_types = [LOADBALANCER] = ['load-balancer']
    api_version = {'min_version': '2', 'max_version': '2.latest'}
    client_class = collection.Client

    # The finders raise LoadBalancingNotFound, PhysicalResourceNameAmbiguity.

    def _find(self, entity: str, path: str, key: str, plural: str, wanted: object, *, field: str = 'id',
              filters: Mapping[str, object] | None = None) -> str:
        try:
            return super()._find(entity, path, key, plural, wanted, field=field, filters=filters)
        except exception.EntityNotFound:
            raise LoadBalancingNotFound(entity=entity, name=wanted) from None

    @shared.MEMOIZE_FINDER
    def get_pool(self, value: str) -> str:
        return self._find('Pool', '/lbaas/pools', 'pool', 'pools', value)

    @shared.MEMOIZE_FINDER
    def get_listener(self, value: str) -> str:
        return self._find('Listener', '/lbaas/listeners', 'listener', 'listeners', value)

    @shared.MEMOIZE_FINDER
    def get_loadbalancer(self, value: str) -> str:
        return self._find('LoadBalancer', '/lbaas/loadbalancers', 'loadbalancer', 'loadbalancers', value)

    @shared.MEMOIZE_FINDER
    def get_l7policy(self, value: str) -> str:
        return self._find('L7Policy', '/lbaas/l7policies', 'l7policy', 'l7policies', value)

    @shared.MEMOIZE_FINDER
    def get_flavor(self, value: str) -> str:
        return self._find('Flavor', '/lbaas/flavors', 'flavor', 'flavors', value)

    @shared.MEMOIZE_FINDER
    def get_flavorprofile(self, value: str) -> str:
        return self._find('FlavorProfile', '/lbaas/flavorprofiles', 'flavorprofile', 'flavorprofiles', value)

    @shared.MEMOIZE_FINDER
    def get_availabilityzone(self, value: str) -> str:
        return self._find('AvailabilityZone', '/lbaas/availabilityzones', 'availability_zone', 'availability_zones',
                          value, field='name')

    @shared.MEMOIZE_FINDER
    def get_availabilityzoneprofile(self, value: str) -> str:
        return self._find('AvailabilityZoneProfile', '/lbaas/availabilityzoneprofiles', 'availability_zone_profile',
                          'availability_zone_profiles', value)


class LoadBalancingNotFound(exception.EntityNotFound):
    """With the text of Heat's client."""

    msg_fmt = '%(name)s not found (HTTP 404)'


class OctaviaConstraint(constraints.BaseCustomConstraint):
    expected_exceptions = (exception.EntityNotFound, exception.PhysicalResourceNameAmbiguity)
    resource_client_name = CLIENT_NAME


class LoadbalancerConstraint(OctaviaConstraint):
    resource_getter_name = 'get_loadbalancer'


class ListenerConstraint(OctaviaConstraint):
    resource_getter_name = 'get_listener'


class PoolConstraint(OctaviaConstraint):
    resource_getter_name = 'get_pool'


class L7PolicyConstraint(OctaviaConstraint):
    resource_getter_name = 'get_l7policy'


class FlavorConstraint(OctaviaConstraint):
    resource_getter_name = 'get_flavor'


class FlavorProfileConstraint(OctaviaConstraint):
    resource_getter_name = 'get_flavorprofile'


class AvailabilityZoneConstraint(OctaviaConstraint):
    resource_getter_name = 'get_availabilityzone'


class AvailabilityZoneProfileConstraint(OctaviaConstraint):
    resource_getter_name = 'get_availabilityzoneprofile'
