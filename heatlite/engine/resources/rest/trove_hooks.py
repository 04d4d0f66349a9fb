"""Functions for the types in trove.yaml that a description cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest import waits
from heatlite.engine.resources.rest.bodies import without_nulls
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook
from heatlite.engine.resources.unknown_values import entries
from heatlite.language.unknown import UNKNOWN

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

TYPE, VERSION = 'datastore_type', 'datastore_version'
IDLE, GOING = 'NONE', 'DELETING'            # tasks of a cluster


@hook
def database_instances(resource: DescribedResource, body: dict[str, object], given: Values,
                       action: str) -> dict[str, object]:
    body['instances'] = [without_nulls({
        'flavorRef': entry['flavor'], 'volume': {'size': entry['volume_size']},
        'availability_zone': entry.get('availability_zone'),
        'nics': [{'net-id': nic.get('network'), 'port-id': nic.get('port'), 'v4-fixed-ip': nic.get('fixed_ip')}
                 for nic in entry.get('networks') or ()] or None}) for entry in given['instances']]
    return body


@hook
def datastore_and_networks(resource: DescribedResource) -> None:
    given = resource.properties
    if not {TYPE, VERSION} & given.deferred:
        resource.client_plugin().validate_datastore(given[TYPE], given[VERSION], TYPE, VERSION)
    for instance in entries(given, 'instances'):
        nics = instance.get('networks')
        for nic in nics if isinstance(nics, list) else ():
            ends = [nic.get('network'), nic.get('port')] if isinstance(nic, Mapping) else [UNKNOWN]
            if UNKNOWN in ends or 'instances' in given.deferred:
                continue
            if all(ends):
                raise exception.ResourcePropertyConflict('network', 'port')
            if not any(ends):
                raise exception.StackValidationFailed(message=_('Either network or port must be provided.'))


@hook
def idle_cluster(resource: DescribedResource, calls: list[DescribedCall]) -> list[DescribedCall]:
    """The service takes a deletion only when it does nothing else with the cluster."""
    task = (resource.shown(fresh=True).get('task') or {}).get('name', IDLE)
    if task == GOING:
        return []
    if task != IDLE:
        raise waits.ObjectNotDeletable
    return calls
