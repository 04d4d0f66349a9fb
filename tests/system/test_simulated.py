"""heatlite-all with its simulated cloud: callers log in to its Keystone, servers appear in it and go again."""

import datetime
import json
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from keystoneclient.contrib.ec2 import utils as ec2_utils

from tests.system.processes import OPENER, ROOT, Program, eventually


@pytest.fixture(scope='module')
def service(tmp_path_factory):
    """(URL of the API, URL of the cloud)."""
    folder = tmp_path_factory.mktemp('simulated')
    program = Program(folder / 'log', '--state-dir', folder / 'state', '--port', '0', '--cloud', 'simulated',
                      '--auth', 'keystone', '--set', 'plans.check_timeout=1',
                      '--set', 'template_fetch_allow=127.0.0.1',        # for logins at this cloud
                      module='heatlite.cmd.all_in_one')
    said = [program.process.stdout.readline().split() for _ in range(2)]
    assert said[1], program.log.read_text()
    yield said[0][-1], said[1][5].rstrip(';')
    program.kill()


def send(method, url, body=None, token=None):
    """(status, headers, JSON or None)."""
    request = urllib.request.Request(
        url, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={'Content-Type': 'application/json', 'Accept': 'application/json',
                 **({'X-Auth-Token': token} if token else {})})
    try:
        with OPENER.open(request, timeout=60) as answer:
            text = answer.read()
            return answer.status, answer.headers, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        text = error.read()
        return error.code, error.headers, json.loads(text) if text else None


@pytest.fixture(scope='module')
def login(service):
    """User demo: (service type -> URL, a token)."""
    asked = {'auth': {
        'identity': {'methods': ['password'], 'password': {
            'user': {'name': 'demo', 'domain': {'id': 'default'}, 'password': 'secret'}}},
        'scope': {'project': {'name': 'demo', 'domain': {'id': 'default'}}}}}
    status, headers, body = send('POST', f'{service[1]}/v3/auth/tokens', asked)
    assert status == 201
    catalogue = {each['type']: each['endpoints'][0]['url'] for each in body['token']['catalog']}
    assert catalogue['orchestration'].startswith(service[0])
    return catalogue, headers['X-Subject-Token']


@pytest.fixture(scope='module')
def demo(login):
    """(URL of the project of user demo, a token)."""
    return login[0]['orchestration'], login[1]


def in_the_cloud(service, kind):
    return send('GET', f'{service[1]}/_sim/objects/{kind}')[2]['objects'][kind]['count']


def ended(stack, token):
    def state():
        status, _, body = send('GET', stack, token=token)
        found = 'DELETE_COMPLETE' if status == 404 else body['stack']['stack_status']
        return None if found.endswith('IN_PROGRESS') else found
    return eventually('the end of the action', state)


def test_nobody_gets_in_without_a_token(service, demo):
    assert send('GET', f'{demo[0]}/stacks')[0] == 401
    assert send('GET', f'{demo[0]}/stacks', token='made up')[0] == 401
    assert send('GET', f'{service[0]}/v1/another/stacks', token=demo[1])[0] == 403


OLD_NAMES = """
heat_template_version: 2013-05-23
resources:
  net: {type: "OS::Neutron::Net"}
  subnet: {type: "OS::Neutron::Subnet", properties: {network_id: {get_resource: net}, cidr: 10.9.0.0/24}}
  port: {type: "OS::Neutron::Port", properties: {network_id: {get_resource: net},
                                                 fixed_ips: [{subnet_id: {get_resource: subnet}}]}}
"""


def test_old_names_of_properties_may_refer_to_what_is_not_there_yet(demo):
    url, token = demo
    status, _, made = send('POST', f'{url}/stacks', {'stack_name': 'old', 'template': OLD_NAMES}, token)
    assert status == 201, made
    stack = f"{url}/stacks/old/{made['stack']['id']}"
    assert ended(stack, token) == 'CREATE_COMPLETE', send('GET', stack, token=token)[2]['stack']
    send('DELETE', stack, token=token)
    assert ended(stack, token) == 'DELETE_COMPLETE'


SHOP = """
heat_template_version: 2018-08-31
resources:
  net: {type: "OS::Neutron::Net", properties: {name: shop}}
  disk: {type: "OS::Cinder::Volume", properties: {size: 1, availability_zone: mars}}
"""


