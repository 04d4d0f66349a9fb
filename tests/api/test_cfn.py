"""The CloudFormation API in this process: a real engine, identity taken from headers as behind its own layers."""

import json
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from heatlite.api.cfn import deploy
from heatlite.common.green_threads import GreenRuntime
from heatlite.db import tables
from heatlite.db.connection import Database
from heatlite.engine.service import EngineService
from heatlite.rpc.client import InProcessClient
from tests.api import in_process

pytestmark = pytest.mark.random_order(disabled=True)         # a sequence: each test goes on where the one before ended

TEMPLATE = json.dumps({
    'AWSTemplateFormatVersion': '2010-09-09', 'Description': 'A lamp',
    'Parameters': {'Length': {'Type': 'Number', 'Default': '8', 'Description': 'Digits'},
                   'Code': {'Type': 'String', 'NoEcho': 'true', 'Default': 'hush'}},
    'Resources': {
        'number': {'Type': 'OS::Heat::RandomString', 'Properties': {'length': {'Ref': 'Length'}}},
        'lamp': {'Type': 'OS::Heat::TestResource', 'Metadata': {'a': {'b': 1}},
                 'Properties': {'value': {'Fn::GetAtt': ['number', 'value']}}}},
    'Outputs': {'Number': {'Description': 'Of it', 'Value': {'Fn::GetAtt': ['number', 'value']}}}})


@pytest.fixture(scope='module')
def started(tmp_path_factory):
    """The options, the database and the engine's client of a running service."""
    database = Database(f'sqlite:///{tmp_path_factory.mktemp("cfn")}/db.sqlite')
    tables.metadata.create_all(database.engine)
    conf = in_process.options(auth_encryption_key='k' * 32)
    cfg.CONF.set_override('auth_encryption_key', 'k' * 32)
    runtime = GreenRuntime()
    service = EngineService(conf, runtime, database)
    service.start()
    yield conf, database, InProcessClient(runtime, service.endpoint)
    service.stop()
    database.close()
    cfg.CONF.clear_override('auth_encryption_key')


@pytest.fixture(scope='module')
def app(started):
    return deploy.build(*started, identity=in_process.Verified)


class Client:
    """`ask(Action, ...)`: the result of an action, from JSON; `xml`: the element."""

    def __init__(self, app):
        self._app = app

    def raw(self, action, method='GET', **parameters):
        query = urlencode({'Action': action, **{key.replace('__', '.'): value for key, value in parameters.items()}})
        GreenRuntime().sleep(0.01)
        if method == 'GET':
            return in_process.ask(self._app, 'GET', f'/v1/?{query}')
        return in_process.ask(self._app, 'POST', '/v1/', query.encode(), headers={
            'Content-Type': 'application/x-www-form-urlencoded'})

    def ask(self, action, **parameters):
        answer = self.raw(action, ContentType='JSON', **parameters)
        assert (answer.status_code, answer.content_type) == (200, 'application/json'), answer.text
        return answer.json[f'{action}Response'][f'{action}Result']

    def xml(self, action, **parameters):
        answer = self.raw(action, 'POST', **parameters)
        assert (answer.status_code, answer.content_type) == (200, 'application/xml'), answer.text
        assert answer.charset == 'UTF-8'
        root = ElementTree.fromstring(answer.body)
        assert root.tag == f'{action}Response'
        return root.find(f'{action}Result')

    def error(self, action, **parameters):
        """(status, type, code, message), alike in both forms."""
        answer = self.raw(action, **parameters)
        found = ElementTree.fromstring(answer.body).find('Error')
        as_json = self.raw(action, ContentType='JSON', **parameters)
        assert as_json.json == {'ErrorResponse': {'Error': {each.tag: each.text for each in found}}}
        assert as_json.status_code == answer.status_code
        return answer.status_code, *(each.text for each in found)

    def settled(self, name, status):
        for _turn in range(300):
            found = self.ask('DescribeStacks', StackName=name)['Stacks'][0]
            if found['StackStatus'] == status:
                return found
            GreenRuntime().sleep(0.02)
        raise AssertionError(found)


@pytest.fixture(scope='module')
def cfn(app):
    return Client(app)


