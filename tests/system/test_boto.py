"""The CloudFormation API as boto3 uses it: the whole life of a stack, waiters, and what errors look like."""

import json
import urllib.request

import pytest

boto3 = pytest.importorskip('boto3')

from botocore import exceptions  # noqa: E402
from botocore.config import Config  # noqa: E402

from tests.system import doors  # noqa: E402
from tests.system.processes import eventually  # noqa: E402

TEMPLATE = json.dumps({
    'AWSTemplateFormatVersion': '2010-09-09', 'Description': 'A lamp',
    'Parameters': {'Length': {'Type': 'Number', 'Default': '8', 'Description': 'Digits'}},
    'Resources': {'number': {'Type': 'OS::Heat::RandomString', 'Properties': {'length': {'Ref': 'Length'}}}},
    'Outputs': {'Number': {'Description': 'Of it', 'Value': {'Fn::GetAtt': ['number', 'value']}}}})
SLOW = json.dumps({
    'AWSTemplateFormatVersion': '2010-09-09',
    'Resources': {'slow': {'Type': 'OS::Heat::Delay', 'Properties': {'min_wait': 5}}}})
WAITS = json.dumps({
    'AWSTemplateFormatVersion': '2010-09-09',
    'Resources': {
        'handle': {'Type': 'AWS::CloudFormation::WaitConditionHandle'},
        'condition': {'Type': 'AWS::CloudFormation::WaitCondition',
                      'Properties': {'Handle': {'Ref': 'handle'}, 'Timeout': '100', 'Count': '1'}}},
    'Outputs': {'Url': {'Value': {'Ref': 'handle'}}}})
QUICK = {'Delay': 1, 'MaxAttempts': 60}


@pytest.fixture(scope='module')
def client(tmp_path_factory):
    with doors.running(tmp_path_factory.mktemp('boto')) as both:
        access, secret = both.ec2_key()
        yield boto3.client(
            'cloudformation', region_name='RegionOne', endpoint_url=f'http://127.0.0.1:{both.cfn_port}/v1/',
            aws_access_key_id=access, aws_secret_access_key=secret,
            config=Config(retries={'max_attempts': 0}, proxies={}))
        assert 'Traceback' not in both.program.log.read_text()


def test_the_life_of_a_stack(client):
    declared = client.validate_template(TemplateBody=TEMPLATE)
    assert [(each['ParameterKey'], each['DefaultValue'], each['NoEcho']) for each in declared['Parameters']] == [
        ('Length', '8', False)]

    stack_id = client.create_stack(
        StackName='lamp', TemplateBody=TEMPLATE, TimeoutInMinutes=5, DisableRollback=True,
        Parameters=[{'ParameterKey': 'Length', 'ParameterValue': '6'}])['StackId']
    client.get_waiter('stack_create_complete').wait(StackName='lamp', WaiterConfig=QUICK)

    found, = client.describe_stacks(StackName='lamp')['Stacks']
    assert (found['StackId'], found['StackStatus'], found['DisableRollback'], found['TimeoutInMinutes']) == (
        stack_id, 'CREATE_COMPLETE', True, 5)
    assert {'ParameterKey': 'Length', 'ParameterValue': '6'} in found['Parameters']
    assert len(found['Outputs'][0]['OutputValue']) == 6

    listed, = client.list_stacks()['StackSummaries']
    assert (listed['StackName'], listed['StackStatus'], 'DeletionTime' in listed) == ('lamp', 'CREATE_COMPLETE', False)
    events = client.describe_stack_events(StackName='lamp')['StackEvents']
    assert {each['LogicalResourceId'] for each in events} == {'lamp', 'number'}
    resource, = client.describe_stack_resources(StackName='lamp')['StackResources']
    assert resource['ResourceStatus'] == 'CREATE_COMPLETE'
    summary, = client.list_stack_resources(StackName='lamp')['StackResourceSummaries']
    assert summary['PhysicalResourceId'] == resource['PhysicalResourceId']
    detail = client.describe_stack_resource(StackName='lamp', LogicalResourceId='number')['StackResourceDetail']
    assert detail['ResourceType'] == 'OS::Heat::RandomString'
    assert client.get_template(StackName='lamp')['TemplateBody'] == json.loads(TEMPLATE)

    client.update_stack(StackName='lamp', TemplateBody=TEMPLATE,
                        Parameters=[{'ParameterKey': 'Length', 'ParameterValue': '9'}])
    client.get_waiter('stack_update_complete').wait(StackName=stack_id, WaiterConfig=QUICK)
    assert len(client.describe_stacks(StackName='lamp')['Stacks'][0]['Outputs'][0]['OutputValue']) == 9

    client.delete_stack(StackName='lamp')
    client.get_waiter('stack_delete_complete').wait(StackName=stack_id, WaiterConfig=QUICK)
    assert client.list_stacks()['StackSummaries'] == []