def test_a_plan_is_checked_and_looks_at_reality(service, demo, login):
    url, token = demo
    send('POST', f'{service[1]}/_sim/faults', {'kind': 'hang', 'service': 'network', 'path': '*quotas*'})
    status, _, made = send('POST', f'{url}/plans', {'stack_name': 'shop', 'template': SHOP}, token)
    assert status == 201, made
    assert [(each['level'], each['path'], each['text']) for each in made['plan']['findings']] == [
        ('error', ['disk'], 'There is no availability zone mars of the volume service; there is nova.'),
        ('warning', [], 'Not checked: quotas of the network service; the service did not answer in time.')]
    assert made['plan']['totals']['networks'] == {'before': 0, 'after': 1, 'at_once': 1}
    wanted = SHOP.replace(', availability_zone: mars', '')
    made = send('POST', f'{url}/stacks', {'stack_name': 'shop', 'template': wanted}, token)[2]
    stack = f"{url}/stacks/shop/{made['stack']['id']}"
    assert ended(stack, token) == 'CREATE_COMPLETE'
    net = send('GET', f'{stack}/resources/net', token=token)[2]['resource']['physical_resource_id']
    send('PUT', f"{login[0]['network']}/v2.0/networks/{net}", {'network': {'name': 'other'}}, token)
    plan = send('POST', f'{stack}/plans', {'template': wanted, 'refresh': True}, token)[2]['plan']
    [value] = [value for change in plan['changes'] for value in change['values']]
    assert (value['before'], value['live'], value['after']) == ('shop', 'other', 'shop')
    assert send('POST', f"{url}/plans/{plan['id']}/apply", {'digest': plan['digest']}, token)[0] == 202
    assert ended(stack, token) == 'UPDATE_COMPLETE'
    assert send('GET', f"{login[0]['network']}/v2.0/networks/{net}", token=token)[2]['network']['name'] == 'shop'
    send('DELETE', stack, token=token)
    assert ended(stack, token) == 'DELETE_COMPLETE'


GROWN = """
heat_template_version: 2016-10-14
resources:
  lb: {type: "OS::Octavia::LoadBalancer", properties: {vip_subnet: private-subnet}}
  pool: {type: "OS::Octavia::Pool", properties: {loadbalancer: {get_resource: lb}, protocol: HTTP,
                                                 lb_algorithm: ROUND_ROBIN}}
  member: {type: "OS::Octavia::PoolMember", properties: {pool: {get_resource: pool}, address: 10.0.0.9,
                                                         protocol_port: 80, subnet: private-subnet}}
outputs:
  pool: {value: {get_attr: [pool, show]}}
"""


def test_what_a_resource_shows_is_read_after_all_that_changes_it(demo):
    url, token = demo
    status, _, made = send('POST', f'{url}/stacks', {'stack_name': 'grown', 'template': GROWN}, token)
    assert status == 201, made
    stack = f"{url}/stacks/grown/{made['stack']['id']}"
    assert ended(stack, token) == 'CREATE_COMPLETE', send('GET', stack, token=token)[2]['stack']
    [output] = send('GET', stack, token=token)[2]['stack']['outputs']
    assert len(output['output_value']['members']) == 1
    send('DELETE', stack, token=token)
    assert ended(stack, token) == 'DELETE_COMPLETE'


def test_resource_show_tells_what_the_service_says_now(demo):
    url, token = demo
    status, _, made = send('POST', f'{url}/stacks', {'stack_name': 'shown', 'template': OLD_NAMES}, token)
    assert status == 201, made
    stack = f"{url}/stacks/shown/{made['stack']['id']}"
    assert ended(stack, token) == 'CREATE_COMPLETE'
    port = send('GET', f'{stack}/resources/port?with_attr=fixed_ips&with_attr=nothing', token=token)[2]['resource']
    assert port['attributes']['id'] == port['physical_resource_id']          # `show` of a port, as Neutron returns it
    assert [each['ip_address'].rpartition('.')[0] for each in port['attributes']['fixed_ips']] == ['10.9.0']
    assert port['attributes']['nothing'] is None
    send('DELETE', stack, token=token)
    assert ended(stack, token) == 'DELETE_COMPLETE'


SIGNED = """
heat_template_version: 2013-05-23
resources:
  handle: {type: "OS::Heat::WaitConditionHandle", properties: {signal_transport: CFN_SIGNAL}}
  wait: {type: "OS::Heat::WaitCondition", properties: {handle: {get_resource: handle}, timeout: 60}}
"""


