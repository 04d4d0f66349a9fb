"""Actions on alarms. Reads are statements of this process; changes leave as one message."""

from __future__ import annotations

import json
from typing import Final

from sqlalchemy import Connection

from heatlite.api import wsgi
from heatlite.api.cloudwatch import clock, inputs, projects, tokens
from heatlite.api.cloudwatch.datapoints import metric
from heatlite.api.cloudwatch.errors import CloudWatchError
from heatlite.api.cloudwatch.metrics import dimensions
from heatlite.api.cloudwatch.protocols.protocol import Result
from heatlite.api.cloudwatch.shapes import Combined, Wrong
from heatlite.common.i18n import _
from heatlite.db import alarms
from heatlite.db.alarms import Alarm, HistoryEntry
from heatlite.planning.alarms import ALARM, LONGEST_RANGE, NODATA, NORMAL, SUSPENDED, AlarmRule
from heatlite.planning.alarms import SHORT_PERIODS as SHORT
from heatlite.rpc import messages

METRIC_ALARM: Final = 'MetricAlarm'
BLOCK: Final = 100                  # alarms that are read at once
MOST_READ: Final = 1000             # alarms that one request reads to find those it asks for
HOUR: Final = 3600
MOST_SUMMARY: Final = 255           # characters

# The state inside -> the word of AWS, and back.
WORDS: Final = {NORMAL: 'OK', ALARM: 'ALARM', NODATA: 'INSUFFICIENT_DATA', SUSPENDED: 'INSUFFICIENT_DATA'}
STATES: Final = {'OK': NORMAL, 'ALARM': ALARM, 'INSUFFICIENT_DATA': NODATA}


def put_metric_alarm(req: wsgi.Request, wanted: inputs.PutMetricAlarmInput) -> None:
    rule = AlarmRule(
        metric=metric(wanted.namespace, wanted.metric_name, wanted.dimensions), statistic=wanted.statistic,
        period=wanted.period, evaluation_periods=wanted.evaluation_periods, comparison=wanted.comparison_operator,
        threshold=wanted.threshold, datapoints_to_alarm=wanted.datapoints_to_alarm or 0, unit=wanted.unit,
        missing=wanted.treat_missing_data, description=wanted.alarm_description, alarm_actions=wanted.alarm_actions,
        ok_actions=wanted.ok_actions, insufficient_data_actions=wanted.insufficient_data_actions)
    _check(rule)
    req.call(messages.PutAlarm(wanted.alarm_name, rule.to_json(), wanted.actions_enabled))


def _check(rule: AlarmRule) -> None:
    """Raises Wrong for numbers that do not fit each other."""
    if rule.period % 60 and rule.period not in SHORT:
        raise Wrong(_('The parameter Period must be 10, 20, 30 or a multiple of 60.'))
    if rule.needed > rule.evaluation_periods:
        raise Wrong(_('The parameter DatapointsToAlarm must not be more than EvaluationPeriods.'))
    longest = LONGEST_RANGE[rule.period >= HOUR]
    if rule.period * rule.evaluation_periods > longest:
        raise Wrong(_('EvaluationPeriods * Period must be at most %d seconds.') % longest)


def delete_alarms(req: wsgi.Request, wanted: inputs.AlarmNamesInput) -> None:
    req.call(messages.DeleteAlarms(_unique(wanted)))


def enable_alarm_actions(req: wsgi.Request, wanted: inputs.AlarmNamesInput) -> None:
    req.call(messages.EnableAlarmActions(_unique(wanted), enabled=True))


def disable_alarm_actions(req: wsgi.Request, wanted: inputs.AlarmNamesInput) -> None:
    req.call(messages.EnableAlarmActions(_unique(wanted), enabled=False))


def _unique(wanted: inputs.AlarmNamesInput) -> tuple[str, ...]:
    return tuple(dict.fromkeys(wanted.alarm_names))


def set_alarm_state(req: wsgi.Request, wanted: inputs.SetAlarmStateInput) -> None:
    if wanted.state_reason_data is not None:
        try:
            json.loads(wanted.state_reason_data)
        except (ValueError, RecursionError):
            raise CloudWatchError('InvalidFormat', _('StateReasonData is not valid JSON.')) from None
    req.call(messages.SetAlarmState(wanted.alarm_name, STATES[wanted.state_value], wanted.state_reason,
                                    wanted.state_reason_data))


# --- reading -----------------------------------------------------------------------------------------------

def describe_alarms(req: wsgi.Request, wanted: inputs.DescribeAlarmsInput) -> Result:
    """Alarms in the order of their names. A page may have fewer than `max_records`, even none, and a token."""
    names = wanted.alarm_names or ((wanted.alarm_name,) if wanted.alarm_name else ())
    if names and wanted.alarm_name_prefix:
        raise Combined(_('AlarmNames and AlarmNamePrefix are mutually exclusive.'))
    marker = tokens.text('DescribeAlarms', wanted.next_token)
    if wanted.alarm_types and METRIC_ALARM not in wanted.alarm_types:
        return {'MetricAlarms': [], 'CompositeAlarms': []}
    with req.db.reader() as tx:
        project_id = projects.of_caller(req, tx)
        if names:
            found = [each for each in alarms.named(tx, project_id, set(names))
                     if _is_wanted(each, wanted) and each.name > (marker or '')]
            shown, goes_on = found[:wanted.max_records], len(found) > wanted.max_records
            last = shown[-1].name if shown else ''
        else:
            shown, last, goes_on = _page(tx, project_id, wanted, marker)
    return {'MetricAlarms': [_alarm(each) for each in shown], 'CompositeAlarms': [],
            'NextToken': tokens.make('DescribeAlarms', last) if goes_on else None}


