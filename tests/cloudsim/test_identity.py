"""Keystone: logging in by every way we use, the catalog, roles, trusts."""

import pytest
import requests
from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3

TYPES = {'identity', 'image', 'network', 'compute', 'block-storage', 'volumev3', 'object-store', 'load-balancer', 'dns',
         'key-manager', 'alarming', 'messaging', 'workflowv2', 'shared-file-system', 'container-infra', 'database',
         'baremetal', 'container', 'reservation'}


def test_a_token_brings_the_catalog(sim):
    own = sim.session()
    found = own.auth.get_access(own).service_catalog
    assert {each['type'] for each in found.catalog} >= TYPES
    assert found.url_for(service_type='compute', interface='public') == f'{sim.url}/compute/v2.1'
    project = own.get_project_id()
    assert found.url_for(service_type='block-storage', interface='internal') == f'{sim.url}/volume/v3/{project}'


def test_a_wrong_password_is_refused(sim):
    auth = v3.Password(f'{sim.url}/v3', username='demo', password='wrong', user_domain_id='default')
    with pytest.raises(exceptions.Unauthorized):
        session.Session(auth).get_token()


def test_a_project_without_a_role_is_refused(sim):
    auth = v3.Password(f'{sim.url}/v3', username='demo', password='secret', user_domain_id='default',
                       project_name='admin', project_domain_id='default')
    with pytest.raises(exceptions.Unauthorized):
        session.Session(auth).get_token()


def test_no_token_no_answer(sim):
    answer = requests.get(f'{sim.url}/compute/v2.1/servers', timeout=30)
    assert answer.status_code == 401
    assert 'WWW-Authenticate' in answer.headers


def test_versions_need_no_token(sim):
    assert requests.get(f'{sim.url}/compute/v2.1', timeout=30).json()['version']['version'] == '2.100'
    assert requests.get(f'{sim.url}/identity', timeout=30).status_code == 300


def test_a_token_is_validated_and_revoked(sim):
    identity, token = sim.service('identity', 'admin'), sim.session().get_token()
    headers = {'X-Subject-Token': token}
    shown = identity.get('/v3/auth/tokens', headers=headers).json()['token']
    assert shown['user']['name'] == 'demo'
    assert {each['name'] for each in shown['roles']} >= {'member', 'reader', 'heat_stack_owner'}
    assert identity.delete('/v3/auth/tokens', headers=headers).status_code == 204
    assert identity.get('/v3/auth/tokens', headers=headers).status_code == 404


def test_a_token_ends_with_time(sim):
    token = sim.session().get_token()
    sim.advance(86401)
    answer = requests.get(f'{sim.url}/compute/v2.1/servers', headers={'X-Auth-Token': token}, timeout=30)
    assert answer.status_code == 401


def test_the_stack_domains_admin_makes_users_there(sim):
    domain = next(each['id'] for each in sim.service('identity', 'admin').get('/v3/domains').json()['domains']
                  if each['name'] == 'heat')
    own = sim.session('heat_domain_admin', user_domain_id=domain, domain_id=domain)
    body = {'user': {'name': 'in-stack', 'password': 'x', 'domain_id': domain}}
    answer = own.post('/v3/users', endpoint_filter={'service_type': 'identity'}, json=body)
    assert answer.json()['user']['domain_id'] == domain
    assert 'password' not in answer.json()['user']


def trust(sim, impersonation=True):
    """Demo trusts the service user."""
    own, service = sim.session(), sim.session('heat', project_name='service', project_domain_id='default')
    body = {'trust': {'trustor_user_id': own.get_user_id(), 'trustee_user_id': service.get_user_id(),
                      'project_id': own.get_project_id(), 'impersonation': impersonation,
                      'roles': [{'name': 'heat_stack_owner'}]}}
    answer = own.post('/v3/OS-TRUST/trusts', endpoint_filter={'service_type': 'identity'}, json=body)
    return answer.json()['trust']['id']


def trusting(sim, id):
    return session.Session(v3.Password(f'{sim.url}/v3', username='heat', password='secret', user_domain_id='default',
                                       trust_id=id))


def test_a_trust_lends_roles(sim):
    lent = trusting(sim, trust(sim))
    assert lent.get_project_id() == sim.session().get_project_id()
    assert lent.get_user_id() == sim.session().get_user_id()
    assert lent.auth.get_access(lent).role_names == ['heat_stack_owner']


def test_a_trust_that_is_gone_lends_nothing(sim):
    id = trust(sim)
    lent = trusting(sim, id)
    lent.get_token()
    filtered = {'service_type': 'identity'}
    assert sim.session().delete(f'/v3/OS-TRUST/trusts/{id}', endpoint_filter=filtered).status_code == 204
    with pytest.raises(exceptions.Unauthorized):
        lent.get('/servers', endpoint_filter={'service_type': 'compute'})


