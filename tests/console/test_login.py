"""The login, with the simulated Keystone: members, readers, wrong passwords, the end of a session."""

import json
import urllib.request

import pytest

from tests.console import stacks
from tests.console.conftest import Service

PASSWORD = 'secret'


def keystone(url, method, path, body=None, token=None):
    """The token of the answer and its JSON."""
    request = urllib.request.Request(
        f'{url}/identity/v3{path}', method=method, data=None if body is None else json.dumps(body).encode(),
        headers={'Content-Type': 'application/json', **({'X-Auth-Token': token} if token else {})})
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
        return answer.headers.get('X-Subject-Token'), json.loads(text) if text else None


def login_body(user, project):
    domain = {'id': 'default'}
    who = {'name': user, 'domain': domain, 'password': PASSWORD}
    return {'auth': {'identity': {'methods': ['password'], 'password': {'user': who}},
                     'scope': {'project': {'name': project, 'domain': domain}}}}


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    """A heatlite-all behind the simulated Keystone, which has a reader `guest` in the project demo."""
    made = Service(tmp_path_factory.mktemp('login'), '--auth', 'keystone')
    token, _ = keystone(made.cloud, 'POST', '/auth/tokens', login_body('admin', 'admin'))

    def one(kind, name):
        return keystone(made.cloud, 'GET', f'/{kind}?name={name}', token=token)[1][kind][0]['id']

    _, user = keystone(made.cloud, 'POST', '/users', {'user': {'name': 'guest', 'domain_id': 'default',
                                                               'password': PASSWORD}}, token)
    keystone(made.cloud, 'PUT', f'/projects/{one("projects", "demo")}/users/{user["user"]["id"]}/roles/'
                                f'{one("roles", "reader")}', token=token)
    yield made
    made.program.kill()


def log_in(page, user, password=PASSWORD, project='demo'):
    page.get_by_label('User', exact=True).fill(user)
    page.get_by_label('Password', exact=True).fill(password)
    page.get_by_label('Project', exact=True).fill(project)
    page.get_by_role('button', name='Log in').click()


def test_a_member_and_then_a_reader(visit, cloud):
    page = visit(at=cloud.url)
    log_in(page, 'demo', 'wrong')
    page.get_by_role('alert').wait_for()
    log_in(page, 'demo')
    page.get_by_role('heading', name='No stacks yet').wait_for()
    assert page.get_by_role('link', name='Operations').count() == 0
    kept = page.evaluate('[document.cookie, localStorage.length, Object.keys(sessionStorage).join()]')
    assert kept == ['', 0, 'heatlite.session']
    page.get_by_role('link', name='New stack').first.click()
    page.get_by_text('The template is valid').wait_for()
    page.get_by_label('Name of the stack').fill('mine')
    page.get_by_role('button', name='Create', exact=True).click()
    page.get_by_role('heading').get_by_text('create complete').wait_for()
    address = page.evaluate('location.hash')
    page.reload()
    page.get_by_role('button', name='Delete', exact=True).wait_for()      # the session lives as long as the tab
    page.get_by_role('button', name='Log out').click()
    page.get_by_role('button', name='Log in').wait_for()
    assert page.evaluate('sessionStorage.length') == 0
    log_in(page, 'guest')
    page.get_by_role('heading', name='mine').wait_for()
    assert page.evaluate('location.hash') == address
    for tab in ('', '/guards', '/revisions?revision=1'):
        page.evaluate('address => { location.hash = address }', address + tab)
        page.get_by_role('heading', name='mine').wait_for()
        page.wait_for_timeout(200)
        for name in ('Delete', 'Update', 'More actions', 'Protect', 'Lock'):
            assert page.get_by_role('button', name=name, exact=True).count() == 0
            assert page.get_by_role('link', name=name, exact=True).count() == 0
    page.get_by_role('link', name='Stacks').first.click()
    page.get_by_role('link', name='mine').wait_for()
    assert page.get_by_role('link', name='New stack').count() == 0
    assert page.get_by_role('checkbox').count() == 0


def test_an_expired_token_leads_to_the_login_and_back(visit, cloud):
    page = visit(at=cloud.url)
    log_in(page, 'demo')
    page.get_by_role('heading', name='Stacks', exact=True).wait_for()
    page.evaluate("""() => {
        const kept = JSON.parse(sessionStorage.getItem('heatlite.session'))
        sessionStorage.setItem('heatlite.session', JSON.stringify({...kept, token: 'expired'}))
    }""")
    page.goto(f'{cloud.url}/console/#/plans')
    page.reload()
    page.get_by_text('Your session has ended').wait_for()
    log_in(page, 'demo')
    page.get_by_role('heading', name='No plans').wait_for()


def test_the_login_can_be_read_by_everybody(visit, cloud):
    package = pytest.importorskip('axe_playwright_python')
    page = visit(at=cloud.url)
    page.get_by_role('button', name='Log in').wait_for()
    page.evaluate(stacks.read_axe(package))
    assert page.evaluate('() => axe.run(document)')['violations'] == []