def test_signed_addresses_take_signals(demo):
    url, token = demo
    status, _, made = send('POST', f'{url}/stacks', {'stack_name': 'signed', 'template': SIGNED}, token)
    assert status == 201, made
    stack = f"{url}/stacks/signed/{made['stack']['id']}"

    def signal():
        found = send('GET', f'{stack}/resources/handle', token=token)[2]['resource']
        return found['attributes']['signal'] if found['resource_status'] == 'CREATE_COMPLETE' else None

    signed = json.loads(eventually('the address', signal))['alarm_url']
    request = urllib.request.Request(signed, method='PUT', data=b'{"status": "SUCCESS", "data": "done"}',
                                     headers={'Content-Type': 'application/json'})
    with OPENER.open(request, timeout=60) as answer:
        assert answer.status == 200
    assert ended(stack, token) == 'CREATE_COMPLETE'
    send('DELETE', stack, token=token)
    assert ended(stack, token) == 'DELETE_COMPLETE'


WAITING = """
heat_template_version: 2013-05-23
resources:
  handle: {type: "OS::Heat::WaitConditionHandle", properties: {signal_transport: TEMP_URL_SIGNAL}}
  wait: {type: "OS::Heat::WaitCondition", properties: {handle: {get_resource: handle}, timeout: 60, count: 3}}
  address: {type: "OS::Heat::Value", properties: {value: {get_attr: [handle, signal]}}}
outputs:
  data: {value: {get_attr: [wait, data]}}
"""


def test_signals_put_to_an_object_count_once(demo):
    url, token = demo
    status, _, made = send('POST', f'{url}/stacks', {'stack_name': 'objects', 'template': WAITING}, token)
    assert status == 201, made
    stack = f"{url}/stacks/objects/{made['stack']['id']}"

    def resource(name, state):
        found = send('GET', f'{stack}/resources/{name}', token=token)[2]['resource']
        return found if found['resource_status'] == state else None

    told = eventually('the address', lambda: resource('address', 'CREATE_COMPLETE'))['attributes']['value']
    eventually('the wait', lambda: resource('wait', 'CREATE_IN_PROGRESS'))
    send('PUT', json.loads(told)['alarm_url'], {'data': 'a'})
    time.sleep(4)                       # some looks
    assert resource('wait', 'CREATE_IN_PROGRESS')
    for data in ('b', 'c'):
        send('PUT', json.loads(told)['alarm_url'], {'data': data})
    assert ended(stack, token) == 'CREATE_COMPLETE', send('GET', stack, token=token)[2]['stack']
    [output] = send('GET', stack, token=token)[2]['stack']['outputs']
    assert json.loads(output['output_value']) == {'1': 'a', '2': 'b', '3': 'c'}
    events = send('GET', f'{stack}/resources/handle/events', token=token)[2]['events']
    assert len([each for each in events if each['resource_status'].startswith('SIGNAL')]) == 3
    send('DELETE', stack, token=token)
    assert ended(stack, token) == 'DELETE_COMPLETE'


DEPLOYED = """
heat_template_version: 2014-10-16
resources:
  server: {type: "OS::Heat::DeployedServer"}
  config: {type: "OS::Heat::SoftwareConfig", properties: {config: "%s", outputs: [{name: out}]}}
  it: {type: "OS::Heat::SoftwareDeployment", properties: {
    config: {get_resource: config}, server: {get_resource: server}, signal_transport: TEMP_URL_SIGNAL}}
outputs:
  out: {value: {get_attr: [it, out]}}
"""


def test_each_deployment_waits_for_a_result_of_its_own(demo):
    """All deployments of a resource have one object for their results."""
    url, token = demo
    status, _, made = send('POST', f'{url}/stacks', {'stack_name': 'deployed', 'template': DEPLOYED % 'one'}, token)
    assert status == 201, made
    stack = f"{url}/stacks/deployed/{made['stack']['id']}"

    def deployment(action):
        found = [each for each in send('GET', f'{url}/software_deployments', token=token)[2]['software_deployments']
                 if (each['action'], each['status']) == (action, 'IN_PROGRESS')]
        return found[0] if found else None

    def answer(found, result):
        config = send('GET', f"{url}/software_configs/{found['config_id']}", token=token)[2]['software_config']
        address = {each['name']: each['value'] for each in config['inputs']}['deploy_signal_id']
        send('PUT', address, {'out': result, 'deploy_status_code': 0})

    def result():
        return send('GET', stack, token=token)[2]['stack']['outputs'][0]['output_value']

    answer(eventually('the first deployment', lambda: deployment('CREATE')), 'first')
    assert ended(stack, token) == 'CREATE_COMPLETE', send('GET', stack, token=token)[2]['stack']
    assert result() == 'first'
    status, _, body = send('PUT', stack, {'template': DEPLOYED % 'two'}, token)
    assert status == 202, body
    found = eventually('the second deployment', lambda: deployment('UPDATE'))
    time.sleep(4)                       # some looks
    assert deployment('UPDATE') is not None
    answer(found, 'second')
    assert ended(stack, token) == 'UPDATE_COMPLETE', send('GET', stack, token=token)[2]['stack']
    assert result() == 'second'
    send('DELETE', stack, token=token)
    assert ended(stack, token) == 'DELETE_COMPLETE'


