"""Which route a path has: the same as if each were compared with all routes of the table, in their order."""

from __future__ import annotations

import random

import pytest
import routes as routing

from heatlite.api.router import Router
from heatlite.api.routes import TABLE

METHODS = ('GET', 'POST', 'PUT', 'PATCH', 'DELETE')
NAMES = sorted({name for route in TABLE for name in route.path.split('/') if '{' not in name})
VALUES = ('a', '', 'arn:x:y', 'ARN:x', 'x%2Fy', 'v1')


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
            assert matched(router._mapper_of(path), path, method) == found, (method, path)
            hits += found is not None
    assert hits > 100