@pytest.fixture(scope='module')
def lamp(cfn):
    """ARN of a stack that is complete."""
    made = cfn.ask('CreateStack', StackName='lamp', TemplateBody=TEMPLATE, TimeoutInMinutes='5',
                   Parameters__member__1__ParameterKey='Length', Parameters__member__1__ParameterValue='6')
    assert list(made) == ['StackId']
    cfn.settled('lamp', 'CREATE_COMPLETE')
    return made['StackId']


def texts(element):
    return {each.tag: each.text for each in element}


def test_a_stack_in_json(cfn, lamp):
    found = cfn.ask('DescribeStacks', StackName=lamp)['Stacks']
    assert len(found) == 1
    assert list(found[0]) == [
        'Capabilities', 'CreationTime', 'Description', 'DisableRollback', 'NotificationARNs', 'Parameters', 'StackId',
        'StackName', 'StackStatusReason', 'TimeoutInMinutes', 'StackStatus', 'Outputs']
    parameters = {each['ParameterKey']: each['ParameterValue'] for each in found[0]['Parameters']}
    assert parameters == {'Length': '6', 'Code': '******', 'AWS::StackName': 'lamp', 'AWS::StackId': lamp,
                          'AWS::Region': 'ap-southeast-1'}
    assert (found[0]['DisableRollback'], found[0]['TimeoutInMinutes']) == (True, 5)
    assert found[0]['Outputs'][0]['Description'] == 'Of it'
    assert len(found[0]['Outputs'][0]['OutputValue']) == 6
    assert found[0]['StackStatusReason'] == 'Stack CREATE completed successfully'


def test_a_stack_in_xml(cfn, lamp):
    member = cfn.xml('DescribeStacks').find('Stacks/member')
    assert member.find('StackId').text == lamp
    assert member.find('DisableRollback').text == 'true'
    assert [each.tag for each in member][:3] == ['Capabilities', 'CreationTime', 'Description']
    assert 'Length' in [each.text for each in member.findall('Parameters/member/ParameterKey')]


def test_lists(cfn, lamp):
    summary = texts(cfn.xml('ListStacks').find('StackSummaries/member'))
    assert list(summary) == ['CreationTime', 'StackId', 'StackName', 'StackStatusReason', 'StackStatus']
    assert summary['StackName'] == 'lamp'
    summary = cfn.ask('ListStacks')['StackSummaries'][0]
    assert list(summary) == ['CreationTime', 'LastUpdatedTime', 'StackId', 'StackName', 'StackStatusReason',
                             'StackStatus', 'DeletionTime']
    assert (summary['LastUpdatedTime'], summary['DeletionTime']) == (None, None)
    resources = cfn.ask('ListStackResources', StackName='lamp')['StackResourceSummaries']
    assert [each['LogicalResourceId'] for each in resources] == ['number', 'lamp']
    assert list(resources[0]) == ['LastUpdatedTimestamp', 'LogicalResourceId', 'PhysicalResourceId',
                                  'ResourceStatusReason', 'ResourceType', 'ResourceStatus']


def test_a_resource_with_its_metadata(cfn, lamp):
    found = cfn.xml('DescribeStackResource', StackName='lamp', LogicalResourceId='lamp').find('StackResourceDetail')
    assert [each.tag for each in found] == [
        'Description', 'LastUpdatedTimestamp', 'LogicalResourceId', 'Metadata', 'PhysicalResourceId',
        'ResourceStatusReason', 'ResourceType', 'StackId', 'StackName', 'ResourceStatus']
    assert json.loads(found.find('Metadata').text) == {'a': {'b': 1}}
    assert found.find('StackId').text == lamp
    detail = cfn.ask('DescribeStackResource', StackName=lamp, LogicalResourceId='number')['StackResourceDetail']
    assert (detail['Metadata'], detail['ResourceStatus']) == ({}, 'CREATE_COMPLETE')


def test_resources(cfn, lamp):
    found = cfn.ask('DescribeStackResources', StackName='lamp')['StackResources']
    assert [each['LogicalResourceId'] for each in found] == ['number', 'lamp']
    assert 'Metadata' not in found[0] and found[0]['Timestamp']
    one = cfn.ask('DescribeStackResources', PhysicalResourceId=found[1]['PhysicalResourceId'],
                  LogicalResourceId='lamp')['StackResources']
    assert one == [found[1]]


