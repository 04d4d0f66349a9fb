"""Functions for the types in aodh.yaml that a description cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from heatlite.engine.resources.rest.bodies import without_nulls
from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

ACTIONS = {'alarm_actions': 'alarm_queues', 'ok_actions': 'ok_queues',
           'insufficient_data_actions': 'insufficient_data_queues'}
METER_PREFIX, INSTANCE_PREFIX = 'metering.', 'user_metadata.'
INSTANCE_METERS = ('instance', 'memory', 'cpu', 'cpu_util', 'vcpus', 'disk.', 'network.')


@hook
def alarm_actions(resource: DescribedResource, body: dict[str, object], given: Values,
                  action: str) -> dict[str, object]:
    """Names of resources of the stack become the URLs they are signalled at, queues the way to them.

    A whole alarm has a state: without one it would have no data, and its actions would be executed again.
    """
    for actions, queues in ACTIONS.items():
        urls = [_url(resource, wanted) for wanted in given.get(actions) or ()]
        body[actions] = urls + [f'trust+zaqar://?{urlencode({"queue_name": name})}' for name in given.get(queues) or ()]
    if action == 'update':
        body.update({name: value for name, value in resource.shown(fresh=True).items() if name == 'state'})
    return body


def _url(resource: DescribedResource, wanted: object) -> object:
    if isinstance(wanted, str) and wanted in resource.stack:
        return resource.stack[wanted].FnGetAtt('AlarmUrl')
    return wanted


@hook
def alarm_on_a_meter(resource: DescribedResource, body: dict[str, object], given: Values,
                     action: str) -> dict[str, object]:
    """The metadata to match become further parts of the query."""
    meter = str(given.get('meter_name') or '')
    prefix = INSTANCE_PREFIX if meter.startswith(INSTANCE_METERS) else METER_PREFIX
    query = []
    for key, value in (given.get('matching_metadata') or {}).items():
        field = key if key.startswith('metadata.') else f'metadata.{key if key.startswith(prefix) else prefix + key}'
        query.append({'field': field, 'op': 'eq', 'value': str(value)})
    query += [without_nulls(entry) for entry in given.get('query') or ()]
    former = body.get('threshold_rule')
    rule = {name: value for name, value in former.items() if name != 'query'} if isinstance(former, Mapping) else {}
    body['threshold_rule'] = {**rule, 'query': query} if query else rule
    return alarm_actions(resource, body, given, action)


@hook
def alarm_of_rules(resource: DescribedResource, body: dict[str, object], given: Values,
                   action: str) -> dict[str, object]:
    rule = given.get('composite_rule')
    if rule:
        body['composite_rule'] = {rule['operator']: rule['rules']}
    return alarm_actions(resource, body, given, action)
