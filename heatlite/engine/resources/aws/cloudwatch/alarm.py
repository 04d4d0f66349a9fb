"""AWS::CloudWatch::Alarm.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from heatlite.engine.resources import catalogue, watching

NAME = 'AWS::CloudWatch::Alarm'


class CloudWatchAlarm(watching.WatchedAlarm):
    """Compares a metric with a threshold, as Amazon CloudWatch does, and signals resources or calls URLs.

    Its actions are repeated after each period, so that a group grows as long as the alarm lasts.
    """

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)


def resource_mapping() -> dict[str, type[CloudWatchAlarm]]:
    return {NAME: CloudWatchAlarm}
