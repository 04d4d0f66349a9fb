"""The console before a cluster with a real Keystone: who may see and do what, and what goes on when something ends."""

import contextlib
import uuid

import pytest

from tests.console import keystones, stacks
from tests.system import identities, production
from tests.system.identities import Person

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)

SECONDS = 40                            # that a token lives: renewed when 30 are over
ENDED = 'Your session has ended'
TOKEN = "() => (JSON.parse(sessionStorage.getItem('heatlite.session') ?? '{}').token ?? null)"
TABS = ('', '/failure', '/timeline', '/resources', '/events', '/outputs', '/template', '/revisions', '/drift',
        '/guards')
CHANGES = ('Delete', 'Update', 'More actions', 'Protect', 'Lock', 'Compare now', 'Approve', 'Apply', 'Delete plan',
           'New stack', 'Create', 'Plan', 'Plan to go back to 1')
QUICK = stacks.template(a=stacks.test_resource())


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    """`both`: a member of alpha's project and a reader of beta's."""
    folder = tmp_path_factory.mktemp('cluster')
    with contextlib.ExitStack() as undo:
        url = undo.enter_context(keystones.of_short_tokens(folder, SECONDS))
        made = undo.enter_context(production.Production(
            folder / 'cluster', console__enabled='true', clients_keystone__auth_uri=url))
        made.both = person(made, undo, {'alpha': 'member', 'beta': 'reader'})
        yield made


def person(cloud, undo, roles):
    """A new user who works in the project of the first key. `roles`: project -> role."""
    keystone = cloud.keystone
    ids = {each['name']: each['id'] for each in keystone.get('/roles').json()['roles']}
    name = f'{cloud.name}-{uuid.uuid4().hex[:6]}'
    user_id = keystone.post('/users', json={'user': {
        'name': name, 'domain_id': 'default', 'password': identities.PASSWORD}}).json()['user']['id']
    undo.callback(identities.remove, keystone, f'/users/{user_id}')
    for project, role in roles.items():
        keystone.put(f'/projects/{cloud.people[project].project_id}/users/{user_id}/roles/{ids[role]}')
    first = cloud.people[next(iter(roles))]
    return Person(name, user_id, first.project_id, first.project_name)


def log_in(page, who, stay=True):
    page.get_by_label('User', exact=True).fill(who.name)
    page.get_by_label('Password', exact=True).fill(who.password)
    page.get_by_label('Project', exact=True).fill(who.project_name)
    page.get_by_role('checkbox', name='Stay logged in').set_checked(stay)
    page.get_by_role('button', name='Log in').click()
    page.get_by_role('button', name='Log out').wait_for()


def go(page, address):
    page.evaluate('address => { location.hash = address }', address)


def address_of(path):
    """The page of the stack with this path in the API."""
    return '#' + path.replace('/stacks/', '/stack/', 1)


def own(cloud, who, template=QUICK):
    """The name and the path of a new stack that is complete."""
    name = f'of-{uuid.uuid4().hex[:8]}'
    path = cloud.create(who, name, template)
    assert cloud.finished(who, path) == 'CREATE_COMPLETE'
    return name, path


def offers(page, names=CHANGES):
    """The buttons and links with these names that the page has."""
    return [name for name in names if page.get_by_role('button', name=name, exact=True).count()
            or page.get_by_role('link', name=name, exact=True).count()]


@pytest.fixture
def credential(cloud):
    """An application credential of alpha. Removed before its user: SQLite removes no rows that refer to another."""
    alpha = cloud.people['alpha']
    url = f'{alpha.auth_url}/users/{alpha.user_id}/application_credentials'
    made = alpha.session.post(url, json={'application_credential': {'name': uuid.uuid4().hex}}).json()
    yield made['application_credential']
    alpha.session.delete(f'{url}/{made["application_credential"]["id"]}')


def test_an_application_credential_and_a_token(visit, cloud, credential):
    alpha = cloud.people['alpha']
    name, _path = own(cloud, alpha)
    page = visit(at=cloud.url)
    page.get_by_label('Method').select_option('credential')
    page.get_by_label('Id of the credential').fill(credential['id'])
    page.get_by_label('Secret', exact=True).fill('wrong')
    page.get_by_role('button', name='Log in').click()
    page.get_by_role('alert').wait_for()
    page.get_by_label('Secret', exact=True).fill(credential['secret'])
    page.get_by_role('button', name='Log in').click()
    page.get_by_role('link', name=name).wait_for()
    assert page.get_by_role('combobox', name='Project').count() == 0        # a credential is one project's
    page.get_by_role('button', name='Log out').click()
    page.get_by_label('Method').select_option('token')
    page.locator('input[name=token]').fill(alpha.token)
    page.get_by_role('button', name='Log in').click()
    page.get_by_role('link', name=name).wait_for()


def test_another_project_with_another_role(visit, cloud):
    alpha, beta = cloud.people['alpha'], cloud.people['beta']
    (name, path), (other, _path) = own(cloud, alpha), own(cloud, beta)
    page = visit(address_of(path), at=cloud.url)
    log_in(page, cloud.both)
    page.get_by_role('heading', name=name).wait_for()
    assert 'Delete' in offers(page)
    page.get_by_role('combobox', name='Project').select_option(label=beta.project_name)
    page.get_by_role('link', name=other).wait_for()                         # the list of the project, not the stack
    assert page.get_by_role('link', name=name).count() == 0
    assert offers(page) == []
    page.get_by_role('combobox', name='Project').select_option(label=alpha.project_name)
    page.get_by_role('link', name=name).wait_for()
    assert offers(page, ['New stack']) == ['New stack']


