"""The logins in derived configs of deployments are for members and for the servers that use them."""

import json

import pytest

from heatlite.db.tables import resource, snapshot, software_config, software_deployment
from tests.api import in_process, rows

PASSWORD, SIGNED, USER_PROJECT = 'pa55word-of-a-server', 'http://signed/?Signature=a5ecret', 'a' * 32
INPUTS = [{'name': 'size', 'type': 'String', 'value': '3'}, {'name': 'deploy_server_id', 'value': 'server-1'},
          {'name': 'deploy_password', 'type': 'String', 'value': PASSWORD},
          {'name': 'deploy_signal_id', 'value': SIGNED}, {'name': 'deploy_of_a_plug_in', 'default': PASSWORD}]
CONFIG = {'config': {'login': f'-p {PASSWORD}'}, 'inputs': INPUTS, 'outputs': [], 'options': {}}
METADATA = {'own': 1, 'deployments': [{'id': 'c', **CONFIG}]}
SHOWN = {'size': '3', 'deploy_server_id': 'server-1', 'deploy_password': '******', 'deploy_signal_id': '******',
         'deploy_of_a_plug_in': None}
V1 = f'/v1/{in_process.PROJECT}'
OF_STACK = f'{V1}/stacks/web/{rows.WEB}/resources/handle/metadata'


@pytest.fixture(scope='module')
def app(tmp_path_factory):
    with rows.database(tmp_path_factory.mktemp('logins')) as database:
        with database.writer() as tx:
            tx.execute(software_config.update().where(software_config.c.id == rows.number(4, 1)).values(
                config=json.dumps(CONFIG)))
            tx.execute(software_deployment.update().where(software_deployment.c.id == rows.number(5, 1)).values(
                stack_user_project_id=USER_PROJECT))
            tx.execute(resource.update().where(resource.c.name == 'handle').values(
                metadata=json.dumps(METADATA)))
            tx.execute(snapshot.update().where(snapshot.c.id == rows.number(3, 1)).values(data=json.dumps({
                'name': 'web', 'resources': {'nested': {'template': {}, 'resources': {'server': {
                    'name': 'server', 'metadata': METADATA}}}}})))
        yield in_process.build(None, database, in_process.NoEngine())


def ask(app, path, roles, project=in_process.PROJECT):
    answer = in_process.ask(app, 'GET', path.replace(in_process.PROJECT, project), roles=roles, project=project)
    assert answer.status_int == 200, answer.text
    return answer


OF_SNAPSHOT = f'{V1}/stacks/web/{rows.WEB}/snapshots'


PAGES = [
    (f'{V1}/software_configs/{rows.number(4, 1)}', lambda found: found['software_config']),
    (f'{V1}/software_deployments/metadata/{rows.number(6, 1)}', lambda found: found['metadata'][0]),
    (OF_STACK, lambda found: found['metadata']['deployments'][0])]


@pytest.mark.parametrize('path, part', PAGES)
@pytest.mark.parametrize('roles', ['reader', 'admin,reader'])
def test_readers_get_no_logins(app, path, part, roles):
    answer = ask(app, path, roles)
    assert PASSWORD not in answer.text and SIGNED not in answer.text
    found = part(answer.json)
    assert {each['name']: each.get('value') for each in found['inputs']} == SHOWN
    assert found['config'] == {'login': '-p ******'}


@pytest.mark.parametrize('path, part', PAGES[:2])
def test_members_get_them(app, path, part):
    assert part(ask(app, path, 'member,reader').json)['inputs'] == INPUTS


@pytest.mark.parametrize('roles, project', [('heat_stack_user', in_process.PROJECT), ('heat_stack_user', USER_PROJECT),
                                            ('reader', USER_PROJECT)])
def test_agents_get_them(app, roles, project):
    path, part = PAGES[1]
    assert part(ask(app, path, roles, project).json)['inputs'] == INPUTS


@pytest.mark.parametrize('roles', ['reader', 'member,reader', 'admin,reader'])
def test_snapshots_have_no_logins_of_deployments_of_other_stacks(app, roles):
    [listed] = ask(app, OF_SNAPSHOT, roles).json['snapshots']
    shown = ask(app, f'{OF_SNAPSHOT}/{listed["id"]}', roles).json['snapshot']
    for each in (listed, shown):
        metadata = each['data']['resources']['nested']['resources']['server']['metadata']
        assert {found['name']: found.get('value') for found in metadata['deployments'][0]['inputs']} == SHOWN
        assert metadata['own'] == 1 and PASSWORD not in json.dumps(each) and SIGNED not in json.dumps(each)


def test_pages_without_logins(app):
    for page in ('/software_configs', '/software_deployments', f'/software_deployments/{rows.number(5, 1)}'):
        assert PASSWORD not in ask(app, V1 + page, 'reader').text
