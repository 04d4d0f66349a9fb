"""What is served is known: every route is described and on the page for operators, and little is open to all."""

import functools

import pytest

from heatlite.api import openapi, routes
from heatlite.api.middleware.mount import Mount
from tests.api import in_process
from tests.isolation import here
from tests.security import page
from tests.security.doors import DOORS, REST, Api, asked, ids
from tests.security.place import Place

DESCRIBED = openapi.document(routes.TABLE)['paths']


@pytest.mark.parametrize('door', REST, ids=ids)
def test_every_route_is_described(door):
    if door.path != routes.ARN:                         # a lookup as the others
        for path, _part in openapi._spelled_out(door.path):
            assert door.method.lower() in DESCRIBED[path]


def test_nothing_is_described_that_is_not_served(place):
    for path, operations in DESCRIBED.items():
        url = '/v1' + path.replace('{tenant_id}', here.VICTIM)
        allowed = in_process.ask(place.apps[Api.REST], 'OPTIONS', url).headers['Allow'].lower().split(',')
        assert set(operations) <= set(allowed), path


@pytest.mark.parametrize('door', DOORS, ids=ids)
def test_every_door_is_on_the_page(door):
    assert page.shown(door) in page.PAGE.read_text()


def mounted(app):
    """The paths of all applications that are beside an API, whether before or behind the layer of identity."""
    while app is not None:
        if isinstance(app, Mount):
            yield from app._beside
        app = inner(app)


def inner(layer):
    """The application that a layer wraps; None for the innermost."""
    if isinstance(layer, functools.partial):
        return layer.args[0]
    return next((found for name in ('_app', 'app', '_application') if (found := getattr(layer, name, None))), None)


def test_what_needs_no_login(tmp_path):
    """What is mounted beside the APIs is on the page; all else asks for a login."""
    made = Place(tmp_path, console__enabled=True, paste_deploy__flavor='noauth')
    public = set()
    for api, app in made.apps.items():
        found = list(mounted(app))
        assert found, 'the layers are walked'
        public |= {f'/v1{each}' if each == openapi.PATH else each for each in found}
        for path in ('/v1/', '/v1/x', f'/v1/{here.VICTIM}/none', '/v1/openapi.yaml', '/admin', '/debug', '/v1/metrics'):
            answer = in_process.ask(app, 'GET', path, project=None)
            assert answer.status_code in (300, 401, 404, 400), (api, path)
    assert public | {'/', '/console/'} == set(page.PUBLIC)
    for path in page.PUBLIC:
        answer = in_process.ask(made.apps[Api.REST], 'GET', path, project=None, REMOTE_ADDR='127.0.0.1')
        assert answer.status_code in (200, 300, *((503,) if path == '/readiness' else ())), path     # no engine runs
        assert not any(word in answer.text for word in (here.WORD, here.VICTIM)), path
    made.close()


def test_old_versions_are_not_served(place):
    door = next(each for each in REST if each.name == 'stacks.index')
    url = asked(door, here.VICTIMS).url
    for version in ('v0', 'v2', 'v1.1', 'v10'):
        answer = in_process.ask(place.apps[Api.REST], 'GET', url.replace('/v1/', f'/{version}/', 1))
        assert answer.status_code in (300, 404), version
