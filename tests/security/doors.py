"""Every way into the service: the routes of the REST API, and the actions and paths of the two APIs for AWS's clients.

Read from the tables that the service itself uses, so that a new route is a new door here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote, urlencode

from heatlite.api import openapi, routes
from heatlite.api.cfn import application as cfn
from heatlite.api.cloudwatch import application as cloudwatch
from heatlite.api.wsgi import Body, Route
from tests.isolation.matrix import Things


class Api(StrEnum):
    REST = 'REST'
    CFN = 'CloudFormation'
    CLOUDWATCH = 'CloudWatch'


@dataclass(frozen=True)
class Door:
    """`name`: of the handler, the action or the kind of signal; `route`: of the REST API."""

    api: Api
    method: str
    path: str
    name: str
    route: Route | None = None

    @property
    def is_action(self) -> bool:
        return self.api is not Api.REST and not self.path.startswith('/v1/')

    def __str__(self) -> str:
        return f'{self.method} {self.path}' if not self.is_action else self.name


@dataclass(frozen=True)
class Asked:
    """A request to a door."""

    method: str
    url: str
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()


DOORS: tuple[Door, ...] = (
    *(Door(Api.REST, each.method, each.path, openapi.name_of(each), each) for each in routes.TABLE),
    *(Door(Api.CFN, 'POST', f'/?Action={name}', name) for name in cfn.ACTIONS),
    *(Door(Api.CFN, method, f'/v1/{kind}/{{arn}}', kind) for method, kind in cfn.SIGNALS),
    *(Door(Api.CLOUDWATCH, 'POST', f'/?Action={name}', name) for name in cloudwatch.ACTIONS))

REST = tuple(door for door in DOORS if door.api is Api.REST)
FORM = (('Content-Type', 'application/x-www-form-urlencoded'),)
_FIELD = re.compile(r'{(\w+)(?::([^}]*))?}')
_EXTRA = {'number': '1', 'type_name': 'OS::Heat::None', 'version': 'heat_template_version.rocky', 'stack_set': None,
          'constraint': 'nova.flavor'}


def asked(door: Door, of: Things, body: Any = None) -> Asked:
    """A request that names the things of `of`, in their own project. `body`: of a REST route; None: its usual one."""
    if door.route is None:
        return _aws(door, of)
    route = door.route
    return Asked(route.method, _path(route, of), None if route.body is Body.NONE else usual(door, of) if body is None
                 else body)


def _path(route: Route, of: Things) -> str:
    values = {**of.all(), **_EXTRA, 'tenant_id': of.project_id, 'stack_set': of.stack_id,
              'resource_name': of.resource_name, 'path': 'resources'}
    if route.path == routes.ARN:
        values['stack_name'] = f'arn:openstack:heat::{of.project_id}:stacks/{of.stack_name}/{of.stack_id}'
    pattern = next((found[2] for found in _FIELD.finditer(route.path) if found[1] == 'path' and found[2]), None)
    if pattern is not None:
        values['path'] = of.resource_name if pattern == '.+' else pattern.split('|')[0]
    return '/v1' + _FIELD.sub(lambda found: quote(str(values[found[1]]), safe=':'), route.path)


def _aws(door: Door, of: Things) -> Asked:
    if not door.is_action:
        arn = f'arn:openstack:heat::{of.project_id}:stacks/{of.stack_name}/{of.stack_id}/resources/{of.handle_name}'
        return Asked(door.method, f'/v1/{door.name}/{quote(arn, safe="")}', {'Status': 'SUCCESS'})
    parameters = {'Action': door.name, **(
        {'StackName': of.stack_name, 'LogicalResourceId': of.resource_name, 'TemplateBody': json.dumps(TEMPLATE)}
        if door.api is Api.CFN else METRICS[door.name])}
    return Asked('POST', '/v1/', urlencode(parameters).encode(), FORM)


TEMPLATE = {'heat_template_version': '2018-08-31'}
_SOURCE = {'template': TEMPLATE, 'files': {}, 'environment': {}, 'parameters': {}}
# Bodies that are accepted, by handler: with these a message is sent to an engine, or rows are written.
BODIES: dict[str, dict[str, Any]] = {
    'validate.validate': _SOURCE,
    'stacks.create': {**_SOURCE, 'stack_name': 'new'},
    'stacks.preview': {**_SOURCE, 'stack_name': 'new'},
    'stacks.lookup': {},
    'stacks.update': _SOURCE, 'stacks.patch': _SOURCE,
    'stacks.preview_update': _SOURCE, 'stacks.preview_patch': _SOURCE,
    'project_templates.generate': {'types': ['OS::Nova::Server']},
    'refactors.refactor': {'stacks': [{'stack': 'a', 'template': TEMPLATE}]},
    'refactors.preview': {'stacks': [{'stack': 'a', 'template': TEMPLATE}]},
    'stack_sets.create': {'name': 'new', 'template': TEMPLATE, 'members': [{'region_name': 'one'}]},
    'stack_sets.preview_new': {'name': 'new', 'template': TEMPLATE, 'members': [{'region_name': 'one'}]},
    'stack_sets.update': {'template': TEMPLATE}, 'stack_sets.preview': {'template': TEMPLATE},
    'plans.create': {**_SOURCE, 'stack_name': 'new'}, 'plans.create_of_stack': _SOURCE,
    'plans.apply': {},
    'snapshots.create': {'name': 'new'},
    'guards.set_protections': {'protections': [{'path': 'a', 'deny': ['delete']}]},
    'guards.change_protections': {'protections': [{'path': 'a', 'deny': ['delete']}]},
    'guards.set_lock': {'reason': 'because'},
    'actions.action': {'check': None},
    'resources.mark_unhealthy': {'mark_unhealthy': True, 'resource_status_reason': 'because'},
    'resources.signal': {'data': 'x'},
    'software_configs.create': {'name': 'new', 'group': 'script', 'config': 'x'},
    'software_deployments.create': {'config_id': '', 'server_id': 'one'},
    'software_deployments.update': {'status': 'COMPLETE'}}
_TIMES = {'StartTime': '2026-01-01T00:00:00Z', 'EndTime': '2026-01-01T01:00:00Z'}
_METRIC = {'Namespace': 'Test', 'MetricName': 'm'}
# Parameters of the actions of the CloudWatch API that are accepted.
METRICS: dict[str, dict[str, str]] = {
    'PutMetricData': {'Namespace': 'Test', 'MetricData.member.1.MetricName': 'm', 'MetricData.member.1.Value': '1'},
    'ListMetrics': {},
    'GetMetricStatistics': {**_METRIC, **_TIMES, 'Period': '60', 'Statistics.member.1': 'Sum'},
    'GetMetricData': {**_TIMES, 'MetricDataQueries.member.1.Id': 'a', **{
        f'MetricDataQueries.member.1.MetricStat.{name}': value for name, value in {
            'Metric.Namespace': 'Test', 'Metric.MetricName': 'm', 'Period': '60', 'Stat': 'Sum'}.items()}},
    'PutMetricAlarm': {**_METRIC, 'AlarmName': 'a', 'ComparisonOperator': 'GreaterThanThreshold', 'Threshold': '1',
                       'EvaluationPeriods': '1', 'Period': '60', 'Statistic': 'Sum'},
    'DescribeAlarms': {}, 'DescribeAlarmsForMetric': _METRIC, 'DescribeAlarmHistory': {},
    'SetAlarmState': {'AlarmName': 'a', 'StateValue': 'OK', 'StateReason': 'because'},
    'EnableAlarmActions': {'AlarmNames.member.1': 'a'}, 'DisableAlarmActions': {'AlarmNames.member.1': 'a'},
    'DeleteAlarms': {'AlarmNames.member.1': 'a'}}


def usual(door: Door, of: Things) -> dict[str, Any]:
    """A body of the route that is accepted."""
    made = dict(BODIES[door.name])
    if door.name.startswith('refactors.'):
        made['stacks'] = [{'stack': of.stack_name, 'template': TEMPLATE}]
    elif 'config_id' in made:
        made['config_id'] = of.config_id
    return made


def with_bodies() -> Iterator[Door]:
    """The routes that read a JSON object."""
    return (door for door in REST if door.route is not None and door.route.body is not Body.NONE)


def ids(door: Door) -> str:
    return f'{door.api} {door}'

