"""Which route a path has: the same as if each were compared with all routes of the table, in their order."""

from __future__ import annotations

import random

import pytest
import routes as routing

from heatlite.api.router import KNOWN, LONGEST, Router
from heatlite.api.routes import TABLE
from heatlite.api.wsgi import Request

LONG = 'x' * (LONGEST + 1)                      # paths with it are not remembered
METHODS = ('GET', 'POST', 'PUT', 'PATCH', 'DELETE')
NAMES = sorted({name for route in TABLE for name in route.path.split('/') if '{' not in name})
VALUES = (LONG, 'a', '', 'arn:x:y', 'ARN:x', 'x%2Fy', 'v1')


@pytest.fixture(scope='module')
def router():
    return Router(TABLE, None)


@pytest.fixture(scope='module')
def whole():
    found = routing.Mapper(explicit=True)
    found.minimization = False
    for path in dict.fromkeys(route.path for route in TABLE):
        found.connect(None, path, conditions={
            'method': [route.method for route in TABLE if route.path == path]})
    found.create_regs()
    return found


def matched(mapper, path, method):
    found = mapper.routematch(path, {'REQUEST_METHOD': method})
    return found and (found[0], found[1].routepath)


@pytest.mark.parametrize('seed', range(4))
def test_a_path_has_the_route_that_it_has_among_all(router, whole, seed):
    chance, hits = random.Random(seed), 0
    for _ in range(2000):
        names = [chance.choice(VALUES) if '{' in name else name for name in chance.choice(TABLE).path.split('/')]
        names[chance.randrange(len(names)):] = chance.choices((*NAMES, *VALUES), k=chance.randrange(3))
        path = '/'.join(names) + chance.choice(('', '/', '//'))
        for method in METHODS:
            found = matched(whole, path, method)
            for _time in range(2):              # it is remembered the second time
                match = router.match(method, path)
                assert (match and (match.values, match.route.path)) == found, (method, path)
            assert match is None or match.route.method == method
            hits += found is not None
    assert hits > 100


def test_the_id_of_a_stack_may_be_in_upper_case(router):
    stack_id = 'abcdef00-0000-4000-8000-00000000000f'
    for name in ('Web', stack_id.upper()):
        match = router.match('GET', f'/p/stacks/{name}/{stack_id.upper()}/resources/R')
        assert (match.values['stack_id'], match.values['stack_name']) == (stack_id, name)


def test_the_values_of_a_path_cannot_be_changed_for_the_next_request(router):
    match = router.match('GET', '/p/stacks/s/i')
    with pytest.raises(TypeError):
        match.values['stack_name'] = 'other'
    assert router.match('GET', '/p/stacks/s/i') is match


def test_no_more_paths_are_remembered_than_the_limit(router):
    for number in range(KNOWN + 10):
        router.match('GET', f'/p/stacks/s{number}/i')
    router.match('GET', f'/p/stacks/{LONG}/i')
    assert router._known.cache_info().currsize == KNOWN


@pytest.mark.parametrize('given', [
    {'HTTP_HOST': 'h'}, {'HTTP_HOST': 'h:80'}, {'HTTP_HOST': 'h:443', 'wsgi.url_scheme': 'https'},
    {'HTTP_HOST': 'other:8004'}, {'SERVER_NAME': 's', 'SERVER_PORT': '8004'},
    {'HTTP_HOST': 'h', 'SCRIPT_NAME': '/a b/v1'}])
def test_links_begin_as_the_client_has_asked(given):
    environ = {'wsgi.url_scheme': 'http', 'SERVER_NAME': 'local', 'SERVER_PORT': '80', 'SCRIPT_NAME': '/v1', **given}
    assert [Request(dict(environ)).base for _time in range(2)] == [Request(dict(environ)).application_url] * 2