def test_an_application_credential_logs_in(sim):
    own = sim.session()
    answer = own.post(f'/v3/users/{own.get_user_id()}/application_credentials',
                      endpoint_filter={'service_type': 'identity'}, json={'application_credential': {'name': 'app'}})
    made = answer.json()['application_credential']
    app = session.Session(v3.ApplicationCredential(
        f'{sim.url}/v3', application_credential_id=made['id'], application_credential_secret=made['secret']))
    assert app.get_project_id() == own.get_project_id()
    shown = own.get(f'/v3/users/{own.get_user_id()}/application_credentials/{made["id"]}',
                    endpoint_filter={'service_type': 'identity'}).json()['application_credential']
    assert 'secret' not in shown


def test_ec2_keys_open_the_door_with_a_right_signature(sim):
    import base64
    import hashlib
    import hmac
    own = sim.session()
    key = own.post(f'/v3/users/{own.get_user_id()}/credentials/OS-EC2', endpoint_filter={'service_type': 'identity'},
                   json={'tenant_id': own.get_project_id()}).json()['credential']
    params = {'AWSAccessKeyId': key['access'], 'Action': 'ListStacks', 'SignatureMethod': 'HmacSHA256',
              'SignatureVersion': '2', 'Timestamp': sim.ask('GET', 'clock')['now']}
    query = '&'.join(f'{name}={params[name].replace(":", "%3A")}' for name in sorted(params))
    text = f'GET\n127.0.0.1\n/v1/\n{query}'
    signature = base64.b64encode(hmac.new(key['secret'].encode(), text.encode(), hashlib.sha256).digest()).decode()
    body = {'credentials': {'access': key['access'], 'host': '127.0.0.1', 'verb': 'GET', 'path': '/v1/',
                            'params': params, 'signature': signature}}
    answer = requests.post(f'{sim.url}/v3/ec2tokens', json=body, timeout=30)
    assert answer.json()['token']['project']['id'] == own.get_project_id()
    wrong = {'credentials': {**body['credentials'], 'signature': signature.swapcase()}}
    assert requests.post(f'{sim.url}/v3/ec2tokens', json=wrong, timeout=30).status_code == 401
    for seconds, status in ((890, 200), (20, 401)):
        sim.advance(seconds)
        assert requests.post(f'{sim.url}/v3/ec2tokens', json=body, timeout=30).status_code == status


def test_roles_by_user_and_by_group(sim):
    cloud = sim.connect('admin').identity
    project = cloud.create_project(name='p', domain_id='default')
    user = cloud.create_user(name='u', password='secret', domain_id='default')
    group = cloud.create_group(name='g', domain_id='default')
    cloud.add_user_to_group(user, group)
    cloud.assign_project_role_to_group(project, group, cloud.find_role('member'))
    own = sim.session('u', project_name='p', project_domain_id='default')
    assert own.auth.get_access(own).role_names == ['member', 'reader']
    assert len(list(cloud.role_assignments(group_id=group.id))) == 1
    cloud.remove_user_from_group(user, group)
    assert not cloud.check_user_in_group(user, group)


def test_ordinary_users_manage_nobody(sim):
    identity = sim.service('identity')
    assert identity.post('/v3/users', json={'user': {'name': 'x'}}).status_code == 403
    assert identity.get('/v3/projects').status_code == 403


def test_an_enabled_domain_stays(sim):
    identity = sim.service('identity', 'admin')
    domain = identity.post('/v3/domains', json={'domain': {'name': 'd'}}).json()['domain']
    assert identity.delete(f'/v3/domains/{domain["id"]}').status_code == 403
    identity.patch(f'/v3/domains/{domain["id"]}', json={'domain': {'enabled': False}})
    assert identity.delete(f'/v3/domains/{domain["id"]}').status_code == 204


def test_names_are_unique_in_their_domain(sim):
    identity = sim.service('identity', 'admin')
    assert identity.post('/v3/projects', json={'project': {'name': 'demo'}}).status_code == 409


def test_new_endpoints_reach_the_catalog(sim):
    identity = sim.service('identity', 'admin')
    service = identity.post('/v3/services', json={'service': {'type': 'lamp', 'name': 'lantern'}}).json()['service']
    identity.post('/v3/endpoints', json={'endpoint': {
        'service_id': service['id'], 'interface': 'public', 'region_id': 'RegionOne', 'url': 'http://lamps/'}})
    own = sim.session()
    own.invalidate()
    assert own.get_endpoint(service_type='lamp', interface='public') == 'http://lamps/'


def test_what_a_user_could_log_in_with_goes_with_the_user(sim):
    cloud = sim.connect('admin').identity
    user = cloud.create_user(name='u', password='secret', domain_id='default')
    made = cloud.create_credential(user_id=user.id, type='ec2', project_id=sim.session().get_project_id(),
                                   blob='{"access": "a", "secret": "s"}')
    assert made.id in {each.id for each in cloud.credentials()}
    cloud.delete_user(user)
    assert made.id not in {each.id for each in cloud.credentials()}
