"""heat-cfntools inside a server: metadata, configuration and signals with the keys of a user in the stack."""

import datetime

import pytest

from tests.foreign import guest, relay

INIT = 'AWS::CloudFormation::Init'
TEMPLATE = {'heat_template_version': '2018-08-31', 'parameters': {'word': {'type': 'string', 'default': 'first'}},
            'resources': {
    'user': {'type': 'AWS::IAM::User', 'properties': {'Policies': [{'get_resource': 'policy'}]}},
    'policy': {'type': 'OS::Heat::AccessPolicy', 'properties': {'AllowedResources': ['machine']}},
    'keys': {'type': 'AWS::IAM::AccessKey', 'properties': {'UserName': {'get_resource': 'user'}}},
    'machine': {'type': 'OS::Heat::DeployedServer', 'metadata': {INIT: {'config': {
        'files': {'/etc/cfn/greeting': {'content': {'get_param': 'word'}, 'mode': '000600'}},
        'commands': {'a': {'command': 'echo ran >> /etc/cfn/ran'}}}}}},
    'handle': {'type': 'AWS::CloudFormation::WaitConditionHandle'},
    'condition': {'type': 'AWS::CloudFormation::WaitCondition',
                  'properties': {'Handle': {'get_resource': 'handle'}, 'Timeout': 300, 'Count': 1}}},
    'outputs': {
        'url': {'value': {'get_resource': 'handle'}}, 'key': {'value': {'get_resource': 'keys'}},
        'secret': {'value': {'get_attr': ['keys', 'SecretAccessKey']}}}}
MACHINE = ('--stack', 'machines', '--resource', 'machine', '--region', 'heat')


def outputs(cloud, member, path):
    found = cloud.ask(member, 'GET', path).json['stack']['outputs']
    return {each['output_key']: each.get('output_value') for each in found}


@pytest.fixture(scope='module')
def stack(cloud, member):
    """The path of a stack whose condition still waits when the rest is there."""
    path = cloud.create(member, 'machines', TEMPLATE)
    for name in ('handle', 'keys', 'machine'):
        cloud.resource_complete(member, path, name)
    return path


@pytest.fixture(scope='module')
def machine(cloud, member, stack, tmp_path_factory):
    """A server with the files that cloud-init writes there for heat-cfntools."""
    if not guest.is_possible(tmp_path_factory.mktemp('probe')):
        pytest.skip('no namespaces for mounts: unshare --mount --map-root-user')
    made = guest.Guest(tmp_path_factory.mktemp('machine'))
    made.write('/var/lib/heat-cfntools/cfn-boto-cfg',
               '[Boto]\ndebug = 0\nis_secure = 0\nhttps_validate_certificates = 1\ncfn_region_name = heat\n'
               'cfn_region_endpoint = 127.0.0.1\n')
    made.write('/var/lib/heat-cfntools/cfn-metadata-server', f'{cloud.cfn_url}/')
    known = outputs(cloud, member, stack)
    made.write('/etc/cfn/cfn-credentials', f"AWSAccessKeyId={known['key']}\nAWSSecretKey={known['secret']}\n")
    made.write('/etc/cfn/cfn-hup.conf',
               '[main]\nstack=machines\ncredential-file=/etc/cfn/cfn-credentials\nregion=heat\ninterval=1\n')
    made.write('/etc/cfn/hooks.conf',
               f'[hook]\ntriggers=post.update\npath=Resources.machine.Metadata.{INIT}\nrunas=root\n'
               'action=echo changed >> /etc/cfn/changes\n')
    return made


@pytest.fixture(scope='module')
def program(venvs):
    return lambda name: venvs / 'cfntools/bin' / name


CREDENTIALS = ('--credential-file', '/etc/cfn/cfn-credentials')


def test_get_metadata(machine, program):
    said = machine.run(program('cfn-get-metadata'), *MACHINE, *CREDENTIALS, '--key', f'{INIT}.config.commands')
    assert said.stdout == '{"a": {"command": "echo ran >> /etc/cfn/ran"}}\n'


def test_get_metadata_of_a_resource_that_the_policy_keeps(machine, program):
    said = machine.run(program('cfn-get-metadata'), '--stack', 'machines', '--resource', 'handle', '--region', 'heat',
                       *CREDENTIALS, code=1)
    assert '"Code": "AccessDenied"' in said.stderr


def test_init(machine, program, cloud, member, stack):
    known = outputs(cloud, member, stack)
    machine.run(program('cfn-init'), *MACHINE, '--access-key', known['key'], '--secret-key', known['secret'])
    assert (machine.read('/etc/cfn/greeting'), machine.read('/etc/cfn/ran')) == ('first', 'ran\n')


def test_signal(machine, program, cloud, member, stack):
    url = outputs(cloud, member, stack)['url']
    machine.run(program('cfn-signal'), '--reason', 'done', '--data', 'words', '--id', 'one', url)
    assert cloud.finished(member, stack) == 'CREATE_COMPLETE'
    metadata = cloud.ask(member, 'GET', f'{stack}/resources/handle/metadata').json['metadata']
    assert metadata == {'one': {'Status': 'SUCCESS', 'Reason': 'done', 'Data': 'words'}}