def test_events(cfn, lamp):
    found = cfn.ask('DescribeStackEvents', StackName='lamp')['StackEvents']
    assert list(found[0]) == ['EventId', 'LogicalResourceId', 'PhysicalResourceId', 'ResourceProperties',
                              'ResourceStatusReason', 'ResourceType', 'StackId', 'StackName', 'Timestamp',
                              'ResourceStatus']
    assert found[0]['ResourceStatus'] == 'CREATE_COMPLETE'
    assert found[-1]['ResourceStatusReason'] == 'Stack CREATE started'
    assert found[0]['StackId'] == lamp
    assert {each['EventId'] for each in cfn.ask('DescribeStackEvents')['StackEvents']} >= {found[0]['EventId']}


def test_templates(cfn, lamp):
    assert cfn.ask('GetTemplate', StackName='lamp')['TemplateBody'] == json.loads(TEMPLATE)
    assert json.loads(cfn.xml('GetTemplate', StackName='lamp').find('TemplateBody').text) == json.loads(TEMPLATE)
    found = cfn.ask('ValidateTemplate', TemplateBody=TEMPLATE)
    assert found['Parameters'] == [
        {'ParameterKey': 'Length', 'DefaultValue': '8', 'Description': 'Digits', 'NoEcho': 'false'},
        {'ParameterKey': 'Code', 'DefaultValue': 'hush', 'Description': '', 'NoEcho': 'true'}]
    wrong = json.dumps({'AWSTemplateFormatVersion': '2010-09-09', 'Foo': {}})
    said = cfn.xml('ValidateTemplate', TemplateBody=wrong).text
    assert said.splitlines()[0] == 'The template section is invalid: Foo'
    assert cfn.ask('EstimateTemplateCost') == {'Url': 'http://en.wikipedia.org/wiki/Gratis'}


@pytest.mark.parametrize('action, parameters, wanted', [
    ('Nonsense', {}, (400, 'InvalidAction', 'The action or operation requested is invalid')),
    ('', {}, (400, 'InvalidAction', 'The action or operation requested is invalid')),
    ('DeleteStack', {}, (400, 'MissingParameter', 'A mandatory input parameter is missing:StackName')),
    ('DescribeStacks', {'StackName': 'nope'},
     (400, 'InvalidParameterValue', 'A bad or out-of-range value was supplied:The Stack (nope) could not be found.')),
    ('DescribeStacks', {'StackName': 'arn:nonsense'},
     (400, 'InvalidParameterValue', 'A bad or out-of-range value was supplied:"arn:nonsense" is not a valid Heat ARN')),
    ('CancelUpdateStack', {'StackName': 'nope'},
     (400, 'InvalidParameterValue', 'A bad or out-of-range value was supplied:The Stack (nope) could not be found.')),
    ('CreateStack', {'StackName': 'lamp', 'TemplateBody': TEMPLATE},
     (400, 'AlreadyExists', 'Resource with the name requested already exists:The Stack (lamp) already exists.')),
    ('CreateStack', {'StackName': 'other'},
     (400, 'MissingParameter', 'A mandatory input parameter is missing:TemplateBody or TemplateUrl were not given.')),
    ('CreateStack', {'StackName': 'other', 'TemplateBody': '{'},
     (400, 'InvalidParameterValue',
      'A bad or out-of-range value was supplied:The Template must be a JSON or YAML document.')),
    ('CreateStack', {'StackName': 'other', 'TemplateUrl': 'file:///etc/passwd'},
     (400, 'InvalidParameterValue', 'A bad or out-of-range value was supplied:Failed to fetch template: '
                                    'Invalid URL scheme file')),
    ('CreateStack', {'StackName': 'other', 'TemplateBody': TEMPLATE, 'DisableRollback': 'true',
                     'OnFailure': 'ROLLBACK'},
     (400, 'InvalidParameterCombination', 'Incompatible parameters were used together:DisableRollback and OnFailure '
                                          'may not be used together')),
    ('DescribeStackResource', {'StackName': 'lamp', 'LogicalResourceId': 'nope'},
     (400, 'InvalidParameterValue', 'A bad or out-of-range value was supplied:The Resource (nope) could not be found '
                                    'in Stack lamp.')),
    ('CreateStack', {'StackName': '1bad', 'TemplateBody': TEMPLATE},
     (400, 'InvalidParameterValue', 'A bad or out-of-range value was supplied:Invalid stack name 1bad must contain '
      'only alphanumeric or "_-." characters, must start with alpha and must be 255 characters or less.')),
])
def test_refusals(cfn, lamp, action, parameters, wanted):
    status, code, message = wanted
    assert cfn.error(action, **parameters) == (status, 'Sender', code, message)


