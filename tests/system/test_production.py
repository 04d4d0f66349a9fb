"""The production profile itself: it comes up, serves both APIs, and leaves nothing behind."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.system import databases, production

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)

TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {
    'word': {'type': 'OS::Heat::RandomString'},
    'handle': {'type': 'OS::Heat::WaitConditionHandle', 'properties': {'signal_transport': 'HEAT_SIGNAL'}}}}

NOTHING = {'heat_template_version': '2018-08-31', 'resources': {'nothing': {'type': 'OS::Heat::None'}}}
SINK = {'type': 'zaqar-queue', 'target': 'events', 'ttl': 120}


# Each database and each HTTP server once: neither depends on the other.
COMBINATIONS = [('mariadb', 'heatlite'), ('postgresql', 'gunicorn'), ('mariadb', 'uwsgi')]


@pytest.mark.service
@pytest.mark.parametrize('database, server', COMBINATIONS)
def test_the_profile(tmp_path, database, server):
    if not databases.SERVERS[database]:
        pytest.skip(f'no {database}: tools/services up')
    with production.Production(tmp_path, database=database, server=server) as cloud:
        member, reader = cloud.people['alpha'], cloud.people['alpha_reader']
        path = cloud.create(member, 'first', TEMPLATE)
        assert cloud.finished(member, path) == 'CREATE_COMPLETE'
        assert cloud.ask(reader, 'GET', '/stacks').json['stacks'][0]['stack_name'] == 'first'
        assert cloud.ask(reader, 'DELETE', path).status == 403
        assert cloud.ask(cloud.people['beta'], 'GET', path).status == 404
        assert cloud.ask(None, 'GET', f'/v1/{member.project_id}/stacks').status == 401
        assert '<StackName>first</StackName>' in cloud.ask_cfn(member, 'ListStacks').text
        engines = cloud.ask(cloud.people['admin'], 'GET', '/services').json['services']
        assert [each['status'] for each in engines] == ['up', 'up']
        with_sink = cloud.create(member, 'sink', NOTHING, environment={'event_sinks': [SINK]})
        assert cloud.finished(member, with_sink) == 'CREATE_COMPLETE'
        trusts = dict(cloud.rows('SELECT s.name, c.trust_id FROM stack s '
                                 'JOIN credentials c ON c.id = s.credentials_id'))
        assert trusts['sink'], 'events are sent to sinks in the name of the owner, after the token has expired'
        users = cloud.rows("SELECT user_project_id FROM stack WHERE name = 'first'")[0][0]
        assert cloud.keystone.get(f'/projects/{users}').status_code == 200
        creates_at_once(cloud, member)
    found = cloud.keystone.get(f'/projects?name={member.project_name}').json()['projects']
    assert found == []
    assert cloud.keystone.get(f'/projects/{users}', raise_exc=False).status_code == 404


def creates_at_once(cloud, member, names=20):
    """An engine commits creates that arrive together in one transaction: each has its own answer nevertheless."""
    def create(number):
        name = f'many-{number % names}'
        answer = cloud.ask(member, 'POST', '/stacks', {'stack_name': name, 'template': NOTHING})
        return answer.status, f'/stacks/{name}/{answer.json["stack"]["id"]}' if answer.status == 201 else ''

    with ThreadPoolExecutor(16) as callers:
        answers = list(callers.map(create, range(2 * names)))
    assert sorted(status for status, _path in answers) == [201] * names + [409] * names
    for path in filter(None, (path for _status, path in answers)):
        assert cloud.finished(member, path) == 'CREATE_COMPLETE'