def test_an_update_can_be_cancelled(client):
    stack_id = client.create_stack(StackName='back', TemplateBody=TEMPLATE)['StackId']
    client.get_waiter('stack_create_complete').wait(StackName='back', WaiterConfig=QUICK)
    client.update_stack(StackName='back', TemplateBody=SLOW)
    client.cancel_update_stack(StackName='back')
    eventually('the end of the rollback', lambda: client.describe_stacks(StackName=stack_id)['Stacks'][0][
        'StackStatus'] == 'ROLLBACK_COMPLETE')
    client.delete_stack(StackName='back')


def test_a_signal_ends_the_waiting(client):
    client.create_stack(StackName='waits', TemplateBody=WAITS)

    def url():
        outputs = client.describe_stacks(StackName='waits')['Stacks'][0].get('Outputs', [])
        return next((each['OutputValue'] for each in outputs if '://' in each.get('OutputValue', '')), None)

    request = urllib.request.Request(eventually('the URL', url), method='PUT', headers={
        'Content-Type': 'application/json'}, data=b'{"Status": "SUCCESS", "Reason": "r", "UniqueId": "1", "Data": "d"}')
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        assert answer.status == 200
    client.get_waiter('stack_create_complete').wait(StackName='waits', WaiterConfig=QUICK)
    client.delete_stack(StackName='waits')


@pytest.mark.parametrize('method, arguments, status, code', [
    ('describe_stacks', {'StackName': 'nope'}, 400, 'InvalidParameterValue'),
    ('get_template', {'StackName': 'nope'}, 400, 'InvalidParameterValue'),
    ('delete_stack', {'StackName': 'nope'}, 400, 'InvalidParameterValue'),
    ('create_stack', {'StackName': '1bad', 'TemplateBody': TEMPLATE}, 400, 'InvalidParameterValue'),
    ('create_stack', {'StackName': 'x'}, 400, 'MissingParameter'),
    ('create_stack', {'StackName': 'x', 'TemplateBody': 'x' * 600_000}, 400, 'RequestLimitExceeded'),
    ('create_stack', {'StackName': 'x', 'TemplateURL': 'http://127.0.0.1:1/t'}, 400, 'InvalidParameterValue'),
    ('list_change_sets', {'StackName': 'x'}, 400, 'InvalidAction')])
def test_errors_have_codes(client, method, arguments, status, code):
    with pytest.raises(exceptions.ClientError) as refused:
        getattr(client, method)(**arguments)
    answer = refused.value.response
    assert (answer['ResponseMetadata']['HTTPStatusCode'], answer['Error']['Code']) == (status, code)
    assert answer['Error']['Message']


def test_a_name_is_taken_once(client):
    client.create_stack(StackName='twice', TemplateBody=TEMPLATE)
    with pytest.raises(client.exceptions.ClientError) as refused:
        client.create_stack(StackName='twice', TemplateBody=TEMPLATE)
    assert refused.value.response['Error']['Code'] in ('AlreadyExists', 'AlreadyExistsException')
    client.delete_stack(StackName='twice')


def test_keys_that_are_none(client):
    for access, codes in [('nobody', ('InvalidClientTokenId', 'AccessDenied')),        # Keystones differ in this
                          (client._request_signer._credentials.access_key, ('AccessDenied',))]:
        other = boto3.client('cloudformation', region_name='RegionOne', endpoint_url=client.meta.endpoint_url,
                             aws_access_key_id=access, aws_secret_access_key='x',
                             config=Config(retries={'max_attempts': 0}, proxies={}))
        with pytest.raises(exceptions.ClientError) as refused:
            other.list_stacks()
        assert refused.value.response['Error']['Code'] in codes
