"""Stack sets over HTTP: members in the region of the set and, with logins of their own, in another project."""

import json

import pytest

from tests.api import conforming
from tests.system.processes import eventually
from tests.system.test_simulated import ended, login, send, service  # noqa: F401 - fixtures

TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  text: {type: string, default: common}
  fails: {type: boolean, default: false}
resources:
  one: {type: OS::Heat::TestResource, properties: {value: {get_param: text}, fail: {get_param: fails}}}
outputs:
  text: {value: {get_attr: [one, output]}}
"""


@pytest.fixture(scope='module')
def secrets(login, service):        # noqa: F811
    """Ids of secrets with logins: three of the project admin, then one with a wrong password."""
    catalogue, token = login

    def made(password):
        payload = {'auth_type': 'v3password', 'auth': {
            'auth_url': f'{service[1]}/v3', 'username': 'admin', 'password': password, 'user_domain_id': 'default',
            'project_name': 'admin', 'project_domain_id': 'default'}}
        status, _, found = send('POST', f"{catalogue['key-manager'].removesuffix('/v1')}/v1/secrets", {
            'name': 'login', 'payload': json.dumps(payload), 'payload_content_type': 'text/plain'}, token)
        assert status == 201, found
        return found['secret_ref'].rpartition('/')[2]
    return [made('secret'), made('secret'), made('secret'), made('wrong')]


def _route(path):
    parts = path.split('/')[1:]
    names = ['{stack_set}' if place == 0 and part != 'preview' else '{number}' if place == 2 else part
             for place, part in enumerate(parts)]
    return '/'.join(['/{tenant_id}/stack_sets', *names])


class Sets:
    def __init__(self, url, token):
        self.url, self.token = f'{url}/stack_sets', token

    def __call__(self, method, path='', body=None, status=200):
        found = send(method, f'{self.url}{path}', body, self.token)
        assert found[0] == status, found[2]
        kind = (found[1].get('Content-Type') or '').partition(';')[0]
        conforming.check(method, _route(path), status, kind, b'' if found[2] is None else json.dumps(found[2]).encode())
        return found[2]

    def ended(self, name):
        def state():
            found = self('GET', f'/{name}')['stack_set']
            return None if found['status'].endswith('IN_PROGRESS') else found
        return eventually('the end of the operation', state)

    def states(self, name):
        return {each['name']: each['state'] for each in self('GET', f'/{name}/members')['members']}


@pytest.fixture(scope='module')
def sets(login):                    # noqa: F811
    return Sets(login[0]['orchestration'], login[1])


def members(secrets, *names):
    """`own`: in the project of the set; a number: with the login of that secret."""
    return [{'name': 'own'} if name == 'own' else {
        'name': f'other-{name}', 'region_name': 'RegionOne', 'credential_secret_id': secrets[name]} for name in names]


@pytest.mark.thorough
def test_the_life_of_a_set(sets, secrets, login):      # noqa: F811
    body = {'name': 'life', 'template': TEMPLATE, 'members': members(secrets, 'own', 0, 1),
            'parameters': {'text': 'all'}, 'overrides': {'other-1': {'text': 'one'}}, 'max_concurrent': '50%'}
    made = sets('POST', '/preview', body)['preview']
    assert made['summary'] == {'create': 3}
    sets('POST', '', body, 201)
    found = sets.ended('life')
    assert (found['status'], found['members']) == ('CREATE_COMPLETE', {'current': 3}), sets('GET', '/life/members')
    listed = sets('GET', '/life/members')['members']
    assert [(each['name'], each['wave'], each['region_name']) for each in listed] == [
        ('own', 1, None), ('other-0', 2, 'RegionOne'), ('other-1', 3, 'RegionOne')]
    assert 'life' in [each['name'] for each in sets('GET')['stack_sets']]
    sets('POST', '', body, 409)
    drift = sets('POST', '/life/drift')['drift']
    assert (drift['is_drifted'], drift['summary']) == (False, {'same': 3})
    change = {'parameters': {'text': 'new'}}
    assert sets('POST', '/life/preview', change)['preview']['summary'] == {'update': 2, 'none': 1}
    sets('PATCH', '/life', change, 202)
    assert sets.ended('life')['members'] == {'current': 3}
    outcomes = sets('GET', '/life/operations/2')['operation']['members']
    assert [(each['name'], each['action'], each['status']) for each in outcomes] == [
        (name, 'UPDATE', 'COMPLETE') for name in ('other-0', 'own')]
    assert [(each['number'], each['outcome'], each['author']) for each in sets('GET', '/life/operations')[
        'operations']] == [(2, 'COMPLETE', 'demo'), (1, 'COMPLETE', 'demo')]
    sets('PATCH', '/life', {'on_removal': 'keep', 'members': members(secrets, 'own', 0)}, 400)
    for method, path in (('POST', '/life/preview'), ('PATCH', '/life')):
        sets(method, path, {'failure_tolerance': 3}, 400)
    sets('PATCH', '/life', {'on_removal': 'keep'}, 202)
    sets.ended('life')
    sets('PATCH', '/life', {'members': members(secrets, 'own', 0), 'overrides': {}}, 202)
    assert sets.ended('life')['members'] == {'current': 2}
    sets('PATCH', '/life', {'on_removal': 'delete'}, 202)
    sets.ended('life')
    sets('DELETE', '/life', status=204)
    eventually('the end of the stack', lambda: not [each for each in send(
        'GET', f"{login[0]['orchestration']}/stacks", token=sets.token)[2]['stacks']
        if each['stack_name'].startswith('life')])
    sets('GET', '/life', status=404)


def test_failures_within_the_tolerance_and_another_try(sets, secrets):
    sets('POST', '', {'name': 'tolerant', 'template': TEMPLATE, 'members': members(secrets, 'own', 3, 0),
                      'failure_tolerance': 1}, 201)
    found = sets.ended('tolerant')
    assert found['status'] == 'CREATE_COMPLETE'
    assert sets.states('tolerant') == {'own': 'current', 'other-3': 'failed', 'other-0': 'current'}
    assert 'Keystone refuses the login' in next(
        each['status_reason'] for each in sets('GET', '/tolerant/members')['members'] if each['state'] == 'failed')
    sets('PATCH', '/tolerant', {'failure_tolerance': 0}, 202)
    found = sets.ended('tolerant')
    assert found['status'] == 'UPDATE_FAILED' and 'other-3' in found['status_reason']
    sets('PATCH', '/tolerant', {'members': members(secrets, 'own', 1, 0)}, 202)
    assert sets.ended('tolerant')['members'] == {'current': 3}
    sets('DELETE', '/tolerant', status=204)


def test_one_failure_too_many_stops_the_set(sets, secrets):
    sets('POST', '', {'name': 'strict', 'template': TEMPLATE, 'members': members(secrets, 3, 'own', 0)}, 201)
    assert sets.ended('strict')['status'] == 'CREATE_FAILED'
    assert sets.states('strict') == {'other-3': 'failed', 'own': 'pending', 'other-0': 'pending'}
    sets('DELETE', '/strict', status=204)


def test_regions_by_query(sets):
    body = {'name': 'regions', 'template': TEMPLATE, 'member_query': {'regions': 'all'}}
    assert [each['name'] for each in sets('POST', '/preview', body)['preview']['members']] == ['RegionOne']
    body['member_query']['except'] = ['Nowhere']
    assert 'no region Nowhere' in sets('POST', '/preview', body, 400)['error']['message']
    body['member_query']['except'] = ['RegionOne']
    assert 'finds no region' in sets('POST', '', body, 400)['error']['message']


class Keystone:
    """The one of the simulated cloud. `administer`: as its administrator."""

    def __init__(self, url):
        self.url = f'{url}/v3'
        self._token = self.log_in('admin', {'name': 'admin', 'domain': {'id': 'default'}})[0]
        self.user = self.administer('GET', '/users?name=demo')['users'][0]['id']
        self.member = self.administer('GET', '/roles?name=member')['roles'][0]['id']

    def log_in(self, user, project):
        """(token, what Keystone says of it)."""
        status, headers, found = send('POST', f'{self.url}/auth/tokens', {'auth': {
            'identity': {'methods': ['password'], 'password': {
                'user': {'name': user, 'domain': {'id': 'default'}, 'password': 'secret'}}},
            'scope': {'project': project}}})
        assert status == 201, found
        return headers['X-Subject-Token'], found['token']

    def administer(self, method, path, body=None):
        status, _, found = send(method, self.url + path, body, self._token)
        assert status < 300, found
        return found

    def project(self, name, is_demos=True, **more):
        made = self.administer('POST', '/projects', {'project': {'name': name, 'domain_id': 'default', **more}})
        if is_demos:
            self.grant(made['project']['id'])
        return made['project']['id']

    def grant(self, project, method='PUT'):
        self.administer(method, f'/projects/{project}/users/{self.user}/roles/{self.member}')


@pytest.fixture(scope='module')
def keystone(service):              # noqa: F811
    return Keystone(service[1])


@pytest.fixture(scope='module')
def projects(keystone):
    """Name -> id: blue and red (tagged) are demo's, foreign is not."""
    return {'blue': keystone.project('blue', tags=['colour']), 'red': keystone.project('red', tags=['colour', 'warm']),
            'foreign': keystone.project('foreign', is_demos=False, tags=['colour'])}


