"""OS::Heat::CWLiteAlarm.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from dataclasses import replace

from heatlite.engine.resources import catalogue, watching
from heatlite.monitoring.alarms import AlarmRule

NAME = 'OS::Heat::CWLiteAlarm'


class CloudWatchLiteAlarm(watching.WatchedAlarm):
    """Compares a metric with a threshold, as Heat did until its release 9, and signals resources or calls URLs.

    Only the last period counts, whatever EvaluationPeriods says; Sum and SampleCount are 0 without data; actions are
    repeated after each period. AWS::CloudWatch::Alarm evaluates as Amazon does.
    """

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def as_type(self, rule: AlarmRule) -> AlarmRule:
        return replace(rule, evaluation_periods=1, no_data_is_zero=True)


def resource_mapping() -> dict[str, type[CloudWatchLiteAlarm]]:
    return {NAME: CloudWatchLiteAlarm}