def test_hup(machine, program, cloud, member, stack):
    """Runs after test_signal: an update needs a finished stack."""
    machine.run(program('cfn-hup'), '--no-daemon')
    assert not (machine.root / 'etc/cfn/changes').exists()
    assert cloud.finished(member, stack) == 'CREATE_COMPLETE'
    assert cloud.ask(member, 'PATCH', stack, {'parameters': {'word': 'second'}}).status == 202
    assert cloud.finished(member, stack) == 'UPDATE_COMPLETE'
    machine.run(program('cfn-hup'), '--no-daemon')
    assert machine.read('/etc/cfn/changes') == 'changed\n'
    machine.run(program('cfn-init'), *MACHINE, '--access-key', outputs(cloud, member, stack)['key'],
                '--secret-key', outputs(cloud, member, stack)['secret'])
    assert machine.read('/etc/cfn/greeting') == 'second'


def test_a_signal_of_failure(machine, program, cloud, member):
    path = cloud.create(member, 'fails', {**TEMPLATE, 'resources': {
        name: TEMPLATE['resources'][name] for name in ('handle', 'condition')}, 'outputs': {
        'url': TEMPLATE['outputs']['url']}})
    cloud.resource_complete(member, path, 'handle')
    machine.run(program('cfn-signal'), '--exit-code', '1', '--reason', 'no disk', '--id', 'one',
                outputs(cloud, member, path)['url'])
    assert cloud.finished(member, path) == 'CREATE_FAILED'
    assert 'no disk' in cloud.ask(member, 'GET', path).json['stack']['stack_status_reason']


# --- cfn-push-stats ------------------------------------------------------------------------------------------

ALARM = {'Namespace': 'any', 'Statistic': 'Maximum', 'Period': '86400', 'EvaluationPeriods': '1', 'Threshold': '1000',
         'ComparisonOperator': 'GreaterThanThreshold', 'TreatMissingData': 'ignore'}
GROUP = {'Dimensions.member.1.Name': 'AutoScalingGroupName', 'Dimensions.member.1.Value': 'group'}


@pytest.fixture(scope='module')
def pusher(machine, cloud, program):
    """`pusher(WORDS...)` runs cfn-push-stats, which knows the API's port only as 8003."""
    with relay.relayed(8003, cloud.cloudwatch_port) as address:
        file = '/var/lib/heat-cfntools/cfn-boto-cfg'
        machine.write(file, f'{machine.read(file)}cloudwatch_region_name = heat\n'
                            f'cloudwatch_region_endpoint = {address}\n')
        machine.write('/var/lib/heat-cfntools/nova_meta.json',
                      '{"uuid": "i-1", "meta": {"AutoScalingGroupName": "group"}}')
        yield lambda *words, code=0: machine.run(program('cfn-push-stats'), *CREDENTIALS, *words, code=code)


def statistics(cloud, member, name, **parameters):
    """(Sum, Unit) of the only datapoint."""
    at = datetime.datetime.now(datetime.UTC)
    answer = cloud.ask_cloudwatch(member, 'GetMetricStatistics', **{
        'MetricName': name, 'Period': '3600', 'Statistics.member.1': 'Sum', 'ContentType': 'JSON',
        'StartTime': (at - datetime.timedelta(hours=2)).isoformat(),
        'EndTime': (at + datetime.timedelta(hours=2)).isoformat(), **parameters})
    assert answer.status == 200, answer.text
    found = answer.json['GetMetricStatisticsResponse']['GetMetricStatisticsResult']['Datapoints']
    return [(each['Sum'], each['Unit']) for each in found]


def test_push_stats_to_an_alarm(pusher, cloud, member):
    """The data go to the metric of the alarm, in the project of the stack: its user pushes them from another one."""
    made = cloud.ask_cloudwatch(member, 'PutMetricAlarm', AlarmName='watch', MetricName='Requests', **ALARM, **GROUP)
    assert made.status == 200, made.text
    pusher('--watch', 'watch', '--metric', 'Requests', '--units', 'Counter', '--value', '42')
    assert statistics(cloud, member, 'Requests', Namespace='any', **GROUP) == [(42.0, 'Counter')]
    cloud.ask_cloudwatch(member, 'DeleteAlarms', **{'AlarmNames.member.1': 'watch'})


@pytest.mark.parametrize('words, name, unit', [
    (('--heartbeat',), 'Heartbeat', 'Counter'), (('--service-failure',), 'ServiceFailure', 'Counter'),
    (('--cpu-util',), 'CPUUtilization', 'Percent'), (('--disk-space-util',), 'DiskSpaceUtilization', 'Percent'),
    (('--disk-space-used', '--disk-units', 'gigabytes'), 'DiskSpaceUsed', 'Gigabytes')])
def test_push_stats(pusher, cloud, member, words, name, unit):
    pusher(*words)
    (_value, found), = statistics(cloud, member, name, Namespace='system/linux', **GROUP, **{
        'Dimensions.member.2.Name': 'InstanceId', 'Dimensions.member.2.Value': 'i-1'})
    assert found == unit


def test_push_stats_that_are_refused(pusher):
    said = pusher('--metric', 'm', '--units', 'Furlongs', '--value', '1', code=1)
    assert 'InvalidParameterValue' in said.stderr
