"""aws-cli, version 1: `aws cloudformation ...` with the EC2 key of an ordinary member."""

import json

import pytest

from tests.foreign.conftest import run

TEMPLATE = {
    'AWSTemplateFormatVersion': '2010-09-09', 'Description': 'A lamp',
    'Parameters': {'Length': {'Type': 'Number', 'Default': '8', 'Description': 'Digits'},
                   'Word': {'Type': 'String', 'Default': 'none'}},
    'Resources': {'number': {'Type': 'OS::Heat::RandomString', 'Properties': {'length': {'Ref': 'Length'}}}},
    'Outputs': {'Number': {'Description': 'Of it', 'Value': {'Fn::GetAtt': ['number', 'value']}},
                'Word': {'Value': {'Ref': 'Word'}}}}
SLOW = {'AWSTemplateFormatVersion': '2010-09-09',
        'Resources': {'slow': {'Type': 'OS::Heat::Delay', 'Properties': {'min_wait': 5}}}}


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """The templates in files."""
    made = tmp_path_factory.mktemp('aws')
    for name, template in (('lamp', TEMPLATE), ('slow', SLOW)):
        (made / f'{name}.json').write_text(json.dumps(template))
    return made


@pytest.fixture(scope='module')
def aws(cloud, venvs, member, folder):
    """`aws(WORDS...)`: what the subcommand of `aws cloudformation` prints, parsed. `code`: what it must end with."""
    access, secret = member.ec2
    environment = {'AWS_ACCESS_KEY_ID': access, 'AWS_SECRET_ACCESS_KEY': secret, 'AWS_DEFAULT_REGION': 'RegionOne',
                   'AWS_MAX_ATTEMPTS': '1', 'HOME': str(folder), 'PATH': '/usr/bin:/bin'}

    def aws(*words, code=0, output='json'):
        done = run(venvs / 'aws/bin/aws', '--endpoint-url', f'{cloud.cfn_url}/v1/', '--output', output,
                   'cloudformation', *words, code=code, cwd=folder, env=environment)
        if code or output != 'json':
            return done.stdout + done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return aws


@pytest.fixture
def stack(aws, cloud, member, request):
    """`stack(WORDS...)` creates one with the name of the test and waits for it: (name, id)."""
    name = request.node.originalname.replace('_', '-')

    def create(*words, template='lamp'):
        made = aws('create-stack', '--stack-name', name, '--template-body', f'file://{template}.json', *words)
        cloud.finished(member, path(made['StackId']))
        aws('wait', 'stack-create-complete', '--stack-name', name)
        return name, made['StackId']

    yield create
    aws('delete-stack', '--stack-name', name)


def path(stack_id):
    return f'/{stack_id.partition(":")[2].split(":")[-1]}'


def outputs(aws, name):
    return {each['OutputKey']: each['OutputValue'] for each in aws(
        'describe-stacks', '--stack-name', name)['Stacks'][0]['Outputs']}


def test_a_template_is_validated(aws):
    declared = aws('validate-template', '--template-body', 'file://lamp.json')
    assert [each['ParameterKey'] for each in declared['Parameters']] == ['Length', 'Word']
    assert aws('estimate-template-cost', '--template-body', 'file://lamp.json')['Url']


def test_a_stack_is_described(aws, stack):
    name, stack_id = stack('--parameters', 'ParameterKey=Length,ParameterValue=6', '--timeout-in-minutes', '5',
                           '--on-failure', 'ROLLBACK', '--capabilities', 'CAPABILITY_IAM')
    found, = aws('describe-stacks', '--stack-name', name)['Stacks']
    assert (found['StackId'], found['StackStatus'], found['TimeoutInMinutes'], found['DisableRollback']) == (
        stack_id, 'CREATE_COMPLETE', 5, False)
    assert len(outputs(aws, name)['Number']) == 6
    assert stack_id in [each['StackId'] for each in aws('describe-stacks')['Stacks']]
    assert stack_id in [each['StackId'] for each in aws('list-stacks')['StackSummaries']]
    assert aws('get-template', '--stack-name', name)['TemplateBody'] == TEMPLATE
    resource, = aws('describe-stack-resources', '--stack-name', name)['StackResources']
    assert resource['ResourceStatus'] == 'CREATE_COMPLETE'
    physical = resource['PhysicalResourceId']
    assert aws('describe-stack-resources', '--physical-resource-id', physical)['StackResources'] == [resource]
    assert aws('list-stack-resources', '--stack-name', name)['StackResourceSummaries'][0][
        'PhysicalResourceId'] == physical
    assert aws('describe-stack-resource', '--stack-name', name, '--logical-resource-id', 'number')[
        'StackResourceDetail']['PhysicalResourceId'] == physical
    aws('wait', 'stack-exists', '--stack-name', name)