def test_a_protected_stack_is_not_deleted(cfn, started, lamp):
    rest = in_process.build(*started)
    url = f'/v1/{in_process.PROJECT}/stacks/lamp/{lamp.rpartition("/")[2]}/protections'
    protected = {'protections': [{'path': '', 'deny': ['delete'], 'reason': 'ours'}]}
    assert in_process.ask(rest, 'PUT', url, protected).status_code == 200
    assert cfn.error('DeleteStack', StackName='lamp') == (
        400, 'Sender', 'ValidationError',
        'The stack does not permit this:Stack lamp is protected: the stack: delete is denied by the protection of the '
        'stack (ours).')
    assert in_process.ask(rest, 'DELETE', url).status_code == 204


def test_policy(app, lamp):
    answer = in_process.ask(app, 'GET', '/v1/?Action=CreateStack', roles='reader')
    assert answer.status_code == 403
    assert '<Code>AccessDenied</Code>' in answer.text
    assert 'User is not authorized to perform action:Action CreateStack not allowed for user' in answer.text
    assert in_process.ask(app, 'GET', '/v1/?Action=ListStacks', roles='reader').status_code == 200
    other = in_process.ask(app, 'GET', '/v1/?Action=DescribeStacks&StackName=lamp', project=in_process.OTHER)
    assert (other.status_code, 'InvalidParameterValue' in other.text) == (400, True)


@pytest.mark.parametrize('method, path, status', [
    ('GET', '/', 300), ('GET', '/versions', 300), ('GET', '/v2/', 300), ('GET', '/nope', 404), ('GET', '/v1', 404),
    ('PUT', '/v1/', 404), ('GET', '/v1/waitcondition/arn', 404), ('PUT', '/v1/signal/arn', 404),
    ('GET', '/healthcheck', 200)])
def test_paths(app, method, path, status):
    assert in_process.ask(app, method, path).status_code == status


@pytest.mark.parametrize('arn, status', [
    ('nonsense', 400), ('arn:openstack:heat::p:stacks/s/i', 400),
    ('arn:openstack:heat::p:stacks/s/i/resources/r', 400)])
def test_signals_to_nothing(app, arn, status):
    assert in_process.ask(app, 'POST', f'/v1/signal/{arn}', {}).status_code == status
    assert in_process.ask(app, 'PUT', f'/v1/waitcondition/{arn}', {}).status_code == status


def test_signal_to_what_takes_none(app, lamp):
    answer = in_process.ask(app, 'POST', f'/v1/signal/{lamp.replace(":", "%3A")}/resources/lamp')
    assert (answer.status_code, 'signal is not supported for resource.' in answer.text) == (400, True)
    answer = in_process.ask(app, 'PUT', f'/v1/waitcondition/{lamp}/resources/lamp', b'[]')
    assert (answer.status_code, 'is not a JSON object' in answer.text) == (400, True)


def parameters(*each):
    """The query of Parameters: each (name, value), the value None for UsePreviousValue."""
    query = {}
    for number, (name, value) in enumerate(each, 1):
        query[f'Parameters__member__{number}__ParameterKey'] = name
        if value is None:
            query[f'Parameters__member__{number}__UsePreviousValue'] = 'true'
        else:
            query[f'Parameters__member__{number}__ParameterValue'] = value
    return query


@pytest.mark.parametrize('template', [{'UsePreviousTemplate': 'true'}, {'TemplateBody': TEMPLATE}])
def test_an_update_keeps_previous_values(cfn, template):
    made = cfn.ask('CreateStack', StackName='kept', TemplateBody=TEMPLATE,
                   **parameters(('Length', '6'), ('Code', 'mine')))['StackId']
    cfn.settled('kept', 'CREATE_COMPLETE')
    for given, expected in [
            ([('Length', '7'), ('Code', None)], ('7', 7)),
            ([('Length', None)], ('7', 7)),
            ([], ('8', 8))]:
        cfn.ask('UpdateStack', StackName='kept', **template, **parameters(*given))
        found = cfn.settled('kept', 'UPDATE_COMPLETE')
        shown = {each['ParameterKey']: each['ParameterValue'] for each in found['Parameters']}
        assert (shown['Length'], len(found['Outputs'][0]['OutputValue'])) == expected
    cfn.xml('DeleteStack', StackName='kept')
    cfn.settled(made, 'DELETE_COMPLETE')


