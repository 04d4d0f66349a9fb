"""Requests of a project that sends too many, at every door; and of its neighbour, which must not notice."""

import json
import types

import pytest

from tests.common.clock import stopped
from tests.isolation import here
from tests.security.doors import DOORS, REST, Api, asked, ids
from tests.security.place import Place

CHANGES = [door for door in REST if door.method != 'GET']


@pytest.fixture
def clock():
    with stopped() as found:
        yield found


@pytest.fixture(scope='module')
def places(tmp_path_factory):
    """Places by their limits, made once: a layer counts by project, and each test takes a project of its own."""
    made = {}

    def of(**limits):
        key = tuple(limits.items())
        if key not in made:
            made[key] = Place(tmp_path_factory.mktemp('place'), **{
                f'rate_limits__{name}': most for name, most in limits.items()})
        return made[key]
    return of


def project(number):
    return f'{number:032x}'


@pytest.mark.parametrize('door', DOORS, ids=ids)
def test_a_project_that_sends_too_many(places, clock, door):
    place, wanted, mine = places(requests=2), asked(door, here.VICTIMS), project(DOORS.index(door))
    assert all(place.request(door, wanted, project=mine).status_code != 429 for _ in range(2))
    refused = place.request(door, wanted, project=mine)
    assert (refused.status_code, refused.headers['Retry-After']) == (429, '30')
    assert '[rate_limits] requests' in refused.text and 'more than 2 requests in a minute' in refused.text
    assert not place.engine.sent and not place.statements
    assert place.request(door, wanted, project=project(10_000 + DOORS.index(door))).status_code != 429
    clock.time = 30.0
    assert place.request(door, wanted, project=mine).status_code != 429


@pytest.mark.parametrize('door', CHANGES, ids=ids)
def test_changes_have_a_limit_of_their_own(places, clock, door):
    place, wanted, mine = places(changes=1), asked(door, here.VICTIMS), project(20_000 + DOORS.index(door))
    assert place.request(door, wanted, project=mine).status_code != 429
    refused = place.request(door, wanted, project=mine)
    assert refused.status_code == 429 and '[rate_limits] changes' in refused.text
    reading = next(each for each in REST if each.name == 'stacks.index')
    assert place.request(reading, asked(reading, here.VICTIMS), project=mine).status_code != 429


@pytest.mark.parametrize('action, is_limited', [
    ('CreateStack', True), ('DeleteStack', True), ('DescribeStacks', False), ('ListStacks', False)])
def test_changes_of_the_cloudformation_api(places, clock, action, is_limited):
    place, door = places(changes=1), next(each for each in DOORS if (each.api, each.name) == (Api.CFN, action))
    mine = project(30_000 + DOORS.index(door))
    first, second = (place.request(door, asked(door, here.VICTIMS), project=mine) for _ in range(2))
    assert (first.status_code == 429, second.status_code == 429) == (False, is_limited)


def test_errors_that_clients_know(places, clock):
    """The codes after which botocore waits and sends a request again."""
    place, found = places(requests=1), types.SimpleNamespace()
    for number, (api, name) in enumerate([
            (Api.REST, 'stacks.index'), (Api.CFN, 'ListStacks'), (Api.CLOUDWATCH, 'DescribeAlarms')]):
        door = next(each for each in DOORS if (each.api, each.name) == (api, name))
        for _ in range(2):
            answer = place.request(door, asked(door, here.VICTIMS), project=project(40_000 + number))
        setattr(found, api.name, answer)
    assert json.loads(found.REST.body)['error']['type'] == 'TooManyRequests'
    assert '<Code>Throttling</Code>' in found.CFN.text
    assert 'Throttling' in found.CLOUDWATCH.text


def test_without_a_limit_nothing_is_counted(places, clock):
    place, door = places(), next(each for each in REST if each.name == 'stacks.index')
    assert {place.request(door, asked(door, here.VICTIMS), project=here.VICTIM).status_code for _ in range(50)} == {200}