def queried(sets, query, status=200):
    found = sets('POST', '/preview', {'name': 'query', 'template': TEMPLATE, 'member_query': query}, status)
    return sorted(each['name'] for each in found['preview']['members']) if status == 200 else found['error']['message']


def test_projects_by_query_are_those_of_the_caller(sets, projects):
    assert queried(sets, {'projects': 'all'}) == ['blue', 'demo', 'red']
    assert queried(sets, {'projects': {'tags': ['colour']}}) == ['blue', 'red']
    assert queried(sets, {'projects': {'tags': ['colour', 'warm']}}) == ['red']
    assert queried(sets, {'projects': {'parent_id': 'default', 'except': [projects['blue']]}}) == ['demo', 'red']
    assert queried(sets, {'projects': {'tags': ['colour']}, 'regions': 'all'}) == ['blue.RegionOne', 'red.RegionOne']
    assert 'finds no project' in queried(sets, {'projects': {'domain_id': 'another'}}, 400)
    assert 'finds no project' in queried(sets, {'projects': {'parent_id': projects['foreign']}}, 400)


def test_the_life_of_a_set_of_projects(sets, projects, keystone, login):        # noqa: F811
    base = login[0]['orchestration'].rpartition('/')[0]
    tokens = {name: keystone.log_in('demo', {'id': projects[name]})[0] for name in ('blue', 'red')}

    def stacks(name):
        status, _, found = send('GET', f'{base}/{projects[name]}/stacks', token=tokens[name])
        assert status == 200, found
        return [each['stack_name'] for each in found['stacks']]

    sets('POST', '', {'name': 'projects', 'template': TEMPLATE, 'member_query': {'projects': {'tags': ['colour']}},
                      'overrides': {'red': {'text': 'warm'}}}, 201)
    assert sets.ended('projects')['members'] == {'current': 2}, sets('GET', '/projects/members')
    assert {each['name']: each['project_id'] for each in sets('GET', '/projects/members')['members']} == {
        name: projects[name] for name in ('blue', 'red')}
    assert all(len(stacks(name)) == 1 and stacks(name)[0].startswith('projects-set-') for name in ('blue', 'red'))
    assert sets('POST', '/projects/drift')['drift']['summary'] == {'same': 2}
    change = {'parameters': {'text': 'cold'}}
    assert sets('POST', '/projects/preview', change)['preview']['summary'] == {'update': 1, 'none': 1}
    sets('PATCH', '/projects', change, 202)
    assert sets.ended('projects')['members'] == {'current': 2}, sets('GET', '/projects/members')
    keystone.grant(projects['blue'], 'DELETE')
    try:
        again = {'member_query': {'projects': {'tags': ['colour']}}}
        sets('PATCH', '/projects', again, 202)
        found = sets.ended('projects')
        assert found['status'] == 'UPDATE_FAILED' and found['members'] == {'current': 1, 'failed': 1}
    finally:
        keystone.grant(projects['blue'])
    tokens['blue'] = keystone.log_in('demo', {'id': projects['blue']})[0]
    assert len(stacks('blue')) == 1
    sets('PATCH', '/projects', {}, 202)
    assert sets.ended('projects')['members'] == {'current': 1} and not stacks('blue')
    sets('DELETE', '/projects', status=204)
    eventually('the end of the stack', lambda: not stacks('red'))


