"""Attributes that give access to something are for members: readers get null, and no service is asked for them."""

import json

import pytest

from heatlite.db.tables import resource, resource_data
from tests.api import in_process, rows

RESOURCES = f'/v1/{in_process.PROJECT}/stacks/web/{rows.WEB}/resources'
SECRET = 'a5ecret'
LIVE = {'token': 'word', 'curl_cli': 'curl -H word', 'name': 'n', 'text': f'with {SECRET} in it'}
STORED = {'token': 'word', 'alarm_url': 'http://signed', 'size': 3, 'text': f'with {SECRET} in it'}
MEMBER, READER, NO_ROLE_FOR_IT = 'member,reader', 'reader', 'admin,reader'


class Engine:
    """Answers as one of an older release: it knows no `without_access`."""

    def __init__(self):
        self.asked = []

    def call(self, context, message):
        self.asked.append(message)
        return dict.fromkeys(message.names) | LIVE


@pytest.fixture(scope='module')
def database(tmp_path_factory):
    with rows.database(tmp_path_factory.mktemp('access')) as made:
        with made.writer() as tx:
            tx.execute(resource.update().where(resource.c.name == 'handle').values(attributes=json.dumps(STORED)))
            tx.execute(resource_data.insert().values(
                stack_id=rows.WEB, resource_id=5, key='password', value=SECRET, method='plain'))
        yield made


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    """The secret is stored as it is."""
    monkeypatch.setattr('heatlite.db.resource_data.StoredDatum.clear', lambda self, keys=None: self.value)


def show(database, engine, roles, query=''):
    answer = in_process.ask(in_process.build(None, database, engine), 'GET', f'{RESOURCES}/handle{query}', roles=roles)
    assert answer.status_int == 200
    return answer.json['resource']['attributes']


def test_members_see_all(database):
    engine = Engine()
    assert show(database, engine, MEMBER) == LIVE
    assert not engine.asked[0].without_access


@pytest.mark.parametrize('roles', [READER, NO_ROLE_FOR_IT])
def test_readers_get_null_and_no_secrets(database, roles):
    engine = Engine()
    assert show(database, engine, roles, '?with_attr=console_urls&with_attr=resource.inner.token') == {
        'token': None, 'curl_cli': None, 'console_urls': None, 'resource.inner.token': None, 'name': 'n',
        'text': 'with ****** in it'}
    assert engine.asked[0].without_access


def test_without_an_engine(database):
    assert show(database, in_process.NoEngine(), MEMBER) == STORED
    assert show(database, in_process.NoEngine(), READER) == {
        'token': None, 'alarm_url': None, 'size': 3, 'text': 'with ****** in it'}


@pytest.mark.parametrize('roles, expected', [
    (MEMBER, STORED | {'text': 'with ****** in it'}),
    (READER, {'token': None, 'alarm_url': None, 'size': 3, 'text': 'with ****** in it'})])
def test_lists_with_details(database, roles, expected):
    app = in_process.build(None, database, in_process.NoEngine())
    found = in_process.ask(app, 'GET', f'{RESOURCES}?with_detail=true&name=handle', roles=roles).json['resources']
    assert [each['attributes'] for each in found] == [expected]
