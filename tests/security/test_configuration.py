"""Every route: methods it does not have, faults inside, headers, pages of other sites."""

import json

import pytest
import sqlalchemy as sa

from heatlite.api import routes
from tests.api import in_process
from tests.isolation import here
from tests.security.doors import DOORS, Api, asked, ids
from tests.security.place import Place

METHODS = ('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'TRACE', 'CONNECT', 'PROPFIND')
PATHS = {}
for _route in routes.TABLE:
    PATHS.setdefault(_route.path, set()).add(_route.method)
INSIDE = 'cnry-inside'


@pytest.mark.parametrize('path', PATHS)
def test_other_methods_are_refused(place, path):
    door = next(each for each in DOORS if each.path == path)
    url = asked(door, here.VICTIMS).url
    allowed = in_process.ask(place.apps[Api.REST], 'OPTIONS', url).headers['Allow'].split(',')
    assert set(allowed) >= PATHS[path]
    for method in METHODS:
        if method not in allowed:
            place.engine.sent.clear()
            answer = in_process.ask(place.apps[Api.REST], method, url)
            assert answer.status_code in (404, 405), method
            assert not place.engine.sent
    for method in set(allowed) - PATHS[path]:           # another route whose field can have this value
        assert any(method in methods for other, methods in PATHS.items() if other != path)


class Broken:
    """An engine's client with a defect."""

    def call(self, context, message):
        raise KeyError(INSIDE)

    def wake(self, stack_id, engine_id=None):
        raise KeyError(INSIDE)


@pytest.fixture(scope='module')
def broken(tmp_path_factory):
    """All that is behind the routes fails: the engine's client, and every statement."""
    made = Place(tmp_path_factory.mktemp('broken'))
    made.engine.call = Broken().call

    def fail(_connection, _cursor, statement, *_more):
        if made.is_broken:
            raise sa.exc.ProgrammingError(statement, {'secret': INSIDE}, Exception(INSIDE))

    made.is_broken = True
    for engine in (made.database.engine, made.database._reading):
        sa.event.listen(engine, 'before_cursor_execute', fail)
    yield made
    made.close()


@pytest.mark.parametrize('door', DOORS, ids=ids)
@pytest.mark.parametrize('is_broken', [True, False], ids=['database', 'engine'])
def test_a_fault_inside_shows_nothing_of_it(broken, door, is_broken):
    broken.is_broken = is_broken
    answer = broken.request(door, asked(door, here.VICTIMS), roles='admin,member,reader')
    for word in (INSIDE, 'Traceback', 'File "', '.py', 'SELECT', 'sqlalchemy'):
        assert word not in answer.text, answer.text
    if answer.status_code >= 500 and answer.content_type == 'application/json':
        assert json.loads(answer.text)['error']['traceback'] is None


def test_that_fault_is_one(broken):
    """Without this the test above could not fail."""
    broken.is_broken = True
    stack = next(door for door in DOORS if door.name == 'stacks.show')
    assert broken.request(stack, asked(stack, here.VICTIMS)).status_code == 500
    broken.is_broken = False
    create = next(door for door in DOORS if door.name == 'stacks.create')
    assert broken.request(create, asked(create, here.VICTIMS)).status_code == 500


@pytest.mark.parametrize('door', DOORS, ids=ids)
def test_headers_of_answers(place, door):
    """Answers are not kept by caches, nor guessed to be something else, nor readable by pages of other sites."""
    for project, roles in ((here.VICTIM, 'member,reader'), (here.VICTIM, ''), (None, '')):
        answer = place.request(door, asked(door, here.VICTIMS), project=project, roles=roles,
                               headers={'Origin': 'http://elsewhere.example.com'})
        assert answer.headers['Cache-Control'] == 'no-store'
        assert answer.headers['X-Content-Type-Options'] == 'nosniff'
        assert not [name for name in answer.headers if name.lower().startswith('access-control-')]
        assert not {'Server', 'X-Powered-By', 'Set-Cookie'} & set(answer.headers)
        assert answer.content_type in ('application/json', 'application/xml', 'text/plain', 'text/html'), door
        assert answer.content_type != 'text/html' or '<script' not in answer.text


@pytest.mark.parametrize('door', DOORS, ids=ids)
def test_a_page_of_another_site_may_not_ask(place, door):
    answer = in_process.ask(place.apps[door.api], 'OPTIONS', asked(door, here.VICTIMS).url, headers={
        'Origin': 'http://elsewhere.example.com', 'Access-Control-Request-Method': door.method})
    assert not [name for name in answer.headers if name.lower().startswith('access-control-')]


