"""What the actions of alarms mean (docs/developers/alarms.rst, "Actions"), and what is sent for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.identifier import HeatIdentifier
from heatlite.common.timeutils import isotime
from heatlite.db import codec
from heatlite.db.alarms import Alarm
from heatlite.monitoring import alarm_actions
from heatlite.monitoring.alarms import ALARM, NODATA, NORMAL, SUSPENDED

ARN: Final = 'arn:openstack:heat:'
_RESOURCE = '/resources/'
# The words for states in signals, as handlers of scaling policies know them, and in messages to others.
SIGNALLED: Final = {ALARM: 'alarm', NORMAL: 'ok', NODATA: 'insufficient data', SUSPENDED: 'insufficient data'}
OUTSIDE: Final = {ALARM: 'ALARM', NORMAL: 'OK', NODATA: 'INSUFFICIENT_DATA'}
# The words of the id, the status, the reason and the data of a signal.
HANDLES: Final = {
    'OS::Heat::WaitConditionHandle': ('id', 'status', 'reason', 'data'),
    'OS::Heat::UpdateWaitConditionHandle': ('id', 'status', 'reason', 'data'),
    'AWS::CloudFormation::WaitConditionHandle': ('UniqueId', 'Status', 'Reason', 'Data')}
STATISTICS: Final = {'SampleCount': 'SAMPLE_COUNT', 'Average': 'AVERAGE', 'Sum': 'SUM', 'Minimum': 'MINIMUM',
                     'Maximum': 'MAXIMUM'}


@dataclass(frozen=True)
class ToResource:
    """A signal to a resource. `name`: of the resource; with `is_reference` perhaps its physical id."""

    stack_id: str
    name: str
    is_reference: bool = False

    @property
    def shown(self) -> str:
        return f'{self.name} in stack {self.stack_id}'


@dataclass(frozen=True)
class ToURL:
    """A request to a URL. It may hold secrets: only `shown` is for messages and logs."""

    url: str

    @property
    def shown(self) -> str:
        return alarm_actions.shown(self.url)


def parse(action: str, project_id: str, stack_id: str | None) -> ToResource | ToURL:
    """Return the target of an action of an alarm of that project and, perhaps, stack.

    Raises HTTPBadRequest for one that is nothing known, or names another project.
    """
    if action.startswith(ARN):
        return _of_arn(action, project_id)
    try:
        parts = urlsplit(action)
        is_url = parts.scheme in ('http', 'https') and bool(parts.hostname)
        parts.port                                      # noqa: B018 - raises for a wrong one
    except ValueError:
        raise exception.HTTPBadRequest(_('The URL of an action cannot be read.')) from None
    if is_url:
        signal = alarm_actions.SIGNAL.search(parts.path)
        if signal is not None:
            return _of_arn(unquote(parts.path[signal.end():]), project_id)
        rest = alarm_actions.REST_SIGNAL.search(parts.path)
        if rest is not None:
            return ToResource(unquote(rest['id']), unquote(rest['resource']))
        return ToURL(action)
    if stack_id is not None and '://' not in action and not action.startswith('arn:'):
        return ToResource(stack_id, action, is_reference=True)
    raise exception.HTTPBadRequest(_(
        'The action "%s" is neither the address of a signal to a resource nor an HTTP URL.') % action[:80])


def _of_arn(arn: str, project_id: str) -> ToResource:
    try:
        found = HeatIdentifier.from_arn(arn)
    except ValueError:
        raise exception.HTTPBadRequest(_('The ARN of an action cannot be read.')) from None
    if not found.path.startswith(_RESOURCE) or '/' in found.path[len(_RESOURCE):]:
        raise exception.HTTPBadRequest(_('The ARN of an action must name a resource of a stack.'))
    if found.tenant != project_id:
        raise exception.HTTPBadRequest(_('The resource of an action belongs to another project.'))
    return ToResource(found.stack_id, found.path[len(_RESOURCE):])


# --- what is sent ------------------------------------------------------------------------------------------

def details(before: Alarm, alarm: Alarm, kind: str) -> dict[str, str]:
    """The details of a signal to a resource of type `kind`: those of Heat's alarms and those of Aodh's, from which the
    signal's event gets its text. Handles of wait conditions take nothing but their own words; the id of such a signal
    is that of the evaluated period."""
    found = {'alarm': alarm.name, 'state': SIGNALLED[alarm.state]}
    words = HANDLES.get(kind)
    if words is None:
        return {**found, 'previous': SIGNALLED[before.state], 'current': SIGNALLED[alarm.state],
                'reason': alarm.reason}
    values = (f'{alarm.name} {alarm.evaluated}', 'SUCCESS', alarm.reason, codec.encode(found))
    return dict(zip(words, values, strict=True))


def body(before: Alarm, after: Alarm) -> Mapping[str, object]:
    """The body of a request, in the form in which AWS' notification service has it; without the actions, whose URLs
    are secrets of other receivers."""
    rule = after.rule
    return {
        'AlarmName': after.name, 'AlarmDescription': rule.description or None, 'AWSAccountId': after.project_id,
        'NewStateValue': OUTSIDE[after.state], 'NewStateReason': after.reason,
        'StateChangeTime': isotime(after.state_at), 'Region': '', 'AlarmArn': arn(after),
        'OldStateValue': OUTSIDE.get(before.state, OUTSIDE[NODATA]),
        'Trigger': {
            'MetricName': rule.metric.name, 'Namespace': rule.metric.namespace, 'StatisticType': 'Statistic',
            'Statistic': STATISTICS[rule.statistic], 'Unit': rule.unit,
            'Dimensions': [{'name': name, 'value': value} for name, value in rule.metric.dimensions],
            'Period': rule.period, 'EvaluationPeriods': rule.evaluation_periods, 'DatapointsToAlarm': rule.needed,
            'ComparisonOperator': rule.comparison, 'Threshold': rule.threshold, 'TreatMissingData': rule.missing}}


def arn(alarm: Alarm) -> str:
    return f'arn:openstack:cloudwatch::{alarm.project_id}:alarm:{alarm.name}'
