"""Actions on alarms. Reads are statements of this process; changes leave as one message."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection

from heatlite.api import access, wsgi
from heatlite.api.cloudwatch import clock, inputs, projects, tokens
from heatlite.api.cloudwatch.datapoints import metric
from heatlite.api.cloudwatch.errors import CloudWatchError
from heatlite.api.cloudwatch.metrics import dimensions
from heatlite.api.cloudwatch.protocols.protocol import Result
from heatlite.api.cloudwatch.shapes import InvalidCombination, InvalidParameter
from heatlite.common.i18n import _
from heatlite.db import alarms
from heatlite.db.alarms import Alarm, HistoryEntry
from heatlite.monitoring import alarm_actions
from heatlite.monitoring.alarms import ALARM, LONGEST_RANGE, NODATA, NORMAL, SUSPENDED, AlarmRule
from heatlite.monitoring.alarms import SHORT_PERIODS as SHORT
from heatlite.rpc import messages

ShownAction = Callable[[str], str]      # what a caller sees of an action

METRIC_ALARM: Final = 'MetricAlarm'
BLOCK: Final = 100                  # alarms that are read at once
MOST_READ: Final = 1000             # alarms that one request reads to find those it asks for
HOUR: Final = 3600
MOST_SUMMARY: Final = 255           # characters

# The state inside -> the word of AWS, and back.
WORDS: Final = {NORMAL: 'OK', ALARM: 'ALARM', NODATA: 'INSUFFICIENT_DATA', SUSPENDED: 'INSUFFICIENT_DATA'}
STATES: Final = {'OK': NORMAL, 'ALARM': ALARM, 'INSUFFICIENT_DATA': NODATA}


def put_metric_alarm(req: wsgi.Request, arguments: inputs.PutMetricAlarmInput) -> None:
    rule = AlarmRule(
        metric=metric(arguments.namespace, arguments.metric_name, arguments.dimensions), statistic=arguments.statistic,
        period=arguments.period, evaluation_periods=arguments.evaluation_periods,
        comparison=arguments.comparison_operator, threshold=arguments.threshold,
        datapoints_to_alarm=arguments.datapoints_to_alarm or 0, unit=arguments.unit,
        missing=arguments.treat_missing_data, description=arguments.alarm_description,
        alarm_actions=arguments.alarm_actions, ok_actions=arguments.ok_actions,
        insufficient_data_actions=arguments.insufficient_data_actions)
    _check(rule)
    req.call(messages.PutAlarm(arguments.alarm_name, rule.to_json(), arguments.actions_enabled))


def _check(rule: AlarmRule) -> None:
    """Raise InvalidParameter for numbers that do not fit each other."""
    if rule.period % 60 and rule.period not in SHORT:
        raise InvalidParameter(_('The parameter Period must be 10, 20, 30 or a multiple of 60.'))
    if rule.needed > rule.evaluation_periods:
        raise InvalidParameter(_('The parameter DatapointsToAlarm must not be more than EvaluationPeriods.'))
    longest = LONGEST_RANGE[rule.period >= HOUR]
    if rule.period * rule.evaluation_periods > longest:
        raise InvalidParameter(_('EvaluationPeriods * Period must be at most %d seconds.') % longest)


def delete_alarms(req: wsgi.Request, arguments: inputs.AlarmNamesInput) -> None:
    req.call(messages.DeleteAlarms(_unique(arguments)))


def enable_alarm_actions(req: wsgi.Request, arguments: inputs.AlarmNamesInput) -> None:
    req.call(messages.EnableAlarmActions(_unique(arguments), enabled=True))


def disable_alarm_actions(req: wsgi.Request, arguments: inputs.AlarmNamesInput) -> None:
    req.call(messages.EnableAlarmActions(_unique(arguments), enabled=False))


def _unique(arguments: inputs.AlarmNamesInput) -> tuple[str, ...]:
    return tuple(dict.fromkeys(arguments.alarm_names))


def set_alarm_state(req: wsgi.Request, arguments: inputs.SetAlarmStateInput) -> None:
    if arguments.state_reason_data is not None:
        try:
            json.loads(arguments.state_reason_data)
        except (ValueError, RecursionError):
            raise CloudWatchError('InvalidFormat', _('StateReasonData is not valid JSON.')) from None
    req.call(messages.SetAlarmState(arguments.alarm_name, STATES[arguments.state_value], arguments.state_reason,
                                    arguments.state_reason_data))


# --- reading -----------------------------------------------------------------------------------------------

def describe_alarms(req: wsgi.Request, arguments: inputs.DescribeAlarmsInput) -> Result:
    """Alarms in the order of their names. A page may have fewer than `max_records`, even none, and a token."""
    names = arguments.alarm_names or ((arguments.alarm_name,) if arguments.alarm_name else ())
    if names and arguments.alarm_name_prefix:
        raise InvalidCombination(_('AlarmNames and AlarmNamePrefix are mutually exclusive.'))
    marker = tokens.text('DescribeAlarms', arguments.next_token)
    if arguments.alarm_types and METRIC_ALARM not in arguments.alarm_types:
        return {'MetricAlarms': [], 'CompositeAlarms': []}
    shown_action = _shown_action(req)
    with req.db.reader() as tx:
        project_id = projects.of_caller(req, tx)
        if names:
            found = [each for each in alarms.named(tx, project_id, set(names))
                     if _is_wanted(each, arguments, shown_action) and each.name > (marker or '')]
            shown, goes_on = found[:arguments.max_records], len(found) > arguments.max_records
            last = shown[-1].name if shown else ''
        else:
            shown, last, goes_on = _page(tx, project_id, arguments, marker, shown_action)
    return {'MetricAlarms': [_alarm(each, shown_action) for each in shown], 'CompositeAlarms': [],
            'NextToken': tokens.make('DescribeAlarms', last) if goes_on else None}


def _page(tx: Connection, project_id: str, arguments: inputs.DescribeAlarmsInput, marker: str | None,
          shown_action: ShownAction) -> tuple[list[Alarm], str, bool]:
    """(alarms, name of the last one that was read, whether there may be more)"""
    shown: list[Alarm] = []
    last = marker or ''
    for _block in range(MOST_READ // BLOCK):
        found = alarms.page(tx, project_id, arguments.alarm_name_prefix, marker=last or None, limit=BLOCK)
        for number, each in enumerate(found, start=1):
            last = each.name
            if _is_wanted(each, arguments, shown_action):
                shown.append(each)
            if len(shown) == arguments.max_records:
                return shown, last, number < len(found) or len(found) == BLOCK
        if len(found) < BLOCK:
            return shown, last, False
    return shown, last, True


def _shown_action(req: wsgi.Request) -> ShownAction:
    """How actions are shown to the caller: with a signed URL anybody can send the signal, while its stack exists."""
    return str if access.may_see(req) else alarm_actions.shown


def _is_wanted(alarm: Alarm, arguments: inputs.DescribeAlarmsInput, shown_action: ShownAction) -> bool:
    """`shown_action`: a prefix is compared with what the caller sees, so that it tells no more."""
    if arguments.state_value is not None and WORDS[alarm.state] != arguments.state_value:
        return False
    rule, prefix = alarm.rule, arguments.action_prefix
    return prefix is None or any(shown_action(action).startswith(prefix) for action in (
        *rule.alarm_actions, *rule.ok_actions, *rule.insufficient_data_actions))


def describe_alarms_for_metric(req: wsgi.Request, arguments: inputs.DescribeAlarmsForMetricInput) -> Result:
    measured = metric(arguments.namespace, arguments.metric_name, arguments.dimensions)
    with req.db.reader() as tx:
        found = alarms.for_metric(tx, projects.of_caller(req, tx), measured, arguments.statistic, arguments.period,
                                  arguments.unit)
    return {'MetricAlarms': [_alarm(each, _shown_action(req)) for each in found]}


def describe_alarm_history(req: wsgi.Request, arguments: inputs.DescribeAlarmHistoryInput) -> Result:
    marker = tokens.whole('DescribeAlarmHistory', arguments.next_token)
    if arguments.alarm_types and METRIC_ALARM not in arguments.alarm_types:
        return {'AlarmHistoryItems': []}
    begin, end = (None if each is None else clock.plain(each) for each in (arguments.start_date, arguments.end_date))
    with req.db.reader() as tx:
        found = alarms.history(tx, projects.of_caller(req, tx), arguments.alarm_name, arguments.history_item_type,
                               begin, end, arguments.scan_by == inputs.ASCENDING, marker, arguments.max_records + 1)
    shown, more = found[:arguments.max_records], found[arguments.max_records:]
    last = shown[-1].id if shown else None
    return {'AlarmHistoryItems': [_entry(each) for each in shown],
            'NextToken': tokens.make('DescribeAlarmHistory', last) if more and last is not None else None}


# --- views -------------------------------------------------------------------------------------------------

def _alarm(alarm: Alarm, shown_action: ShownAction) -> Result:
    rule = alarm.rule
    on_alarm, on_ok, on_no_data = (tuple(map(shown_action, each)) for each in (
        rule.alarm_actions, rule.ok_actions, rule.insufficient_data_actions))
    return {
        'AlarmName': alarm.name, 'AlarmArn': f'arn:openstack:cloudwatch::{alarm.project_id}:alarm:{alarm.name}',
        'AlarmDescription': rule.description or None, 'AlarmConfigurationUpdatedTimestamp': alarm.updated_at,
        'ActionsEnabled': alarm.actions_enabled, 'OKActions': on_ok, 'AlarmActions': on_alarm,
        'InsufficientDataActions': on_no_data, 'StateValue': WORDS[alarm.state],
        'StateReason': alarm.reason,
        'StateReasonData': _reason_data(alarm),
        'StateUpdatedTimestamp': alarm.state_at, 'MetricName': rule.metric.name, 'Namespace': rule.metric.namespace,
        'Statistic': rule.statistic, 'Dimensions': dimensions(rule.metric), 'Period': rule.period, 'Unit': rule.unit,
        'EvaluationPeriods': rule.evaluation_periods, 'DatapointsToAlarm': rule.datapoints_to_alarm or None,
        'Threshold': rule.threshold, 'ComparisonOperator': rule.comparison, 'TreatMissingData': rule.missing,
        'StateTransitionedTimestamp': alarm.state_at}


def _reason_data(alarm: Alarm) -> str | None:
    """Return the text that SetAlarmState was given, or the figures of the last evaluation that changed the state, as
    JSON."""
    match alarm.reason_data:
        case None:
            return None
        case {'given': str(text)}:
            return text
    return json.dumps(alarm.reason_data)


def _entry(entry: HistoryEntry) -> Result:
    return {'AlarmName': entry.name, 'AlarmType': METRIC_ALARM, 'Timestamp': entry.created_at,
            'HistoryItemType': entry.kind, 'HistorySummary': entry.summary[:MOST_SUMMARY],
            'HistoryData': None if entry.data is None else json.dumps(entry.data)}
