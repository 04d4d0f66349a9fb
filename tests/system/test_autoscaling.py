"""Load is pushed, groups grow and shrink, and an engine is killed in between (docs/users/autoscaling.rst).

With the production profile in a simulated cloud. Periods are as short as they can be; no test asserts on real time, but
cooldowns are compared in the times that the stacks' events have.
"""

from __future__ import annotations

from functools import partial

import boto3
import pytest
import requests
from botocore.config import Config

from tests.system import identities, production
from tests.system.processes import ROOT, eventually
from tests.system.scaling import asked, cooled_down, members, outputs, resizes, served, servers

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)

COOLDOWN = 12
PARAMETERS = {'period': 10, 'cooldown': COOLDOWN}
HIGH, LOW = 95.0, 5.0


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    with production.Production(tmp_path_factory.mktemp('scaling'), identity=identities.Simulated,
                               alarms__delay='0.5', alarms__tick='0.2') as found:
        yield found


def pusher(cloud, key, secret):
    """boto3 with the keys of a user inside the stack."""
    return boto3.client('cloudwatch', region_name='RegionOne', endpoint_url=f'{cloud.cloudwatch_url}/v1/',
                        aws_access_key_id=key, aws_secret_access_key=secret,
                        config=Config(retries={'max_attempts': 3}, proxies={}))


def push(client, value, dimensions):
    client.put_metric_data(Namespace='system/linux', MetricData=[{
        'MetricName': 'CPUUtilization', 'Unit': 'Percent', 'Value': value,
        'Dimensions': [{'Name': name, 'Value': each} for name, each in dimensions.items()]}])


def pushed_until(client, value, dimensions, size, wanted):
    """Pushes a value again and again until `size()` is each of the wanted sizes, one after the other."""
    for number in wanted:
        eventually(f'{number} members with the load {value}', partial(pushed, client, value, dimensions, size, number))


def pushed(client, value, dimensions, size, number):
    push(client, value, dimensions())
    return size() == number


def test_the_group_of_the_tutorial(cloud):
    """HOT: load up, an engine killed, load down."""
    person = cloud.people['demo']
    path = cloud.create(person, 'web', (ROOT / 'examples/autoscaling.yaml').read_text(),
                        parameters=PARAMETERS)
    assert cloud.finished(person, path) == 'CREATE_COMPLETE'
    known = outputs(cloud, person, path)
    client = pusher(cloud, known['key'], known['secret'])
    dimensions = {'InstanceId': 'one', 'metering.stack': path.rpartition('/')[2]}
    assert len(members(cloud, person, path, 'group')) == 1

    push(client, HIGH, dimensions)
    cloud.engines[0].kill()

    def size():
        return len(members(cloud, person, path, 'group'))

    pushed_until(client, HIGH, lambda: dimensions, size, (2, 3))
    cloud.start_engine()
    pushed_until(client, LOW, lambda: dimensions, size, (2, 1))

    assert cooled_down(resizes(cloud, person, path, 'group'), COOLDOWN)
    admin = pusher(cloud, *person.ec2)
    told = admin.describe_alarm_history(AlarmName='web-high', HistoryItemType='StateUpdate')['AlarmHistoryItems']
    assert any('to ALARM' in each['HistorySummary'] for each in told)
    cloud.ask(person, 'DELETE', path)
    assert cloud.finished(person, path) == 'DELETE_COMPLETE'
    assert admin.describe_alarms()['MetricAlarms'] == []