def _page(tx: Connection, project_id: str, wanted: inputs.DescribeAlarmsInput,
          marker: str | None) -> tuple[list[Alarm], str, bool]:
    """(alarms, name of the last one that was read, whether there may be more)"""
    shown: list[Alarm] = []
    last = marker or ''
    for _block in range(MOST_READ // BLOCK):
        found = alarms.page(tx, project_id, wanted.alarm_name_prefix, marker=last or None, limit=BLOCK)
        for number, each in enumerate(found, start=1):
            last = each.name
            if _is_wanted(each, wanted):
                shown.append(each)
            if len(shown) == wanted.max_records:
                return shown, last, number < len(found) or len(found) == BLOCK
        if len(found) < BLOCK:
            return shown, last, False
    return shown, last, True


def _is_wanted(found: Alarm, wanted: inputs.DescribeAlarmsInput) -> bool:
    if wanted.state_value is not None and WORDS[found.state] != wanted.state_value:
        return False
    rule, prefix = found.rule, wanted.action_prefix
    return prefix is None or any(action.startswith(prefix) for action in (
        *rule.alarm_actions, *rule.ok_actions, *rule.insufficient_data_actions))


def describe_alarms_for_metric(req: wsgi.Request, wanted: inputs.DescribeAlarmsForMetricInput) -> Result:
    measured = metric(wanted.namespace, wanted.metric_name, wanted.dimensions)
    with req.db.reader() as tx:
        found = alarms.for_metric(tx, projects.of_caller(req, tx), measured, wanted.statistic, wanted.period,
                                  wanted.unit)
    return {'MetricAlarms': [_alarm(each) for each in found]}


def describe_alarm_history(req: wsgi.Request, wanted: inputs.DescribeAlarmHistoryInput) -> Result:
    marker = tokens.whole('DescribeAlarmHistory', wanted.next_token)
    if wanted.alarm_types and METRIC_ALARM not in wanted.alarm_types:
        return {'AlarmHistoryItems': []}
    begin, end = (None if each is None else clock.plain(each) for each in (wanted.start_date, wanted.end_date))
    with req.db.reader() as tx:
        found = alarms.history(tx, projects.of_caller(req, tx), wanted.alarm_name, wanted.history_item_type, begin, end,
                               wanted.scan_by == inputs.ASCENDING, marker, wanted.max_records + 1)
    shown, more = found[:wanted.max_records], found[wanted.max_records:]
    last = shown[-1].id if shown else None
    return {'AlarmHistoryItems': [_entry(each) for each in shown],
            'NextToken': tokens.make('DescribeAlarmHistory', last) if more and last is not None else None}


# --- views -------------------------------------------------------------------------------------------------

def _alarm(found: Alarm) -> Result:
    rule = found.rule
    return {
        'AlarmName': found.name, 'AlarmArn': f'arn:openstack:cloudwatch::{found.project_id}:alarm:{found.name}',
        'AlarmDescription': rule.description or None, 'AlarmConfigurationUpdatedTimestamp': found.updated_at,
        'ActionsEnabled': found.actions_enabled, 'OKActions': rule.ok_actions, 'AlarmActions': rule.alarm_actions,
        'InsufficientDataActions': rule.insufficient_data_actions, 'StateValue': WORDS[found.state],
        'StateReason': found.reason,
        'StateReasonData': _reason_data(found),
        'StateUpdatedTimestamp': found.state_at, 'MetricName': rule.metric.name, 'Namespace': rule.metric.namespace,
        'Statistic': rule.statistic, 'Dimensions': dimensions(rule.metric), 'Period': rule.period, 'Unit': rule.unit,
        'EvaluationPeriods': rule.evaluation_periods, 'DatapointsToAlarm': rule.datapoints_to_alarm or None,
        'Threshold': rule.threshold, 'ComparisonOperator': rule.comparison, 'TreatMissingData': rule.missing,
        'StateTransitionedTimestamp': found.state_at}


def _reason_data(found: Alarm) -> str | None:
    """The text that SetAlarmState was given, or the figures of the last evaluation that changed the state, as JSON."""
    match found.reason_data:
        case None:
            return None
        case {'given': str(text)}:
            return text
    return json.dumps(found.reason_data)


def _entry(found: HistoryEntry) -> Result:
    return {'AlarmName': found.name, 'AlarmType': METRIC_ALARM, 'Timestamp': found.created_at,
            'HistoryItemType': found.kind, 'HistorySummary': found.summary[:MOST_SUMMARY],
            'HistoryData': None if found.data is None else json.dumps(found.data)}
