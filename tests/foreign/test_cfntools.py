"""heat-cfntools inside a server: metadata, configuration and signals with the keys of a user in the stack."""

import pytest

from tests.foreign import guest

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


def test_push_stats():
    pytest.skip('cfn-push-stats speaks to a CloudWatch API, which heatlite has not, nor Heat since its release 10')
