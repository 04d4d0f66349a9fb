"""The base of types that are alarms of this service (docs/users/autoscaling.rst, docs/developers/alarms.rst)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.unknown import UNKNOWN
from heatlite.monitoring.alarms import ACTIONS, MOST_NAME, AlarmRule, Metric

GROUP = 'AutoScalingGroupName'          # a dimension
NAMESPACE = 'system/linux'              # of an alarm that names none: that of heat-cfntools


def alarm_name(stack_name: str, name: str) -> str:
    """`STACK-RESOURCE`, with a digest at its end where that is too long for the name of an alarm."""
    found = f'{stack_name}-{name}'
    if len(found) <= MOST_NAME:
        return found
    digest = hashlib.sha256(found.encode()).hexdigest()[:16]
    return f'{found[:MOST_NAME - len(digest) - 1]}-{digest}'


class WatchedAlarm(resource.Resource):
    """A rule that this service evaluates for a metric.

    The name is also the reference. It is known before the alarm exists, and no other resource waits for an alarm: so
    servers of a group may push to an alarm that scales the group.
    """

    validates_at_creation = True
    strict_dependency = False
    looks_up_others = True
    idempotent_create = True
    always_replace_on_check_failed = False

    PROPERTIES = (ALARM_ACTIONS, DESCRIPTION, COMPARISON, DIMENSIONS, EVALUATION_PERIODS, INSUFFICIENT_DATA_ACTIONS,
                  METRIC_NAME, NAMESPACE, OK_ACTIONS, PERIOD, STATISTIC, THRESHOLD, UNITS) = (
        'AlarmActions', 'AlarmDescription', 'ComparisonOperator', 'Dimensions', 'EvaluationPeriods',
        'InsufficientDataActions', 'MetricName', 'Namespace', 'OKActions', 'Period', 'Statistic', 'Threshold', 'Units')

    # --- the rule -----------------------------------------------------------------------------------------

    def validate(self) -> object:
        """Raise StackValidationFailed for a rule that cannot be evaluated, as far as its values are known."""
        found = super().validate()
        if all(_is_known(self.properties[name]) for name in self.PROPERTIES):
            try:
                self._rule()
            except (ValueError, exception.HTTPBadRequest) as error:
                raise exception.StackValidationFailed(message=str(error)) from None
        return found

    def _rule(self) -> AlarmRule:
        """Raise ValueError, HTTPBadRequest."""
        given = self.properties
        rule = AlarmRule(
            metric=Metric.of(given[self.NAMESPACE] or NAMESPACE, given[self.METRIC_NAME],
                             _pairs(given[self.DIMENSIONS])),
            statistic=given[self.STATISTIC], period=_whole(self.PERIOD, given[self.PERIOD]),
            evaluation_periods=_whole(self.EVALUATION_PERIODS, given[self.EVALUATION_PERIODS]),
            comparison=given[self.COMPARISON], threshold=_number(self.THRESHOLD, given[self.THRESHOLD]),
            unit=given[self.UNITS], description=given[self.DESCRIPTION] or '',
            every_time=True,            # as in Heat: a group grows on while the alarm lasts
            alarm_actions=_texts(given[self.ALARM_ACTIONS]), ok_actions=_texts(given[self.OK_ACTIONS]),
            insufficient_data_actions=_texts(given[self.INSUFFICIENT_DATA_ACTIONS]))
        rule = self.as_type(rule)
        rule.check()
        return rule

    def as_type(self, rule: AlarmRule) -> AlarmRule:
        """For subclasses: the rule as their type has it."""
        return rule

    # --- life ---------------------------------------------------------------------------------------------

    def handle_create(self) -> None:
        self._put()

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> None:
        self.properties = json_snippet.properties(self._schemata(), self.context)
        self._put()

    def _put(self) -> None:
        name, rule = self.get_reference_id(), self._rule()
        metric = replace(rule.metric, dimensions=tuple((each, self._value(each, value))
                                                       for each, value in rule.metric.dimensions))
        self.stack.alarms.put(self.context, name, replace(rule, metric=metric), stack_id=self.stack.id,
                              resource_name=self.name)
        self.resource_id_set(name)

    def _value(self, dimension: str, value: str) -> str:
        """The value of a dimension. The reference of a group stands for its name, which its servers push."""
        group = self.stack.resource_by_refid(value) if dimension == GROUP else None
        name_of = getattr(group, 'group_name', None)
        return value if name_of is None else str(name_of())

    def handle_delete(self) -> None:
        """A replacement has the same name: then the alarm is its."""
        replacement = self.stack.physical_id_of(self.replaced_by) if self.replaced_by else None
        if self.resource_id is not None and replacement != self.resource_id:
            self.stack.alarms.delete(self.context, self.resource_id, self.stack.id)

    def handle_suspend(self) -> None:
        if self.resource_id is not None:
            self.stack.alarms.suspend(self.context, self.resource_id, self.stack.id)

    def handle_resume(self) -> None:
        if self.resource_id is not None:
            self.stack.alarms.resume(self.context, self.resource_id, self.stack.id)

    def handle_check(self) -> None:
        self._check_created()
        assert self.resource_id is not None
        found = self.stack.alarms.show(self.context, self.resource_id)
        if found is None or found.stack_id != self.stack.id:
            raise exception.EntityNotFound(entity='Alarm', name=self.resource_id)

    def needs_replace_failed(self) -> bool:
        return False                    # an alarm is put as often as needed

    # --- what others see ----------------------------------------------------------------------------------

    @classmethod
    def early_reference(cls, stack_name: str, name: str) -> str:
        return alarm_name(stack_name, name)

    def get_reference_id(self) -> str:
        return self.resource_id or self.early_reference(self.stack.name, self.name)

    def read_imported(self) -> NoReturn:
        raise self._without_import()            # its name is made of those of stack and resource

    def _show_resource(self) -> object:
        found = self.stack.alarms.show(self.context, self.resource_id) if self.resource_id is not None else None
        if found is None:
            return None
        rule = {name: value for name, value in found.rule.to_json().items() if name not in ACTIONS}     # may be secrets
        return {**rule, 'metric': rule['name'], 'name': found.name, 'state': found.state, 'reason': found.reason,
                'actions_enabled': found.actions_enabled}


def _is_known(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_known, value.values()))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return all(map(_is_known, value))
    return value is not UNKNOWN


def _texts(values: Iterable[object] | None) -> tuple[str, ...]:
    return tuple(str(each) for each in values or ())


def _pairs(dimensions: Iterable[object] | None) -> list[tuple[str, str]]:
    """Raise ValueError."""
    found = []
    for each in dimensions or ():
        if not isinstance(each, Mapping) or set(each) != {'Name', 'Value'}:
            raise ValueError(_('Each of the Dimensions is a map with Name and Value'))
        found.append((str(each['Name']), str(each['Value'])))
    return found


def _whole(name: str, text: str) -> int:
    try:
        return int(str(text))
    except ValueError:
        raise ValueError(_('%(name)s must be a whole number, not "%(text)s"')
                         % {'name': name, 'text': str(text)[:MOST_NAME]}) from None


def _number(name: str, text: str) -> float:
    try:
        return float(str(text))
    except ValueError:
        raise ValueError(_('%(name)s must be a number, not "%(text)s"')
                         % {'name': name, 'text': str(text)[:MOST_NAME]}) from None