def test_nothing_of_another_project_is_shown(visit, cloud):
    alpha, beta = cloud.people['alpha'], cloud.people['beta']
    name, path = own(cloud, alpha)
    page = visit(at=cloud.url)
    log_in(page, beta)
    page.get_by_text('Live', exact=True).wait_for()
    for tab in (*TABS, '/update'):
        go(page, address_of(path) + tab)
        page.get_by_text('does not exist any more' if tab != '/update' else 'could not be found').first.wait_for()
        assert page.get_by_text('OS::Heat::TestResource').count() == 0
    refused = page.evaluate(f"""async () => Promise.all(
        ['/events/stream', '{path}/events/stream', '{path}', '{path}/timeline'].map(async path => (await fetch(
            '../v1/{alpha.project_id}' + path, {{headers: {{'X-Auth-Token': ({TOKEN})()}}}})).status))""")
    assert all(status in (403, 404) for status in refused), refused
    go(page, '#/stacks')
    page.get_by_text('Live', exact=True).wait_for()
    own(cloud, alpha)                                   # events of one project, then of the other
    mine, _path = own(cloud, beta)
    page.get_by_role('link', name=mine).wait_for()
    shown = page.evaluate('fetch(`../v1/${JSON.parse(sessionStorage["heatlite.session"]).projectId}/stacks`, '
                          '{headers: {"X-Auth-Token": JSON.parse(sessionStorage["heatlite.session"]).token}})'
                          '.then(answer => answer.json())')['stacks']
    links = {link.inner_text() for link in page.locator('main a.strong').all()}
    assert name not in links
    assert links == {each['stack_name'] for each in shown}


def test_a_reader_has_no_buttons_that_would_be_refused(visit, cloud):
    from playwright.sync_api import expect
    alpha = cloud.people['alpha']
    name, path = own(cloud, alpha)
    cloud.ask(alpha, 'PATCH', path, {'existing': True, 'template': stacks.template(a=stacks.test_resource(value='b'))})
    assert cloud.finished(alpha, path) == 'UPDATE_COMPLETE'
    plan = cloud.ask(alpha, 'POST', f'{path}/plans', {'existing': True, 'template': QUICK}).json['plan']['id']
    page = visit(at=cloud.url)
    refused = []
    page.on('response', lambda answer: answer.status >= 400 and refused.append((answer.status, answer.url)))
    log_in(page, cloud.people['alpha_reader'])
    page.get_by_role('link', name=name).wait_for()
    assert (offers(page), page.get_by_role('checkbox').count()) == ([], 0)
    for tab in (*TABS, '/revisions?revision=1'):
        go(page, address_of(path) + tab)
        page.get_by_role('heading', name=name).wait_for()
        expect(page.locator('.loading')).to_have_count(0)         # the network is never idle: there is a stream
        assert offers(page) == [], tab
    for address, words in ((f'#/plan/{plan}', 'Digest'), ('#/plans', f'update {name}'),
                           ('#/stacks/new', 'You may only read here'),
                           (address_of(path) + '/update', 'You may only read here')):
        go(page, address)
        page.get_by_text(words).first.wait_for()
        assert offers(page) == [], address
    assert page.get_by_role('link', name='Operations').count() == 0
    assert [each for each in refused if each[0] != 404] == []


def test_a_token_is_renewed_before_it_expires(visit, cloud):
    alpha = cloud.people['alpha']
    page = visit(at=cloud.url)
    log_in(page, alpha)
    tokens = [page.evaluate(TOKEN)]
    for _renewal in range(2):
        page.wait_for_function(f'before => ({TOKEN})() !== before', arg=tokens[-1], timeout=4000 * SECONDS)
        tokens.append(page.evaluate(TOKEN))
    assert None not in tokens
    page.get_by_text('Live', exact=True).wait_for()
    name, _path = own(cloud, alpha)                     # the first token has expired
    page.get_by_role('link', name=name).wait_for()
    assert page.get_by_text(ENDED).count() == 0


def test_a_session_that_is_not_renewed_ends_and_leads_back(visit, cloud):
    page = visit('#/types/OS::Heat::Value', at=cloud.url)
    log_in(page, cloud.people['alpha'], stay=False)
    page.get_by_role('heading', name='OS::Heat::Value').wait_for()
    page.get_by_text(ENDED).wait_for(timeout=4000 * SECONDS)            # without any input
    assert page.evaluate(TOKEN) is None
    log_in(page, cloud.people['alpha'])
    page.get_by_role('heading', name='OS::Heat::Value').wait_for()


def test_the_engine_is_killed_and_the_api_restarted_while_somebody_looks(visit, cloud):
    alpha = cloud.people['alpha']
    name = f'of-{uuid.uuid4().hex[:8]}'
    path = cloud.create(alpha, name, stacks.template(
        first=stacks.test_resource(wait_secs=6), second=stacks.test_resource('first')))
    page = visit(address_of(path), at=cloud.url)
    log_in(page, alpha)
    page.get_by_role('heading').get_by_text('create in progress').wait_for()
    for engine in cloud.engines:
        engine.kill()
    cloud.start_engine().said('takes requests')
    page.get_by_role('heading').get_by_text('create complete').wait_for(timeout=60_000)
    cloud.api.kill()
    page.get_by_text('Connecting…').wait_for()
    cloud.start_api()
    page.get_by_text('Live', exact=True).wait_for()
    cloud.ask(alpha, 'DELETE', path)
    page.get_by_role('heading').get_by_text('delete complete').wait_for(timeout=60_000)