def test_a_set_inside_a_nested_template(projects, keystone, login):        # noqa: F811
    """It acts by the token of the request for the stack around it."""
    url, token = login[0]['orchestration'], login[1]
    inner = {'heat_template_version': '2018-08-31', 'parameters': {'text': {'type': 'string'}}, 'resources': {
        'everywhere': {'type': 'OS::Heatlite::StackSet', 'properties': {
            'members': [{'name': name, 'project_id': projects[name]} for name in ('blue', 'red')],
            'template': TEMPLATE, 'parameters': {'text': {'get_param': 'text'}}}}}}

    def body(text):
        return {'files': {'inner.yaml': json.dumps(inner)}, 'template': {
            'heat_template_version': '2018-08-31', 'resources': {
                'within': {'type': 'inner.yaml', 'properties': {'text': text}}}}}

    def inside(name):
        there = f"{url.rpartition('/')[0]}/{projects[name]}/stacks"
        other = keystone.log_in('demo', {'id': projects[name]})[0]
        return [send('GET', f"{there}/{each['stack_name']}/{each['id']}", token=other)[2]['stack']['outputs'][0][
            'output_value'] for each in send('GET', there, token=other)[2]['stacks']]

    status, _, made = send('POST', f'{url}/stacks', {'stack_name': 'around', **body('one')}, token)
    assert status == 201, made
    stack = f"{url}/stacks/around/{made['stack']['id']}"
    assert ended(stack, token) == 'CREATE_COMPLETE', send('GET', stack, token=token)[2]
    assert inside('blue') == inside('red') == ['one']
    assert send('PUT', stack, body('two'), token)[0] == 202
    assert ended(stack, token) == 'UPDATE_COMPLETE', send('GET', stack, token=token)[2]
    assert inside('blue') == inside('red') == ['two']
    send('DELETE', stack, token=token)
    assert ended(stack, token) == 'DELETE_COMPLETE'
    assert inside('blue') == inside('red') == []


