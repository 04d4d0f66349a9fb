"""The bombs that go to the CloudWatch API, signed as its clients sign: bodies that grow when they are unpacked or read,
and as many metrics, values, queries and alarms as requests hold."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Mapping
from typing import Any

from tests.hostile.tenants import Tenant
from tests.system import aws

TARGET = 'GraniteServiceVersion20100801'
JSON, CBOR = 'application/x-amz-json-1.0', 'application/cbor'
DAY = 86_400


def send(tenant: Tenant, port: int, action: str, body: bytes, *, kind: str = JSON, **headers: str) -> int:
    """The status of one signed request."""
    path = '/' if kind == JSON else f'/v1/service/{TARGET}/operation/{action}'
    protocol = {'X-Amz-Target': f'{TARGET}.{action}'} if kind == JSON else {'smithy-protocol': 'rpc-v2-cbor'}
    signed = aws.version_4(tenant.key, f'127.0.0.1:{port}', path, body, service='monitoring')
    caller = Tenant(f'http://127.0.0.1:{port}', {'Host': f'127.0.0.1:{port}'})
    return caller.ask('POST', path, data=body, headers={
        'Content-Type': kind, **protocol, **signed, **{name.replace('_', '-'): value
                                                       for name, value in headers.items()}}).status


def ask(tenant: Tenant, port: int, action: str, wanted: Mapping[str, Any]) -> int:
    return send(tenant, port, action, gzip.compress(json.dumps(wanted).encode()), Content_Encoding='gzip')


def unpacked(tenant: Tenant, port: int) -> list[int]:
    """Small bodies that are large once they are unpacked."""
    one = gzip.compress(b' ' * (200 * 2 ** 20))
    return [send(tenant, port, 'PutMetricData', body, Content_Encoding='gzip')
            for body in (one, gzip.compress(one), one[:-8], gzip.compress(b'{}') * 50_000)]


def documents(tenant: Tenant, port: int) -> list[int]:
    """JSON and CBOR that is deep, wide, or says that it is longer than it is."""
    texts = ['{"a":' * 100_000, '[' * 500_000, '{"Namespace": ' + '9' * 500_000 + '}', '{"Namespace": 1e999}',
             '{"Namespace": "' + 'n' * 900_000 + '"}', '{"MetricData": [' + '{},' * 200_000 + '{}]}',
             '{' + ','.join(f'"k{number}": 1' for number in range(60_000)) + '}']
    values = [b'\x81' * 900_000, b'\xa1\x61a' * 300_000, b'\x9b' + b'\xff' * 8, b'\x5b\x00\x00\x00\xff' + b'\x00' * 5,
              b'\xc2\x5a\x00\x0d\x00\x00' + b'\xff' * (13 * 2 ** 16), b'\xd8\x1c' * 400_000, b'\x9f' * 900_000,
              b'\xc4\x82\x3b' + b'\xff' * 8 + b'\x01', b'\xbf' + b'\x61a\x01' * 250_000 + b'\xff']
    return ([send(tenant, port, 'PutMetricData', text.encode()) for text in texts]
            + [send(tenant, port, 'PutMetricData', value, kind=CBOR) for value in values])


def datum(name: str, **more: Any) -> dict[str, Any]:
    return {'MetricName': name, 'Value': 1.0, **more}


def data(tenant: Tenant, port: int) -> list[int]:
    """As many metrics, values and dimensions as a request holds, again and again, and more than a project may have."""
    wide = [{'Name': f'd{number}', 'Value': 'v' * 200} for number in range(30)]
    many = [[datum(f'm{turn}-{number}') for number in range(1000)] for turn in range(12)]
    values = [{'MetricName': f'v{number}', 'Values': list(range(150)), 'Counts': [1] * 150} for number in range(500)]
    deep = [datum(f'w{number}', Dimensions=wide) for number in range(120)]
    return [ask(tenant, port, 'PutMetricData', {'Namespace': 'bomb', 'MetricData': each})
            for each in (*many, values, values, deep, [datum('x' * 256)] * 1000)]


def queries(tenant: Tenant, port: int) -> list[int]:
    """The longest times in the shortest periods, of all metrics at once."""
    now = int(time.time())
    metric = [{'Id': f'q{number}', 'MetricStat': {
        'Metric': {'Namespace': 'bomb', 'MetricName': f'm0-{number}'}, 'Period': 60, 'Stat': 'Sum'}}
        for number in range(500)]
    month = {'StartTime': now - 400 * DAY, 'EndTime': now}
    return [
        ask(tenant, port, 'GetMetricData', {**month, 'MetricDataQueries': metric}),
        ask(tenant, port, 'GetMetricStatistics', {**month, 'Namespace': 'bomb', 'MetricName': 'm0-1', 'Period': 1,
                                                  'Statistics': ['Sum', 'Average', 'Maximum']}),
        ask(tenant, port, 'GetMetricStatistics', {
            'StartTime': 0, 'EndTime': 2 ** 40, 'Namespace': 'bomb', 'MetricName': 'm0-1', 'Period': 10 ** 12,
            'Statistics': ['Sum']}),
        *[ask(tenant, port, 'ListMetrics', {'Namespace': 'bomb'}) for _turn in range(5)],
        ask(tenant, port, 'ListMetrics', {'NextToken': 'x' * 500_000})]


def alarms(tenant: Tenant, port: int) -> list[int]:
    """More alarms than a project may have, with the longest names and windows."""
    found = [ask(tenant, port, 'PutMetricAlarm', {
        'AlarmName': f'{number}-' + 'n' * 200, 'Namespace': 'bomb', 'MetricName': f'm0-{number}', 'Period': 60,
        'EvaluationPeriods': 1440, 'Threshold': 0.0, 'ComparisonOperator': 'GreaterThanThreshold', 'Statistic': 'Sum',
        'AlarmActions': [f'http://127.0.0.1:9/{action}' for action in range(5)]}) for number in range(60)]
    found.append(ask(tenant, port, 'PutMetricAlarm', {
        'AlarmName': 'days', 'Namespace': 'bomb', 'MetricName': 'm0-1', 'Period': 86_400, 'EvaluationPeriods': 10 ** 9,
        'Threshold': 0.0, 'ComparisonOperator': 'GreaterThanThreshold', 'Statistic': 'Sum'}))
    found.append(ask(tenant, port, 'DescribeAlarms', {'AlarmNamePrefix': '%' * 100_000}))
    found += [ask(tenant, port, 'DeleteAlarms', {'AlarmNames': [
        f'{number}-' + 'n' * 200 for number in range(60)]})]
    return found
