"""Stack sets over projects with a real Keystone: what its tokens can do, and what they cannot."""

from __future__ import annotations

import uuid
from contextlib import ExitStack

import pytest
from keystoneauth1 import session
from keystoneauth1.identity import v3

from heatlite.engine.resource_state import physical_name
from tests.system import identities, production, service
from tests.system.identities import Person
from tests.system.processes import eventually
from tests.system.production import Production

pytestmark = [pytest.mark.service, pytest.mark.skipif(not production.is_possible(), reason=production.REASON)]

SLOW = 3                            # seconds that a member takes that waits
TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  text: {type: string, default: common}
  seconds: {type: number, default: 0}
resources:
  one: {type: OS::Heat::TestResource, properties: {
    value: {get_param: text}, action_wait_secs: {create: {get_param: seconds}}}}
outputs:
  text: {value: {get_attr: [one, output]}}
"""


class Place:
    """A cloud, and stack sets of user alpha in it. Sets that a test leaves are removed with the cloud."""

    def __init__(self, cloud: Production, cleanup: ExitStack) -> None:
        self.cloud, self._cleanup = cloud, cleanup
        self.alpha = cloud.people['alpha']
        self._roles = {each['name']: each['id'] for each in cloud.keystone.get('/roles').json()['roles']}

    def _make(self, kind, **fields):
        made = service.retry_until_available(lambda: self.cloud.keystone.post(
            f'/{kind}s', json={kind: {'name': f'{self.cloud.name}-{uuid.uuid4().hex[:6]}', **fields}}))
        found = made.json()[kind]['id']
        self._cleanup.callback(identities.remove, self.cloud.keystone, f'/{kind}s/{found}')
        return found

    def at_end(self, action):
        self._cleanup.callback(action)

    def domain(self):
        found = self._make('domain')
        self.at_end(lambda: service.retry_until_available(lambda: self.cloud.keystone.patch(
            f'/domains/{found}', json={'domain': {'enabled': False}})))
        return found

    def project(self, *owners, domain='default', tags=()):
        """The id of a new project in which `owners` are members."""
        found = self._make('project', domain_id=domain, tags=list(tags))
        for each in owners:
            self.grant(found, each)
        return found

    def grant(self, project, person, method='put'):
        service.retry_until_available(lambda: getattr(self.cloud.keystone, method)(
            f'/projects/{project}/users/{person.user_id}/roles/{self._roles["member"]}'))

    # --- as alpha -----------------------------------------------------------------------------------------

    def log_in(self):
        """The next requests have another token."""
        for name in ('token', 'session'):
            vars(self.alpha).pop(name, None)

    def end_token(self):
        """That of the requests so far, as if its time was over."""
        self.alpha.session.delete('/auth/tokens', endpoint_override=service.KEYSTONE,
                                  headers={'X-Subject-Token': self.alpha.token})
        self.log_in()

    def sets(self, method, path='', body=None, status=200, token=None):
        answer = self.cloud.ask(self.alpha, method, f'/stack_sets{path}', body,
                                headers={'X-Auth-Token': token} if token else None)
        assert answer.status == status, answer.text
        return answer.json if answer.body else None

    def create(self, name, members=None, status=201, token=None, **more):
        return self.sets('POST', '', {'name': name, 'template': TEMPLATE, **more, **(
            {} if members is None else {'members': [{'name': key, 'project_id': each} for key, each in members.items()]}
        )}, status, token)

    def ended(self, name):
        def state():
            found = self.sets('GET', f'/{name}')['stack_set']
            return None if found['status'].endswith('IN_PROGRESS') else found
        return eventually('the end of the operation', state)

    def members(self, name):
        return {each['name']: each for each in self.sets('GET', f'/{name}/members')['members']}

    def states(self, name):
        return {key: each['state'] for key, each in self.members(name).items()}

    def stacks(self, project, person=None):
        """{name: id} of the stacks in a project, as one of its members sees them."""
        who = person or self.alpha
        there = Person(who.name, who.user_id, project)
        return {each['stack_name']: each['id'] for each in self.cloud.ask(there, 'GET', '/stacks').json['stacks']}

    def delete(self, name, *projects):
        self.sets('DELETE', f'/{name}', status=204)
        eventually('the end of the set', lambda: self.cloud.ask(
            self.alpha, 'GET', f'/stack_sets/{name}').status == 404)
        assert not any(self.stacks(each) for each in projects)
        self.no_tokens()

    def no_tokens(self):
        """The token of a request is stored no longer than its action lasts."""
        eventually('the end of the stored tokens', lambda: not [
            token for token, in self.cloud.rows('SELECT token FROM credentials') if token])


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    with Production(tmp_path_factory.mktemp('cloud')) as cloud, ExitStack() as cleanup:
        yield Place(cloud, cleanup)


def test_the_life_of_a_set_of_projects(place):
    tag = f'tag-{place.cloud.name}'
    one, two = (place.project(place.alpha, tags=[tag]) for _ in range(2))
    place.project(tags=[tag])                   # of somebody else
    query = {'projects': {'tags': [tag]}}
    place.create('life', member_query=query)
    found = place.ended('life')
    assert (found['status'], found['members']) == ('CREATE_COMPLETE', {'current': 2}), place.members('life')
    assert len(place.stacks(one)) == len(place.stacks(two)) == 1
    place.no_tokens()
    assert place.sets('POST', '/life/drift')['drift']['summary'] == {'same': 2}
    place.log_in()
    third = place.project(place.alpha, tags=[tag])
    place.sets('PATCH', '/life', {'member_query': query, 'parameters': {'text': 'new'}}, 202)
    assert place.ended('life')['members'] == {'current': 3}, place.members('life')
    place.delete('life', one, two, third)


def test_projects_of_another_domain(place):
    """The query finds them where the caller has a role, and only there."""
    domain = place.domain()
    theirs, shared = place.project(domain=domain), place.project(domain=domain)
    query = {'projects': {'domain_id': domain}}
    refused = place.create('domains', member_query=query, status=400)
    assert 'finds no project' in refused['error']['message']
    place.grant(shared, place.alpha)
    place.log_in()
    place.create('domains', member_query=query)
    assert place.ended('domains')['members'] == {'current': 1}, place.members('domains')
    assert [each['project_id'] for each in place.members('domains').values()] == [shared] != [theirs]
    place.delete('domains', shared)


def test_a_project_without_a_role(place):
    mine, theirs = place.project(place.alpha), place.project()
    place.create('roles', {'theirs': theirs, 'mine': mine}, failure_tolerance=1)
    assert place.ended('roles')['status'] == 'CREATE_COMPLETE'
    assert place.states('roles') == {'theirs': 'failed', 'mine': 'current'}
    assert 'its user has no role there' in place.members('roles')['theirs']['status_reason']
    place.delete('roles', mine)


def test_a_token_that_ends_between_two_waves(place):
    one, two = place.project(place.alpha), place.project(place.alpha)
    place.create('short', {'one': one, 'two': two}, parameters={'seconds': SLOW})
    made = eventually('the stack of the first member', lambda: place.stacks(one))
    assert place.states('short') == {'one': 'running', 'two': 'pending'}
    place.end_token()
    found = place.ended('short')
    assert found['status'] == 'CREATE_FAILED'
    assert place.stacks(one) == made and not place.stacks(two)
    failed, = (each for each in place.members('short').values() if each['state'] == 'failed')     # whichever asks first
    assert 'not valid any more' in failed['status_reason']
    place.no_tokens()
    place.sets('PATCH', '/short', {}, 202)
    assert place.ended('short')['members'] == {'current': 2}, place.members('short')
    assert place.stacks(one) == made and len(place.stacks(two)) == 1
    place.sets('PATCH', '/short', {'template': TEMPLATE.replace('create:', 'delete:')}, 202)
    assert place.ended('short')['members'] == {'current': 2}, place.members('short')
    place.sets('DELETE', '/short', status=204)          # backwards
    eventually('the first wave', lambda: place.states('short') == {'one': 'current', 'two': 'running'})
    place.end_token()
    assert place.ended('short')['status'] == 'DELETE_FAILED'
    assert place.stacks(one) == made, 'a token that has ended is no stack that is gone'
    place.delete('short', one, two)


@pytest.mark.parametrize('way, left', [('force', False), ('release', True)])
def test_a_delete_in_any_case(place, way, left):
    """A forced one reaches the other projects as any delete does."""
    one, name = place.project(place.alpha), f'in-any-case-{way}'
    place.create(name, {'one': one})
    found = place.ended(name)
    assert found['members'] == {'current': 1}, place.members(name)
    made = place.stacks(one)
    answer = place.cloud.ask(place.alpha, 'DELETE', f"/stacks/{name}/{found['id']}/{way}")
    assert answer.status == 202, answer.text
    eventually('the end of the set', lambda: place.cloud.ask(
        place.alpha, 'GET', f'/stack_sets/{name}').status == 404)
    assert place.stacks(one) == (made if left else {})
    place.no_tokens()


def application_credential(place):
    wanted = {'application_credential': {'name': 'set', 'unrestricted': True}}
    path = f'/users/{place.alpha.user_id}/application_credentials'
    made = place.alpha.session.post(
        path, json=wanted, endpoint_override=service.KEYSTONE).json()['application_credential']
    # Not with its user: on SQLite, Keystone leaves its roles to the next one, which it then refuses.
    place.at_end(lambda: place.alpha.session.delete(f'{path}/{made["id"]}', endpoint_override=service.KEYSTONE))
    return v3.ApplicationCredential(service.KEYSTONE, made['secret'], made['id'])


def trust(place):
    beta = place.cloud.people['beta']
    made = place.alpha.session.post('/OS-TRUST/trusts', endpoint_override=service.KEYSTONE, json={'trust': {
        'trustor_user_id': place.alpha.user_id, 'trustee_user_id': beta.user_id, 'impersonation': True,
        'project_id': place.alpha.project_id, 'roles': [{'name': 'member'}],
        'allow_redelegation': True}}).json()['trust']
    return v3.Password(service.KEYSTONE, user_id=beta.user_id, password=beta.password, trust_id=made['id'])


@pytest.mark.parametrize('limited', [application_credential, trust])
def test_a_token_that_cannot_be_exchanged(place, limited):
    """The whole request is refused, and nothing is stored."""
    one = place.project(place.alpha)
    token = session.Session(auth=limited(place)).get_token()
    body = {'name': 'limited', 'template': TEMPLATE, 'members': [{'name': 'one', 'project_id': one}]}
    for path in ('/preview', ''):
        refused = place.sets('POST', path, body, 400, token)
        assert 'in exchange for that of the request' in refused['error']['message']
    place.sets('GET', '/limited', status=404)
    assert not place.stacks(one)


def test_the_stack_of_somebody_else_has_the_name(place):
    """It is neither taken over nor changed, and the next update makes a stack of another name."""
    beta = place.cloud.people['beta']
    one, two = place.project(place.alpha), place.project(place.alpha, beta)
    place.create('names', {'one': one, 'two': two}, parameters={'seconds': SLOW})
    (stack, row), = eventually('the row of the second member', lambda: place.cloud.rows(
        "SELECT s.name, r.uuid FROM resource r JOIN stack s ON s.id = r.stack_id "
        "WHERE r.name = 'two' AND s.live = 1 AND s.name LIKE 'names-%%'"))
    name = physical_name(stack, 'two', row)
    theirs = Person(beta.name, beta.user_id, two)
    path = place.cloud.create(theirs, name, {'heat_template_version': '2018-08-31'})
    assert place.cloud.finished(theirs, path) == 'CREATE_COMPLETE'
    assert place.ended('names')['status'] == 'CREATE_FAILED'
    assert place.states('names') == {'one': 'current', 'two': 'failed'}
    assert 'already exists' in place.members('names')['two']['status_reason']
    place.sets('PATCH', '/names', {}, 202)
    assert place.ended('names')['members'] == {'current': 2}, place.members('names')
    assert len(place.stacks(two)) == 2
    place.sets('DELETE', '/names', status=204)
    eventually('the end of the set', lambda: place.cloud.ask(place.alpha, 'GET', '/stack_sets/names').status == 404)
    assert list(place.stacks(two, beta)) == [name] and not place.stacks(one)
    shown = place.cloud.ask(theirs, 'GET', path).json['stack']
    assert (shown['stack_status'], shown['stack_owner']) == ('CREATE_COMPLETE', beta.name)
