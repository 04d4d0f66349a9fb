"""Signatures of the CloudFormation API, checked by a real Keystone. Run `eval "$(tools/keystone up)"` first."""

import os
import pathlib
from urllib.parse import urlencode

import pytest
from keystoneauth1 import session
from keystoneauth1.identity import v3

from heatlite.api.cfn import deploy
from tests.api import in_process
from tests.system import aws

URL = os.environ.get('HEATLITE_TEST_KEYSTONE_URL')
FOLDER = pathlib.Path(os.environ.get('HEATLITE_TEST_KEYSTONE_DIR', '/nonexistent'))
HOST = 'heat.example:8000'

pytestmark = pytest.mark.skipif(not URL, reason='needs HEATLITE_TEST_KEYSTONE_URL')


@pytest.fixture(scope='module')
def login():
    return session.Session(auth=v3.Password(
        auth_url=URL, username='demo', password='secret', project_name='demo', user_domain_id='default',
        project_domain_id='default'))


@pytest.fixture(scope='module')
def key(login):
    """(access, secret) of user demo."""
    url = f'{URL}/users/{login.get_user_id()}/credentials/OS-EC2'
    made = login.post(url, json={'tenant_id': login.get_project_id()}).json()['credential']
    yield made['access'], made['secret']
    login.delete(f'{url}/{made["access"]}')


@pytest.fixture(scope='module')
def app(database):
    return deploy.build(in_process.options(files=[str(FOLDER / 'heatlite.conf')]), database, in_process.NoEngine())


def version_2(key, verb, **parameters):
    return aws.version_2(key, verb, HOST, '/v1/', **parameters)


def ask(app, method='GET', query='', body=None, **headers):
    form = {'Content-Type': 'application/x-www-form-urlencoded'} if body is not None else {}
    return in_process.ask(app, method, f'/v1/?{query}', body, project=None, headers={**form, **headers, 'Host': HOST})


def stamp():
    return aws.now().strftime('%Y-%m-%dT%H:%M:%SZ')


def test_version_2_in_the_query(app, key):
    answer = ask(app, query=urlencode(version_2(key, 'GET', Action='ListStacks', Timestamp=stamp())))
    assert answer.status_code == 200, answer.text
    assert '<ListStacksResult><StackSummaries' in answer.text


def test_without_a_timestamp_it_does_not_expire(app, key):
    signed = version_2(key, 'GET', Action='ListStacks')
    assert ask(app, query=urlencode(signed), **{'Content-Type': 'application/json'}).status_code == 200


def test_version_2_in_a_form(app, key):
    signed = version_2(key, 'POST', Action='ListStacks', Timestamp=stamp(), ContentType='JSON')
    answer = ask(app, 'POST', body=urlencode(signed).encode())
    assert answer.json == {'ListStacksResponse': {'ListStacksResult': {'StackSummaries': []}}}


def test_version_4_in_a_header(app, key):
    body = b'Action=ListStacks&ContentType=JSON'
    answer = ask(app, 'POST', body=body, **aws.version_4(key, HOST, '/v1/', body))
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize('change, status, code', [
    ({'Signature': 'nope'}, 403, 'AccessDenied'),
    ({'Action': 'DescribeStacks'}, 403, 'AccessDenied'),
    ({'AWSAccessKeyId': 'nobody'}, 403, 'InvalidClientTokenId'),
    ({'Signature': ''}, 400, 'IncompleteSignature'),
    ({'AWSAccessKeyId': ''}, 403, 'MissingAuthenticationToken'),
])
def test_refusals(app, key, change, status, code):
    signed = version_2(key, 'GET', Action='ListStacks', Timestamp=stamp())
    answer = ask(app, query=urlencode({**signed, **change}))
    assert (answer.status_code, f'<Code>{code}</Code>' in answer.text) == (status, True), answer.text


def test_a_token_instead(app, login):
    token = login.get_token()
    answer = ask(app, query='Action=ListStacks', **{'X-Auth-User': 'anybody', 'X-Auth-Token': token})
    assert answer.status_code == 200
    assert ask(app, query='Action=ListStacks', **{'X-Auth-Token': token}).status_code == 400
    assert ask(app, query='Action=ListStacks', **{'X-Auth-User': 'anybody'}).status_code == 401
    assert ask(app, query='Action=ListStacks', **{'X-Auth-User': 'anybody', 'X-Auth-Token': 'nope'}).status_code == 401


def test_claims_are_worth_nothing(app, key):
    signed = version_2(key, 'GET', Action='DescribeStacks', StackName='web', Timestamp=stamp())
    answer = ask(app, query=urlencode(signed), **{'X-Project-Id': in_process.PROJECT, 'X-Roles': 'admin'})
    assert (answer.status_code, 'The Stack (web) could not be found.' in answer.text) == (400, True)


def test_flavour_standalone(database, key):
    app = deploy.build(in_process.options(files=[str(FOLDER / 'heatlite.conf')], paste_deploy__flavor='standalone'),
                       database, in_process.NoEngine())
    assert ask(app, query=urlencode(version_2(key, 'GET', Action='ListStacks'))).status_code == 200
