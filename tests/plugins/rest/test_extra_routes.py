"""A set of routes takes over none that is there already, so that its delete leaves those of others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from keystoneauth1.exceptions.http import Forbidden

from heatlite.common import exception

FOREIGN = {'destination': '10.9.0.0/24', 'nexthop': '10.0.0.9'}
OWN, MORE = ({'destination': f'10.{number}.0.0/24', 'nexthop': '10.0.0.1'} for number in (1, 2))


@pytest.fixture
def router(cloud):
    there = {'id': 'known-router', 'routes': [FOREIGN]}
    cloud.answers['GET /routers/known-router'] = lambda: (200, {'router': there})
    return there


def given(*routes):
    return {'router': 'known-router', 'routes': list(routes)}


def test_a_create_refuses_a_route_that_is_there(cloud, bench, router):
    with pytest.raises(exception.PhysicalResourceExists, match=r'10\.9\.0\.0/24 via 10\.0\.0\.9'):
        bench('OS::Neutron::ExtraRouteSet', given(OWN, FOREIGN)).create()
    assert not [each for each in cloud.requests if each.method == 'PUT']


def test_an_update_refuses_a_route_that_is_there(cloud, bench, router):
    here = bench('OS::Neutron::ExtraRouteSet', given(OWN))
    here.create()
    router['routes'] = [FOREIGN, OWN]
    del cloud.requests[:]
    with pytest.raises(exception.PhysicalResourceExists):
        here.update(given(OWN, FOREIGN))
    assert not [each for each in cloud.requests if each.method == 'PUT']
    assert here.update(given(OWN, MORE))
    assert cloud.body('PUT /routers/known-router/add_extraroutes') == {'router': {'routes': [MORE]}}


def sent(cloud):
    """What was added, and what was removed, since the last call."""
    found = [(each.path.rpartition('/')[2], each.body['router']['routes']) for each in cloud.requests
             if each.method == 'PUT']
    del cloud.requests[:]
    return found


def test_an_update_that_is_repeated_refuses_it_again(cloud, bench, router):
    here = bench('OS::Neutron::ExtraRouteSet', given(OWN))
    here.create()
    router['routes'] = [FOREIGN, OWN]
    sent(cloud)
    for _attempt in range(2):
        with pytest.raises(exception.PhysicalResourceExists):
            here.update(given(OWN, FOREIGN))
        here.fresh('UPDATE', 'FAILED')
        assert sent(cloud) == []
    here.run('DELETE')
    assert sent(cloud) == [('remove_extraroutes', [OWN])]


def test_one_that_failed_may_have_its_own_routes_there(cloud, bench, router):
    here = bench('OS::Neutron::ExtraRouteSet', given(OWN))
    here.create()
    router['routes'] = [FOREIGN, OWN]
    path = 'PUT /routers/known-router/add_extraroutes'
    cloud.answers[path] = (403, {})
    with pytest.raises(Forbidden):
        here.update(given(OWN, MORE))
    here.fresh('UPDATE', 'FAILED')
    router['routes'] = [FOREIGN, OWN, MORE]         # it was done before the answer
    del cloud.answers[path]
    sent(cloud)
    here.update(given(OWN, MORE))
    assert sent(cloud) == [('add_extraroutes', [OWN, MORE])]


@pytest.mark.parametrize('retry', [{}, {'update': [409]}], ids=['at once', 'while polling'])
def test_what_a_failed_update_has_added_is_removed(cloud, bench, router, monkeypatch, retry):
    here = bench('OS::Neutron::ExtraRouteSet', given(OWN))
    monkeypatch.setattr(here.kind(), 'description', replace(here.kind().description, retry=retry))
    here.create()
    router['routes'] = [OWN]
    path = 'PUT /routers/known-router/add_extraroutes'
    cloud.answers[path] = (403, {})
    with pytest.raises(Forbidden):
        here.update(given(OWN, MORE))
    here.fresh('UPDATE', 'FAILED')
    del cloud.answers[path]
    sent(cloud)
    here.run('DELETE')
    assert sent(cloud) == [('remove_extraroutes', [OWN]), ('remove_extraroutes', [MORE])]
