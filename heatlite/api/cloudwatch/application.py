"""The innermost layer of the CloudWatch API: the table of its actions, and what is the same for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob

from heatlite.api import wsgi
from heatlite.api.cloudwatch import alarms, answers, datapoints, inputs, metrics
from heatlite.api.cloudwatch.errors import INVALID_VALUE, VALIDATION, CloudWatchError
from heatlite.api.cloudwatch.protocols import choice
from heatlite.api.cloudwatch.protocols.protocol import Result
from heatlite.api.cloudwatch.protocols.protocol import request as request_id
from heatlite.api.cloudwatch.shapes import Structure
from heatlite.api.middleware import access, context
from heatlite.common.i18n import _

Input = TypeVar('Input')


@dataclass(frozen=True)
class ApiAction(Generic[Input]):
    """An action of this API. `input`: what it reads; `invalid`: the error code for values that are wrong."""

    input: Structure[Input]
    run: Callable[[wsgi.Request, Input], Result | None]
    invalid: str

    def perform(self, request: wsgi.Request, parameters: object) -> Result | None:
        return self.run(request, self.input.read(parameters))


class Performed(Protocol):
    """An action of any input."""

    @property
    def invalid(self) -> str: ...

    def perform(self, request: wsgi.Request, parameters: object) -> Result | None: ...


ACTIONS: Final[Mapping[str, Performed]] = {
    'PutMetricData': ApiAction(inputs.PUT_METRIC_DATA, datapoints.put_metric_data, INVALID_VALUE),
    'ListMetrics': ApiAction(inputs.LIST_METRICS, metrics.list_metrics, INVALID_VALUE),
    'GetMetricStatistics': ApiAction(inputs.GET_METRIC_STATISTICS, metrics.get_metric_statistics, INVALID_VALUE),
    'GetMetricData': ApiAction(inputs.GET_METRIC_DATA, metrics.get_metric_data, VALIDATION),
    'PutMetricAlarm': ApiAction(inputs.PUT_METRIC_ALARM, alarms.put_metric_alarm, VALIDATION),
    'DescribeAlarms': ApiAction(inputs.DESCRIBE_ALARMS, alarms.describe_alarms, VALIDATION),
    'DescribeAlarmsForMetric': ApiAction(
        inputs.DESCRIBE_ALARMS_FOR_METRIC, alarms.describe_alarms_for_metric, VALIDATION),
    'DescribeAlarmHistory': ApiAction(inputs.DESCRIBE_ALARM_HISTORY, alarms.describe_alarm_history, VALIDATION),
    'SetAlarmState': ApiAction(inputs.SET_ALARM_STATE, alarms.set_alarm_state, VALIDATION),
    'EnableAlarmActions': ApiAction(inputs.ALARM_NAMES, alarms.enable_alarm_actions, VALIDATION),
    'DisableAlarmActions': ApiAction(inputs.ALARM_NAMES, alarms.disable_alarm_actions, VALIDATION),
    'DeleteAlarms': ApiAction(inputs.ALARM_NAMES, alarms.delete_alarms, VALIDATION),
}
UNKNOWN: Final = 'unknown'
READS: Final = ('Describe', 'Get', 'List')      # beginnings of the names of actions that change nothing


class CloudWatchActions:
    def __init__(self, services: wsgi.HandlerServices) -> None:
        self._services = services

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = wsgi.Request(environ)
        request.services = self._services
        request.context = environ[context.KEY]
        answer: WSGIApplication = self._answer(request)
        return answer(environ, start_response)

    def _answer(self, request: wsgi.Request) -> webob.Response:
        environ = request.environ
        if not choice.has_path(environ):
            raise CloudWatchError('NotFound')
        protocol = choice.of(environ)
        name = protocol.action(environ) or ''
        action = ACTIONS.get(name)
        environ[access.ROUTE] = UNKNOWN if action is None else name     # a label of metrics: known names only
        if action is None:
            raise CloudWatchError('InvalidAction')
        caller = request.context
        if not caller.project_id or not self._services.policy.allows(caller, f'cloudwatch:{name}'):
            raise CloudWatchError('AccessDenied', _('Action %s not allowed for user') % name)
        environ[answers.INVALID] = action.invalid
        given = protocol.parameters(environ)
        made = protocol.answer(environ, name, request.answered(
            caller.project_id, not name.startswith(READS), lambda: action.perform(request, given)))
        made.headers[answers.REQUEST_ID] = request_id(environ)
        return made