DECLARED = """
AWSTemplateFormatVersion: 2010-09-09
Resources:
  seen: {Type: "OS::Heat::TestResource", Metadata: {a: b}}
  hidden: {Type: "OS::Heat::TestResource"}
  policy: {Type: "OS::Heat::AccessPolicy", Properties: {AllowedResources: [seen]}}
  watcher: {Type: "AWS::IAM::User", Properties: {Policies: [{Ref: policy}]}}
  anybody: {Type: "AWS::IAM::User", Properties: {LoginProfile: {Password: a-Secret1}}}
  watcher_key: {Type: "AWS::IAM::AccessKey", Properties: {UserName: {Ref: watcher}}}
  anybody_key: {Type: "AWS::IAM::AccessKey", Properties: {UserName: {Ref: anybody}}}
Outputs:
  watcher: {Value: {Ref: watcher_key}}
  watcher_secret: {Value: {"Fn::GetAtt": [watcher_key, SecretAccessKey]}}
  anybody: {Value: {Ref: anybody_key}}
  anybody_secret: {Value: {"Fn::GetAtt": [anybody_key, SecretAccessKey]}}
"""


def test_a_declared_user_reads_what_its_policies_allow(service, login, demo):
    url, token = demo
    status, _, made = send('POST', f'{url}/stacks', {'stack_name': 'declared', 'template': DECLARED}, token)
    assert status == 201, made
    stack = f"{url}/stacks/declared/{made['stack']['id']}"
    assert ended(stack, token) == 'CREATE_COMPLETE', send('GET', stack, token=token)[2]['stack']
    told = {each['output_key']: each['output_value'] for each in send('GET', stack, token=token)[2]['stack']['outputs']}

    def ask(who, resource):
        return signed_get(login[0]['cloudformation'], told[who], told[f'{who}_secret'], {
            'Action': 'DescribeStackResource', 'StackName': 'declared', 'LogicalResourceId': resource})

    assert [ask('watcher', each) for each in ('seen', 'hidden', 'nothing')] == [200, 403, 403]
    assert [ask('anybody', each) for each in ('seen', 'hidden')] == [200, 200]
    send('DELETE', stack, token=token)
    assert ended(stack, token) == 'DELETE_COMPLETE'
    assert ask('anybody', 'seen') == 403