@pytest.mark.parametrize('action, more, code', [
    ('UpdateStack', {'UsePreviousTemplate': 'true', 'TemplateBody': TEMPLATE}, 'InvalidParameterCombination'),
    ('UpdateStack', {'UsePreviousTemplate': 'false'}, 'MissingParameter'),
    ('UpdateStack', {'TemplateBody': TEMPLATE, 'Parameters__member__1__ParameterKey': 'Length',
                     'Parameters__member__1__UsePreviousValue': 'true',
                     'Parameters__member__1__ParameterValue': '9'}, 'InvalidParameterCombination'),
    ('CreateStack', {'TemplateBody': TEMPLATE, **parameters(('Length', None))}, 'InvalidParameterValue')])
def test_what_previous_may_not_be_used_with(cfn, lamp, action, more, code):
    assert cfn.error(action, StackName='lamp', **more)[2] == code


def test_a_list_is_filtered_by_status(cfn, lamp):
    def listed(*statuses):
        found = cfn.ask('ListStacks', **{
            f'StackStatusFilter__member__{number}': status for number, status in enumerate(statuses, 1)})
        return [each['StackId'] for each in found['StackSummaries']]
    assert listed() == listed('CREATE_COMPLETE') == listed('UPDATE_FAILED', 'CREATE_COMPLETE') == [lamp]
    assert listed('UPDATE_FAILED') == []


def test_update_and_delete(cfn, lamp):
    assert cfn.ask('UpdateStack', StackName='lamp', TemplateBody=TEMPLATE, Parameters__member__3__ParameterKey='Length',
                   Parameters__member__3__ParameterValue='9') == {'StackId': lamp}
    assert cfn.settled('lamp', 'UPDATE_COMPLETE')['LastUpdatedTime']
    assert cfn.error('CancelUpdateStack', StackName='lamp')[2] == 'InvalidParameterValue'
    assert cfn.xml('DeleteStack', StackName='lamp').text is None
    deleted = cfn.settled(lamp, 'DELETE_COMPLETE')
    assert deleted['Outputs'] == [] and deleted['Description'] == 'No description'
    assert all('::' in each['ParameterKey'] for each in deleted['Parameters'])
    assert cfn.ask('ListStacks') == {'StackSummaries': []}


def test_the_template_of_a_nested_stack_shows_no_hidden_value(cfn, started):
    """Types write such templates, with the values of properties. As the REST API shows it."""
    cfn.ask('CreateStack', StackName='group', TemplateBody=json.dumps({
        'HeatTemplateFormatVersion': '2012-12-12', 'Parameters': {'Word': {'Type': 'String', 'NoEcho': 'true'}},
        'Resources': {'members': {'Type': 'OS::Heat::ResourceGroup', 'Properties': {'count': 1, 'resource_def': {
            'type': 'OS::Heat::TestResource',
            'properties': {'value': {'Fn::Join': ['-', ['is', {'Ref': 'Word'}]]}}}}}}}),
        Parameters__member__1__ParameterKey='Word', Parameters__member__1__ParameterValue='SECRETWORD')
    cfn.settled('group', 'CREATE_COMPLETE')
    database = started[1]
    with database.reader() as tx:
        nested = tx.execute(sa.select(tables.stack.c.id, tables.stack.c.name).where(
            tables.stack.c.owner_id.is_not(None), tables.stack.c.name.like('group-%'))).one()
    arn = f'arn:openstack:heat::{in_process.PROJECT}:stacks/{nested.name}/{nested.id}'
    shown = cfn.ask('GetTemplate', StackName=arn)['TemplateBody']
    assert shown['resources']['0']['properties'] == {'value': 'is-******'}
    path = f'/v1/{in_process.PROJECT}/stacks/{nested.name}/{nested.id}/template'
    assert in_process.ask(in_process.build(started[0], database, started[2]), 'GET', path).json == shown
