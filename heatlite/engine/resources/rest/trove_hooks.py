"""What data cannot say of the types in trove.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatlite.engine.resources.rest import waits
from heatlite.engine.resources.rest.bodies import without_nulls
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

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
def idle_cluster(resource: DescribedResource, calls: list[DescribedCall]) -> list[DescribedCall]:
    """The service takes a deletion only when it does nothing else with the cluster."""
    task = (resource.shown(fresh=True).get('task') or {}).get('name', IDLE)
    if task == GOING:
        return []
    if task != IDLE:
        raise waits.ObjectNotDeletable
    return calls