def test_a_project_without_a_role_is_out_of_reach(sets, projects, keystone):
    """By a list of members: its stack fails, and nothing is there."""
    body = {'name': 'foreign', 'template': TEMPLATE, 'failure_tolerance': 1,
            'members': [{'name': 'own'}, {'name': 'foreign', 'project_id': projects['foreign']}]}
    assert {each['name']: each['reason'] is None for each in sets('POST', '/preview', body)['preview'][
        'members']} == {'own': True, 'foreign': False}
    sets('POST', '', body, 201)
    sets.ended('foreign')
    assert sets.states('foreign') == {'own': 'current', 'foreign': 'failed'}
    sets('DELETE', '/foreign', status=204)
    body['members'][1]['credential_secret_id'], body['name'] = 'x', 'both'
    assert 'give no project_id' in sets('POST', '', body, 400)['error']['message']


@pytest.mark.parametrize('change, text', [
    ({'members': [{'region_name': 'Nowhere'}]}, 'the region "Nowhere" cannot be reached'),
    ({'members': [{'name': 'a'}, {'name': 'a', 'region_name': 'RegionOne'}]}, 'two members of the name a'),
    ({'members': [{'name': 'a'}, {'name': 'b'}]}, 'Members a and b of the stack set are in the same place'),
    ({'members': [{}]}, 'neither a name nor a region'),
    ({'members': [{'name': f'm{number}'} for number in range(201)]}, '1 to 200 members'),
    ({'members': [{'name': 'a', 'project': 'p'}]}, 'A member of a stack set does not have: project'),
    ({'members': None}, 'needs members or a member_query'),
    ({'member_query': {'regions': 'all'}}, 'either members or a member_query'),
    ({'failure_tolerance': '100%'}, 'failure_tolerance'),
    ({'failure_tolerance': 1}, '1 of 1 members may not all fail'),
    ({'max_concurrent': 0}, 'max_concurrent'),
    ({'region_order': ['RegionTwo']}, 'no member in RegionTwo'),
    ({'overrides': {'b': {}}}, 'no member b'),
    ({'overrides': {'own': 1}}, 'a map of parameters'),
    ({'on_removal': 'sell'}, 'on_removal'),
    ({'members': [{'name': f'm{number}', 'credential_secret_id': f's{number}'} for number in range(200)],
      'parameters': {'text': 'x' * 100_000}}, 'it may have 16777216'),
    ({'environment': {'parameter_defaults': {'text': 'x'}}}, 'parameter_defaults'),
    ({'colour': 'red'}, 'A stack set does not have: colour')], ids=[
        'region', 'name-twice', 'place-twice', 'no-name', 'too-many', 'key-of-member', 'no-members', 'both',
        'all-may-fail', 'one-of-one', 'no-wave', 'order', 'override', 'override-kind', 'removal', 'size',
        'environment', 'key'])
