"""docs/users/autoscaling.rst, executed: load is pushed, groups grow and shrink, and an engine is killed in between.

With the production profile in a simulated cloud. Periods are as short as they can be; no test asserts on real time, but
cooldowns are compared in the times that the stacks' events have.
"""

from __future__ import annotations

import datetime
import itertools
import re
import shlex
from functools import partial

import boto3
import pytest
import yaml
from botocore.config import Config

from tests.system import identities, production
from tests.system.processes import ROOT, eventually

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)

PAGE = (ROOT / 'docs/users/autoscaling.rst').read_text()
COOLDOWN = 12
PARAMETERS = {'period': 10, 'cooldown': COOLDOWN}
HIGH, LOW = 95.0, 5.0


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    with production.Production(tmp_path_factory.mktemp('scaling'), identity=identities.Simulated,
                               alarms__delay='0.5', alarms__tick='0.2') as found:
        yield found


def outputs(cloud, person, path):
    found = cloud.ask(person, 'GET', path).json['stack']['outputs']
    return {each['output_key']: each.get('output_value') for each in found}


def members(cloud, person, path, group):
    """Names of the members that are there."""
    found = cloud.ask(person, 'GET', f'{path}/resources?nested_depth=1').json['resources']
    return {each['resource_name'] for each in found if each.get('parent_resource') == group
            and each['resource_status'] in ('CREATE_COMPLETE', 'UPDATE_COMPLETE')}


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


def asked(person, service, path):
    """JSON of a service of the cloud."""
    return person.session.get(path, endpoint_filter={'service_type': service, 'interface': 'public'}).json()


def servers(person):
    return asked(person, 'compute', '/servers/detail')['servers']


def served(person):
    """The addresses of the members of the load balancer."""
    [pool] = asked(person, 'load-balancer', '/v2/lbaas/pools')['pools']
    return {each['address'] for each in asked(
        person, 'load-balancer', f"/v2/lbaas/pools/{pool['id']}/members")['members']}


def resizes(cloud, person, path, group):
    """When the group began to get another size, from the events of its nested stack."""
    nested = next(each for each in cloud.ask(person, 'GET', f'{path}/resources').json['resources']
                  if each['resource_name'] == group)['physical_resource_id']
    found = cloud.rows('SELECT resource_name, created_at, action, status, resource_id FROM event '
                       f"WHERE stack_id = '{nested}' ORDER BY id")
    return [at for _name, at, action, status, row in found
            if row is None and (action, status) == ('UPDATE', 'IN_PROGRESS')]


def cooled_down(times):
    return all(later - earlier >= datetime.timedelta(seconds=COOLDOWN - 1)
               for earlier, later in itertools.pairwise(times))


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

    assert cooled_down(resizes(cloud, person, path, 'group'))
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
    assert cooled_down(resizes(cloud, person, path, 'Group'))
    cloud.ask(person, 'DELETE', path)
    assert cloud.finished(person, path) == 'DELETE_COMPLETE'


def test_the_commands_of_the_tutorial():
    """Those of the page name files, parameters, alarms and metrics that the example has."""
    commands = [shlex.split(line) for line in re.findall(r'^    ((?:openstack|aws) .*)$', PAGE, re.MULTILINE)]
    example = yaml.safe_load((ROOT / 'examples/autoscaling.yaml').read_text())
    watched = example['resources']['high']['properties']
    assert len(commands) == 7
    for command in commands:
        for option, value in itertools.pairwise(command):
            match option:
                case '--template':
                    assert (ROOT / value).exists()
                case '--parameter':
                    assert value.partition('=')[0] in example['parameters']
                case '--alarm-name':
                    assert value.removeprefix('web-') in example['resources']
                case '--namespace':
                    assert value == watched['Namespace']
                case '--metric-name':
                    assert value == watched['MetricName']
                case '--dimensions':
                    assert value.partition('=')[0] == watched['Dimensions'][0]['Name']