def test_events_come_in_pages(aws, stack):
    name, _id = stack()
    everything = aws('describe-stack-events', '--stack-name', name)['StackEvents']
    first = aws('describe-stack-events', '--stack-name', name, '--max-items', '1')
    rest = aws('describe-stack-events', '--stack-name', name, '--starting-token', first['NextToken'])
    assert first['StackEvents'] + rest['StackEvents'] == everything


@pytest.mark.parametrize('output, expected', [('text', 'CREATE_COMPLETE\tnone'), ('table', '|  CREATE_COMPLETE')])
def test_other_forms_of_output(aws, stack, output, expected):
    name, _id = stack()
    assert expected in aws('describe-stacks', '--stack-name', name, '--query',
                           'Stacks[0].[StackStatus,Outputs[1].OutputValue]', output=output)


def test_lists_are_filtered_by_status(aws, stack):
    _name, stack_id = stack()
    listed = {status: [each['StackId'] for each in aws('list-stacks', '--stack-status-filter', status)[
        'StackSummaries']] for status in ('CREATE_COMPLETE', 'UPDATE_FAILED')}
    assert stack_id in listed['CREATE_COMPLETE']
    assert listed['UPDATE_FAILED'] == []


def test_an_update(aws, stack, cloud, member):
    name, stack_id = stack()
    aws('update-stack', '--stack-name', name, '--template-body', 'file://lamp.json', '--parameters',
        'ParameterKey=Length,ParameterValue=9')
    cloud.finished(member, path(stack_id))
    aws('wait', 'stack-update-complete', '--stack-name', name)
    assert len(outputs(aws, name)['Number']) == 9


@pytest.mark.parametrize('template', [('--use-previous-template',), ('--template-body', 'file://lamp.json')])
def test_an_update_keeps_previous_values(aws, stack, cloud, member, template):
    name, stack_id = stack('--parameters', 'ParameterKey=Length,ParameterValue=6',
                           'ParameterKey=Word,ParameterValue=secret')
    aws('update-stack', '--stack-name', name, *template, '--parameters', 'ParameterKey=Length,ParameterValue=7',
        'ParameterKey=Word,UsePreviousValue=true')
    cloud.finished(member, path(stack_id))
    found = outputs(aws, name)
    assert (len(found['Number']), found['Word']) == (7, 'secret')
    aws('update-stack', '--stack-name', name, *template, '--parameters', 'ParameterKey=Length,UsePreviousValue=true')
    cloud.finished(member, path(stack_id))
    found = outputs(aws, name)
    assert (len(found['Number']), found['Word']) == (7, 'none')


def test_an_update_is_cancelled(aws, stack, cloud, member):
    name, stack_id = stack()
    before = outputs(aws, name)
    aws('update-stack', '--stack-name', name, '--template-body', 'file://slow.json')
    aws('cancel-update-stack', '--stack-name', name)
    assert cloud.finished(member, path(stack_id)) == 'ROLLBACK_COMPLETE'
    assert outputs(aws, name)['Word'] == before['Word']


def test_a_delete(aws, cloud, member):
    made = aws('create-stack', '--stack-name', 'goes', '--template-body', 'file://lamp.json')['StackId']
    cloud.finished(member, path(made))
    aws('delete-stack', '--stack-name', 'goes')
    cloud.finished(member, path(made))
    aws('wait', 'stack-delete-complete', '--stack-name', made)
    assert made not in [each['StackId'] for each in aws('list-stacks')['StackSummaries']]


@pytest.mark.parametrize('words, error', [
    (('describe-stacks', '--stack-name', 'nope'), 'InvalidParameterValue'),
    (('delete-stack', '--stack-name', 'nope'), 'InvalidParameterValue'),
    (('update-stack', '--stack-name', 'nope', '--template-body', 'file://lamp.json'), 'InvalidParameterValue'),
    (('create-stack', '--stack-name', '1bad', '--template-body', 'file://lamp.json'), 'InvalidParameterValue'),
    (('validate-template', '--template-body', '{"AWSTemplateFormatVersion": "1"}'), 'InvalidParameterValue'),
    (('get-template-summary', '--stack-name', 'nope'), 'InvalidAction'),
    (('list-change-sets', '--stack-name', 'nope'), 'InvalidAction')])
def test_errors_are_told(aws, words, error):
    assert f'An error occurred ({error})' in aws(*words, code=255)