def test_wrong_requests(sets, change, text):
    body = {'name': 'wrong', 'template': TEMPLATE, 'members': [{'name': 'own'}], **change}
    for path in ('/preview', ''):
        assert text in sets('POST', path, body, 400)['error']['message']
    sets('GET', '/wrong', status=404)


def test_a_stack_is_no_set_and_a_set_in_progress_takes_no_update(sets, secrets, login):      # noqa: F811
    stacks = f"{login[0]['orchestration']}/stacks"
    slow = TEMPLATE.replace('fail: {', 'action_wait_secs: {create: 600}, fail: {')
    status, _, made = send('POST', stacks, {'stack_name': 'plain', 'template': TEMPLATE}, sets.token)
    assert status == 201
    for path in ('/plain', f"/{made['stack']['id']}", '/plain/members', '/plain/operations', '/nowhere'):
        sets('GET', path, status=404)
    sets('POST', '', {'name': 'slow', 'template': slow, 'members': members(secrets, 'own', 0)}, 201)
    sets('PATCH', '/slow', {}, 409)
    eventually('the first wave', lambda: sets.states('slow') == {'own': 'running', 'other-0': 'pending'})
    sets('POST', '/slow/stop', status=202)
    assert sets.ended('slow')['status'] == 'CREATE_FAILED'
    sets('DELETE', '/slow', status=204)
    send('DELETE', f"{stacks}/plain/{made['stack']['id']}", token=sets.token)


def test_hidden_values_are_masked(sets):
    hidden = TEMPLATE.replace('default: common}', 'default: common, hidden: true}')
    sets('POST', '', {'name': 'hidden', 'template': hidden, 'members': [{'name': 'own'}],
                      'parameters': {'text': 'a-Secret'}}, 201)
    shown = sets.ended('hidden')
    assert (shown['status'], shown['parameters']) == ('CREATE_COMPLETE', {'text': '******'})
    assert shown['members'] == {'current': 1}
    sets('DELETE', '/hidden', status=204)