def test_the_group_of_aws(cloud):
    """CFN: the load balancer serves who is there, and servers push with the tags that Nova tells them."""
    person = cloud.people['demo']
    [subnet] = asked(person, 'network', '/v2.0/subnets?name=private-subnet')['subnets']
    path = cloud.create(person, 'shop', (ROOT / 'examples/autoscaling-cfn.yaml').read_text(),
                        parameters={'Period': 10, 'Cooldown': COOLDOWN, 'Subnet': subnet['id']})
    assert cloud.finished(person, path) == 'CREATE_COMPLETE'
    known = outputs(cloud, person, path)
    client = pusher(cloud, known['Key'], known['Secret'])

    def tags():
        server = servers(person)[0]
        return {**server['metadata'], 'InstanceId': server['id']}

    def size():
        """How many members there are, if the load balancer serves just these; else None."""
        found = {address['addr'] for server in servers(person) for each in server['addresses'].values()
                 for address in each}
        return len(found) if found == served(person) else None

    assert size() == 1
    assert 'metering.AutoScalingGroupName' in tags()
    pushed_until(client, HIGH, tags, size, (2, 3))
    cloud.engines[-1].kill()
    cloud.start_engine()
    pushed_until(client, LOW, tags, size, (2, 1))
    assert cooled_down(resizes(cloud, person, path, 'Group'), COOLDOWN)
    cloud.ask(person, 'DELETE', path)
    assert cloud.finished(person, path) == 'DELETE_COMPLETE'


PROMETHEUS = {'heat_template_version': '2018-08-31', 'resources': {
    'group': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
        'min_size': 1, 'max_size': 3, 'cooldown': 1, 'resource': {'type': 'OS::Heat::RandomString'}}},
    **{name: {'type': 'OS::Heat::ScalingPolicy', 'properties': {
        'adjustment_type': 'change_in_capacity', 'scaling_adjustment': step, 'cooldown': 1,
        'auto_scaling_group_id': {'get_resource': 'group'}}} for name, step in (('grow', 1), ('shrink', -1))},
    'server': {'type': 'OS::Nova::Server', 'properties': {
        'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'network': 'private'}]}},
    'restart': {'type': 'OS::Heat::HARestarter', 'properties': {'InstanceId': {'get_resource': 'server'}}},
    'load': {'type': 'OS::Aodh::PrometheusAlarm', 'properties': {
        'query': 'avg(load)', 'threshold': 80, 'comparison_operator': 'gt',
        'alarm_actions': [{'get_attr': ['grow', 'alarm_url']}], 'ok_actions': [{'get_attr': ['shrink', 'alarm_url']}]}},
    'failure': {'type': 'OS::Aodh::PrometheusAlarm', 'properties': {
        'query': 'failures', 'threshold': 2, 'comparison_operator': 'gt',
        'alarm_actions': [{'get_attr': ['restart', 'AlarmUrl']}]}}},
    'outputs': {'size': {'value': {'get_attr': ['group', 'current_size']}},
                'server': {'value': {'get_resource': 'server'}}}}


def notify(person, query, current):
    """What Aodh does when the alarm on a query gets another state: it calls the URLs of the actions of that state."""
    alarm, = [each for each in asked(person, 'alarming', '/v2/alarms') if each['prometheus_rule']['query'] == query]
    for url in alarm['alarm_actions' if current == 'alarm' else 'ok_actions']:
        answer = requests.post(url, timeout=60, json={
            'severity': 'low', 'alarm_name': alarm['name'], 'alarm_id': alarm['alarm_id'], 'previous': 'ok',
            'current': current, 'reason': 'Transition to alarm', 'reason_data': {'type': 'threshold', 'count': 1}})
        assert answer.status_code in (200, 204), answer.text


def test_alarms_of_aodh(cloud):
    """Those on queries to Prometheus scale a group and replace a server, by the URLs that Aodh has."""
    person = cloud.people['demo']
    path = cloud.create(person, 'watched', PROMETHEUS)
    assert cloud.finished(person, path) == 'CREATE_COMPLETE'
    before = outputs(cloud, person, path)
    assert before['size'] == 1

    def has_size(number):
        return outputs(cloud, person, path)['size'] == number

    notify(person, 'avg(load)', 'alarm')
    eventually('a second member', partial(has_size, 2))
    notify(person, 'failures', 'alarm')
    eventually('another server', lambda: cloud.finished(person, path) == 'UPDATE_COMPLETE'
               and outputs(cloud, person, path)['server'] != before['server'])
    assert outputs(cloud, person, path)['size'] == 2
    notify(person, 'avg(load)', 'ok')
    eventually('one member', partial(has_size, 1))
    assert len(servers(person)) == 1
    cloud.ask(person, 'DELETE', path)
    assert cloud.finished(person, path) == 'DELETE_COMPLETE'