def signed_get(base, access, secret, query):
    """The status of the answer of the CFN API."""
    place = urllib.parse.urlsplit(f'{base}/')
    query = {**query, 'ContentType': 'JSON', 'AWSAccessKeyId': access, 'SignatureMethod': 'HmacSHA256',
             'SignatureVersion': '2', 'Timestamp': datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')}
    signature = ec2_utils.Ec2Signer(secret).generate(
        {'host': place.netloc, 'verb': 'GET', 'path': place.path, 'params': query})
    return send('GET', f'{base}/?{urllib.parse.urlencode({**query, "Signature": signature})}')[0]


def lists_of_networking(service):
    asked = send('GET', f'{service[1]}/_sim/requests?limit=1000')[2]['last']
    return [path for name, method, path, *_ in asked if (name, method) == ('network', 'GET') and path.count('/') == 2]


def test_servers_come_and_go(service, demo):
    url, token = demo
    before = len(lists_of_networking(service))
    template = (ROOT / 'examples' / 'servers.yaml').read_text()
    status, _, made = send('POST', f'{url}/stacks', {'stack_name': 'pair', 'template': template}, token)
    assert status == 201, made
    stack = f"{url}/stacks/pair/{made['stack']['id']}"
    assert ended(stack, token) == 'CREATE_COMPLETE', send('GET', stack, token=token)[2]['stack']
    assert in_the_cloud(service, 'compute.servers') == 2
    # The public network is looked up by its name; what the stack itself has made has an id.
    looked_up = set(lists_of_networking(service)[before:])
    assert '/v2.0/networks' in looked_up and not {'/v2.0/subnets', '/v2.0/routers'} & looked_up
    assert send('DELETE', stack, token=token)[0] == 204
    assert ended(stack, token) == 'DELETE_COMPLETE'
    assert in_the_cloud(service, 'compute.servers') == 0


REMOTE = """
heat_template_version: 2013-05-23
resources:
  there:
    type: OS::Heat::Stack
    properties:
      context: %s
      template: {get_file: there.yaml}
outputs:
  value:
    value: {get_attr: [there, outputs, value]}
"""
THERE = """
heat_template_version: 2013-05-23
resources:
  r: {type: OS::Heat::TestResource, properties: {value: made there}}
outputs:
  value: {value: {get_attr: [r, output]}}
"""


def remote(demo, name, context, there=THERE):
    return send('POST', f'{demo[0]}/stacks', {
        'stack_name': name, 'template': REMOTE % json.dumps(context), 'files': {'there.yaml': there}}, demo[1])


@pytest.mark.parametrize('context, there, text', [
    ({'region_name': 'NoSuchRegion'}, THERE,
     'Cannot establish connection to Heat endpoint at region "NoSuchRegion" due to '
     '"public endpoint for orchestration service in NoSuchRegion region not found"'),
    ({'region_name': 'RegionOne'}, THERE.replace('resources', 'resource'),
     'Failed validating stack template using Heat endpoint at region "RegionOne" due to '
     '"ERROR: The template section is invalid: resource"'),
    ({'region_name': 'RegionOne', 'credential_secret_id': 'nowhere'}, THERE,
     'Cannot establish connection to Heat endpoint at region "RegionOne" due to '
     '"The Secret (nowhere) could not be found."'),
], ids=['region', 'template', 'credential'])
def test_a_remote_stack_that_cannot_be_made_is_refused_at_once(demo, context, there, text):
    status, _, body = remote(demo, 'refused', context, there)
    assert (status, body['error']['message']) == (400, text)


def test_a_remote_stack_with_a_login_of_its_own(login, demo, service):
    catalogue, token = login
    other = {'auth_type': 'v3password', 'auth': {
        'auth_url': f'{service[1]}/v3', 'username': 'admin', 'password': 'secret', 'user_domain_id': 'default',
        'project_name': 'admin', 'project_domain_id': 'default'}}
    secrets = f"{catalogue['key-manager'].removesuffix('/v1')}/v1/secrets"
    status, _, made = send('POST', secrets, {
        'name': 'login', 'payload': json.dumps(other), 'payload_content_type': 'text/plain'}, token)
    assert status == 201, made
    status, _, made = remote(demo, 'remote', {
        'region_name': 'RegionOne', 'credential_secret_id': made['secret_ref'].rpartition('/')[2]})
    assert status == 201, made
    stack = f"{demo[0]}/stacks/remote/{made['stack']['id']}"
    assert ended(stack, token) == 'CREATE_COMPLETE', send('GET', stack, token=token)[2]['stack']
    shown = send('GET', stack, token=token)[2]['stack']
    assert [each['output_value'] for each in shown['outputs']] == ['made there']
    listed = send('GET', f'{demo[0]}/stacks', token=token)[2]['stacks']
    assert 'remote' in [each['stack_name'] for each in listed]
    # It belongs to another project: demo does not see it among his own.
    assert not [each for each in listed if each['stack_name'].startswith('remote-')]
    assert send('DELETE', stack, token=token)[0] == 204
    assert ended(stack, token) == 'DELETE_COMPLETE'


@pytest.mark.parametrize('environment', [
    {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': 'http://127.0.0.1:1/v1/admin'},         # what this program prints
    {'OS_AUTH_TYPE': 'v3token', 'OS_TOKEN': 'old'},
    {'OS_CLOUD': 'elsewhere'},
    {'OS_PROJECT_ID': 'elsewhere', 'OS_DOMAIN_NAME': 'elsewhere'},
], ids=lambda environment: ' '.join(environment))
def test_a_shell_with_another_login_does_not_matter(tmp_path, environment):
    program = Program(tmp_path / 'log', '--state-dir', tmp_path / 'state', '--port', '0', '--cloud', 'simulated',
                      module='heatlite.cmd.all_in_one', **environment)
    try:
        url = program.process.stdout.readline().split()[-1] + '/v1/admin'
        status, _, body = send('POST', f'{url}/stacks', {'stack_name': 'net', 'template': {
            'heat_template_version': '2021-04-16', 'resources': {'net': {'type': 'OS::Neutron::Net'}}}})
        assert status == 201, body
        stack = body['stack']['links'][0]['href']
        assert ended(stack, None) == 'CREATE_COMPLETE', send('GET', stack)[2]
    finally:
        program.kill()
