"""What a value may be that a custom constraint accepts: the objects that its service lists for the caller.

One request for each list, without attempts at reading more: a list is for a form, and the caller waits. A constraint
that is not in LISTS has no list that is worth one, as that of ports has, or needs no service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heatlite.common.limits import MOST_VALUES
from heatlite.engine.clients import inventory

if TYPE_CHECKING:
    from heatlite.engine.clients import OpenStackClients

NETWORK, COMPUTE, VOLUME, IMAGE = 'neutron', 'nova', 'cinder', 'glance'


@dataclass(frozen=True)
class ValueList:
    """A list of a service. `plugin`: its client plug-in. `many`: the key of the objects in the body. `one`: the key of
    an object in its entry, if it has one. `id`: the field that a value names, beside the field `name`."""

    plugin: str
    path: str
    many: str
    one: str = ''
    id: str = 'id'


def _of_network(many: str) -> ValueList:
    return ValueList(NETWORK, f'/{many.replace("_", "-")}', many)


LISTS: Mapping[str, ValueList] = {          # name of the constraint -> the list
    'cinder.backup': ValueList(VOLUME, '/backups', 'backups'),
    'cinder.qos_specs': ValueList(VOLUME, '/qos-specs', 'qos_specs'),
    'cinder.snapshot': ValueList(VOLUME, '/snapshots', 'snapshots'),
    'cinder.volume': ValueList(VOLUME, '/volumes', 'volumes'),
    'cinder.vtype': ValueList(VOLUME, '/types', 'volume_types'),
    'designate.zone': ValueList('designate', '/zones', 'zones'),
    'glance.image': ValueList(IMAGE, '/images', 'images'),
    'neutron.address_scope': _of_network('address_scopes'),
    'neutron.network': _of_network('networks'),
    'neutron.qos_policy': ValueList(NETWORK, '/qos/policies', 'policies'),
    'neutron.router': _of_network('routers'),
    'neutron.security_group': _of_network('security_groups'),
    'neutron.subnet': _of_network('subnets'),
    'neutron.subnetpool': _of_network('subnetpools'),
    'nova.flavor': ValueList(COMPUTE, '/flavors', 'flavors'),
    'nova.keypair': ValueList(COMPUTE, '/os-keypairs', 'keypairs', one='keypair', id='name'),
    'nova.server': ValueList(COMPUTE, '/servers', 'servers'),
    'octavia.loadbalancer': ValueList('octavia', '/lbaas/loadbalancers', 'loadbalancers'),
    'octavia.pool': ValueList('octavia', '/lbaas/pools', 'pools'),
}
WITHOUT_LIMIT = frozenset({'nova.keypair', 'cinder.qos_specs'})         # lists that take no limit, in some versions


def read(clients: OpenStackClients, name: str) -> list[dict[str, str]]:
    """Return [{id, name}] of the objects that the service lists, at most MOST_VALUES + 1, by name.

    Raises KeyError for a constraint without a list, and the errors of the clients."""
    wanted = LISTS[name]
    params = {} if name in WITHOUT_LIMIT else {'limit': MOST_VALUES + 1}
    found = clients.client(wanted.plugin).http.get(wanted.path, params=params, **inventory.ONCE).json()[wanted.many]
    entries = [each[wanted.one] if wanted.one else each for each in found[:MOST_VALUES + 1]]
    return sorted(({'id': str(each[wanted.id]), 'name': str(each.get('name') or '')} for each in entries),
                  key=lambda each: (each['name'] == '', each['name'], each['id']))
