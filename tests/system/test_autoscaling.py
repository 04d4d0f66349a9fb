"""Load is pushed, groups grow and shrink, and an engine is killed in between (docs/users/autoscaling.rst).

With the production profile in a simulated cloud. Periods are as short as they can be; no test asserts on real time, but
cooldowns are compared in the times that the stacks' events have.
"""

from __future__ import annotations

from functools import partial

import boto3
import pytest
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
